//! ripgrep's engine, set up as ripgrep sets it up for files that a walk finds.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};

use super::{Case, Query};

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
