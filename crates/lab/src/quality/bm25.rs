//! BM25 over chunks, with the names of definitions: the plain yardstick, written for reading and not for speed.

use std::collections::{HashMap, HashSet};

use toolbay_search::{chunk::Chunk, words};

use super::method::{Hit, lines};

const K1: f64 = 1.2;
const B: f64 = 0.75;
/// What a word counts beside its place in the text: in a name that is defined there, in the file's name, in its folders.
const NAME: f64 = 2.0;
const STEM: f64 = 2.0;
const FOLDER: f64 = 1.0;
const FOLDERS: usize = 3;

/// Chunks as bags of words.
#[derive(Debug, Default)]
pub(super) struct Bm25 {
    chunks: Vec<(Hit, f64)>,
    /// For each word the chunks with it, and how much of it they have.
    postings: HashMap<String, Vec<(usize, f64)>>,
}

impl Bm25 {
    pub(super) fn add(&mut self, path: &str, text: &str, chunk: &Chunk) {
        let mut bag: HashMap<String, f64> = HashMap::new();
        let mut length = 0.0;
        count(&text[chunk.bytes.clone()], |word| {
            *bag.entry(word).or_default() += 1.0;
            length += 1.0;
        });
        let mut extra = |text: &str, weight: f64| count(text, |word| *bag.entry(word).or_default() += weight);
        chunk.names.iter().for_each(|name| extra(name, NAME));
        let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
        extra(file.split('.').next().unwrap_or(file), STEM);
        folders.rsplit('/').take(FOLDERS).for_each(|folder| extra(folder, FOLDER));
        let id = self.chunks.len();
        self.chunks.push((Hit { path: path.to_owned(), lines: lines(chunk) }, length));
        for (word, weight) in bag {
            self.postings.entry(word).or_default().push((id, weight));
        }
    }

    pub(super) fn search(&self, question: &str, most: usize) -> Vec<Hit> {
        let all = self.chunks.len() as f64;
        let average = self.chunks.iter().map(|(_, length)| length).sum::<f64>() / all.max(1.0);
        let mut wanted = HashSet::new();
        count(question, |word| {
            wanted.insert(word);
        });
        let mut scores: HashMap<usize, f64> = HashMap::new();
        for word in &wanted {
            let Some(postings) = self.postings.get(word) else { continue };
            let with = postings.len() as f64;
            let rarity = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
            for (id, weight) in postings {
                let length = self.chunks[*id].1;
                let part = weight * (K1 + 1.0) / (weight + K1 * (1.0 - B + B * length / average));
                *scores.entry(*id).or_default() += rarity * part;
            }
        }
        let mut order: Vec<(usize, f64)> = scores.into_iter().collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        order.into_iter().take(most).map(|(id, _)| self.chunks[id].0.clone()).collect()
    }
}

/// Every word of a text as its stem.
fn count(text: &str, mut found: impl FnMut(String)) {
    words::split(text, |word| {
        if !words::is_stop_word(word) {
            found(words::stem(word).into_owned());
        }
    });
}
