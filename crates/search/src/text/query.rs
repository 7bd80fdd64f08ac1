//! A text query, its results, and ripgrep's engine set up for it.

use std::ops::Range;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};

use crate::tree::{RelPath, Rules};

/// How letters are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Case {
    /// `A` is not `a` (`rg --case-sensitive`).
    Sensitive,
    /// `A` is `a` (`rg --ignore-case`).
    Insensitive,
    /// Insensitive, unless the pattern has a capital (`rg --smart-case`).
    #[default]
    Smart,
}

/// A text query. Every field is the option of `rg` that it names.
#[derive(Debug, Clone)]
pub struct Query {
    /// Literal text, or a regular expression if `regex` is set.
    pub pattern: String,
    /// Whether `pattern` is a regular expression; without it, `rg --fixed-strings`.
    pub regex: bool,
    /// How letters are compared.
    pub case: Case,
    /// Whole words only (`rg --word-regexp`).
    pub word: bool,
    /// Which files to show beside those ripgrep shows; `rg --glob`, `--hidden`, `--no-ignore`.
    pub rules: Rules,
    /// A folder or a file to search instead of the whole tree, as an argument of `rg`: even if it is ignored.
    pub path: Option<RelPath>,
    /// Lines to show before and after each hit (`rg --context`).
    pub context: u32,
    /// Hits to leave out at the beginning.
    pub offset: usize,
    /// Hits to give.
    pub limit: usize,
    /// How far to count beyond that: the search ends when so many matching lines are known.
    pub count_to: u64,
    /// Longest line to give, in bytes; of longer ones, the part around the first match.
    pub line_limit: usize,
}

impl Query {
    /// Looks for literal text, all of it, with smart case.
    pub fn literal(text: impl Into<String>) -> Self {
        Self {
            pattern: text.into(),
            regex: false,
            case: Case::Smart,
            word: false,
            rules: Rules::default(),
            path: None,
            context: 0,
            offset: 0,
            limit: 50,
            count_to: 10_000,
            line_limit: 1_000,
        }
    }

    /// Looks for a regular expression, with smart case.
    pub fn regex(pattern: impl Into<String>) -> Self {
        Self { regex: true, ..Self::literal(pattern) }
    }

    /// How many hits must be kept to fill the page.
    pub(super) fn wanted(&self) -> usize {
        self.offset.saturating_add(self.limit)
    }
}

/// A line of a file, for showing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Counted from 1.
    pub number: u64,
    /// Without its end; what is not UTF-8 is replaced.
    pub text: String,
    /// Whether it is only a part of a line longer than the query's limit.
    pub cut: bool,
}

/// A matching line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The file.
    pub path: RelPath,
    /// The line.
    pub line: Line,
    /// Where in the line's text the matches are, in bytes.
    pub matches: Vec<Range<usize>>,
    /// The lines before it, matching or not, if the query has context.
    pub before: Vec<Line>,
    /// The lines after it.
    pub after: Vec<Line>,
}

/// How many lines match in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Total {
    /// Exactly so many.
    Exactly(u64),
    /// So many were found when the search stopped counting.
    AtLeast(u64),
}

/// The results of a text search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Results {
    /// The requested page, sorted by path and line.
    pub hits: Vec<Hit>,
    /// Matching lines in all.
    pub total: Total,
    /// Files with matching lines, as far as was counted.
    pub files: u64,
    /// Files that had to be read, of those that there are.
    pub candidates: usize,
    /// Files that there are.
    pub listed: usize,
}

impl Total {
    /// The number, exact or not.
    pub fn count(self) -> u64 {
        match self {
            Self::Exactly(count) | Self::AtLeast(count) => count,
        }
    }
}

/// A pattern that cannot be searched for.
#[derive(Debug, thiserror::Error)]
#[error("cannot search for this pattern: {reason}")]
pub struct PatternError {
    pub(super) reason: String,
}

pub(super) fn matcher(query: &Query) -> Result<RegexMatcher, PatternError> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .unicode(true)
        .octal(false)
        .fixed_strings(!query.regex)
        .word(query.word)
        .line_terminator(Some(b'\n'))
        .dot_matches_new_line(false)
        .ban_byte(Some(0));
    match query.case {
        Case::Sensitive => builder.case_insensitive(false),
        Case::Insensitive => builder.case_insensitive(true),
        Case::Smart => builder.case_smart(true),
    };
    builder.build_many(&[&query.pattern]).map_err(|error| PatternError { reason: error.to_string() })
}

/// Reads files and does not map them: that is what ripgrep does in folders, and what decides where it notices NUL bytes.
pub(super) fn searcher(query: &Query) -> Searcher {
    let context = query.context as usize;
    SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_number(true)
        .memory_map(MmapChoice::never())
        .before_context(context)
        .after_context(context)
        .build()
}
