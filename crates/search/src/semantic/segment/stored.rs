//! Segments as files of the store, and the list of those that count.

use std::{borrow::Cow, io, sync::Arc};

use crate::semantic::segment::{
    Bytes, Damaged, Section, Sections, Segment,
    bytes::{ByteReader, put_text, put_varint},
};
use crate::store::{self, ContainerKind, Store, StoreError, WriterLock};

/// Counted up with each change of what is in a segment and of how files are cut.
const VERSION: u32 = 2;
const SEGMENT: ContainerKind = ContainerKind { name: *b"mean", version: VERSION };
const LIST: ContainerKind = ContainerKind { name: *b"mlst", version: VERSION };
/// The file with the list.
pub(crate) const LIST_NAME: &str = "meaning";
const SEGMENT_PREFIX: &str = "meaning-";

/// Names of the sections, by [`Section`].
const NAMES: [&str; Section::COUNT] = [
    "meta",
    "files",
    "chunks",
    "names",
    "lengths",
    "terms",
    "steps",
    "postings",
    "vectors",
    "file-vectors",
    "other-vectors",
    "other-file-vectors",
];

/// The sections of a file.
#[derive(Debug)]
struct Stored(Vec<store::Section>);

impl Bytes for Stored {
    fn length(&self, section: Section) -> u64 {
        self.0[section as usize].len()
    }

    fn read(&self, section: Section, offset: u64, length: usize) -> io::Result<Cow<'_, [u8]>> {
        let end = offset.checked_add(length as u64).ok_or(io::ErrorKind::UnexpectedEof)?;
        self.0[section as usize].read(offset..end).map(Cow::Owned).map_err(io::Error::other)
    }

    fn read_into<'a>(
        &'a self,
        section: Section,
        offset: u64,
        length: usize,
        buffer: &'a mut Vec<u8>,
    ) -> io::Result<&'a [u8]> {
        let end = offset.checked_add(length as u64).ok_or(io::ErrorKind::UnexpectedEof)?;
        self.0[section as usize].read_into(offset..end, buffer).map_err(io::Error::other)?;
        Ok(buffer)
    }

    fn check(&self) -> io::Result<()> {
        self.0.iter().try_for_each(|section| section.check().map_err(io::Error::other))
    }
}

/// Opens a segment.
pub(crate) fn open(store: &Store, name: &str) -> Result<Segment, Damaged> {
    let sections = || {
        let container = store.read(name, SEGMENT)?;
        NAMES.iter().map(|name| container.section(name)).collect::<Result<Vec<_>, StoreError>>()
    };
    Segment::open(Arc::new(Stored(sections().map_err(io::Error::other)?)))
}

/// Writes a segment.
pub(crate) fn write(
    store: &Store,
    lock: &WriterLock,
    name: &str,
    sections: &Sections,
) -> Result<(), StoreError> {
    let mut writer = store.write(lock, name, SEGMENT)?;
    for (name, bytes) in NAMES.iter().zip(sections) {
        writer.section(name)?;
        writer.put(bytes)?;
    }
    writer.finish()
}

/// The names of the segments that count, oldest first.
pub(crate) fn read_list(store: &Store) -> Result<Vec<String>, StoreError> {
    let container = store.read(LIST_NAME, LIST)?;
    let bytes = container.read("segments")?;
    let mut reader = ByteReader(&bytes);
    let mut list = || -> Option<Vec<String>> {
        let count = reader.number()?;
        (0..count).map(|_| reader.text().map(str::to_owned)).collect()
    };
    list().ok_or_else(|| container.damaged("list of segments"))
}

/// Makes these the segments that count.
pub(crate) fn write_list(store: &Store, lock: &WriterLock, names: &[String]) -> Result<(), StoreError> {
    let mut bytes = Vec::new();
    put_varint(&mut bytes, names.len() as u64);
    names.iter().for_each(|name| put_text(&mut bytes, name));
    let mut writer = store.write(lock, LIST_NAME, LIST)?;
    writer.section("segments")?;
    writer.put(&bytes)?;
    writer.finish()
}

/// A name that no segment has.
pub(crate) fn new_name(store: &Store) -> Result<String, StoreError> {
    let numbers = store.names()?;
    let numbers = numbers.iter().filter_map(|name| name.strip_prefix(SEGMENT_PREFIX)?.parse::<u64>().ok());
    Ok(format!("{SEGMENT_PREFIX}{}", numbers.max().map_or(1, |last| last.saturating_add(1))))
}

/// Removes segments that are not in the list. Readers that have them open keep them.
pub(crate) fn sweep(store: &Store, listed: &[String]) -> Result<(), StoreError> {
    for name in store.names()? {
        if name.starts_with(SEGMENT_PREFIX) && !listed.contains(&name) {
            store.remove(&name)?;
        }
    }
    Ok(())
}
