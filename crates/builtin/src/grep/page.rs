//! The lines that are shown: written as ripgrep writes them, long ones cut around their match.

use std::{collections::VecDeque, io, ops::Range};

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

use super::{
    files::{GrepError, Search, Watched},
    query::{FileOrigin, GrepQuery},
    survey::{Survey, search_as_ripgrep},
};

/// Which part of the matches is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageLimits {
    /// Matches that are left out at the beginning.
    pub(super) offset: usize,
    /// The most matches.
    pub(super) matches: usize,
    /// The most bytes. The line that goes beyond is still shown.
    pub(super) bytes: usize,
    /// The most bytes of a line.
    pub(super) line: usize,
}

/// How lines are shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Format {
    pub(super) paths: bool,
    pub(super) line_numbers: bool,
    pub(super) colors: bool,
}

/// The lines of a page.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) text: String,
    /// How many matches are shown.
    pub(super) shown: usize,
}

impl Search<'_> {
    /// Searches the files of the page again, for their lines.
    pub(super) fn page(
        &self,
        query: &GrepQuery,
        survey: &Survey,
        limits: PageLimits,
        format: Format,
    ) -> Result<Page, GrepError> {
        let matcher = query.matcher()?;
        let mut page = Page::default();
        let mut skipped = limits.offset;
        for (file, count) in &survey.first {
            let count = usize::try_from(*count).unwrap_or(usize::MAX);
            if skipped >= count {
                skipped -= count;
                continue;
            }
            if page.shown >= limits.matches || page.text.len() >= limits.bytes {
                break;
            }
            let path =
                if format.paths { self.shown(file).to_string_lossy().into_owned() } else { String::new() };
            let mut writer = Writer {
                matcher: &matcher,
                query,
                limits,
                format,
                path: format.paths.then_some(path.as_str()),
                page: &mut page,
                skipped,
                held: VecDeque::new(),
                after: 0,
                last: None,
                left: count - skipped,
                is_shown: false,
                is_binary: false,
            };
            skipped = 0;
            let origin = if self.is_one_file() { FileOrigin::Named } else { FileOrigin::Walked };
            // One that vanished since the survey has no lines. An error in the middle leaves what came before, as with ripgrep.
            if let Ok(file) = self.open(file) {
                let file = Watched { file, search: self };
                let _ = search_as_ripgrep(&mut query.searcher(origin), &matcher, file, origin, &mut writer);
            }
        }
        if self.context.is_cancelled() {
            return Err(GrepError::Canceled);
        }
        Ok(page)
    }
}

/// Writes the lines of one file.
struct Writer<'a> {
    matcher: &'a RegexMatcher,
    query: &'a GrepQuery,
    limits: PageLimits,
    format: Format,
    path: Option<&'a str>,
    page: &'a mut Page,
    /// Matches still to leave out.
    skipped: usize,
    /// Lines that are context if a match follows.
    held: VecDeque<(u64, Vec<u8>)>,
    /// Lines of context still to write.
    after: usize,
    /// The line that was written last.
    last: Option<u64>,
    /// Matches of this file, as counted, that are not shown yet.
    left: usize,
    is_shown: bool,
    /// Whether there was a NUL byte.
    is_binary: bool,
}

impl Writer<'_> {
    fn is_full(&self) -> bool {
        self.page.shown >= self.limits.matches || self.page.text.len() >= self.limits.bytes
    }

    fn hold(&mut self, number: u64, line: &[u8]) {
        if self.query.before == 0 {
            return;
        }
        if self.held.len() == self.query.before {
            self.held.pop_front();
        }
        // What is not shown of a long line need not be kept.
        let kept = line.len().min(self.limits.line + 8);
        self.held.push_back((number, line[..kept].to_vec()));
    }

    fn write(&mut self, number: u64, line: &[u8], is_match: bool) {
        let has_context = self.query.before + self.query.after > 0;
        let follows = self.last.is_some_and(|last| last + 1 == number);
        if has_context && !follows && !self.page.text.is_empty() {
            self.page.text.push_str("--\n");
        }
        self.last = Some(number);
        let separator = if is_match { ':' } else { '-' };
        let colors = self.format.colors;
        if let Some(path) = self.path {
            push_colored(&mut self.page.text, path, colors, PATH);
            self.page.text.push(separator);
        }
        if self.format.line_numbers {
            push_colored(&mut self.page.text, &number.to_string(), colors, LINE_NUMBER);
            self.page.text.push(separator);
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let matches = if is_match && !self.query.invert { self.matches(line) } else { Vec::new() };
        if line.len() > self.limits.line {
            self.page.text.push_str(&excerpt(line, &matches, self.limits.line));
        } else if colors {
            let mut end = 0;
            for range in matches {
                self.page.text.push_str(&String::from_utf8_lossy(&line[end..range.start]));
                let text = String::from_utf8_lossy(&line[range.clone()]);
                push_colored(&mut self.page.text, &text, true, MATCH);
                end = range.end;
            }
            self.page.text.push_str(&String::from_utf8_lossy(&line[end..]));
        } else {
            self.page.text.push_str(&String::from_utf8_lossy(line));
        }
        self.page.text.push('\n');
    }

    /// Where in a line the matches are, if that is shown.
    fn matches(&self, line: &[u8]) -> Vec<Range<usize>> {
        let mut matches = Vec::new();
        if self.format.colors || line.len() > self.limits.line {
            let _ = self.matcher.find_iter(line, |found| {
                matches.push(found.start()..found.end());
                matches.len() < 1_000
            });
            matches.retain(|range| !range.is_empty());
        }
        matches
    }
}

impl Sink for Writer<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, matched: &SinkMatch<'_>) -> io::Result<bool> {
        let first = matched.line_number().unwrap_or_default();
        if self.skipped > 0 {
            self.skipped -= 1;
            for (number, line) in (first..).zip(matched.lines()) {
                self.hold(number, line);
            }
            return Ok(true);
        }
        if self.is_full() {
            return Ok(false);
        }
        if self.is_binary && searcher.binary_detection().convert_byte().is_some() {
            // ripgrep says that there are matches, and shows no more of them.
            self.is_shown = true;
            self.page.shown += self.left;
            return Ok(false);
        }
        for (number, line) in std::mem::take(&mut self.held) {
            self.write(number, &line, false);
        }
        for (number, line) in (first..).zip(matched.lines()) {
            self.write(number, line, true);
        }
        self.page.shown += 1;
        self.left = self.left.saturating_sub(1);
        self.is_shown = true;
        self.after = self.query.after;
        Ok(!self.is_full() || self.after > 0)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let number = context.line_number().unwrap_or_default();
        if self.after == 0 {
            self.hold(number, context.bytes());
            return Ok(true);
        }
        self.after -= 1;
        self.write(number, context.bytes(), false);
        Ok(!self.is_full() || self.after > 0)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.held.clear();
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(true)
    }

    fn finish(&mut self, searcher: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        let Some(offset) = finish.binary_byte_offset().filter(|_| self.is_shown) else { return Ok(()) };
        if let Some(path) = self.path {
            push_path(&mut self.page.text, path, self.format.colors);
            self.page.text.push_str(": ");
        }
        let what = match searcher.binary_detection().convert_byte() {
            Some(_) => "binary file matches",
            None => "WARNING: stopped searching binary file after match",
        };
        self.page.text.push_str(&format!("{what} (found \"\\0\" byte around offset {offset})\n"));
        Ok(())
    }
}

/// ripgrep's colors.
const PATH: &str = "\x1b[35m";
const LINE_NUMBER: &str = "\x1b[32m";
const MATCH: &str = "\x1b[1m\x1b[31m";

/// Adds a text, in a color if there are colors.
pub(super) fn push_colored(out: &mut String, text: &str, has_colors: bool, color: &str) {
    if has_colors {
        out.push_str("\x1b[0m");
        out.push_str(color);
    }
    out.push_str(text);
    if has_colors {
        out.push_str("\x1b[0m");
    }
}

/// Adds a path, in its color if there are colors.
pub(super) fn push_path(out: &mut String, path: &str, has_colors: bool) {
    push_colored(out, path, has_colors, PATH);
}

/// The part of a long line around its first match, and what is left out.
fn excerpt(line: &[u8], matches: &[Range<usize>], limit: usize) -> String {
    let center = matches.first().map_or(0..0, Range::clone);
    let margin = limit.saturating_sub(center.len()) / 2;
    let start = center.start.saturating_sub(margin).min(line.len().saturating_sub(limit));
    let start = (start..line.len()).find(|at| is_boundary(line, *at)).unwrap_or(start);
    let end = (start + limit).min(line.len());
    let end = (start..=end).rev().find(|at| is_boundary(line, *at)).unwrap_or(end);
    let (before, after) = (if start > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    let text = String::from_utf8_lossy(&line[start..end]);
    let outside = matches.iter().filter(|range| range.end <= start || range.start >= end).count();
    let more = match outside {
        0 => String::new(),
        outside => format!(", {outside} more matches"),
    };
    format!("{before}{text}{after} [line of {} bytes{more}]", line.len())
}

/// Whether a character may begin here.
fn is_boundary(line: &[u8], at: usize) -> bool {
    line.get(at).is_none_or(|byte| byte & 0xC0 != 0x80)
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::excerpt;

    #[test]
    fn long_lines_are_cut_around_their_match() {
        let line = format!("{}needle{}", "a".repeat(100), "b".repeat(100));
        let cut =
            |line: &str, first: Range<usize>, limit| excerpt(line.as_bytes(), &[first, 200..201], limit);
        assert_eq!(cut(&line, 100..106, 20), "…aaaaaaaneedlebbbbbbb… [line of 206 bytes, 1 more matches]");
        assert_eq!(excerpt(line.as_bytes(), &[], 5), "aaaaa… [line of 206 bytes]");
        // The end of the line is shown whole, and characters are not cut.
        let only = |line: &str, only: Range<usize>, limit| {
            excerpt(line.as_bytes(), std::slice::from_ref(&only), limit)
        };
        assert_eq!(only("ääääx", 8..9, 4), "…äx [line of 9 bytes]");
        assert_eq!(only("aneedle", 1..7, 3), "…nee… [line of 7 bytes]");
    }
}
