//! Streamable HTTP. Server side: connections, limits, bodies; what a request means is for the caller to say. Client
//! side: a connection like any other, see [`client`].

pub mod client;
mod server;

pub use crate::event_stream::{Event, EventReader, EventTooLong};
pub use server::accept::{ConnectionLimits, RejectConnection, Respond, serve, serve_tls};
pub use server::body::{Body, ReadBodyError, event, keep_alive, numbered_event, priming_event, read_body};
pub use server::tls::{Tls, TlsError};
pub use server::upgrade::{UpgradedStream, take_over};
