//! What can go wrong with a store.

use std::io;
use std::path::{Path, PathBuf};

/// Why something stored could not be used or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk is full, the cache is read-only, and the like.
    #[error("cannot use {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The bytes are not those that were written.
    #[error("{} is damaged ({what})", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where it was noticed.
        what: &'static str,
    },
    /// Written by another version of the program.
    #[error("{} was written by another version", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
}

impl StoreError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    pub(crate) fn damaged(path: &Path, what: &'static str) -> Self {
        Self::Damaged { path: path.to_owned(), what }
    }

    /// Whether there is simply nothing stored.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}
