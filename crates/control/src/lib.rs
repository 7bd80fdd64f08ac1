//! The control API of a running hub.
//!
//! A hub listens on a Unix socket that only its user may open; the command line uses it to see the state of
//! the hub and to call its tools. Messages are JSON-RPC, one per line, with two kinds of methods:
//!
//! - those of MCP that list or use something (`tools/list`, `tools/call`, `resources/read`, …), in revision
//!   2025-11-25 and without a handshake;
//! - our own, see [`method`].
//!
//! [`ControlClient`] is for a hub in another process or a [`Host`](toolbay_host::Host) in this one. Both go through
//! [`Api`], so that a command does not distinguish them. Results are JSON text as it came: unknown fields and the format
//! of numbers survive.
//!
//! Beside it is a second socket, [`McpSocket`], on which any MCP client of that user is served, one message per line.
//!
//! # Invariants
//!
//! - Only the user who runs the hub is served: the folder is 0700, the socket 0600, and the peer's uid is checked.
//! - When a client disconnects, its requests are cancelled.
//! - No line and no number of running requests is unbounded.

#![forbid(unsafe_code)]

mod api;
mod client;
mod error;
mod hub;
mod lines;
mod listener;
mod mcp_socket;
mod messages;
pub mod method;
mod pending;
mod place;
mod snapshot;

pub use api::{About, Api, CallToExplain, HubPolicy, Remarks};
pub use client::ControlClient;
pub use error::{ControlError, Reason};
pub use hub::{Build, ClientSnapshot, HubHandle, HubSnapshot, millis};
pub use listener::{HubPresence, Listener};
pub use mcp_socket::McpSocket;
pub use messages::{MessageEntry, MessagePage};
pub use pending::{PendingEntry, PendingPage};
pub use place::{HubAddress, SocketDirs};
pub use snapshot::{
    AbsenceSnapshot, ExposureSnapshot, FailureSnapshot, HubStatus, LogEntry, LogPage, Note, ProfileSnapshot,
    QuarantinedEntry, ServerSnapshot, ServerState,
};
