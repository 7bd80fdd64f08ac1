//! [`Container`]: a stored file, open for reading.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{BLOCK, ContainerKind, HEADER, HEADER_LEN, StoreError, TRAILER_LEN};

/// A container, open. Replacing or removing the file does not disturb it.
#[derive(Debug)]
pub struct Container {
    file: Arc<File>,
    path: PathBuf,
    sections: Vec<(String, Place)>,
}

#[derive(Debug, Clone)]
struct Place {
    start: u64,
    len: u64,
    checksums: Arc<Checksums>,
}

/// The sums of the blocks of a section, and which blocks were found to have them since the file was opened: files of the store
/// are never written to once they have their name, so that a block is checked once.
#[derive(Debug)]
struct Checksums {
    sums: Vec<u32>,
    checked: Vec<AtomicU64>,
}

impl Checksums {
    fn new(sums: Vec<u32>) -> Self {
        let checked = (0..sums.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Self { sums, checked }
    }

    fn is_checked(&self, block: u64) -> bool {
        let word = self.checked.get((block / 64) as usize);
        word.is_some_and(|word| word.load(Ordering::Relaxed) & (1 << (block % 64)) != 0)
    }

    /// Whether this is what was written as the block.
    fn check(&self, block: u64, bytes: &[u8]) -> bool {
        let right = self.sums.get(block as usize) == Some(&crc32fast::hash(bytes));
        if let Some(word) = self.checked.get((block / 64) as usize).filter(|_| right) {
            word.fetch_or(1 << (block % 64), Ordering::Relaxed);
        }
        right
    }
}

/// One section of a container.
#[derive(Debug, Clone)]
pub struct Section {
    file: Arc<File>,
    path: PathBuf,
    place: Place,
}

impl Container {
    pub(super) fn open(path: &Path, kind: ContainerKind) -> Result<Self, StoreError> {
        let file = File::open(path).map_err(StoreError::io(path))?;
        let len = file.metadata().map_err(StoreError::io(path))?.len();
        let damaged = |what| StoreError::damaged(path, what);
        if len < HEADER_LEN + TRAILER_LEN {
            return Err(damaged("too short"));
        }
        let read = |at, len| {
            let mut bytes = vec![0; len];
            file.read_exact_at(&mut bytes, at).map(|()| bytes).map_err(StoreError::io(path))
        };
        let header = read(0, HEADER_LEN as usize)?;
        if header[..8] != HEADER[..] {
            return Err(damaged("beginning"));
        }
        if header[8..12] != kind.name || header[12..] != kind.version.to_le_bytes() {
            return Err(StoreError::Foreign { path: path.to_owned() });
        }
        let trailer = read(len - TRAILER_LEN, TRAILER_LEN as usize)?;
        let mut fields = FieldReader(&trailer);
        let (Some(start), Some(size), Some(sum)) = (fields.u64(), fields.u64(), fields.u32()) else {
            return Err(damaged("end"));
        };
        if start.checked_add(size) != Some(len - TRAILER_LEN) || start < HEADER_LEN {
            return Err(damaged("end"));
        }
        let table = read(start, usize::try_from(size).map_err(|_| damaged("end"))?)?;
        let mut checked = crc32fast::Hasher::new();
        checked.update(&header);
        checked.update(&table);
        if checked.finalize() != sum {
            return Err(damaged("table"));
        }
        let sections = sections(&table, start).ok_or_else(|| damaged("table"))?;
        Ok(Self { file: Arc::new(file), path: path.to_owned(), sections })
    }

    /// The section `name`.
    ///
    /// # Errors
    /// If there is none.
    pub fn section(&self, name: &str) -> Result<Section, StoreError> {
        let place = self.sections.iter().find(|(it, _)| it == name).map(|(_, place)| place.clone());
        let place = place.ok_or_else(|| StoreError::damaged(&self.path, "a section is missing"))?;
        Ok(Section { file: Arc::clone(&self.file), path: self.path.clone(), place })
    }

    /// The whole of the section `name`.
    ///
    /// # Errors
    /// If there is none, or it is damaged.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        let section = self.section(name)?;
        section.read(0..section.len())
    }

    /// The error for a section whose contents are invalid although its checksum is right.
    pub fn damaged(&self, what: &'static str) -> StoreError {
        StoreError::damaged(&self.path, what)
    }
}

impl Section {
    /// Bytes in it.
    pub fn len(&self) -> u64 {
        self.place.len
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.place.len == 0
    }

    /// Reads a part, and checks every block that it touches for the first time.
    ///
    /// # Errors
    /// If the range is not in the section or the bytes are not those that were written.
    pub fn read(&self, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::new();
        self.read_into(range, &mut bytes)?;
        Ok(bytes)
    }

    /// As [`Section::read`], into a buffer whose memory is used again: what was in it is gone.
    ///
    /// # Errors
    /// As [`Section::read`].
    pub fn read_into(&self, range: Range<u64>, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        let damaged = |what| StoreError::damaged(&self.path, what);
        if range.start > range.end || range.end > self.place.len {
            return Err(damaged("a place outside of its section"));
        }
        if range.is_empty() {
            bytes.clear();
            return Ok(());
        }
        let block = BLOCK as u64;
        let blocks = range.start / block..range.end.div_ceil(block);
        if blocks.clone().all(|block| self.place.checksums.is_checked(block)) {
            return self.bytes(range, bytes);
        }
        let (start, end) = (blocks.start * block, blocks.end.saturating_mul(block).min(self.place.len));
        self.bytes(start..end, bytes)?;
        if !blocks.zip(bytes.chunks(BLOCK)).all(|(block, bytes)| self.place.checksums.check(block, bytes)) {
            return Err(damaged("a block"));
        }
        bytes.truncate((range.end - start) as usize);
        bytes.drain(..(range.start - start) as usize);
        Ok(())
    }

    /// Reads all of it and checks every block, also those that were right before.
    ///
    /// # Errors
    /// If the bytes are not those that were written.
    pub fn check(&self) -> Result<(), StoreError> {
        /// Read at once.
        const BLOCKS: u64 = 64;
        let block = BLOCK as u64;
        let mut bytes = Vec::new();
        for first in (0..self.place.len.div_ceil(block)).step_by(BLOCKS as usize) {
            let end = (first + BLOCKS).saturating_mul(block).min(self.place.len);
            self.bytes(first * block..end, &mut bytes)?;
            let mut blocks = (first..).zip(bytes.chunks(BLOCK));
            if !blocks.all(|(block, bytes)| self.place.checksums.check(block, bytes)) {
                return Err(StoreError::damaged(&self.path, "a block"));
            }
        }
        Ok(())
    }

    fn bytes(&self, range: Range<u64>, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        let length = usize::try_from(range.end - range.start);
        let length = length.map_err(|_| StoreError::damaged(&self.path, "length"))?;
        if bytes.capacity() < length {
            // The system gives new memory zeroed.
            *bytes = vec![0; length];
        } else {
            bytes.resize(length, 0);
        }
        let at = self.place.start + range.start;
        self.file.read_exact_at(bytes, at).map_err(StoreError::io(&self.path))
    }
}

/// Reads the table of sections; `None` if it makes no sense.
fn sections(table: &[u8], end_of_data: u64) -> Option<Vec<(String, Place)>> {
    let mut fields = FieldReader(table);
    let mut sections = Vec::new();
    while !fields.0.is_empty() {
        let name_len = fields.take(1)?[0];
        let name = String::from_utf8(fields.take(usize::from(name_len))?.to_vec()).ok()?;
        let (start, len) = (fields.u64()?, fields.u64()?);
        if start.checked_add(len)? > end_of_data {
            return None;
        }
        let blocks = usize::try_from(len.div_ceil(BLOCK as u64)).ok()?;
        let sums = fields.take(blocks.checked_mul(4)?)?;
        let sums = sums.as_chunks::<4>().0.iter().map(|sum| u32::from_le_bytes(*sum)).collect();
        sections.push((name, Place { start, len, checksums: Arc::new(Checksums::new(sums)) }));
    }
    Some(sections)
}

/// Takes fields off the front.
struct FieldReader<'a>(&'a [u8]);

impl<'a> FieldReader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }
}
