//! What indexing does and has done.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::chunk::language;
use crate::semantic::{self, SemanticError};
use crate::text::{self, UpdateError};
use crate::tree::{FileEntry, TreeError};

/// Which index is being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// That of the exact search.
    Text,
    /// That of the search by meaning.
    Meaning,
}

/// How far indexing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexProgress {
    /// What is done now.
    pub phase: Phase,
    /// Files read in this phase.
    pub done: usize,
    /// Files to read in this phase.
    pub of: usize,
    /// Bytes read in this phase.
    pub bytes: u64,
}

impl From<text::UpdateProgress> for IndexProgress {
    fn from(at: text::UpdateProgress) -> Self {
        Self { phase: Phase::Text, done: at.done, of: at.of, bytes: at.bytes }
    }
}

impl From<semantic::UpdateProgress> for IndexProgress {
    fn from(at: semantic::UpdateProgress) -> Self {
        Self { phase: Phase::Meaning, done: at.files, of: at.of, bytes: at.bytes }
    }
}

/// What indexing did, and what there is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Files of the tree.
    pub files: usize,
    /// Files that were new or had changed.
    pub read: usize,
    /// Bytes of text in those.
    pub bytes: u64,
    /// Pieces in the index.
    pub chunks: usize,
    /// How many files there are in each language, most first.
    pub languages: Vec<(&'static str, usize)>,
    /// Bytes on disk.
    pub disk: u64,
    /// How long it took.
    pub took: Duration,
    /// Files that changed a moment ago: they are searched as they are, and indexed later.
    pub young: usize,
    /// Another process was at it, so nothing was done here.
    pub busy: bool,
    /// It was stopped before the end.
    pub stopped: bool,
}

impl Summary {
    pub(super) fn new(
        files: &[FileEntry],
        text: &text::UpdateReport,
        meaning: &semantic::UpdateReport,
        size: semantic::Size,
        disk: u64,
        took: Duration,
    ) -> Self {
        let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
        for entry in files {
            *counts.entry(language(&entry.path.to_str_lossy(), "").name()).or_default() += 1;
        }
        let mut languages: Vec<_> = counts.into_iter().collect();
        languages.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Self {
            files: files.len(),
            read: meaning.done.files.max(text.indexed),
            bytes: meaning.done.bytes,
            chunks: size.chunks,
            languages,
            disk,
            took,
            young: meaning.young,
            busy: meaning.busy,
            stopped: meaning.stopped,
        }
    }
}

/// How much of a tree is indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexStatus {
    /// The tree.
    pub root: PathBuf,
    /// Where its index is kept, if it is.
    pub store: Option<PathBuf>,
    /// Files of the tree.
    pub files: usize,
    /// Files in the index.
    pub indexed: usize,
    /// Pieces of those.
    pub chunks: usize,
    /// Bytes on disk.
    pub bytes: u64,
}

/// Why an index is not up to date.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The exact one.
    #[error(transparent)]
    Text(#[from] UpdateError),
    /// That of meanings.
    #[error(transparent)]
    Meaning(#[from] SemanticError),
    /// The tree cannot be read any more.
    #[error(transparent)]
    Tree(#[from] TreeError),
}
