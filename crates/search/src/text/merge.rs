//! Several parts made into one segment.

use std::sync::Arc;

use super::postings::{Gathered, List};
use super::segment::{File, Segment, SegmentWriter};
use super::trigrams::{ByteKind, Trigram};
use super::view::View;
use crate::store::{Store, StoreError, WriterLock};
use crate::tree::{RelPath, Stamp};

const GONE: u32 = u32::MAX;

/// A trigram and the files that have it.
type Listed = (Trigram, Result<Vec<u32>, StoreError>);

/// Some files with their lists, in memory or stored.
pub(super) enum MergePart {
    Gathered { lists: Vec<List>, files: Vec<(RelPath, Stamp, ByteKind)> },
    Stored { segment: Arc<Segment>, live: Vec<u32> },
}

impl MergePart {
    pub(super) fn gathered(lists: Gathered, files: Vec<(RelPath, Stamp, ByteKind)>) -> Self {
        Self::Gathered { lists: lists.into_sorted(), files }
    }

    /// Those files of a segment that are still as they were.
    pub(super) fn stored(segment: Arc<Segment>, is_live: impl Fn(u32) -> bool) -> Self {
        let live = (0..segment.len() as u32).filter(|number| is_live(*number)).collect();
        Self::Stored { segment, live }
    }

    /// Number of files.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Gathered { files, .. } => files.len(),
            Self::Stored { live, .. } => live.len(),
        }
    }

    /// Writes it to the disk, to make room in memory. The list of segments does not know it, so it is gone if we die.
    pub(super) fn spill(self, store: &Store, lock: &WriterLock, number: usize) -> Result<Self, StoreError> {
        let name = View::spill_name(number);
        write(SegmentWriter::create(store, lock, &name, self.len())?, vec![self])?;
        let segment = Segment::open(store, &name)?;
        Ok(Self::stored(Arc::new(segment), |_| true))
    }

    fn files(&self) -> Box<dyn Iterator<Item = File<'_>> + '_> {
        match self {
            Self::Gathered { files, .. } => Box::new(files.iter().map(|(path, stamp, kind)| File {
                path: path.as_bytes(),
                stamp: *stamp,
                kind: *kind,
            })),
            Self::Stored { segment, live } => {
                Box::new(live.iter().map(|number| segment.file(*number as usize)))
            }
        }
    }

    fn lists(&self) -> Box<dyn Iterator<Item = Listed> + '_> {
        match self {
            Self::Gathered { lists, .. } => Box::new(lists.iter().map(|it| (it.trigram, Ok(it.files())))),
            Self::Stored { segment, .. } => Box::new(segment.lists()),
        }
    }

    /// The new numbers of its files, if the first one gets `first`.
    fn numbers(&self, first: u32) -> Vec<u32> {
        match self {
            Self::Gathered { files, .. } => (first..first + files.len() as u32).collect(),
            Self::Stored { segment, live } => {
                let mut numbers = vec![GONE; segment.len()];
                for (new, old) in (first..).zip(live) {
                    numbers[*old as usize] = new;
                }
                numbers
            }
        }
    }
}

/// Writes the files of all parts, in their order, with their lists.
pub(super) fn write(mut writer: SegmentWriter, parts: Vec<MergePart>) -> Result<(), StoreError> {
    let mut first = 0;
    let mut sources = Vec::new();
    for part in &parts {
        sources.push((part.numbers(first), part.lists().peekable()));
        first += part.len() as u32;
    }
    let mut files = Vec::new();
    while let Some(trigram) = sources.iter_mut().filter_map(|(_, lists)| Some(lists.peek()?.0)).min() {
        files.clear();
        for (numbers, lists) in &mut sources {
            if let Some((_, list)) = lists.next_if(|(it, _)| *it == trigram) {
                let renamed = list?.into_iter().map(|old| numbers[old as usize]);
                files.extend(renamed.filter(|new| *new != GONE));
            }
        }
        if !files.is_empty() {
            writer.list(trigram, &files)?;
        }
    }
    drop(sources);
    writer.finish(parts.iter().flat_map(MergePart::files))
}
