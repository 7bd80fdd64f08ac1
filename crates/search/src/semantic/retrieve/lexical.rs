//! BM25 over chunks and over files.

use crate::semantic::{
    retrieve::top::Top,
    segment::{Damaged, IN_FOLDER, IN_STEM, Postings},
    view::{Place, View, ViewPart},
};

const K1: f32 = 1.2;
const CHUNK_B: f32 = 0.75;
const FILE_B: f32 = 0.6;
/// What a word in the path counts for each chunk of the file, and for the file: in its name, in its folders.
const CHUNK_PATH: (u32, u32) = (2, 1);
const FILE_PATH: (u32, u32) = (6, 3);

/// Scores of all chunks and files for the words of a query.
#[derive(Debug)]
pub(in crate::semantic) struct Lexical {
    /// How rare each term is.
    pub(in crate::semantic) idf: Vec<f32>,
    parts: Vec<Scores>,
}

#[derive(Debug)]
struct Scores {
    chunks: Vec<f32>,
    files: Vec<f32>,
    /// How much of the query a chunk has, by how rare its terms are.
    covered: Vec<f32>,
}

/// The average lengths that BM25 wants.
#[derive(Debug, Clone, Copy)]
struct Averages {
    chunk: f32,
    file: f32,
}

impl Lexical {
    pub(in crate::semantic) fn new(view: &View, terms: &[u64]) -> Result<Self, Damaged> {
        let metas = || view.parts.iter().map(|part| part.segment.meta());
        let chunks: f32 = metas().map(|meta| meta.chunks as f32).sum::<f32>().max(1.0);
        let files: f32 = metas().map(|meta| meta.files as f32).sum::<f32>().max(1.0);
        let words: f32 = metas().map(|meta| meta.words as f32).sum::<f32>().max(1.0);
        let averages = Averages { chunk: words / chunks, file: words / files };
        let mut idf = Vec::with_capacity(terms.len());
        let mut file_idf = Vec::with_capacity(terms.len());
        for term in terms {
            let (mut with, mut files_with) = (0.0, 0.0);
            for part in &view.parts {
                let spread = part.segment.spread(*term)?;
                with += spread.chunks as f32;
                files_with += spread.files as f32;
            }
            idf.push(rarity(chunks, with));
            file_idf.push(rarity(files, files_with));
        }
        let mut parts = Vec::with_capacity(view.parts.len());
        for part in &view.parts {
            let meta = part.segment.meta();
            let mut scores = Scores {
                chunks: vec![0.0; meta.chunks as usize],
                files: vec![0.0; meta.files as usize],
                covered: vec![0.0; meta.chunks as usize],
            };
            let lengths = part.segment.lengths()?;
            for (at, term) in terms.iter().enumerate() {
                let postings = part.segment.postings(*term)?;
                scores.add(part, &lengths, averages, &postings, idf[at], file_idf[at]);
            }
            parts.push(scores);
        }
        Ok(Self { idf, parts })
    }

    pub(in crate::semantic) fn chunk(&self, place: Place) -> f32 {
        self.parts[place.part as usize].chunks[place.chunk as usize]
    }

    pub(in crate::semantic) fn file(&self, part: u32, file: u32) -> f32 {
        self.parts[part as usize].files[file as usize]
    }

    /// The best chunks by score, and the best among those that have most of the terms.
    pub(in crate::semantic) fn top_chunks(
        &self,
        view: &View,
        most: usize,
        most_covered: usize,
    ) -> Vec<Place> {
        let (mut top, mut covered) = (Top::new(most), Top::new(most_covered));
        for (number, (part, scores)) in view.parts.iter().zip(&self.parts).enumerate() {
            for (chunk, score) in scores.chunks.iter().enumerate().filter(|(_, score)| **score > 0.0) {
                let place = Place { part: number as u32, chunk: chunk as u32 };
                // Scores are far below a thousand, so what is covered comes first.
                let both = scores.covered[chunk] * 1000.0 + score;
                if (top.takes(*score) || covered.takes(both)) && part.has(place.chunk) {
                    top.put(*score, place);
                    covered.put(both, place);
                }
            }
        }
        let mut places: Vec<Place> = top.sorted().into_iter().map(|(_, place)| place).collect();
        places.extend(covered.sorted().into_iter().map(|(_, place)| place));
        places
    }

    /// The best chunks of the best files.
    pub(in crate::semantic) fn top_files(&self, view: &View, most: usize) -> Vec<(u32, u32)> {
        let mut top = Top::new(most);
        for (number, (part, scores)) in view.parts.iter().zip(&self.parts).enumerate() {
            for (file, score) in scores.files.iter().enumerate().filter(|(_, score)| **score > 0.0) {
                if part.counts[file] {
                    top.put(*score, (number as u32, file as u32));
                }
            }
        }
        top.sorted().into_iter().map(|(_, file)| file).collect()
    }
}

/// The weight of a term that `with` of `all` have.
fn rarity(all: f32, with: f32) -> f32 {
    let with = with.min(all);
    (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
}

fn saturate(count: u32, length: f32, average: f32, b: f32) -> f32 {
    let count = count as f32;
    count * (K1 + 1.0) / (count + K1 * (1.0 - b + b * length / average))
}

impl Scores {
    /// Adds a term: goes through chunks and through files that have it in their path, file by file.
    fn add(
        &mut self,
        part: &ViewPart,
        lengths: &[u16],
        averages: Averages,
        postings: &Postings,
        idf: f32,
        file_idf: f32,
    ) {
        let table = &part.files;
        let mut chunks = postings.chunks.iter().peekable();
        let mut paths = postings.files.iter().peekable();
        loop {
            let by_chunk = chunks.peek().map(|(chunk, _)| table.file_of(*chunk));
            let by_path = paths.peek().map(|(file, _)| *file);
            let Some(file) = by_chunk.into_iter().chain(by_path).min() else { return };
            let places = paths.next_if(|(named, _)| *named == file).map_or(0, |(_, places)| *places);
            let bonus = |(stem, folder): (u32, u32)| {
                u32::from(places & IN_STEM != 0) * stem + u32::from(places & IN_FOLDER != 0) * folder
            };
            let (extra, mut in_file) = (bonus(CHUNK_PATH), bonus(FILE_PATH));
            let range = table.chunks_of(file);
            let mut score = |chunk: u32, count: u32| {
                let at = chunk as usize;
                let length = f32::from(lengths[at]) + extra as f32;
                self.chunks[at] += idf * saturate(count, length, averages.chunk, CHUNK_B);
                self.covered[at] += idf;
            };
            let mut next = range.start;
            while let Some((chunk, count)) = chunks.next_if(|(chunk, _)| range.contains(chunk)) {
                if extra > 0 {
                    (next..*chunk).for_each(|chunk| score(chunk, extra));
                }
                score(*chunk, count + extra);
                in_file += count;
                next = chunk + 1;
            }
            if extra > 0 {
                (next..range.end).for_each(|chunk| score(chunk, extra));
            }
            let length = table.words[file as usize] as f32;
            self.files[file as usize] += file_idf * saturate(in_file, length, averages.file, FILE_B);
        }
    }
}
