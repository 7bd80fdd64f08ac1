//! Indexes on disk: written anew and renamed, checked when read, rebuilt when in doubt.
//!
//! A [`Store`] is the folder of one tree in the user's cache. Everything in it is a [`Container`]: named sections, each block
//! with a checksum that is looked at whenever the block is read, so that a damaged file is an error and never a result.
//! The holder of the [`WriterLock`] may write; others may read meanwhile, because files are only ever replaced whole.

mod container;
mod folder;
mod writer;

use std::io;
use std::path::{Path, PathBuf};

pub use container::{Container, Section};
pub use folder::{Store, WriterLock};
pub use writer::ContainerWriter;

/// What a container holds and how it is written: a reader takes only its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContainerKind {
    /// Four letters, for example `text`.
    pub name: [u8; 4],
    /// Counted up with each change of what is in the sections.
    pub version: u32,
}

/// Size of the pieces that have a checksum of their own. Small, because a look at one posting list reads a whole block.
const BLOCK: usize = 16 * 1024;

const HEADER: &[u8; 8] = b"toolbay1";
const HEADER_LEN: u64 = 16;
/// Place, length and checksum of the table of sections.
const TRAILER_LEN: u64 = 20;

/// Why something stored could not be used or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk is full, the cache is read-only, and the like.
    #[error("cannot use {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
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

#[cfg(test)]
mod tests;
