//! Slows down those who guess tokens.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep},
};

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
