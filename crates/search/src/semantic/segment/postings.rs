//! Which chunks have a term, how often, and which files have it in their path.

use super::format::{STEP, TermRow};
use crate::semantic::segment::bytes::{ByteReader, put_varint};

/// The name of the file has the term.
pub(in crate::semantic) const IN_STEM: u8 = 1;
/// One of the last folders has it.
pub(in crate::semantic) const IN_FOLDER: u8 = 2;

/// The postings of one term, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::semantic) struct Postings {
    /// Chunk and how often the term is in it, ascending.
    pub(in crate::semantic) chunks: Vec<(u32, u32)>,
    /// File and [`IN_STEM`] or [`IN_FOLDER`] or both, ascending.
    pub(in crate::semantic) files: Vec<(u32, u8)>,
}

impl Postings {
    pub(super) fn put(&self, to: &mut Vec<u8>) {
        put_varint(to, self.chunks.len() as u64);
        let mut before = 0;
        for (chunk, count) in &self.chunks {
            put_varint(to, u64::from(chunk - before) << 1 | u64::from(*count > 1));
            if *count > 1 {
                put_varint(to, (*count).into());
            }
            before = *chunk;
        }
        let mut before = 0;
        for (file, places) in &self.files {
            put_varint(to, u64::from(file - before) << 2 | u64::from(*places));
            before = *file;
        }
    }

    /// Adds the postings in the bytes. `None` if they are invalid.
    pub(super) fn read(&mut self, bytes: &[u8], chunks: u32, files: u32) -> Option<()> {
        let mut reader = ByteReader(bytes);
        let count = reader.number()?;
        let mut at = 0_u32;
        for _ in 0..count {
            let number = reader.varint()?;
            at = at.checked_add((number >> 1).try_into().ok()?).filter(|at| *at < chunks)?;
            self.chunks.push((at, if number & 1 == 1 { reader.number()? } else { 1 }));
        }
        let mut at = 0_u32;
        while !reader.0.is_empty() {
            let number = reader.varint()?;
            at = at.checked_add((number >> 2).try_into().ok()?).filter(|at| *at < files)?;
            self.files.push((at, (number & 3) as u8));
        }
        Some(())
    }

    /// In how many chunks and files the term is; `firsts` has the first chunk of each file and the end of the last.
    fn spread(&self, firsts: &[u32]) -> (u32, u32) {
        let (mut chunks, mut files) = (0, 0);
        let mut last = None;
        let mut named = self.files.iter().map(|(file, _)| *file).peekable();
        let mut whole = |until: Option<u32>, chunks: &mut u32, files: &mut u32| {
            let mut hit = false;
            while let Some(file) = named.next_if(|file| until.is_none_or(|until| *file <= until)) {
                *chunks += firsts[file as usize + 1] - firsts[file as usize];
                *files += 1;
                hit = Some(file) == until;
            }
            hit
        };
        let mut in_named = false;
        for (chunk, _) in &self.chunks {
            let file = firsts.partition_point(|first| first <= chunk) as u32 - 1;
            if last != Some(file) {
                in_named = whole(Some(file), &mut chunks, &mut files);
                files += u32::from(!in_named);
                last = Some(file);
            }
            chunks += u32::from(!in_named);
        }
        whole(None, &mut chunks, &mut files);
        (chunks, files)
    }
}

/// Writes terms in order of their hashes.
#[derive(Debug, Default)]
pub(super) struct TermWriter {
    pub(super) terms: Vec<u8>,
    pub(super) steps: Vec<u8>,
    pub(super) postings: Vec<u8>,
    pub(super) count: u32,
}

impl TermWriter {
    /// Adds a term. `counted` files have it and are not listed.
    pub(super) fn add(&mut self, hash: u64, postings: &Postings, counted: u32, firsts: &[u32]) {
        let (chunks, files) = postings.spread(firsts);
        let row = TermRow { hash, offset: self.postings.len() as u64, chunks, files: files + counted };
        if (self.count as usize).is_multiple_of(STEP) {
            self.steps.extend_from_slice(&hash.to_le_bytes());
        }
        row.put(&mut self.terms);
        if !postings.chunks.is_empty() || !postings.files.is_empty() {
            postings.put(&mut self.postings);
        }
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postings_survive() {
        let postings = Postings { chunks: vec![(0, 1), (7, 300), (8, 2)], files: vec![(0, 1), (3, 3)] };
        let mut bytes = Vec::new();
        postings.put(&mut bytes);
        let mut again = Postings::default();
        assert_eq!(again.read(&bytes, 9, 4), Some(()));
        assert_eq!(again, postings);
        assert_eq!(Postings::default().read(&bytes, 8, 4), None, "a chunk that is not there");
        assert_eq!(Postings::default().read(&bytes, 9, 3), None, "a file that is not there");
    }

    #[test]
    fn a_path_counts_for_all_chunks_of_its_file() {
        // Files of 2, 3 and 1 chunks.
        let firsts = [0, 2, 5, 6];
        let spread = |chunks: &[u32], files: &[u32]| {
            let chunks = chunks.iter().map(|chunk| (*chunk, 1)).collect();
            Postings { chunks, files: files.iter().map(|file| (*file, IN_STEM)).collect() }.spread(&firsts)
        };
        assert_eq!(spread(&[0, 3, 4], &[]), (3, 2));
        assert_eq!(spread(&[0, 3, 4], &[1]), (4, 2));
        assert_eq!(spread(&[5], &[0, 1]), (6, 3));
        assert_eq!(spread(&[], &[2]), (1, 1));
    }
}
