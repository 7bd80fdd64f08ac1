//! When to start a server again. Pure: time comes in as an argument, so a test is a timeline.

use std::{
    collections::VecDeque,
    fmt,
    hash::{BuildHasher, Hasher, RandomState},
    time::{Duration, Instant},
};

/// After the first failure at once, then ever more slowly.
const DELAYS: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(30),
];
/// A server that does not come up is tried again this soon, before its failure counts: it may only wait for another
/// program, or for a package that is being written to disk.
const START_DELAYS: [Duration; 4] = [
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
];
/// Spread of a delay either way, so that servers that died together do not return together.
const JITTER: f64 = 0.2;
/// This many failures within `WINDOW` open the breaker.
const BREAKER: usize = 5;
const WINDOW: Duration = Duration::from_secs(60);
/// So long in good health, and the next failure counts as the first.
const HEALTHY: Duration = Duration::from_secs(60);

/// What to do after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartDecision {
    /// The same start goes on: another attempt.
    Retry {
        after: Duration,
    },
    Restart {
        after: Duration,
    },
    /// It fails again and again: wait for the user or a change of configuration, then [`RestartPolicy::reset`].
    GiveUp,
}

/// Whether and when a server is started again. The breaker holds for the first two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestartMode {
    /// At once, then 1, 2, 5, 10, 30 s ± 20 %.
    #[default]
    Backoff,
    Fixed {
        delay: Duration,
    },
    /// A server that fails stays down until it is started.
    Never,
}

/// Counts the failures of one server.
///
/// A failure is any end that was not requested: a crash, an exit, a handshake that never came.
pub struct RestartPolicy {
    mode: RestartMode,
    /// Invariant: sorted, at most `BREAKER` long, none older than `WINDOW`.
    recent: VecDeque<Instant>,
    /// Failures since it was last well for `HEALTHY`.
    streak: usize,
    /// Attempts of the current start that failed and did not count.
    retries: usize,
    healthy_since: Option<Instant>,
    jitter: Box<dyn FnMut() -> f64 + Send + Sync>,
}

impl RestartPolicy {
    pub fn new(mode: RestartMode) -> Self {
        Self {
            mode,
            recent: VecDeque::new(),
            streak: 0,
            retries: 0,
            healthy_since: None,
            jitter: Box::new(random_spread),
        }
    }

    /// Takes the spread from `jitter`, a number from -1 to 1, instead of at random.
    #[must_use]
    pub fn with_jitter(mut self, jitter: impl FnMut() -> f64 + Send + Sync + 'static) -> Self {
        self.jitter = Box::new(jitter);
        self
    }

    /// It ended after it had been ready.
    pub fn on_exit(&mut self, now: Instant) -> RestartDecision {
        if let Some(since) = self.healthy_since.take()
            && now.saturating_duration_since(since) >= HEALTHY
        {
            self.reset();
        }
        self.count(now, 0)
    }

    /// It never became ready. The first start after a clean record has five attempts, which count as one failure, as long as
    /// there `is_time` for them.
    pub fn on_start_failed(&mut self, now: Instant, is_time: bool) -> RestartDecision {
        if is_time
            && self.streak == 0
            && self.mode != RestartMode::Never
            && let Some(&after) = START_DELAYS.get(self.retries)
        {
            self.retries += 1;
            return RestartDecision::Retry { after };
        }
        self.healthy_since = None;
        // Waiting calls fail between two starts, so there is always some time.
        self.count(now, 1)
    }

    /// Counts a failure; the delay is at least that of the `earliest`.
    fn count(&mut self, now: Instant, earliest: usize) -> RestartDecision {
        while (self.recent.front()).is_some_and(|&at| now.saturating_duration_since(at) >= WINDOW) {
            self.recent.pop_front();
        }
        self.recent.push_back(now);
        self.streak += 1;
        if self.recent.len() >= BREAKER {
            self.recent.pop_front();
            return RestartDecision::GiveUp;
        }
        match self.delay(earliest) {
            Some(after) => RestartDecision::Restart { after },
            None => RestartDecision::GiveUp,
        }
    }

    /// It is ready, or still is: the first call since the last exit counts.
    pub fn on_healthy(&mut self, now: Instant) {
        self.healthy_since.get_or_insert(now);
        self.retries = 0;
    }

    /// Forgets all failures: the user, or a new configuration, asks for another try.
    pub fn reset(&mut self) {
        self.recent.clear();
        self.streak = 0;
        self.retries = 0;
        self.healthy_since = None;
    }

    /// Failures since it was last well.
    pub fn failures(&self) -> usize {
        self.streak
    }

    /// Attempts to start it since it was last well that did not end well.
    pub fn attempts(&self) -> usize {
        self.streak + self.retries
    }

    /// Returns how long to wait before the next start; nothing when there is none.
    fn delay(&mut self, earliest: usize) -> Option<Duration> {
        match self.mode {
            RestartMode::Never => None,
            RestartMode::Fixed { delay } => Some(delay),
            RestartMode::Backoff => {
                let delay = DELAYS[(self.streak - 1).max(earliest).min(DELAYS.len() - 1)];
                Some(delay.mul_f64(1.0 + JITTER * (self.jitter)().clamp(-1.0, 1.0)))
            }
        }
    }
}

impl Default for RestartPolicy {
    fn default() -> Self {
        Self::new(RestartMode::default())
    }
}

impl fmt::Debug for RestartPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestartPolicy")
            .field("mode", &self.mode)
            .field("recent", &self.recent.len())
            .field("streak", &self.streak)
            .finish_non_exhaustive()
    }
}

/// From -1 to 1; quality does not matter here, so the standard library's random seed is enough.
fn random_spread() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    (bits as f64) / ((1_u64 << 52) as f64) - 1.0
}

#[cfg(test)]
mod tests;
