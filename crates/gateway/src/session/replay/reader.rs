//! Whoever reads a stream at the moment.

use std::sync::Arc;

use tokio::sync::watch;
use toolbay_protocol::Rope;

use super::stream::{ReadOutcome, ReplayStream};

/// Reads a stream for one connection. Dropping it lets the stream wait for the next.
#[derive(Debug)]
pub(crate) struct StreamReader {
    stream: Arc<ReplayStream>,
    number: u64,
    /// The last event that was read.
    seen: u64,
    changed: watch::Receiver<()>,
}

impl StreamReader {
    pub(super) fn attach(stream: Arc<ReplayStream>, seen: u64) -> Self {
        let (number, changed) = stream.attach();
        Self { stream, number, seen, changed }
    }

    /// The next event, ready to be sent; nothing at the end, or when another connection has taken over. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Rope> {
        loop {
            match self.stream.after(self.number, self.seen) {
                ReadOutcome::Event(number, text) => {
                    self.seen = number;
                    return Some(text);
                }
                ReadOutcome::End => return None,
                // The other end lives as long as the stream.
                ReadOutcome::Nothing => self.changed.changed().await.ok()?,
            }
        }
    }
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        self.stream.detach(self.number);
    }
}
