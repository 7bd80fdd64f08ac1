//! A connection as every transport provides it.

use std::time::Duration;

use bytes::Bytes;
use tokio::{sync::mpsc, time::Instant};
use toolbay_protocol::{IdRecovery, Message, ParseError, RequestId, redact};

use crate::{Outgoing, http::client::HttpError};

/// A connection: two bounded queues of messages.
///
/// Dropping `outgoing` closes the sending side once what was queued is written; `incoming` ends when the peer is gone.
#[derive(Debug)]
pub struct Connection {
    /// Messages to send, in order.
    pub outgoing: mpsc::Sender<Outgoing>,
    /// What arrives, in order.
    pub incoming: mpsc::Receiver<Incoming>,
}

impl Connection {
    /// How many messages may wait in either direction.
    pub const QUEUE: usize = 256;
}

/// What a connection receives.
#[derive(Debug)]
pub enum Incoming {
    /// A message.
    Message(Message),
    /// Something that is none.
    Refused(RejectedMessage),
    /// A message that came with the response to our request of that id, and so is about it.
    About(RequestId, Message),
    /// Our request of that id will get no response; without an id it was a notification or a response.
    Failed { id: Option<RequestId>, why: HttpError },
    /// The connection is of no use any more. What is `unsent` certainly never reached the peer.
    Lost { why: HttpError, unsent: Vec<RequestId> },
}

impl Incoming {
    /// A text that stands for itself.
    pub(crate) fn read(text: Bytes) -> Self {
        match Message::parse(text.clone()) {
            Ok(message) => Self::Message(message),
            Err(why) => {
                let mut id = IdRecovery::default();
                id.feed(&text);
                Self::Refused(RejectedMessage::new(why, id.into_id(), &text))
            }
        }
    }
}

/// A text that is not a valid message.
#[derive(Debug)]
pub struct RejectedMessage {
    /// What is wrong with it.
    pub why: ParseError,
    /// The id it carries, when one could be made out: that call can then fail by name.
    pub id: Option<RequestId>,
    /// Its beginning, for people.
    pub excerpt: String,
}

impl RejectedMessage {
    /// How much of a refused text is shown.
    pub const EXCERPT: usize = 200;

    pub(crate) fn new(why: ParseError, id: Option<RequestId>, text: &[u8]) -> Self {
        let head = &text[..text.len().min(Self::EXCERPT)];
        Self { why, id, excerpt: String::from_utf8_lossy(head).into_owned() }
    }
}

/// How many lines one peer may cause in a [`WINDOW`]; the others are counted.
const MOST: u32 = 5;
const WINDOW: Duration = Duration::from_secs(60);

/// Describes rejected messages of one peer for the log: without secrets, on one line, and seldom enough that a peer which
/// prints nonsense cannot fill the log.
#[derive(Debug, Default)]
pub struct RejectionLog {
    window: Option<Instant>,
    logged: u32,
    left_out: u64,
}

impl RejectionLog {
    /// What to log; nothing if there was too much of it lately.
    pub fn line(&mut self, refusal: &RejectedMessage) -> Option<String> {
        let now = Instant::now();
        if self.window.is_none_or(|began| now.duration_since(began) >= WINDOW) {
            (self.window, self.logged) = (Some(now), 0);
        }
        if self.logged == MOST {
            self.left_out += 1;
            return None;
        }
        self.logged += 1;
        // Escaped: control characters could change what a terminal shows.
        let mut line =
            format!("cannot read a message: {}: {:?}", refusal.why, redact::line(&refusal.excerpt));
        match std::mem::take(&mut self.left_out) {
            0 => {}
            left_out => line.push_str(&format!(" ({left_out} more were not logged)")),
        }
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use toolbay_protocol::ParseError;

    use super::*;

    fn refusal(text: &str) -> RejectedMessage {
        RejectedMessage::new(ParseError::TooLong { limit: 9 }, None, text.as_bytes())
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_prints_nonsense_does_not_fill_the_log() {
        let mut log = RejectionLog::default();
        let mut lines = || (0..1000).filter_map(|_| log.line(&refusal("nonsense"))).collect::<Vec<_>>();
        assert_eq!(lines().len(), 5);
        assert_eq!(lines().len(), 0);
        tokio::time::advance(WINDOW).await;
        let later = lines();
        assert_eq!(later.len(), 5);
        assert!(later[0].ends_with("\"nonsense\" (1995 more were not logged)"), "{}", later[0]);
        assert!(later[1].ends_with("\"nonsense\""), "{}", later[1]);
    }

    #[tokio::test]
    async fn what_is_logged_is_short_and_hides_secrets_and_control_characters() {
        let long = format!("\u{1b}]0;x\u{7} DB_PASSWORD=hunter2 {}", "y".repeat(5000));
        let line = RejectionLog::default().line(&refusal(&long)).unwrap();
        assert!(line.contains("DB_PASSWORD=***") && !line.contains("hunter2"), "{line}");
        assert!(line.len() < 400 && !line.contains(char::is_control), "{line}");
    }
}
