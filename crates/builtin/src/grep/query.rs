//! What to look for, and ripgrep's engine set up for it.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};

/// The most memory that one line takes; with `multiline`, one file.
const MAX_BUFFER: usize = 32 << 20;

/// What to look for. Every field is the option of `rg` that it names.
#[derive(Debug, Clone, Default)]
pub(super) struct GrepQuery {
    pub(super) pattern: String,
    pub(super) fixed_strings: bool,
    pub(super) ignore_case: bool,
    pub(super) word: bool,
    pub(super) invert: bool,
    /// Matches may go across lines, and `.` matches line ends (`--multiline --multiline-dotall`).
    pub(super) multiline: bool,
    pub(super) before: usize,
    pub(super) after: usize,
    /// Matching lines of each file (`--max-count`).
    pub(super) max_count: Option<u64>,
}

/// Whether a file was found or named: ripgrep searches a named file even if it is binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileOrigin {
    Walked,
    Named,
}

impl GrepQuery {
    pub(super) fn matcher(&self) -> Result<RegexMatcher, grep_regex::Error> {
        let mut builder = RegexMatcherBuilder::new();
        builder
            .multi_line(true)
            .unicode(true)
            .octal(false)
            .fixed_strings(self.fixed_strings)
            .case_insensitive(self.ignore_case)
            .word(self.word)
            .dot_matches_new_line(self.multiline)
            .line_terminator((!self.multiline).then_some(b'\n'))
            .ban_byte(Some(0));
        builder.build_many(&[&self.pattern])
    }

    /// A searcher for counting.
    pub(super) fn counter(&self, origin: FileOrigin) -> Searcher {
        self.builder(origin).line_number(false).build()
    }

    /// A searcher for showing lines.
    pub(super) fn searcher(&self, origin: FileOrigin) -> Searcher {
        self.builder(origin).line_number(true).before_context(self.before).after_context(self.after).build()
    }

    fn builder(&self, origin: FileOrigin) -> SearcherBuilder {
        let binary = match origin {
            FileOrigin::Walked => BinaryDetection::quit(0),
            FileOrigin::Named => BinaryDetection::convert(0),
        };
        let mut builder = SearcherBuilder::new();
        builder
            .binary_detection(binary)
            .memory_map(MmapChoice::never())
            .heap_limit(Some(MAX_BUFFER))
            .invert_match(self.invert)
            .multi_line(self.multiline)
            .max_matches(self.max_count);
        builder
    }
}
