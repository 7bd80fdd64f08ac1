//! How far an index is, on one line.

use std::{
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use toolbay_search::codebase::{IndexProgress, Phase};

use crate::term::output::{Output, to_stderr};

/// How often the line is drawn.
const PAUSE: Duration = Duration::from_millis(100);

const WIDTH: usize = 30;

/// A bar on a terminal; nothing elsewhere.
pub(super) struct Bar {
    drawn: Option<Mutex<Instant>>,
}

impl Bar {
    pub(super) fn new(out: &Output) -> Self {
        Self { drawn: is_shown(out).then(|| Mutex::new(Instant::now())) }
    }

    /// Draws the bar, if it is time to.
    pub(super) fn show(&self, at: IndexProgress) {
        let Some(mut drawn) = self.drawn.as_ref().and_then(Mutex::try_lock) else { return };
        if drawn.elapsed() >= PAUSE {
            *drawn = Instant::now();
            to_stderr(&format!("\r\x1b[2K{}", line(at)));
        }
    }

    /// Leaves nothing of it.
    pub(super) fn end(out: &Output) {
        if is_shown(out) {
            to_stderr("\r\x1b[2K");
        }
    }
}

fn is_shown(out: &Output) -> bool {
    io::stderr().is_terminal() && !out.is_quiet() && !out.json
}

fn line(at: IndexProgress) -> String {
    let what = match at.phase {
        Phase::Text => "text",
        Phase::Meaning => "meaning",
    };
    let filled = (WIDTH * at.done.min(at.of)).checked_div(at.of).unwrap_or(WIDTH);
    let megabytes = at.bytes as f64 / (1024.0 * 1024.0);
    format!(
        "{what:<8} {}{} {} of {} files, {megabytes:.0} MB",
        "█".repeat(filled),
        "░".repeat(WIDTH - filled),
        at.done,
        at.of
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills() {
        let at = |done, of| line(IndexProgress { phase: Phase::Text, done, of, bytes: 3 << 20 });
        assert!(at(0, 10).starts_with("text     ░░░") && at(0, 10).ends_with("0 of 10 files, 3 MB"));
        assert_eq!(at(5, 10).matches('█').count(), WIDTH / 2);
        for (done, of) in [(10, 10), (11, 10), (0, 0)] {
            assert_eq!(at(done, of).matches('█').count(), WIDTH, "{done} {of}");
        }
    }
}
