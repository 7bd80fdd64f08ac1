//! The front door: clients of any era, on HTTP, on sockets and on stdio.
//!
//! # The way of a request
//!
//! ```text
//! connection ─ LocalUsers ─ bytes ─ Guard (Host, Origin) ─ Token ─ body ─ Message ─ era ─┬─ known here: handshake, lists, ping
//!                                                      └─ Host::dispatch ─ Exchange ─ JSON, or SSE once events flow
//! ```
//!
//! # Invariants
//!
//! - Host, Origin and the token are judged before a byte of a body is read; whose connection it is, before that, and once.
//! - A client that goes away drops its exchange, which cancels the call at the server.
//! - Lists, handshakes and health are answered from memory; they never wait for a server.
//! - What one client asked reaches no other: ids and progress tokens are the client's own on both ends.

#![forbid(unsafe_code)]

mod answer;
mod bounded;
mod capabilities;
mod client;
mod client_roots;
mod clients;
mod cors;
mod door;
mod era;
mod exchange;
mod face;
mod first_list;
mod gateway;
mod guard;
mod headers;
mod health;
mod known;
mod listen;
mod live;
mod mailboxes;
mod origin;
mod park;
mod peer;
mod questions;
mod reply;
mod seal;
mod serve;
mod session;
mod sessions;
mod socket;
mod streams;
mod subscribe;
mod tap;
mod tasks;
mod token;
mod unread;
mod wire;
mod wrong_tokens;

pub use clients::{ATTACH, Attach, ClientTransport, ConnectedClient, GOODBYE};
pub use face::GatewayIdentity;
pub use gateway::{Gateway, GatewayOptions};
pub use origin::{InvalidOrigin, Origin};
pub use peer::LocalUsers;
pub use token::{InvalidToken, Token};
