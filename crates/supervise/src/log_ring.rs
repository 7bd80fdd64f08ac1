//! The recent log of a server: stderr, noise on stdout, and events.

use std::{
    borrow::Cow,
    collections::VecDeque,
    fmt,
    sync::Arc,
    time::{Instant, SystemTime},
};

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::rate::Rate;

/// Where a line comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LogSource {
    Stderr,
    /// Something on stdout that is no message.
    StdoutNoise,
    /// Written by us: started, ended, restarted, lines left out.
    Event,
}

impl LogSource {
    /// Its name for people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stderr => "stderr",
            Self::StdoutNoise => "stdout",
            Self::Event => "event",
        }
    }
}

/// One line, without its line end. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Counts up without gaps as long as the ring exists.
    pub seq: u64,
    pub time: SystemTime,
    pub source: LogSource,
    pub text: Arc<str>,
}

/// A bounded log that many may write and read.
///
/// Invariant: at most [`MAX_BYTES`](Self::MAX_BYTES) of text in [`MAX_LINES`](Self::MAX_LINES) lines; the oldest go
/// first. Over [`MAX_RATE`](Self::MAX_RATE) only events are kept, and a line tells how much was left out.
pub struct LogRing {
    ring: Mutex<Ring>,
    /// Every line passes it on its way in, so that nothing else ever leaves.
    filter: LineFilter,
    /// The number of the next line, for those who follow.
    next: watch::Sender<u64>,
}

/// Makes of a line what may be kept and shown.
pub type LineFilter = Box<dyn Fn(&str) -> Cow<'_, str> + Send + Sync>;

struct Ring {
    lines: VecDeque<LogLine>,
    bytes: usize,
    rate: Rate,
}

impl LogRing {
    pub const MAX_BYTES: usize = 1 << 20;
    pub const MAX_LINES: usize = 2_000;
    /// Longer lines are cut.
    pub const MAX_LINE: usize = 8 << 10;
    /// Bytes per second.
    pub const MAX_RATE: usize = 1 << 20;

    /// Keeps lines as they are.
    pub fn new() -> Self {
        Self::with_filter(Box::new(|line| Cow::Borrowed(line)))
    }

    /// Keeps of each line what `filter` makes of it.
    pub fn with_filter(filter: LineFilter) -> Self {
        Self {
            filter,
            ring: Mutex::new(Ring {
                lines: VecDeque::new(),
                bytes: 0,
                rate: Rate::new(Self::MAX_RATE, Instant::now()),
            }),
            next: watch::Sender::new(0),
        }
    }

    /// Adds a line; one that exceeds the rate is only counted. Events always pass.
    pub fn push(&self, source: LogSource, text: &str) {
        let now = Instant::now();
        let text = (self.filter)(text);
        let mut ring = self.ring.lock();
        self.settle(&mut ring, now);
        if source == LogSource::Event || ring.rate.pass(text.len() + 1, now) {
            self.add(&mut ring, source, &text);
        }
    }

    /// The last `count` lines, oldest first.
    pub fn tail(&self, count: usize) -> Vec<LogLine> {
        let mut ring = self.ring.lock();
        self.settle(&mut ring, Instant::now());
        let skip = ring.lines.len().saturating_sub(count);
        ring.lines.range(skip..).cloned().collect()
    }

    /// Every line still here with this number or a higher one, oldest first.
    pub fn since(&self, seq: u64) -> Vec<LogLine> {
        let mut ring = self.ring.lock();
        self.settle(&mut ring, Instant::now());
        let start = ring.lines.partition_point(|line| line.seq < seq);
        ring.lines.range(start..).cloned().collect()
    }

    /// The newest line of that source that is not blank.
    pub fn last(&self, source: LogSource) -> Option<LogLine> {
        let ring = self.ring.lock();
        let mut newest = ring.lines.iter().rev();
        newest.find(|line| line.source == source && !line.text.trim().is_empty()).cloned()
    }

    /// Holds the number of the next line: when it changes, ask [`since`](Self::since) the one you saw before.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.next.subscribe()
    }

    /// Whether a piece this long may be added now; a refusal is counted. Saves splitting a flood into lines.
    pub(crate) fn admits(&self, bytes: usize) -> bool {
        let now = Instant::now();
        let mut ring = self.ring.lock();
        self.settle(&mut ring, now);
        ring.rate.pass(bytes, now)
    }

    /// Adds a line whose bytes [`admits`](Self::admits) has counted.
    pub(crate) fn push_admitted(&self, source: LogSource, text: &str) {
        let text = (self.filter)(text);
        self.add(&mut self.ring.lock(), source, &text);
    }

    /// Tells what was left out, without waiting for the second to end.
    pub(crate) fn settle_now(&self) {
        let mut ring = self.ring.lock();
        if let Some(bytes) = ring.rate.left_out_so_far() {
            self.add(&mut ring, LogSource::Event, &left_out(bytes));
        }
    }

    fn settle(&self, ring: &mut Ring, now: Instant) {
        if let Some(bytes) = ring.rate.left_out(now) {
            self.add(ring, LogSource::Event, &left_out(bytes));
        }
    }

    fn add(&self, ring: &mut Ring, source: LogSource, text: &str) {
        let text = cut(text);
        let seq = *self.next.borrow();
        ring.bytes += text.len();
        ring.lines.push_back(LogLine { seq, time: SystemTime::now(), source, text });
        while ring.lines.len() > Self::MAX_LINES || ring.bytes > Self::MAX_BYTES {
            let Some(oldest) = ring.lines.pop_front() else {
                break;
            };
            ring.bytes -= oldest.text.len();
        }
        self.next.send_replace(seq + 1);
    }
}

impl Default for LogRing {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for LogRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ring = self.ring.lock();
        f.debug_struct("LogRing")
            .field("lines", &ring.lines.len())
            .field("bytes", &ring.bytes)
            .finish_non_exhaustive()
    }
}

fn left_out(bytes: u64) -> String {
    format!("{bytes} bytes left out: more than 1 MiB of log per second")
}

fn cut(text: &str) -> Arc<str> {
    const MARK: &str = "…";
    if text.len() <= LogRing::MAX_LINE {
        return text.into();
    }
    let end = text.floor_char_boundary(LogRing::MAX_LINE - MARK.len());
    format!("{}{MARK}", &text[..end]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lines: &[LogLine]) -> Vec<&str> {
        lines.iter().map(|line| &*line.text).collect()
    }

    #[test]
    fn lines_are_numbered_and_found_again() {
        let ring = LogRing::new();
        let follower = ring.subscribe();
        for text in ["a", "b", " "] {
            ring.push(LogSource::Stderr, text);
        }
        ring.push(LogSource::StdoutNoise, "noise");
        assert_eq!(texts(&ring.tail(2)), [" ", "noise"]);
        assert_eq!(texts(&ring.since(1)), ["b", " ", "noise"]);
        assert_eq!(&*ring.last(LogSource::Stderr).unwrap().text, "b");
        assert_eq!(ring.last(LogSource::Event), None);
        assert!(follower.has_changed().unwrap());
        assert_eq!(*follower.borrow(), 4);
    }

    #[test]
    fn it_keeps_two_thousand_lines() {
        let ring = LogRing::new();
        for number in 0..2_500 {
            ring.push(LogSource::Event, &number.to_string());
        }
        let lines = ring.tail(usize::MAX);
        assert_eq!(lines.len(), LogRing::MAX_LINES);
        assert_eq!(&*lines[0].text, "500");
        assert_eq!(lines[0].seq, 500);
        assert_eq!(texts(&ring.since(0)), texts(&lines));
    }

    #[test]
    fn it_keeps_one_mebibyte() {
        let ring = LogRing::new();
        let line = "x".repeat(8_000);
        for _ in 0..1_000 {
            ring.push(LogSource::Event, &line);
        }
        let bytes: usize = ring.tail(usize::MAX).iter().map(|line| line.text.len()).sum();
        assert!(bytes <= LogRing::MAX_BYTES && bytes > LogRing::MAX_BYTES - 8_000, "{bytes}");
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let ring = LogRing::new();
        ring.push(LogSource::Stderr, &"ä".repeat(10_000));
        let line = &ring.tail(1)[0];
        assert!(line.text.len() <= LogRing::MAX_LINE);
        assert!(line.text.ends_with("ä…"));
    }

    #[test]
    fn beyond_the_rate_lines_are_counted_and_events_still_pass() {
        let ring = LogRing::new();
        let line = "x".repeat(1023);
        for _ in 0..1_100 {
            ring.push(LogSource::StdoutNoise, &line);
        }
        ring.push(LogSource::Event, "ended");
        ring.settle_now();
        let last = ring.tail(2);
        assert_eq!(&*last[0].text, "ended");
        assert!(last[1].text.starts_with("77824 bytes left out"), "{}", last[1].text);
    }
}
