//! What a search looks at: segments, and which of their files are there now and wanted.

use std::sync::Arc;

use super::segment::{Damaged, FileTable, Segment};

/// A chunk in a view: which part, which chunk of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub(super) part: u32,
    pub(super) chunk: u32,
}

/// A segment, and which of its files count.
#[derive(Debug, Clone)]
pub(super) struct ViewPart {
    pub(super) segment: Arc<Segment>,
    pub(super) files: Arc<FileTable>,
    /// By file. Others are changed, gone or excluded by the query.
    pub(super) counts: Arc<[bool]>,
}

impl ViewPart {
    /// All files of a segment.
    pub(super) fn whole(segment: Arc<Segment>) -> Result<Self, Damaged> {
        let files = segment.files()?.clone();
        let counts = vec![true; files.rows.len()].into();
        Ok(Self { segment, files, counts })
    }

    /// Whether the file of a chunk counts.
    pub(super) fn has(&self, chunk: u32) -> bool {
        self.counts[self.files.file_of(chunk) as usize]
    }
}

/// All parts that a search looks at.
#[derive(Debug, Clone, Default)]
pub(super) struct View {
    pub(super) parts: Vec<ViewPart>,
}

impl View {
    pub(super) fn part(&self, place: Place) -> &ViewPart {
        &self.parts[place.part as usize]
    }

    /// Chunks of all parts, whether they count or not.
    pub(super) fn chunks(&self) -> usize {
        self.parts.iter().map(|part| part.segment.meta().chunks as usize).sum()
    }

    /// How many files have a term, or count it.
    pub(super) fn files_with(&self, term: u64) -> Result<u32, Damaged> {
        let mut files = 0;
        for part in &self.parts {
            files += part.segment.spread(term)?.files;
        }
        Ok(files)
    }
}
