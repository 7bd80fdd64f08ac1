//! [`View`]: the segments that are the index now.
//!
//! The file `text` lists them. It is replaced whole, so that a reader has either the old index or the new one.

use std::sync::Arc;

use super::segment::Segment;
use crate::store::{ContainerKind, Store, StoreError, WriterLock};
use crate::tree::Stamp;

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
