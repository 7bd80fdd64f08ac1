//! Indexes on disk: written anew and renamed, checked when read, rebuilt when in doubt.
//!
//! A [`Store`] is the folder of one tree in the user's cache. Everything in it is a [`Container`]: named sections, each block
//! with a checksum that is looked at whenever the block is read, so that a damaged file is an error and never an answer.
//! Whoever holds the [`WriterLock`] may write; anyone may read meanwhile, because files are only ever replaced whole.

mod container;
mod error;
mod folder;
mod writer;

pub use container::{Container, Section};
pub use error::StoreError;
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

#[cfg(test)]
mod tests;
