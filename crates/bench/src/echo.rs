//! A raw MCP echo server: one tool, `echo`, that gives back its payload.
//!
//! It is the cost of a call without a hub, so it does the least that is still MCP: a message is read once,
//! the payload is copied as the raw JSON it came in, and answers that are ready together leave in one write.

mod answer;
mod http;
mod long_lived;
mod stdio;

pub use answer::{Outcome, answer};
pub use http::serve as serve_http;
pub use stdio::serve as serve_stdio;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use toolbay_testkit::listen;

/// Serves WebSocket on `listener` for ever.
pub async fn serve_ws(listener: TcpListener) {
    listen::ws::serve(long_lived::serve, listener, CancellationToken::new()).await;
}

/// Serves HTTP+SSE on `listener` for ever.
pub async fn serve_sse(listener: TcpListener) {
    listen::sse::serve(long_lived::serve, listener, CancellationToken::new()).await;
}
