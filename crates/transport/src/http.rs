//! Streamable HTTP. Server side: connections, limits, bodies; what a request means is for the caller to say. Client
//! side: a wire like any other, see [`client`].

mod body;
pub mod client;
mod events;
mod pace;
mod serve;
mod sse;
mod tls;
mod upgrade;

pub use body::{Body, ReadBodyError, read_body};
pub use events::{Event, EventReader, EventTooLong};
pub use serve::{ConnectionLimits, RejectConnection, Respond, serve, serve_tls};
pub use sse::{event, keep_alive, numbered_event, priming_event};
pub use tls::{Tls, TlsError};
pub use upgrade::{UpgradedStream, take_over};
