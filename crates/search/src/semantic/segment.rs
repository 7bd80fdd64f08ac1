//! A part of the index that never changes once it is written: some files, their chunks, words and vectors.

mod build;
pub(crate) mod bytes;
mod format;
mod merge;
mod postings;
mod read;
pub(crate) mod stored;

pub(super) use self::{
    build::Builder,
    format::{ChunkRow, FileRow, Labels, Section, Sections},
    merge::{MergeSize, choose_merge, merge},
    postings::{IN_FOLDER, IN_STEM, Postings},
    read::{Bytes, Damaged, FileTable, Segment, text_hash},
};
