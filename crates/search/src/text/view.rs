//! [`View`]: the segments that are the index now.
//!
//! The file `text` lists them. It is replaced whole, so that a reader has either the old index or the new one.

use std::sync::Arc;

use super::segment::Segment;
use super::trigrams::ByteKind;
use crate::store::{ContainerKind, Store, StoreError, WriterLock};
use crate::tree::{FileEntry, Stamp};

const KIND: ContainerKind = ContainerKind { name: *b"text", version: 1 };
const LIST: &str = "text";
/// How names of segments begin.
const SEGMENT: &str = "text-";

/// A state of the index.
#[derive(Debug, Default)]
pub(super) struct View {
    /// Oldest first.
    pub(super) segments: Vec<Arc<Segment>>,
    /// Of the list; `None` if there is none.
    stamp: Option<Stamp>,
}

impl View {
    /// Reads what is stored. Segments that `before` has open are not opened again.
    pub(super) fn load(store: &Store, before: &Self) -> Result<Self, StoreError> {
        // A writer may remove a segment between our look at the list and at the segment.
        for _ in 0..5 {
            let stamp = stamp(store);
            match Self::try_load(store, before, stamp) {
                Err(error) if error.is_missing() => {}
                done => return done,
            }
            if stamp.is_none() {
                return Ok(Self::default());
            }
        }
        Self::try_load(store, before, stamp(store))
    }

    fn try_load(store: &Store, before: &Self, stamp: Option<Stamp>) -> Result<Self, StoreError> {
        let list = store.read(LIST, KIND)?;
        let names = String::from_utf8(list.read("segments")?).map_err(|_| list.damaged("segments"))?;
        let open = |name: &str| match before.segments.iter().find(|it| it.name() == name) {
            Some(segment) => Ok(Arc::clone(segment)),
            None => Segment::open(store, name).map(Arc::new),
        };
        let segments = names.lines().map(open).collect::<Result<_, _>>()?;
        Ok(Self { segments, stamp })
    }

    /// Whether another process, or a clear, has replaced what is stored.
    pub(super) fn is_outdated(&self, store: &Store) -> bool {
        stamp(store) != self.stamp
    }

    /// Makes `segments` the index and removes those that it no longer has.
    pub(super) fn store(store: &Store, lock: &WriterLock, segments: &[String]) -> Result<(), StoreError> {
        let mut writer = store.write(lock, LIST, KIND)?;
        writer.section("segments")?;
        writer.put(segments.join("\n").as_bytes())?;
        writer.finish()?;
        for name in store.names()? {
            if name.starts_with(SEGMENT) && !segments.contains(&name) {
                store.remove(&name)?;
            }
        }
        Ok(())
    }

    /// A name that no segment has had while this list lives.
    pub(super) fn new_name(store: &Store) -> Result<String, StoreError> {
        let number = |name: &String| u64::from_str_radix(name.strip_prefix(SEGMENT)?, 16).ok();
        let last = store.names()?.iter().filter_map(number).max().unwrap_or(0);
        Ok(format!("{SEGMENT}{:016x}", last + 1))
    }

    /// The name of a part that is written down while a segment is made; removed with the next list.
    pub(super) fn spill_name(number: usize) -> String {
        format!("{SEGMENT}spill-{number}")
    }

    /// Files in all segments, old states included.
    pub(super) fn len(&self) -> usize {
        self.segments.iter().map(|segment| segment.len()).sum()
    }
}

fn stamp(store: &Store) -> Option<Stamp> {
    rustix::fs::stat(store.folder().join(LIST)).ok().map(|stat| Stamp::of(&stat))
}

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
