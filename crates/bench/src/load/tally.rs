//! Counting: what was answered within the measured window, how fast, and whether anything stood still.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use serde::Serialize;
use tokio::time::{self, Instant};

/// Without a single answer for this long, the target has stalled.
const STALL: Duration = Duration::from_secs(10);

const AFTER_STOP: Duration = Duration::from_millis(50);

/// The line that `toolbay-load` prints.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Good answers within the measured window.
    pub calls: usize,
    pub calls_per_s: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub max_us: f64,
    /// Failed calls, those of the warm-up included.
    pub errors: usize,
    pub first_error: Option<String>,
    /// No answer for ten seconds while calls were in flight.
    pub stalled: bool,
}

/// Collects answers; one thread, so a `RefCell` is enough.
pub(super) struct Tally {
    from: Instant,
    until: Instant,
    counts: RefCell<Counts>,
}

struct Counts {
    nanos: Vec<u64>,
    errors: usize,
    first_error: Option<String>,
    last_answer: Instant,
    stalled: bool,
}

impl Tally {
    pub(super) fn new(warmup: Duration, window: Duration) -> Self {
        let now = Instant::now();
        let from = now + warmup;
        let counts = Counts {
            nanos: Vec::with_capacity(1 << 16),
            errors: 0,
            first_error: None,
            last_answer: now,
            stalled: false,
        };
        Self { from, until: from + window, counts: RefCell::new(counts) }
    }

    /// Whether new calls are still to be made.
    pub(super) fn goes_on(&self, now: Instant) -> bool {
        now < self.until
    }

    pub(super) fn good(&self, asked: Instant, answered: Instant) {
        let mut counts = self.counts.borrow_mut();
        counts.last_answer = answered;
        if answered >= self.from && answered < self.until {
            counts.nanos.push(u64::try_from((answered - asked).as_nanos()).unwrap_or(u64::MAX));
        }
    }

    pub(super) fn bad(&self, why: impl FnOnce() -> String) {
        let mut counts = self.counts.borrow_mut();
        counts.last_answer = Instant::now();
        counts.errors += 1;
        if counts.first_error.is_none() {
            counts.first_error = Some(why().chars().take(300).collect());
        }
    }

    /// Drives `calls` to their end, or until nothing was answered for [`STALL`].
    pub(super) async fn watch(&self, calls: impl Future<Output = ()>) {
        let stopped = Cell::new(false);
        let marks = async {
            time::sleep_until(self.from).await;
            eprintln!("start");
            time::sleep_until(self.until).await;
            eprintln!("stop");
            stopped.set(true);
            std::future::pending::<()>().await;
        };
        let stall = async {
            loop {
                let deadline = self.counts.borrow().last_answer + STALL;
                if Instant::now() >= deadline {
                    break;
                }
                time::sleep_until(deadline).await;
            }
            self.counts.borrow_mut().stalled = true;
        };
        tokio::select! {
            () = calls => {}
            () = marks => {}
            () = stall => {}
        }
        // The last answer may be faster than the timer.
        if !stopped.get() {
            eprintln!("stop");
        }
        // CPU clocks are read at this mark, so the target must be alive: many end with the session.
        time::sleep(AFTER_STOP).await;
    }

    pub(super) fn report(&self) -> Report {
        let mut counts = self.counts.borrow_mut();
        counts.nanos.sort_unstable();
        let nanos = &counts.nanos;
        let at = |share: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "an index"
            )]
            let index = ((nanos.len() as f64 * share) as usize).min(nanos.len().saturating_sub(1));
            nanos.get(index).map_or(0.0, |nanos| Duration::from_nanos(*nanos).as_secs_f64() * 1e6)
        };
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52 calls")]
        let calls_per_s = nanos.len() as f64 / (self.until - self.from).as_secs_f64();
        Report {
            calls: nanos.len(),
            calls_per_s,
            p50_us: at(0.5),
            p99_us: at(0.99),
            max_us: at(1.0),
            errors: counts.errors,
            first_error: counts.first_error.clone(),
            stalled: counts.stalled,
        }
    }
}
