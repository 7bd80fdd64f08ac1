//! Streams in, messages out, and back.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod body; // HTTP bodies and their limits
mod client; // a server at a URL: both eras, and servers that answer oddly
mod events; // reading events, however they are cut
mod http_sse; // HTTP+SSE of 2024-11-05: endpoints, streams that break, servers that are silent
mod lines; // framing: limits, noise, any cutting
mod sse; // events that cannot be forged
mod wire; // both directions together: batching, peers that do not read
mod ws; // WebSocket, both sides
