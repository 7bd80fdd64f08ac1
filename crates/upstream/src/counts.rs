//! What happened so far, counted where it happens.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use serde::Serialize;

/// What happened so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Calls sent to the server.
    pub calls: u64,
    /// Lines on its stdout that were no messages.
    pub noise: u64,
    /// Answers to calls that nobody waits for.
    pub stray_answers: u64,
    /// Calls at the server now.
    pub in_flight: usize,
    /// Calls that wait for it now.
    pub waiting: usize,
}

/// Counters that anyone may read while the server's task counts. They order nothing, so they cost next to nothing.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    pub(crate) calls: AtomicU64,
    pub(crate) noise: AtomicU64,
    pub(crate) stray_answers: AtomicU64,
    pub(crate) in_flight: AtomicUsize,
    pub(crate) waiting: AtomicUsize,
}

impl Gauges {
    pub(crate) fn read(&self) -> Counts {
        Counts {
            calls: self.calls.load(Relaxed),
            noise: self.noise.load(Relaxed),
            stray_answers: self.stray_answers.load(Relaxed),
            in_flight: self.in_flight.load(Relaxed),
            waiting: self.waiting.load(Relaxed),
        }
    }

    /// Adds one and says which it is, counted from 1.
    pub(crate) fn next(counter: &AtomicU64) -> u64 {
        counter.fetch_add(1, Relaxed) + 1
    }
}
