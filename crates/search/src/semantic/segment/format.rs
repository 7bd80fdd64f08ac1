//! What stands in a segment, byte by byte.
//!
//! | section | contents |
//! |---|---|
//! | `Meta` | numbers of files, chunks and terms, all words together, who made the second set of vectors |
//! | `Files` | for each file: path, stamp, language, lines, flags, number of chunks |
//! | `Chunks` | a row of fixed size for each chunk: file, lines, bytes, hash of its text, place of its names |
//! | `Names` | symbol, names and scopes of chunks |
//! | `Lengths` | words of each chunk, two bytes each |
//! | `Terms` | sorted hashes with the place of their postings and in how many chunks and files they are |
//! | `TermSteps` | every 128th hash of `Terms`, so that one read finds a term |
//! | `Postings` | chunks with counts, then files whose path has the term |
//! | `Vectors`, `FileVectors` | rows of the built-in model |
//! | `OtherVectors`, `OtherFileVectors` | rows of the other embedder, or nothing |

use crate::semantic::{
    embed::built_in_mark,
    segment::bytes::{ByteReader, put_bytes, put_text, put_varint},
};
use crate::{
    chunk::Language,
    tree::{RelPath, Stamp},
};

/// Parts of a segment, by their number in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::semantic) enum Section {
    Meta,
    Files,
    Chunks,
    Names,
    Lengths,
    Terms,
    TermSteps,
    Postings,
    Vectors,
    FileVectors,
    OtherVectors,
    OtherFileVectors,
}

impl Section {
    pub(in crate::semantic) const COUNT: usize = Self::ALL.len();
    pub(in crate::semantic) const ALL: [Self; 12] = [
        Self::Meta,
        Self::Files,
        Self::Chunks,
        Self::Names,
        Self::Lengths,
        Self::Terms,
        Self::TermSteps,
        Self::Postings,
        Self::Vectors,
        Self::FileVectors,
        Self::OtherVectors,
        Self::OtherFileVectors,
    ];
}

/// The sections of a segment in memory, by [`Section`].
pub(in crate::semantic) type Sections = [Vec<u8>; Section::COUNT];

/// How many terms there are to a step.
pub(super) const STEP: usize = 128;

/// What a segment is, in short.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::semantic) struct Meta {
    pub(in crate::semantic) files: u32,
    pub(in crate::semantic) chunks: u32,
    pub(in crate::semantic) terms: u32,
    /// Words of all chunks.
    pub(in crate::semantic) words: u64,
    /// Bytes of all files.
    pub(in crate::semantic) bytes: u64,
    /// Which built-in model made the vectors, see [`built_in_mark`].
    pub(in crate::semantic) model: u64,
    /// The other embedder, if its vectors are here.
    pub(in crate::semantic) other: Option<Other>,
}

/// An embedder that made vectors, and how long its rows are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::semantic) struct Other {
    pub(in crate::semantic) name: String,
    pub(in crate::semantic) row: usize,
}

impl Meta {
    pub(super) fn put(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [self.files, self.chunks, self.terms] {
            put_varint(&mut bytes, number.into());
        }
        put_varint(&mut bytes, self.words);
        put_varint(&mut bytes, self.bytes);
        put_varint(&mut bytes, built_in_mark());
        if let Some(other) = &self.other {
            put_text(&mut bytes, &other.name);
            put_varint(&mut bytes, other.row as u64);
        }
        bytes
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = ByteReader(bytes);
        let (files, chunks, terms) = (reader.number()?, reader.number()?, reader.number()?);
        let (words, size, model) = (reader.varint()?, reader.varint()?, reader.varint()?);
        let other = if reader.0.is_empty() {
            None
        } else {
            Some(Other { name: reader.text()?.to_owned(), row: reader.number()? as usize })
        };
        Some(Self { files, chunks, terms, words, bytes: size, model, other })
    }
}

/// What a file is good for in a ranking, known from the file alone.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::semantic) struct FileRow {
    pub(in crate::semantic) path: RelPath,
    pub(in crate::semantic) stamp: Stamp,
    pub(in crate::semantic) language: Language,
    pub(in crate::semantic) lines: u32,
    /// It mostly passes on what other files define.
    pub(in crate::semantic) barrel: bool,
    pub(in crate::semantic) chunks: u32,
}

impl FileRow {
    pub(super) fn put(&self, to: &mut Vec<u8>) {
        put_bytes(to, self.path.as_bytes());
        put_stamp(to, &self.stamp);
        put_text(to, self.language.name());
        put_varint(to, self.lines.into());
        to.push(self.barrel.into());
        put_varint(to, self.chunks.into());
    }

    pub(super) fn read(reader: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self {
            path: RelPath::from_bytes(reader.bytes()?).ok()?,
            stamp: read_stamp(reader)?,
            language: Language::from_name(reader.text()?)?,
            lines: reader.number()?,
            barrel: reader.byte()? != 0,
            chunks: reader.number()?,
        })
    }
}

fn put_stamp(to: &mut Vec<u8>, stamp: &Stamp) {
    to.extend_from_slice(&stamp.size.to_le_bytes());
    to.extend_from_slice(&stamp.mtime_ns.to_le_bytes());
    to.extend_from_slice(&stamp.ctime_ns.to_le_bytes());
    to.extend_from_slice(&stamp.inode.to_le_bytes());
}

fn read_stamp(reader: &mut ByteReader<'_>) -> Option<Stamp> {
    Some(Stamp {
        size: u64::from_le_bytes(reader.fixed()?),
        mtime_ns: i64::from_le_bytes(reader.fixed()?),
        ctime_ns: i64::from_le_bytes(reader.fixed()?),
        inode: u64::from_le_bytes(reader.fixed()?),
    })
}

/// Where a chunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::semantic) struct ChunkRow {
    pub(in crate::semantic) file: u32,
    pub(in crate::semantic) start_line: u32,
    pub(in crate::semantic) end_line: u32,
    pub(in crate::semantic) start: u32,
    pub(in crate::semantic) end: u32,
    pub(in crate::semantic) names: u32,
    /// Of its text: the chunk has moved unless this matches.
    pub(in crate::semantic) hash: u64,
}

impl ChunkRow {
    pub(in crate::semantic) const BYTES: usize = 32;

    pub(super) fn put(&self, to: &mut Vec<u8>) {
        for number in [self.file, self.start_line, self.end_line, self.start, self.end, self.names] {
            to.extend_from_slice(&number.to_le_bytes());
        }
        to.extend_from_slice(&self.hash.to_le_bytes());
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = ByteReader(bytes);
        let mut number = || Some(u32::from_le_bytes(reader.fixed()?));
        let (file, start_line, end_line) = (number()?, number()?, number()?);
        let (start, end, names) = (number()?, number()?, number()?);
        Some(Self {
            file,
            start_line,
            end_line,
            start,
            end,
            names,
            hash: u64::from_le_bytes(reader.fixed()?),
        })
    }
}

/// What a chunk is called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::semantic) struct Labels {
    pub(in crate::semantic) symbol: Option<String>,
    pub(in crate::semantic) names: Vec<String>,
    pub(in crate::semantic) scopes: Vec<String>,
}

impl Labels {
    pub(super) fn put(&self, to: &mut Vec<u8>) {
        let mut bytes = Vec::new();
        put_text(&mut bytes, self.symbol.as_deref().unwrap_or_default());
        for list in [&self.names, &self.scopes] {
            put_varint(&mut bytes, list.len() as u64);
            list.iter().for_each(|name| put_text(&mut bytes, name));
        }
        put_varint(to, bytes.len() as u64);
        to.extend(bytes);
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = ByteReader(bytes);
        let symbol = reader.text()?;
        let symbol = (!symbol.is_empty()).then(|| symbol.to_owned());
        let mut list = || -> Option<Vec<String>> {
            let count = reader.number()?;
            (0..count).map(|_| reader.text().map(str::to_owned)).collect()
        };
        Some(Self { symbol, names: list()?, scopes: list()? })
    }
}

/// Where the postings of a term are and how common it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TermRow {
    pub(super) hash: u64,
    pub(super) offset: u64,
    pub(super) chunks: u32,
    pub(super) files: u32,
}

impl TermRow {
    pub(super) const BYTES: usize = 24;

    pub(super) fn put(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.hash.to_le_bytes());
        to.extend_from_slice(&self.offset.to_le_bytes());
        to.extend_from_slice(&self.chunks.to_le_bytes());
        to.extend_from_slice(&self.files.to_le_bytes());
    }

    /// The hash of a row that is not read yet.
    pub(super) fn hash(bytes: &[u8; Self::BYTES]) -> u64 {
        bytes.first_chunk().map_or(0, |hash| u64::from_le_bytes(*hash))
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = ByteReader(bytes);
        Some(Self {
            hash: u64::from_le_bytes(reader.fixed()?),
            offset: u64::from_le_bytes(reader.fixed()?),
            chunks: u32::from_le_bytes(reader.fixed()?),
            files: u32::from_le_bytes(reader.fixed()?),
        })
    }
}
