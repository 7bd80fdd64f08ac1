//! Makes a segment of files.

use std::collections::HashMap;

use super::{
    format::{ChunkRow, FileRow, Labels, Meta, Other, Section, Sections},
    postings::{IN_FOLDER, IN_STEM, Postings, TermWriter},
    read::text_hash,
};
use crate::semantic::{
    embed::{self, Code, EmbedError, Embedder},
    rank::path,
    term::{self, Space, Terms},
    vector,
};
use crate::{
    chunk::{self, Chunk},
    tree::{RelPath, Stamp},
};

/// How much more a word counts in the name of a definition than in its body.
const NAME_BONUS: u32 = 2;
/// Texts sent to another embedder in one go.
const BATCH: usize = 64;

/// That a term is in a chunk. Sixteen bytes: there are millions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Occurrence {
    term: u64,
    chunk: u32,
    count: u32,
}

/// Takes files, gives a segment.
#[derive(Debug, Default)]
pub(in crate::semantic) struct Builder {
    meta: Meta,
    files: Vec<u8>,
    /// The first chunk of each file.
    firsts: Vec<u32>,
    chunks: Vec<u8>,
    names: Vec<u8>,
    lengths: Vec<u8>,
    vectors: Vec<u8>,
    file_vectors: Vec<u8>,
    other_vectors: Vec<u8>,
    other_file_vectors: Vec<u8>,
    occurrences: Vec<Occurrence>,
    paths: Vec<(u64, u32, u8)>,
    counted: HashMap<u64, u32>,
    terms: Terms,
    scratch: Vec<u64>,
}

impl Builder {
    /// How many chunks there are by now.
    pub(in crate::semantic) fn chunks(&self) -> usize {
        self.meta.chunks as usize
    }

    /// Whether there is no file yet.
    pub(in crate::semantic) fn is_empty(&self) -> bool {
        self.meta.files == 0
    }

    /// Bytes in memory, about.
    pub(in crate::semantic) fn size(&self) -> usize {
        self.occurrences.len() * size_of::<Occurrence>()
            + self.vectors.len()
            + self.other_vectors.len()
            + self.chunks.len()
            + self.names.len()
    }

    /// Adds a file. An error is that of the other embedder: the file was added all the same, the segment then has no
    /// vectors of that embedder.
    pub(in crate::semantic) fn add(
        &mut self,
        path: &RelPath,
        stamp: Stamp,
        text: &str,
        embedder: Option<&dyn Embedder>,
    ) -> Result<(), EmbedError> {
        let place = path;
        let path = place.to_str_lossy();
        let language = chunk::language(&path, text);
        let chunks = chunk::cut(language, text);
        let file = self.meta.files;
        self.firsts.push(self.meta.chunks);
        self.path_terms(&path, file);
        self.count_names(text);
        let mut sum = vec![0.0; embed::BUILT_IN_ROW - 4];
        for chunk in &chunks {
            self.chunk(file, &path, text, chunk, &mut sum);
        }
        self.file_vectors.extend(vector::row(&sum));
        let row = FileRow {
            path: place.clone(),
            stamp,
            language,
            lines: text.lines().count() as u32,
            barrel: path::is_barrel(&path, text),
            chunks: chunks.len() as u32,
        };
        row.put(&mut self.files);
        self.meta.files += 1;
        self.meta.bytes += text.len() as u64;
        match embedder {
            Some(embedder) => self.embed(embedder, &path, text, &chunks),
            None => Ok(()),
        }
    }

    fn chunk(&mut self, file: u32, path: &str, text: &str, chunk: &Chunk, sum: &mut [f32]) {
        let number = self.meta.chunks;
        let body = &text[chunk.bytes.clone()];
        let row = ChunkRow {
            file,
            start_line: chunk.start_line,
            end_line: chunk.end_line,
            start: chunk.bytes.start as u32,
            end: chunk.bytes.end as u32,
            names: self.names.len() as u32,
            hash: text_hash(body),
        };
        row.put(&mut self.chunks);
        let labels = Labels {
            symbol: chunk.symbol().map(str::to_owned),
            names: chunk.names.clone(),
            scopes: chunk.scopes.clone(),
        };
        labels.put(&mut self.names);
        let vector = embed::built_in_code(Code { path, names: &names_of(chunk), text: body });
        vector::add(&vector, sum);
        self.vectors.extend_from_slice(&vector);

        let Self { terms, scratch, .. } = self;
        scratch.clear();
        terms.each(body, |term| scratch.push(term));
        for name in &chunk.names {
            for _ in 0..NAME_BONUS {
                terms.each(name, |term| scratch.push(term));
            }
        }
        let length = scratch.len();
        scratch.extend(chunk.names.iter().map(|name| term::hash(Space::Defines, &term::joined(name))));
        scratch.sort_unstable();
        for same in scratch.chunk_by(|a, b| a == b) {
            self.occurrences.push(Occurrence { term: same[0], chunk: number, count: same.len() as u32 });
        }
        self.lengths.extend_from_slice(&(length.min(usize::from(u16::MAX)) as u16).to_le_bytes());
        self.meta.words += length as u64;
        self.meta.chunks += 1;
    }

    fn path_terms(&mut self, path: &str, file: u32) {
        let (stem, folders) = path::parts(path);
        let mut places: Vec<(u64, u8)> = Vec::new();
        self.terms.each(stem, |term| places.push((term, IN_STEM)));
        for folder in folders {
            self.terms.each(folder, |term| places.push((term, IN_FOLDER)));
        }
        places.sort_unstable();
        for same in places.chunk_by(|a, b| a.0 == b.0) {
            self.paths.push((same[0].0, file, same.iter().fold(0, |all, (_, place)| all | place)));
        }
    }

    /// Counts what the file uses and imports.
    fn count_names(&mut self, text: &str) {
        let Self { scratch, counted, .. } = self;
        scratch.clear();
        term::each_simple_identifier(text, |name| scratch.push(term::hash(Space::Uses, name)));
        path::each_import(text, |name| scratch.push(term::hash(Space::Imports, &term::joined(name))));
        scratch.sort_unstable();
        scratch.dedup();
        for term in scratch {
            *counted.entry(*term).or_default() += 1;
        }
    }

    fn embed(
        &mut self,
        embedder: &dyn Embedder,
        path: &str,
        text: &str,
        chunks: &[Chunk],
    ) -> Result<(), EmbedError> {
        let refuse =
            |reason: &str| EmbedError { embedder: embedder.name().to_owned(), reason: reason.to_owned() };
        let mut sum = Vec::new();
        for batch in chunks.chunks(BATCH) {
            let names: Vec<Vec<String>> = batch.iter().map(names_of).collect();
            let codes: Vec<Code<'_>> = batch
                .iter()
                .zip(&names)
                .map(|(chunk, names)| Code { path, names, text: &text[chunk.bytes.clone()] })
                .collect();
            let vectors = embedder.codes(&codes)?;
            if vectors.len() != codes.len() {
                return Err(refuse("it returned another number of vectors than requested"));
            }
            for vector in vectors {
                let row = vector::row(&vector);
                let other = self
                    .meta
                    .other
                    .get_or_insert_with(|| Other { name: embedder.name().to_owned(), row: row.len() });
                if other.row != row.len() || vector.is_empty() {
                    return Err(refuse("its vectors are not all of one length"));
                }
                sum.resize(vector.len(), 0.0);
                vector::add(&row, &mut sum);
                self.other_vectors.extend(row);
            }
        }
        if let Some(other) = &self.meta.other {
            sum.resize(other.row - 4, 0.0);
            self.other_file_vectors.extend(vector::row(&sum));
        }
        Ok(())
    }

    /// The segment. The builder is empty again and keeps the stems it knows.
    pub(in crate::semantic) fn finish(&mut self) -> Sections {
        let terms = std::mem::take(&mut self.terms);
        let mut done = std::mem::replace(self, Self { terms, ..Self::default() });
        done.firsts.push(done.meta.chunks);
        let writer = done.write_terms();
        done.meta.terms = writer.count;
        // Vectors of the other embedder are there for all chunks or they are not there.
        let complete = done.meta.other.as_ref().is_some_and(|other| {
            done.other_vectors.len() == other.row * done.meta.chunks as usize
                && done.other_file_vectors.len() == other.row * done.meta.files as usize
        });
        if !complete {
            done.meta.other = None;
            done.other_vectors.clear();
            done.other_file_vectors.clear();
        }
        let mut sections = Sections::default();
        for (section, bytes) in [
            (Section::Meta, done.meta.put()),
            (Section::Files, done.files),
            (Section::Chunks, done.chunks),
            (Section::Names, done.names),
            (Section::Lengths, done.lengths),
            (Section::Terms, writer.terms),
            (Section::TermSteps, writer.steps),
            (Section::Postings, writer.postings),
            (Section::Vectors, done.vectors),
            (Section::FileVectors, done.file_vectors),
            (Section::OtherVectors, done.other_vectors),
            (Section::OtherFileVectors, done.other_file_vectors),
        ] {
            sections[section as usize] = bytes;
        }
        sections
    }

    fn write_terms(&mut self) -> TermWriter {
        self.occurrences.sort_unstable();
        self.paths.sort_unstable();
        let mut counted: Vec<(u64, u32)> = self.counted.drain().collect();
        counted.sort_unstable();
        let mut chunks = self.occurrences.chunk_by(|a, b| a.term == b.term).peekable();
        let mut paths = self.paths.chunk_by(|a, b| a.0 == b.0).peekable();
        let mut counted = counted.into_iter().peekable();
        let mut writer = TermWriter::default();
        loop {
            let next = [
                chunks.peek().map(|same| same[0].term),
                paths.peek().map(|same| same[0].0),
                counted.peek().map(|(term, _)| *term),
            ];
            let Some(term) = next.into_iter().flatten().min() else { return writer };
            let mut postings = Postings::default();
            if let Some(same) = chunks.next_if(|same| same[0].term == term) {
                postings.chunks.extend(same.iter().map(|found| (found.chunk, found.count)));
            }
            if let Some(same) = paths.next_if(|same| same[0].0 == term) {
                postings.files.extend(same.iter().map(|(_, file, places)| (*file, *places)));
            }
            let files = counted.next_if(|(found, _)| *found == term).map_or(0, |(_, files)| files);
            writer.add(term, &postings, files, &self.firsts);
        }
    }
}

/// The names that describe a chunk: what it is a part of, then what it defines. The model has learned with both, and
/// the later parts of a long definition have no other name.
fn names_of(chunk: &Chunk) -> Vec<String> {
    chunk.scopes.iter().chain(&chunk.names).cloned().collect()
}
