//! What a search gives back.

use std::ops::Range;

use crate::tree::RelPath;

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
    /// The lines before it, matching or not, if the query asked for context.
    pub before: Vec<Line>,
    /// The lines after it.
    pub after: Vec<Line>,
}

/// How many lines match in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Total {
    /// Just so many.
    Exactly(u64),
    /// So many were found when the search had enough.
    AtLeast(u64),
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The page that was asked for, sorted by path and line.
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
