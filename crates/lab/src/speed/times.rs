//! Times, as they are shown.

use std::time::Duration;

/// What many rounds took.
#[derive(Debug, Clone, Default)]
pub(super) struct Times(Vec<Duration>);

impl Times {
    pub(super) fn add(&mut self, time: Duration) {
        self.0.push(time);
        self.0.sort_unstable();
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn median(&self) -> Duration {
        self.at(50)
    }

    /// The time that so many of a hundred are below.
    pub(super) fn at(&self, share: usize) -> Duration {
        let at = (self.0.len() * share / 100).min(self.0.len().saturating_sub(1));
        self.0.get(at).copied().unwrap_or_default()
    }

    /// Median and worst of a hundred.
    pub(super) fn both(&self) -> String {
        format!("{} / {}", shown(self.median()), shown(self.at(99)))
    }
}

pub(super) fn shown(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    match ms {
        ..0.1 => format!("{ms:.2} ms"),
        ..10.0 => format!("{ms:.1} ms"),
        ..10_000.0 => format!("{ms:.0} ms"),
        _ => format!("{:.0} s", ms / 1e3),
    }
}
