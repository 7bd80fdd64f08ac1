//! A budget of bytes per second.

use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(1);

/// Lets `limit` bytes pass in each second and counts the rest.
#[derive(Debug)]
pub(crate) struct Rate {
    limit: usize,
    window: Instant,
    used: usize,
    left_out: u64,
}

impl Rate {
    pub(crate) fn new(limit: usize, now: Instant) -> Self {
        Self { limit, window: now, used: 0, left_out: 0 }
    }

    /// Whether `bytes` may pass. A refusal is counted.
    pub(crate) fn pass(&mut self, bytes: usize, now: Instant) -> bool {
        if now.saturating_duration_since(self.window) >= WINDOW {
            self.window = now;
            self.used = 0;
        }
        // One piece may overshoot, so that a piece larger than the budget is not refused for ever.
        if self.used >= self.limit {
            self.left_out += bytes as u64;
            return false;
        }
        self.used += bytes;
        true
    }

    /// Returns the bytes refused since the last call, once their second is over.
    pub(crate) fn left_out(&mut self, now: Instant) -> Option<u64> {
        let over = now.saturating_duration_since(self.window) >= WINDOW;
        (over && self.left_out > 0).then(|| std::mem::take(&mut self.left_out))
    }

    /// Returns the bytes refused since the last call, at once.
    pub(crate) fn left_out_so_far(&mut self) -> Option<u64> {
        (self.left_out > 0).then(|| std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_its_budget_and_the_rest_is_counted() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut rate = Rate::new(100, start);
        assert!(rate.pass(60, at(0)));
        assert!(rate.pass(60, at(10)));
        assert!(!rate.pass(5, at(20)));
        assert!(!rate.pass(7, at(999)));
        assert_eq!(rate.left_out(at(999)), None);
        assert_eq!(rate.left_out(at(1000)), Some(12));
        assert!(rate.pass(60, at(1000)));
        assert_eq!(rate.left_out(at(5000)), None);
    }
}
