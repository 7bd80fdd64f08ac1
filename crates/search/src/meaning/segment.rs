//! A part of the index that never changes once it is written: some files, their chunks, words and vectors.

mod build;
mod format;
mod merge;
mod postings;
mod read;

pub(super) use self::{
    build::Builder,
    format::{ChunkRow, FileRow, Labels, Section, Sections},
    merge::merge,
    postings::{IN_FOLDER, IN_STEM, Postings},
    read::{Bytes, Damaged, FileTable, Segment, text_hash},
};
