//! Streams in, messages out, and back.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod body; // HTTP bodies and their limits
mod client; // a server at a URL: legacy and modern, and servers that break the rules
mod connection; // both directions together: batching, peers that do not read
mod event_stream; // reading events, however they are split
mod event_writer; // events that cannot be forged
mod legacy_sse; // HTTP+SSE of 2024-11-05: endpoints, streams that break, servers that are silent
mod stdio; // framing: limits, noise, any split
mod websocket; // WebSocket, both sides
