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

mod capture;
mod client_roots;
mod connected_clients;
mod error;
mod gateway;
mod listener;
mod request;
mod seal;
mod security;
mod session;
mod suspended;
mod tasks;

pub use connected_clients::{ATTACH, Attach, ClientTransport, ConnectedClient, GOODBYE};
pub use gateway::{Gateway, GatewayIdentity, GatewayOptions};
pub use security::local_user::LocalUsers;
pub use security::origin::{InvalidOrigin, Origin};
pub use security::token::{InvalidToken, Token};
