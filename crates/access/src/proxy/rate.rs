//! How often something may be done.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Lets something be done a few times at once, and then once per interval.
#[derive(Debug)]
pub(super) struct RateLimit {
    burst: u32,
    interval: Duration,
    /// When it would be as if nothing had been done yet.
    idle_at: Mutex<Instant>,
}

impl RateLimit {
    pub(super) fn new(burst: u32, interval: Duration) -> Self {
        Self { burst, interval, idle_at: Mutex::new(Instant::now()) }
    }

    /// Counts one more, unless it is one too many.
    pub(super) fn allows(&self) -> bool {
        let now = Instant::now();
        let mut idle_at = self.idle_at.lock();
        let next = (*idle_at).max(now) + self.interval;
        let is_allowed = next.duration_since(now) <= self.interval * self.burst;
        if is_allowed {
            *idle_at = next;
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_allowed_and_then_one_per_interval() {
        let limit = RateLimit::new(3, Duration::from_secs(2));
        let allowed = |times: usize| (0..times).filter(|_| limit.allows()).count();
        assert_eq!(allowed(10), 3);
        advance(Duration::from_secs(2)).await;
        assert_eq!(allowed(10), 1);
        advance(Duration::from_secs(100)).await;
        assert_eq!(allowed(10), 3);
    }
}
