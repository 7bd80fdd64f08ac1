//! The segments of an index at one moment, and how they compare with the files there are.

use std::sync::Arc;

use super::{
    segment::{Damaged, FileTable, Segment},
    view::{View, ViewPart},
};
use crate::tree::{FileEntry, RelPath};

/// A segment that counts.
#[derive(Debug, Clone)]
pub(super) struct LoadedSegment {
    /// Its file in the store; none for one in memory.
    pub(super) name: Option<String>,
    pub(super) segment: Arc<Segment>,
}

/// All segments, oldest first: of two versions of a file, that of the later segment counts.
#[derive(Debug, Default)]
pub(super) struct SegmentSet {
    pub(super) kept: Vec<LoadedSegment>,
}

/// What there is in the segments, and what is not.
#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) view: View,
    /// New or changed: their entries in segments are left out.
    pub(super) pending: Vec<FileEntry>,
    /// For each entry, which segment has the version of the file that counts, if any.
    pub(super) owners: Vec<Option<u32>>,
}

impl SegmentSet {
    pub(super) fn new(kept: Vec<LoadedSegment>) -> Self {
        Self { kept }
    }

    /// The names of the segments in the store.
    pub(super) fn names(&self) -> Vec<String> {
        self.kept.iter().filter_map(|kept| kept.name.clone()).collect()
    }

    /// Compares with the files that there are.
    pub(super) fn compare(&self, entries: &[FileEntry]) -> Result<Comparison, Damaged> {
        let sorted = Sorted::new(entries);
        let mut known: Vec<Option<(u32, u32)>> = vec![None; entries.len()];
        for (part, kept) in (0..).zip(&self.kept) {
            sorted.find(kept.segment.files()?, |entry, file| known[entry] = Some((part, file)));
        }
        let mut counts = Vec::with_capacity(self.kept.len());
        for kept in &self.kept {
            counts.push(vec![false; kept.segment.files()?.rows.len()]);
        }
        let mut pending = Vec::new();
        for (entry, known) in entries.iter().zip(&known) {
            let same = known.filter(|(part, file)| {
                let table = self.kept[*part as usize].segment.files();
                table.is_ok_and(|table| table.rows[*file as usize].stamp.is_still(&entry.stamp))
            });
            match same {
                Some((part, file)) => counts[part as usize][file as usize] = true,
                None => pending.push(entry.clone()),
            }
        }
        let mut view = View::default();
        for (kept, counts) in self.kept.iter().zip(counts) {
            let files = kept.segment.files()?.clone();
            view.parts.push(ViewPart { segment: kept.segment.clone(), files, counts: counts.into() });
        }
        let owners = known.into_iter().map(|known| known.map(|(part, _)| part)).collect();
        Ok(Comparison { view, pending, owners })
    }
}

/// Files in the order of their paths.
struct Sorted<'a> {
    entries: &'a [FileEntry],
    /// Their order, unless they are in it.
    order: Option<Vec<u32>>,
}

impl<'a> Sorted<'a> {
    fn new(entries: &'a [FileEntry]) -> Self {
        let order = (!entries.is_sorted_by(|a, b| a.path <= b.path)).then(|| {
            let mut order: Vec<u32> = (0..entries.len() as u32).collect();
            order.sort_by(|a, b| entries[*a as usize].path.cmp(&entries[*b as usize].path));
            order
        });
        Self { entries, order }
    }

    fn number(&self, at: usize) -> usize {
        self.order.as_ref().map_or(at, |order| order[at] as usize)
    }

    fn path(&self, at: usize) -> &RelPath {
        &self.entries[self.number(at)].path
    }

    /// Gives the files that are in a table: number of the entry, number in the table. Both are in order, so that a step from one
    /// to the next is short, however long the lists are.
    fn find(&self, table: &FileTable, mut found: impl FnMut(usize, u32)) {
        let mut at = 0;
        for file in &table.by_path {
            let path = &table.rows[*file as usize].path;
            let mut step = 1;
            while at + step <= self.entries.len() && self.path(at + step - 1) < path {
                at += step;
                step *= 2;
            }
            let (mut low, mut high) = (at, self.entries.len().min(at + step));
            while low < high {
                let middle = low.midpoint(high);
                if self.path(middle) < path {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            at = low;
            if at < self.entries.len() && self.path(at) == path {
                found(self.number(at), *file);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{chunk::Language, semantic::segment::FileRow, tree::Stamp};

    proptest::proptest! {
        #[test]
        fn files_are_found_whatever_the_order(
            ours in proptest::collection::vec("[a-e]{1,3}", 0..40),
            theirs in proptest::collection::btree_set("[a-e]{1,3}", 0..80),
            is_sorted in proptest::bool::ANY,
        ) {
            let path = |name: &String| RelPath::parse(name).unwrap();
            let mut theirs: Vec<String> = theirs.into_iter().collect();
            if !is_sorted {
                theirs.sort_by_key(|name| std::cmp::Reverse(name.len()));
            }
            let entries: Vec<FileEntry> =
                theirs.iter().map(|name| FileEntry { path: path(name), stamp: Stamp::NEVER }).collect();
            let rows = ours.iter().map(|name| FileRow {
                path: path(name),
                stamp: Stamp::NEVER,
                language: Language::Rust,
                lines: 0,
                barrel: false,
                chunks: 0,
            });
            let table = FileTable::new(rows.collect(), Vec::new(), Vec::new());
            let mut pairs = Vec::new();
            Sorted::new(&entries).find(&table, |entry, file| pairs.push((entry, file)));
            pairs.sort_unstable();
            let mut expected = Vec::new();
            for (entry, name) in theirs.iter().enumerate() {
                expected.extend((0..).zip(&ours).filter(|(_, our)| *our == name).map(|(file, _)| (entry, file)));
            }
            assert_eq!(pairs, expected);
        }
    }
}
