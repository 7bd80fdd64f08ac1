//! Listening for clients on whose connections messages follow one another: each becomes a wire.

pub mod sse;
pub mod ws;
