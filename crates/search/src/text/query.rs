//! [`Query`]: what is looked for, and where.

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
