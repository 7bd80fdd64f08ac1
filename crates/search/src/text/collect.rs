//! What is kept of one file.

use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use super::{Hit, Line, Query};
use crate::tree::RelPath;

/// Counts the matching lines of one file and keeps the first ones.
pub(super) struct Collect<'a> {
    matcher: &'a RegexMatcher,
    query: &'a Query,
    lines: Vec<Kept>,
    /// Hits to keep.
    wanted: usize,
    /// Matching lines among `lines`.
    kept: usize,
    pub(super) count: u64,
    /// The file turned out to be binary, and was searched because the caller named it: ripgrep shows no more lines of it.
    ends_at_next: bool,
}

struct Kept {
    number: u64,
    bytes: Vec<u8>,
    matching: bool,
}

impl<'a> Collect<'a> {
    pub(super) fn new(matcher: &'a RegexMatcher, query: &'a Query, wanted: usize) -> Self {
        Self { matcher, query, lines: Vec::new(), wanted, kept: 0, count: 0, ends_at_next: false }
    }

    /// The hits, each with the lines around it.
    pub(super) fn hits(self, path: &RelPath) -> Vec<Hit> {
        let context = u64::from(self.query.context);
        let limit = self.query.line_limit;
        let mut hits = Vec::with_capacity(self.kept.min(self.wanted));
        for (at, line) in self.lines.iter().enumerate().filter(|(_, line)| line.matching) {
            if hits.len() == self.wanted {
                break;
            }
            let mut before: Vec<Line> = self.lines[..at]
                .iter()
                .rev()
                .take_while(|it| it.number + context >= line.number)
                .map(|it| it.show(0, limit))
                .collect();
            before.reverse();
            let after = self.lines[at + 1..]
                .iter()
                .take_while(|it| it.number <= line.number + context)
                .map(|it| it.show(0, limit))
                .collect();
            hits.push(line.hit(self.matcher, path, limit, before, after));
        }
        hits
    }

    /// A little more than wanted, for the lines after the last hit.
    fn keeps(&self) -> bool {
        self.kept < self.wanted || (self.wanted > 0 && self.kept <= self.wanted + self.query.context as usize)
    }

    fn keep(&mut self, number: Option<u64>, bytes: &[u8], matching: bool) {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        self.kept += usize::from(matching);
        self.lines.push(Kept { number: number.unwrap_or(0), bytes: bytes.to_vec(), matching });
    }
}

impl Sink for Collect<'_> {
    type Error = io::Error;

    fn binary_data(&mut self, searcher: &Searcher, _: u64) -> io::Result<bool> {
        self.ends_at_next = searcher.binary_detection().convert_byte().is_some();
        Ok(true)
    }

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.ends_at_next {
            return Ok(false);
        }
        self.count += 1;
        if self.keeps() {
            self.keep(found.line_number(), found.bytes(), true);
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        if self.keeps() {
            self.keep(found.line_number(), found.bytes(), false);
        }
        Ok(true)
    }
}

impl Kept {
    fn hit(
        &self,
        matcher: &RegexMatcher,
        path: &RelPath,
        limit: usize,
        before: Vec<Line>,
        after: Vec<Line>,
    ) -> Hit {
        let mut ranges = Vec::new();
        // The matcher cannot fail; this is the trait for those that can.
        let _ = matcher.find_iter(&self.bytes, |found| {
            ranges.push(found.start()..found.end());
            ranges.len() < 100
        });
        let first = ranges.first().map_or(0, |range| range.start);
        let window = self.window(first, limit);
        let shown = |place: usize| {
            let place = place.clamp(window.start, window.end);
            String::from_utf8_lossy(&self.bytes[window.start..place]).len()
        };
        let matches = ranges
            .iter()
            .filter(|range| range.start <= window.end && range.end >= window.start)
            .map(|range| shown(range.start)..shown(range.end))
            .collect();
        Hit { path: path.clone(), line: self.show(first, limit), matches, before, after }
    }

    fn show(&self, around: usize, limit: usize) -> Line {
        let window = self.window(around, limit);
        Line {
            number: self.number,
            cut: window.len() < self.bytes.len(),
            text: String::from_utf8_lossy(&self.bytes[window]).into_owned(),
        }
    }

    /// The part of the line to show: all of it, or `limit` bytes that begin a little before `around`.
    fn window(&self, around: usize, limit: usize) -> std::ops::Range<usize> {
        if self.bytes.len() <= limit {
            return 0..self.bytes.len();
        }
        let start = around.saturating_sub(limit / 4).min(self.bytes.len() - limit);
        self.boundary(start)..self.boundary(start + limit)
    }

    /// Moves back to where a character begins.
    fn boundary(&self, place: usize) -> usize {
        let continues = |at: &usize| self.bytes.get(*at).is_some_and(|byte| byte & 0xC0 == 0x80);
        (place.saturating_sub(3)..=place).rev().find(|at| !continues(at)).unwrap_or(place)
    }
}
