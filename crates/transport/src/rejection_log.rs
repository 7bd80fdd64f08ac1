//! What the log says of refused messages.

use std::time::Duration;

use tokio::time::Instant;
use toolbay_protocol::redact;

use crate::RejectedMessage;

/// How many lines one peer may cause in a [`WINDOW`]; the others are counted.
const MOST: u32 = 5;
const WINDOW: Duration = Duration::from_secs(60);

/// Words refused messages of one peer for the log: without secrets, on one line, and seldom enough that a peer which prints
/// nonsense cannot fill the log.
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
