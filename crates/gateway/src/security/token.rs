//! What clients on HTTP must show, if anything.

use std::time::Duration;

use http::{HeaderMap, header};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep},
};

use crate::listener::headers::{comma_separated, single};

/// A secret that every request must carry (`Authorization: Bearer …`). Only its hash is kept.
#[derive(Clone)]
pub struct Token([u8; 32]);

/// Why a text cannot be a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidToken {
    /// It has blanks, or other characters that a header cannot carry, or there is nothing.
    #[error("a token must consist of visible ASCII characters")]
    Unsendable,
    /// It could be guessed.
    #[error("a token must have at least {} characters", Token::MIN_LENGTH)]
    TooShort,
}

/// What a request shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PresentedToken {
    /// The token.
    Token,
    /// Something that is not the token.
    WrongToken,
    Nothing,
}

impl Token {
    /// Fewer characters could be guessed.
    pub const MIN_LENGTH: usize = 16;

    /// A token, if a header can carry the text and it is long enough.
    ///
    /// # Errors
    /// If not.
    pub fn new(text: &str) -> Result<Self, InvalidToken> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(InvalidToken::Unsendable);
        }
        if text.len() < Self::MIN_LENGTH {
            return Err(InvalidToken::TooShort);
        }
        Ok(Self(Sha256::digest(text).into()))
    }

    /// What a request shows: as a bearer token, or for a WebSocket, to which pages in a browser cannot give headers, as the
    /// subprotocol `bearer.<token>`.
    pub(crate) fn shown(&self, headers: &HeaderMap) -> PresentedToken {
        let is_right = match single(headers, &header::AUTHORIZATION) {
            Ok(Some(value)) => value.split_once(' ').is_some_and(|(scheme, given)| {
                scheme.eq_ignore_ascii_case("bearer") && self.is(given.trim())
            }),
            Ok(None) => {
                let mut given = comma_separated(headers, &header::SEC_WEBSOCKET_PROTOCOL)
                    .filter_map(|word| word.strip_prefix("bearer."))
                    .peekable();
                if given.peek().is_none() {
                    return PresentedToken::Nothing;
                }
                given.any(|given| self.is(given))
            }
            Err(_) => false,
        };
        if is_right { PresentedToken::Token } else { PresentedToken::WrongToken }
    }

    /// Takes the same time for every guess, right or wrong.
    fn is(&self, given: &str) -> bool {
        let given: [u8; 32] = Sha256::digest(given).into();
        let differing =
            self.0.iter().zip(given).fold(0, |differing, (ours, theirs)| differing | (ours ^ theirs));
        std::hint::black_box(differing) == 0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// So many are answered at once: a user may have several clients with an old token.
const FREE: u32 = 10;
/// How long it takes until one of them is forgotten.
const FORGET: Duration = Duration::from_secs(6);
/// How many responses are held back at a time.
const MAX_HELD_BACK: usize = 64;

/// How many wrong tokens were shown lately.
///
/// Guessing is slowed down: after a few wrong tokens the responses to further ones are held back, on that connection and
/// in all. The right token is never held back, whatever others do, so no client can be locked out; and what is
/// remembered is one number, however many guess.
#[derive(Debug)]
pub(crate) struct TokenFailures {
    delay: Duration,
    recent: Mutex<Recent>,
    held_back: Semaphore,
}

#[derive(Debug)]
struct Recent {
    count: u32,
    /// When the last of them was forgotten, or came.
    since: Instant,
}

/// Too many responses are held back already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooManyFailures;

impl TokenFailures {
    pub(crate) fn new(delay: Duration) -> Self {
        let recent = Mutex::new(Recent { count: 0, since: Instant::now() });
        Self { delay, recent, held_back: Semaphore::new(MAX_HELD_BACK) }
    }

    /// Counts a wrong token, and holds its response back if there were several of late.
    pub(crate) async fn hold_back(&self) -> Result<(), TooManyFailures> {
        if !self.count(Instant::now()) {
            return Ok(());
        }
        let _place = self.held_back.try_acquire().map_err(|_| TooManyFailures)?;
        sleep(self.delay).await;
        Ok(())
    }

    /// Whether there are too many of late, with this one.
    fn count(&self, now: Instant) -> bool {
        let mut recent = self.recent.lock();
        let forgotten = now.saturating_duration_since(recent.since).as_secs() / FORGET.as_secs();
        if forgotten > 0 {
            recent.count = recent.count.saturating_sub(u32::try_from(forgotten).unwrap_or(u32::MAX));
            recent.since = now;
        }
        if recent.count == FREE {
            return true;
        }
        recent.count += 1;
        if recent.count == FREE {
            tracing::warn!("clients sent wrong tokens; further responses are delayed");
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_guessed_or_cannot_be_sent_is_no_token() {
        assert_eq!(Token::new("0123456789abcde").unwrap_err(), InvalidToken::TooShort);
        assert!(Token::new("0123456789abcdef").is_ok());
        for text in ["", "0123456789 abcdef", "0123456789abcdéf", "0123456789abcdef\n"] {
            assert_eq!(Token::new(text).unwrap_err(), InvalidToken::Unsendable, "{text:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_are_free_and_so_are_later_ones() {
        let wrong = TokenFailures::new(Duration::from_secs(1));
        let took = async || {
            let began = Instant::now();
            assert_eq!(wrong.hold_back().await, Ok(()));
            began.elapsed()
        };
        for _ in 0..FREE {
            assert_eq!(took().await, Duration::ZERO);
        }
        assert_eq!(took().await, Duration::from_secs(1));
        sleep(FORGET).await;
        assert_eq!(took().await, Duration::ZERO);
        assert_eq!(took().await, Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_are_held_back_and_no_more() {
        let wrong = TokenFailures::new(Duration::from_secs(1));
        for _ in 0..FREE {
            wrong.hold_back().await.unwrap();
        }
        let all = futures_util::future::join_all((0..100).map(|_| wrong.hold_back())).await;
        assert_eq!(all.iter().filter(|one| one.is_ok()).count(), MAX_HELD_BACK);
    }
}
