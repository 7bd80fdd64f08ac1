//! The difference between two launches, line by line.

use std::{
    fmt,
    time::{Duration, Instant},
};

use similar::{Algorithm, ChangeTag, capture_diff_slices_deadline};

/// After this time, what is not compared yet counts as replaced. Ordinary launches take microseconds; those that take longer
/// differ in everything that matters.
const MAX_TIME: Duration = Duration::from_millis(100);

/// A line of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffLine {
    /// In both.
    Same(String),
    /// In the approved launch only.
    Removed(String),
    /// In the present launch only.
    Added(String),
    /// Something changed that is not shown, such as a secret in an argument.
    HiddenChange,
}

impl fmt::Display for DiffLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same(line) => write!(f, "  {line}"),
            Self::Removed(line) => write!(f, "- {line}"),
            Self::Added(line) => write!(f, "+ {line}"),
            Self::HiddenChange => f.write_str("~ a value that is not shown here changed"),
        }
    }
}

/// Compares two lists of lines. Where lines were replaced, the removed ones come before the added ones.
pub(super) fn line_diff(old: &[String], new: &[String]) -> Vec<DiffLine> {
    let deadline = Instant::now() + MAX_TIME;
    let operations = capture_diff_slices_deadline(Algorithm::Myers, old, new, Some(deadline));
    let changes = operations.iter().flat_map(|operation| operation.iter_changes(old, new));
    let lines = changes.map(|change| match change.tag() {
        ChangeTag::Equal => DiffLine::Same(change.value()),
        ChangeTag::Delete => DiffLine::Removed(change.value()),
        ChangeTag::Insert => DiffLine::Added(change.value()),
    });
    lines.collect()
}
