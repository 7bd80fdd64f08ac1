//! The load generator: one MCP session, N calls of an echo tool in flight, and what became of them.
//!
//! It shares the machine with what it measures, so it must cost little: a call is a prepared request of which only
//! the digits of its id change, written at once over a keep-alive connection of its own, and the answer is read
//! without a client library. Every answer is checked: the id, and the payload byte for byte.

mod call;
mod connection;
mod crowd;
mod http;
mod long_lived;
mod options;
mod sse;
mod stdio;
mod tally;

pub use options::{Options, Target};
pub use tally::Report;

/// Opens a session, loads it and says what was measured. To be run on a `LocalSet`.
///
/// `start` and `stop` on stderr mark the measured window, for reading CPU clocks.
pub async fn run(options: &Options) -> anyhow::Result<Report> {
    match &options.target {
        Target::Http(url) => http::run(options, url).await,
        Target::LongLived(url) => long_lived::run(options, url).await,
        Target::Stdio(command) => stdio::run(options, command).await,
    }
}
