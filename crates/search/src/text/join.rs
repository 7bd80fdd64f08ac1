//! [`Join`]: the files that there are, and what the index knows of them.

use std::sync::Arc;

use super::trigrams::ByteKind;
use super::view::View;
use crate::tree::FileEntry;

const NONE: u32 = u32::MAX;

/// Which file of the listing is which file of the index. Only files that have not changed since they were indexed count.
#[derive(Debug)]
pub(super) struct Join {
    pub(super) files: Arc<[FileEntry]>,
    pub(super) view: Arc<View>,
    /// For each segment, for each of its numbers: the place of its file in `files`, or [`NONE`]. Pieces of one file have
    /// the same place.
    places: Vec<Vec<u32>>,
    /// Files that the index does not know as they are now.
    pub(super) loose: Vec<u32>,
}

impl Join {
    pub(super) fn new(files: Arc<[FileEntry]>, view: Arc<View>) -> Self {
        // Which segment knows a file, all of it.
        let mut known = vec![NONE; files.len()];
        let mut places = Vec::with_capacity(view.segments.len());
        for (here, segment) in (0..).zip(&view.segments) {
            let mut order: Vec<u32> = (0..segment.len() as u32).collect();
            if !order.is_sorted_by_key(|number| segment.file(*number as usize).path) {
                order.sort_by_key(|number| segment.file(*number as usize).path);
            }
            let mut of_segment = vec![NONE; segment.len()];
            let mut at = 0;
            for number in order {
                let file = segment.file(number as usize);
                while files.get(at).is_some_and(|entry| entry.path.as_bytes() < file.path) {
                    at += 1;
                }
                let Some(entry) = files.get(at) else { break };
                let free = [NONE, here].contains(&known[at]);
                if free && entry.path.as_bytes() == file.path && file.stamp.is_still(&entry.stamp) {
                    known[at] = here;
                    of_segment[number as usize] = at as u32;
                }
            }
            places.push(of_segment);
        }
        let loose = (0..files.len() as u32).filter(|at| known[*at as usize] == NONE).collect();
        Self { files, view, places, loose }
    }

    /// Whether the file with this number in a segment is still as it was.
    pub(super) fn is_live(&self, segment: usize, number: u32) -> bool {
        self.places[segment].get(number as usize).is_some_and(|place| *place != NONE)
    }

    /// How many numbers of a segment are of files that are still as they were.
    pub(super) fn live(&self, segment: usize) -> usize {
        self.places[segment].iter().filter(|place| **place != NONE).count()
    }

    /// Places in `files` of these numbers of a segment (`None`: all), without those that have changed or in which there
    /// is nothing.
    pub(super) fn places(&self, segment: usize, numbers: Option<&[u32]>, into: &mut Vec<u32>) {
        let places = &self.places[segment];
        let of = &self.view.segments[segment];
        let mut add = |number: u32| {
            let place = places.get(number as usize).copied().unwrap_or(NONE);
            if place != NONE && of.file(number as usize).kind == ByteKind::Text {
                into.push(place);
            }
        };
        match numbers {
            Some(numbers) => numbers.iter().copied().for_each(&mut add),
            None => (0..places.len() as u32).for_each(&mut add),
        }
    }
}
