//! Listeners for transports that keep a connection per client.

pub mod sse;
pub mod ws;
