//! A segment as it is read: little by little, where it is needed.

use std::{
    borrow::Cow,
    fmt, io,
    ops::Range,
    sync::{Arc, OnceLock},
};

use super::{
    format::{ChunkRow, FileRow, Labels, Meta, STEP, Section, Sections, TermRow},
    postings::Postings,
};
use crate::semantic::{segment::bytes::ByteReader, term};

/// A segment that is not what it should be: it is left out and its files are indexed anew.
#[derive(Debug, thiserror::Error)]
pub(in crate::semantic) enum Damaged {
    #[error("a part of the index cannot be read")]
    Io(#[from] io::Error),
    #[error("a part of the index is damaged: {0}")]
    Nonsense(&'static str),
}

/// Where the bytes of a segment are.
pub(in crate::semantic) trait Bytes: Send + Sync + fmt::Debug {
    /// How many a section has.
    fn length(&self, section: Section) -> u64;
    /// So many of them, from `offset`.
    fn read(&self, section: Section, offset: u64, length: usize) -> io::Result<Cow<'_, [u8]>>;
    /// The same; a buffer is lent for them where they are not in memory.
    fn read_into<'a>(
        &'a self,
        section: Section,
        offset: u64,
        length: usize,
        buffer: &'a mut Vec<u8>,
    ) -> io::Result<&'a [u8]>;
    /// Whether they still are what was written.
    fn check(&self) -> io::Result<()>;
}

impl Bytes for Sections {
    fn length(&self, section: Section) -> u64 {
        self[section as usize].len() as u64
    }

    fn read(&self, section: Section, offset: u64, length: usize) -> io::Result<Cow<'_, [u8]>> {
        in_memory(self, section, offset, length).map(Cow::Borrowed)
    }

    fn read_into<'a>(
        &'a self,
        section: Section,
        offset: u64,
        length: usize,
        _: &'a mut Vec<u8>,
    ) -> io::Result<&'a [u8]> {
        in_memory(self, section, offset, length)
    }

    fn check(&self) -> io::Result<()> {
        Ok(())
    }
}

fn in_memory(sections: &Sections, section: Section, offset: u64, length: usize) -> io::Result<&[u8]> {
    let from = usize::try_from(offset).ok();
    let bytes = from.and_then(|from| sections[section as usize].get(from..)?.get(..length));
    bytes.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// The files of a segment, in memory.
#[derive(Debug)]
pub(in crate::semantic) struct FileTable {
    pub(in crate::semantic) rows: Vec<FileRow>,
    /// The first chunk of each file, and the number of all chunks.
    pub(in crate::semantic) firsts: Vec<u32>,
    /// Words of each file.
    pub(in crate::semantic) words: Vec<u32>,
    /// The numbers of the files in the order of their paths.
    pub(in crate::semantic) by_path: Vec<u32>,
}

impl FileTable {
    pub(in crate::semantic) fn new(rows: Vec<FileRow>, firsts: Vec<u32>, words: Vec<u32>) -> Self {
        let mut by_path: Vec<u32> = (0..rows.len() as u32).collect();
        by_path.sort_by(|a, b| rows[*a as usize].path.cmp(&rows[*b as usize].path));
        Self { rows, firsts, words, by_path }
    }

    /// Which file a chunk is of.
    pub(in crate::semantic) fn file_of(&self, chunk: u32) -> u32 {
        (self.firsts.partition_point(|first| *first <= chunk) as u32).saturating_sub(1)
    }

    /// The chunks of a file.
    pub(in crate::semantic) fn chunks_of(&self, file: u32) -> Range<u32> {
        self.firsts[file as usize]..self.firsts[file as usize + 1]
    }
}

/// How common a term is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::semantic) struct Spread {
    pub(in crate::semantic) chunks: u32,
    pub(in crate::semantic) files: u32,
}

/// Some files, their chunks, words and vectors.
#[derive(Debug)]
pub(in crate::semantic) struct Segment {
    bytes: Arc<dyn Bytes>,
    meta: Meta,
    files: OnceLock<Arc<FileTable>>,
    steps: OnceLock<Vec<u64>>,
}

impl Segment {
    /// Reads no more than the first few bytes.
    pub(in crate::semantic) fn open(bytes: Arc<dyn Bytes>) -> Result<Self, Damaged> {
        let meta = whole(&*bytes, Section::Meta)?;
        let meta = Meta::read(&meta).ok_or(Damaged::Nonsense("its head"))?;
        if meta.model != crate::semantic::embed::built_in_mark() {
            return Err(Damaged::Nonsense("its vectors are those of another model"));
        }
        let (files, chunks) = (u64::from(meta.files), u64::from(meta.chunks));
        let built_in = crate::semantic::embed::BUILT_IN_ROW as u64;
        let other = meta.other.as_ref().map_or(0, |other| other.row as u64);
        for (section, expected) in [
            (Section::Chunks, chunks * ChunkRow::BYTES as u64),
            (Section::Lengths, chunks * 2),
            (Section::Terms, u64::from(meta.terms) * TermRow::BYTES as u64),
            (Section::Vectors, chunks * built_in),
            (Section::FileVectors, files * built_in),
            (Section::OtherVectors, chunks * other),
            (Section::OtherFileVectors, files * other),
        ] {
            if bytes.length(section) != expected {
                return Err(Damaged::Nonsense("its sections do not fit together"));
            }
        }
        Ok(Self { bytes, meta, files: OnceLock::new(), steps: OnceLock::new() })
    }

    pub(in crate::semantic) fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The files, read at the first call.
    pub(in crate::semantic) fn files(&self) -> Result<&Arc<FileTable>, Damaged> {
        if let Some(table) = self.files.get() {
            return Ok(table);
        }
        let table = self.read_files()?;
        Ok(self.files.get_or_init(|| Arc::new(table)))
    }

    fn read_files(&self) -> Result<FileTable, Damaged> {
        let bytes = whole(&*self.bytes, Section::Files)?;
        let mut reader = ByteReader(&bytes);
        let lengths = self.lengths()?;
        let (mut rows, mut firsts, mut all_words) = (Vec::new(), vec![0], Vec::new());
        let mut first = 0_u32;
        for _ in 0..self.meta.files {
            let row = FileRow::read(&mut reader).ok_or(Damaged::Nonsense("its list of files"))?;
            let next = first.checked_add(row.chunks).filter(|next| *next <= self.meta.chunks);
            let next = next.ok_or(Damaged::Nonsense("its list of files"))?;
            let words = lengths[first as usize..next as usize].iter().map(|length| u32::from(*length)).sum();
            all_words.push(words);
            firsts.push(next);
            rows.push(row);
            first = next;
        }
        if first != self.meta.chunks {
            return Err(Damaged::Nonsense("its list of files"));
        }
        Ok(FileTable::new(rows, firsts, all_words))
    }

    /// Words of each chunk.
    pub(in crate::semantic) fn lengths(&self) -> Result<Vec<u16>, Damaged> {
        let bytes = whole(&*self.bytes, Section::Lengths)?;
        Ok(bytes.as_chunks::<2>().0.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect())
    }

    /// Where a chunk is.
    pub(in crate::semantic) fn chunk(&self, chunk: u32) -> Result<ChunkRow, Damaged> {
        let bytes = self.rows(Section::Chunks, ChunkRow::BYTES, chunk..chunk + 1)?;
        let row = ChunkRow::read(&bytes).filter(|row| row.file < self.meta.files);
        row.ok_or(Damaged::Nonsense("where a chunk is"))
    }

    /// What a chunk is called.
    pub(in crate::semantic) fn labels(&self, row: &ChunkRow) -> Result<Labels, Damaged> {
        /// Nearly all labels are shorter, so one read does.
        const USUAL: usize = 256;
        let left = self.bytes.length(Section::Names).saturating_sub(row.names.into());
        let usual = USUAL.min(usize::try_from(left).unwrap_or(USUAL));
        let mut bytes = self.bytes.read(Section::Names, row.names.into(), usual)?;
        let nonsense = Damaged::Nonsense("what a chunk is called");
        let mut reader = ByteReader(&bytes);
        let Some(length) = reader.varint().filter(|length| *length <= left) else { return Err(nonsense) };
        let head = bytes.len() - reader.0.len();
        let end = head + length as usize;
        if end > bytes.len() {
            bytes = self.bytes.read(Section::Names, row.names.into(), end)?;
        }
        Labels::read(&bytes[head..end]).ok_or(nonsense)
    }

    /// How common a term is.
    pub(in crate::semantic) fn spread(&self, hash: u64) -> Result<Spread, Damaged> {
        let found = self.find(hash)?;
        Ok(found.map_or_else(Spread::default, |(row, _)| Spread { chunks: row.chunks, files: row.files }))
    }

    /// Returns where a term occurs; empty if nowhere.
    pub(in crate::semantic) fn postings(&self, hash: u64) -> Result<Postings, Damaged> {
        let mut postings = Postings::default();
        if let Some((row, end)) = self.find(hash)? {
            self.read_postings(&row, end, &mut postings)?;
        }
        Ok(postings)
    }

    fn read_postings(&self, row: &TermRow, end: u64, postings: &mut Postings) -> Result<(), Damaged> {
        let length = end.checked_sub(row.offset).filter(|_| end <= self.bytes.length(Section::Postings));
        let nonsense = || Damaged::Nonsense("where a word is");
        let length = length.ok_or_else(nonsense)? as usize;
        if length == 0 {
            return Ok(());
        }
        let bytes = self.bytes.read(Section::Postings, row.offset, length)?;
        postings.read(&bytes, self.meta.chunks, self.meta.files).ok_or_else(nonsense)
    }

    /// The row of a term and where its postings end.
    fn find(&self, hash: u64) -> Result<Option<(TermRow, u64)>, Damaged> {
        let steps = self.steps()?;
        let Some(step) = steps.partition_point(|first| *first <= hash).checked_sub(1) else {
            return Ok(None);
        };
        // One more than the step has, because the next row has the end of the last one's postings.
        let bytes = self.term_bytes(step * STEP..(step + 1) * STEP + 1)?;
        let (rows, _) = bytes.as_chunks::<{ TermRow::BYTES }>();
        let Ok(at) = rows.binary_search_by_key(&hash, TermRow::hash) else { return Ok(None) };
        let read = |at: usize| TermRow::read(rows.get(at)?);
        let end = read(at + 1).map_or_else(|| self.bytes.length(Section::Postings), |next| next.offset);
        Ok(read(at).map(|row| (row, end)))
    }

    fn steps(&self) -> Result<&[u64], Damaged> {
        if let Some(steps) = self.steps.get() {
            return Ok(steps);
        }
        let bytes = whole(&*self.bytes, Section::TermSteps)?;
        let steps = bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        Ok(self.steps.get_or_init(|| steps))
    }

    fn term_rows(&self, range: Range<usize>) -> Result<Vec<TermRow>, Damaged> {
        let bytes = self.term_bytes(range)?;
        Ok(bytes.chunks_exact(TermRow::BYTES).filter_map(TermRow::read).collect())
    }

    fn term_bytes(&self, range: Range<usize>) -> Result<Cow<'_, [u8]>, Damaged> {
        let range = range.start..range.end.min(self.meta.terms as usize);
        let offset = (range.start * TermRow::BYTES) as u64;
        Ok(self.bytes.read(Section::Terms, offset, range.len() * TermRow::BYTES)?)
    }

    /// All terms in order, with what is filed under them.
    pub(super) fn terms(&self) -> impl Iterator<Item = Result<(TermRow, Postings), Damaged>> {
        const BLOCK: usize = 64 * STEP;
        let count = self.meta.terms as usize;
        (0..count.div_ceil(BLOCK)).flat_map(move |block| {
            let rows = match self.term_rows(block * BLOCK..(block + 1) * BLOCK + 1) {
                Ok(rows) => rows,
                Err(damaged) => return vec![Err(damaged)].into_iter(),
            };
            let all = self.bytes.length(Section::Postings);
            let ends = rows.iter().skip(1).map(|row| row.offset).chain([all]);
            let read = rows.iter().zip(ends).take(BLOCK).map(|(row, end)| {
                let mut postings = Postings::default();
                self.read_postings(row, end, &mut postings).map(|()| (*row, postings))
            });
            read.collect::<Vec<_>>().into_iter()
        })
    }

    /// Rows of one length, one after the other.
    pub(in crate::semantic) fn rows(
        &self,
        section: Section,
        row: usize,
        range: Range<u32>,
    ) -> Result<Cow<'_, [u8]>, Damaged> {
        Ok(self.bytes.read(section, u64::from(range.start) * row as u64, range.len() * row)?)
    }

    /// The same, with a buffer for those who go through very many.
    pub(in crate::semantic) fn rows_into<'a>(
        &'a self,
        section: Section,
        row: usize,
        range: Range<u32>,
        buffer: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], Damaged> {
        let offset = u64::from(range.start) * row as u64;
        Ok(self.bytes.read_into(section, offset, range.len() * row, buffer)?)
    }

    /// Reads all of it, to see whether it can be.
    pub(in crate::semantic) fn check(&self) -> Result<(), Damaged> {
        self.bytes.check()?;
        self.read_files()?;
        Ok(())
    }
}

fn whole(bytes: &dyn Bytes, section: Section) -> io::Result<Cow<'_, [u8]>> {
    let length = bytes.length(section).try_into().map_err(|_| io::ErrorKind::FileTooLarge)?;
    bytes.read(section, 0, length)
}

/// By which a chunk is known again.
pub(in crate::semantic) fn text_hash(text: &str) -> u64 {
    term::hash(term::Space::Word, text)
}
