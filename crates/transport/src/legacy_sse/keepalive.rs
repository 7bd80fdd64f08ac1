//! Noticing that a stream stands still for good.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep_until};
use toolbay_protocol::{Message, RequestId, method, request};

/// A server that was silent for so long gets a ping.
const QUIET: Duration = Duration::from_secs(30);
/// How long its response may take. Many servers do nothing else while a tool runs.
const SILENT: Duration = Duration::from_secs(60);

/// What is known about the other end of a stream.
#[derive(Debug)]
pub(super) struct KeepAlive {
    received: Instant,
    /// Since when a `ping` of ours waits for its response, or anything else.
    ping_sent: Option<Instant>,
    pings: u64,
}

/// What has to happen because of silence.
#[derive(Debug)]
pub(super) enum KeepAliveAction {
    /// Send this.
    Ping(Bytes),
    /// Give up, after so long.
    Dead(Duration),
}

impl KeepAlive {
    pub(super) fn new() -> Self {
        Self { received: Instant::now(), ping_sent: None, pings: 0 }
    }

    /// Something came, be it a comment.
    pub(super) fn received(&mut self) {
        self.received = Instant::now();
        self.ping_sent = None;
    }

    /// Until something has to happen. Cancel safe.
    pub(super) async fn next(&mut self) -> KeepAliveAction {
        match self.ping_sent {
            None => {
                sleep_until(self.received + QUIET).await;
                self.ping_sent = Some(Instant::now());
                self.pings += 1;
                KeepAliveAction::Ping(request(&self.id(), method::PING, None))
            }
            Some(ping_sent) => {
                sleep_until(ping_sent + SILENT).await;
                KeepAliveAction::Dead(self.received.elapsed())
            }
        }
    }

    /// Whether this is the response to a `ping` of ours, which is not delivered.
    pub(super) fn is_pong(&self, message: &Message) -> bool {
        self.pings > 0
            && matches!(message, Message::Response(response) if response.id.as_ref() == Some(&self.id()))
    }

    fn id(&self) -> RequestId {
        // Other requests have numbers as ids, so this one is ours.
        let id = format!("\"toolbay-ping-{}\"", self.pings);
        RequestId::from_raw(id.as_bytes()).expect("a string without escapes is an id")
    }
}
