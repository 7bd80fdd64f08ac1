//! Serves MCP clients of any revision, on HTTP, sockets and stdio.
//!
//! # The path of a request
//!
//! ```text
//! connection ─ LocalUsers ─ bytes ─ Guard (Host, Origin) ─ Access ─ body ─ Message ─ revision ─┬─ answered here: handshake, lists, ping
//!                                                      └─ Host::dispatch ─ ClientCall ─ JSON, or SSE once events flow
//! ```
//!
//! # Invariants
//!
//! - Host, Origin and the token are judged before a byte of a body is read; the user of a connection before that, once.
//! - When a client disconnects, its calls are dropped, which cancels them at the server.
//! - Lists, handshakes and health are answered from memory; they never wait for a server.
//! - Nothing of one client reaches another: ids and progress tokens are the client's own on both ends.

#![forbid(unsafe_code)]

mod audit;
mod capture;
mod client_roots;
mod connected_clients;
mod error;
mod explain;
mod gateway;
mod hub_tools;
mod listener;
mod pending_calls;
mod request;
mod seal;
mod security;
mod session;
mod suspended;
mod tasks;
mod views;

pub use connected_clients::{ATTACH, Attach, ClientTransport, ConnectedClient, GOODBYE};
pub use explain::ExplainedCall;
pub use gateway::{Gateway, GatewayIdentity, GatewayOptions, SchemaViewSetting, UnknownSchemaView};
pub use hub_tools::exposure::{ClientExposure, ExposureOptions, ExposureReport};
pub use pending_calls::PendingCall;
pub use security::local_user::LocalUsers;
pub use security::origin::{InvalidOrigin, Origin};
pub use security::principal_usage::PrincipalLimits;
pub use security::protected_resource::ProtectedResource;
pub use views::{PrincipalServers, ServerIdentity};
