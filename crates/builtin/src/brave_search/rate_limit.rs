//! The rate limit of the service, learned from its responses.
//!
//! Responses have lists, one item per window of time: `X-RateLimit-Policy: 1;w=1, 15000;w=2592000`, and `-Remaining` and
//! `-Reset` likewise. Short windows are waited for, in the order of the calls. A long one that is used up is an error at once.
//! Until the first response, requests are sent one after the other: a plan may allow a single one per second.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use http::HeaderMap;
use parking_lot::Mutex;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, sleep, timeout_at},
};

/// The most calls that wait at once.
const MAX_WAITING: usize = 64;
/// Windows up to this length are waited for.
const SHORT: Duration = Duration::from_secs(60);
/// Requests may come closer together on their way.
const MARGIN: Duration = Duration::from_millis(50);

/// A number of requests that the service allows in a window of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaWindow {
    /// How many requests are allowed.
    pub limit: u64,
    /// How many of them are left, as of the last response.
    pub remaining: u64,
    /// The length of the window.
    pub length: Duration,
    /// When it begins anew.
    pub resets_in: Duration,
}

#[derive(Debug)]
pub(super) struct RateLimit {
    state: Mutex<State>,
    /// Calls take turns in the order in which they came.
    turn: Semaphore,
    waiting: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    /// Whether a response came, or none that says anything about limits.
    is_learned: bool,
    windows: Vec<LimitWindow>,
    /// When the last requests were sent.
    sent: VecDeque<Instant>,
    /// The service said to wait until then.
    blocked_until: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct LimitWindow {
    limit: u64,
    remaining: u64,
    length: Duration,
    resets: Instant,
}

/// The permission to send a request. While nothing is known about limits, it keeps others from sending theirs.
#[derive(Debug)]
pub(super) struct Turn<'a>(#[expect(dead_code, reason = "held until dropped")] Option<SemaphorePermit<'a>>);

/// Why a call does not wait.
#[derive(Debug, thiserror::Error)]
pub(super) enum LimitError {
    #[error("{MAX_WAITING} searches are waiting for the rate limit already; try again later")]
    TooMany,
    #[error("the rate limit of Brave Search allows no request within {} s; try again later", after.as_secs())]
    TooLong { after: Duration },
    #[error(
        "the quota of {limit} requests per {} is used up; it resets in {}", duration(*length), duration(*resets_in)
    )]
    UsedUp { limit: u64, length: Duration, resets_in: Duration },
}

impl RateLimit {
    pub(super) fn new() -> Self {
        Self { state: Mutex::default(), turn: Semaphore::new(1), waiting: AtomicUsize::new(0) }
    }

    /// Waits until a request may be sent, but not longer than until `deadline`.
    pub(super) async fn turn(&self, deadline: Instant) -> Result<Turn<'_>, LimitError> {
        let begun = Instant::now();
        let too_long = || LimitError::TooLong { after: deadline.saturating_duration_since(begun) };
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= MAX_WAITING {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(LimitError::TooMany);
        }
        let _waiting = Waiting(&self.waiting);
        let Ok(Ok(permit)) = timeout_at(deadline, self.turn.acquire()).await else { return Err(too_long()) };
        loop {
            let delay = self.state.lock().delay(Instant::now())?;
            if delay.is_zero() {
                break;
            }
            if Instant::now() + delay > deadline {
                return Err(too_long());
            }
            sleep(delay).await;
        }
        let mut state = self.state.lock();
        state.sent.push_back(Instant::now());
        let kept =
            state.windows.iter().filter(|window| window.length <= SHORT).map(|window| window.limit).max();
        while state.sent.len() as u64 > kept.unwrap_or(1).max(1) {
            state.sent.pop_front();
        }
        Ok(Turn((!state.is_learned).then_some(permit)))
    }

    /// Learns from a response.
    pub(super) fn learn(&self, headers: &HeaderMap) {
        let now = Instant::now();
        let list = |name: &str| -> Vec<String> {
            let values = headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
            values.split(',').map(|value| value.trim().to_owned()).collect()
        };
        let (remaining, resets) = (list("x-ratelimit-remaining"), list("x-ratelimit-reset"));
        let number = |list: &[String], at: usize| list.get(at).and_then(|value| value.parse::<u64>().ok());
        let windows = list("x-ratelimit-policy").into_iter().enumerate().filter_map(|(at, policy)| {
            let (limit, length) = policy.split_once(";w=")?;
            let (limit, length) = (limit.trim().parse().ok()?, length.trim().parse().ok()?);
            let length = Duration::from_secs(length);
            let resets = number(&resets, at).map_or(length, Duration::from_secs).min(length);
            let remaining = number(&remaining, at).unwrap_or(limit);
            // A limit of zero stands for none.
            (limit > 0).then(|| LimitWindow { limit, remaining, length, resets: now + resets })
        });
        let windows: Vec<LimitWindow> = windows.take(8).collect();
        let mut state = self.state.lock();
        state.is_learned = true;
        if !windows.is_empty() {
            state.windows = windows;
        }
    }

    /// A request failed before anything could be learned: the next ones need not wait for each other.
    pub(super) fn learn_nothing(&self) {
        self.state.lock().is_learned = true;
    }

    /// Lets nothing be sent for some time, as the service said.
    pub(super) fn block(&self, delay: Duration) {
        let until = Instant::now() + delay;
        let mut state = self.state.lock();
        state.blocked_until = state.blocked_until.max(Some(until));
    }

    /// Returns what is left of each window, and how many calls wait.
    pub(super) fn status(&self) -> (Vec<QuotaWindow>, usize) {
        let now = Instant::now();
        let windows = self
            .state
            .lock()
            .windows
            .iter()
            .map(|window| QuotaWindow {
                limit: window.limit,
                remaining: if now < window.resets { window.remaining } else { window.limit },
                length: window.length,
                resets_in: window.resets.saturating_duration_since(now),
            })
            .collect();
        (windows, self.waiting.load(Ordering::Relaxed))
    }
}

struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl State {
    /// How long to wait before the next request.
    fn delay(&self, now: Instant) -> Result<Duration, LimitError> {
        let mut allowed = self.blocked_until.unwrap_or(now);
        for window in &self.windows {
            if window.length > SHORT {
                if window.remaining == 0 && now < window.resets {
                    let resets_in = window.resets - now;
                    return Err(LimitError::UsedUp { limit: window.limit, length: window.length, resets_in });
                }
                continue;
            }
            // No more than the limit in any span of that length, wherever the service lets its windows begin.
            let limit = usize::try_from(window.limit).unwrap_or(usize::MAX);
            if let Some(first) = self.sent.len().checked_sub(limit).and_then(|at| self.sent.get(at)) {
                allowed = allowed.max(*first + window.length + MARGIN);
            }
        }
        Ok(allowed.saturating_duration_since(now))
    }
}

/// A time for people, in its largest unit.
pub(super) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (number, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => (seconds / 60, "minute"),
        7_200..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {unit}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(policy: &str, remaining: &str, reset: &str) -> HeaderMap {
        let fields = [("policy", policy), ("remaining", remaining), ("reset", reset)];
        fields
            .iter()
            .map(|(name, value)| (format!("x-ratelimit-{name}").parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    async fn now(limit: &RateLimit) -> Result<Turn<'_>, LimitError> {
        limit.turn(Instant::now() + Duration::from_secs(30)).await
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_requests_than_allowed_in_any_second() {
        let limit = RateLimit::new();
        drop(now(&limit).await.unwrap());
        limit.learn(&headers("2;w=1, 15000;w=2592000", "1, 14999", "1, 100000"));
        let begun = Instant::now();
        let mut sent = vec![begun];
        for _ in 0..6 {
            drop(now(&limit).await.unwrap());
            sent.push(Instant::now());
        }
        assert!(sent.windows(3).all(|three| three[2] - three[0] >= Duration::from_secs(1)), "{sent:?}");
        assert!(begun.elapsed() < Duration::from_millis(3_500), "{:?}", begun.elapsed());
        assert_eq!(limit.status().0[1].remaining, 14_999);
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_request_goes_alone() {
        let limit = RateLimit::new();
        let first = now(&limit).await.unwrap();
        let second = tokio::time::timeout(Duration::from_secs(5), now(&limit)).await;
        assert!(second.is_err());
        limit.learn_nothing();
        drop(first);
        let (_second, _third) = (now(&limit).await.unwrap(), now(&limit).await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_waited_for_is_refused_at_once() {
        let limit = RateLimit::new();
        limit.learn(&headers("1;w=1, 2000;w=2592000", "0, 0", "1, 1209600"));
        let refused = now(&limit).await.unwrap_err().to_string();
        assert_eq!(refused, "the quota of 2000 requests per 30 days is used up; it resets in 14 days");
        limit.learn(&headers("20;w=1, 0;w=2592000", "19, 0", "1, 100"));
        drop(now(&limit).await.unwrap());
        limit.block(Duration::from_secs(120));
        let refused = now(&limit).await.unwrap_err().to_string();
        assert!(refused.contains("allows no request within 30 s"), "{refused}");
    }
}
