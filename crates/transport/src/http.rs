//! Streamable HTTP. Server side: connections, limits, bodies; what a request means is for the caller to say. Client
//! side: a wire like any other, see [`client`].

mod body;
pub mod client;
mod events;
mod serve;
mod sse;
mod stalled;

pub use body::{Body, ReadBodyError, read_body};
pub use events::{EventReader, LongEvent};
pub use serve::{Limits, Respond, serve};
pub use sse::{event, keep_alive, numbered_event, priming_event};
