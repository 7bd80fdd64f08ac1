//! Listening for clients on whose connections messages follow one another: each becomes a wire.

pub(crate) mod sse;
pub(crate) mod ws;
