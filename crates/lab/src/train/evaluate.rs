//! How well a model finds the code to a question among all code of the same package.

use std::collections::HashMap;

use toolbay_search::{
    model::{Draft, Model, TextField, Vector, path_parts},
    words,
};

use super::{
    bags::Bags,
    corpus::{Kind, Record},
    examples::Examples,
    network::{dot, sum_up},
    parallel,
};

/// So that a large package does not count for all.
const QUERIES_PER_PACKAGE: usize = 60;
/// Where there is little to choose from, everything does well.
const LEAST_CANDIDATES: usize = 200;
const TOP: usize = 100;

/// Means over the questions.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Figures {
    pub(super) queries: usize,
    pub(super) ndcg: f64,
    pub(super) mrr: f64,
    pub(super) hits: f64,
}

impl Figures {
    fn add(&mut self, rank: usize) {
        self.queries += 1;
        self.mrr += 1.0 / rank as f64;
        if rank <= 10 {
            self.hits += 1.0;
            self.ndcg += 1.0 / (1.0 + rank as f64).log2();
        }
    }

    fn mean(mut self) -> Self {
        let count = self.queries.max(1) as f64;
        (self.ndcg, self.mrr, self.hits) = (self.ndcg / count, self.mrr / count, self.hits / count);
        self
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3} / {:.3} / {:.3}", self.ndcg, self.mrr, self.hits)
    }
}

/// A set of packages to measure with, none of them learned from.
pub(super) struct Test {
    examples: Examples,
    packages: Vec<Package>,
}

struct Package {
    /// Pairs whose code can be the answer.
    candidates: Vec<usize>,
    /// Places in `candidates` of those that are asked for, and the score of every candidate by its words.
    asked: Vec<(usize, Vec<f32>)>,
}

impl Test {
    pub(super) fn new(examples: Examples, records: &[&Record]) -> Self {
        let all: Vec<usize> = (0..records.len()).filter(|at| examples.kinds[*at] != Kind::Comment).collect();
        let groups: Vec<&[usize]> =
            all.chunk_by(|a, b| examples.packages[*a] == examples.packages[*b]).collect();
        let groups: Vec<&[usize]> =
            groups.into_iter().filter(|group| group.len() >= LEAST_CANDIDATES).collect();
        let packages = parallel::ranges(groups.len());
        let packages = parallel::join(packages, |range| {
            groups[range].iter().map(|group| Package::new(group, &examples, records)).collect::<Vec<_>>()
        });
        Self { examples, packages: packages.into_iter().flatten().collect() }
    }

    /// By words alone, by the model alone, and both together.
    pub(super) fn measure(&self, draft: &Draft) -> [Figures; 3] {
        let width = draft.rows.len() / draft.words.len();
        let queries = embed(&self.examples.queries, draft, width);
        let codes = embed(&self.examples.codes, draft, width);
        self.figures(|query, code| dot(&queries[query * width..][..width], &codes[code * width..][..width]))
    }

    /// The same with the table as it is in the file, rounded to bytes, and vectors of bytes as an index has them.
    pub(super) fn measure_rounded(&self, model: &Model, records: &[&Record]) -> [Figures; 3] {
        let queries: Vec<Vector> = records.iter().map(|record| model.query(&record.query)).collect();
        let codes: Vec<Vector> =
            records.iter().map(|record| model.code(&record.path, &record.names, &record.code)).collect();
        self.figures(|query, code| queries[query].dot(&codes[code]))
    }

    /// With the likeness of two pairs: of the question of one, and the code of the other.
    fn figures(&self, likeness: impl Fn(usize, usize) -> f32 + Sync) -> [Figures; 3] {
        let ranges = parallel::ranges(self.packages.len());
        let parts = parallel::join(ranges, |range| {
            let mut figures = [Figures::default(); 3];
            for package in &self.packages[range] {
                for (asked, by_words) in &package.asked {
                    let query = package.candidates[*asked];
                    let by_model: Vec<f32> =
                        package.candidates.iter().map(|pair| likeness(query, *pair)).collect();
                    let both: Vec<f32> = spread(by_words)
                        .iter()
                        .zip(spread(&by_model))
                        .map(|(words, model)| words + model)
                        .collect();
                    for (figures, scores) in figures.iter_mut().zip([by_words, &by_model, &both]) {
                        figures.add(rank(scores, *asked));
                    }
                }
            }
            figures
        });
        let mut figures = [Figures::default(); 3];
        for part in parts {
            for (sum, part) in figures.iter_mut().zip(part) {
                sum.queries += part.queries;
                sum.ndcg += part.ndcg;
                sum.mrr += part.mrr;
                sum.hits += part.hits;
            }
        }
        figures.map(Figures::mean)
    }
}

impl Package {
    fn new(group: &[usize], examples: &Examples, records: &[&Record]) -> Self {
        let index = Words::new(group.iter().map(|pair| records[*pair]));
        let mut seen: HashMap<u64, usize> = HashMap::new();
        group.iter().for_each(|pair| *seen.entry(examples.same[*pair]).or_default() += 1);
        let askable: Vec<usize> = (0..group.len())
            .filter(|at| {
                examples.kinds[group[*at]] == Kind::Function && seen[&examples.same[group[*at]]] == 1
            })
            .collect();
        let step = (askable.len() as f64 / QUERIES_PER_PACKAGE as f64).max(1.0);
        let count = askable.len().min(QUERIES_PER_PACKAGE);
        let asked = (0..count)
            .map(|number| askable[(number as f64 * step) as usize])
            .map(|at| (at, index.scores(&records[group[at]].query)))
            .collect();
        Self { candidates: group.to_vec(), asked }
    }
}

/// BM25 over stems, names counted more.
struct Words {
    postings: HashMap<String, Vec<(usize, f32)>>,
    lengths: Vec<f32>,
    mean: f32,
}

impl Words {
    fn new<'a>(records: impl Iterator<Item = &'a Record>) -> Self {
        let mut postings: HashMap<String, Vec<(usize, f32)>> = HashMap::new();
        let mut lengths = Vec::new();
        for (at, record) in records.enumerate() {
            let mut counts: HashMap<String, f32> = HashMap::new();
            let mut add =
                |text: &str, times: f32| stems(text, |stem| *counts.entry(stem).or_default() += times);
            add(&record.code, 1.0);
            record.names.iter().for_each(|name| add(name, 2.0));
            path_parts(&record.path).zip([2.0, 1.0, 1.0]).for_each(|(part, times)| add(part, times));
            lengths.push(counts.values().sum());
            for (stem, count) in counts {
                postings.entry(stem).or_default().push((at, count));
            }
        }
        let mean = lengths.iter().sum::<f32>() / lengths.len().max(1) as f32;
        Self { postings, lengths, mean }
    }

    fn scores(&self, query: &str) -> Vec<f32> {
        let mut scores = vec![0.0; self.lengths.len()];
        let mut asked = Vec::new();
        stems(query, |stem| asked.push(stem));
        asked.sort_unstable();
        asked.dedup();
        for stem in asked {
            let Some(places) = self.postings.get(&stem) else { continue };
            let (total, found) = (scores.len() as f32, places.len() as f32);
            let rarity = (1.0 + (total - found + 0.5) / (found + 0.5)).ln();
            for (at, count) in places {
                let length = 1.2 * (0.25 + 0.75 * self.lengths[*at] / self.mean);
                scores[*at] += rarity * count * 2.2 / (count + length);
            }
        }
        scores
    }
}

fn stems(text: &str, mut found: impl FnMut(String)) {
    words::split(text, |word| {
        if !words::is_stop_word(word) {
            found(words::stem(word).into_owned());
        }
    });
}

/// The vectors of texts at length one.
fn embed(texts: &Bags, draft: &Draft, width: usize) -> Vec<f32> {
    let row_of: Vec<u32> = texts.slots.iter().map(|slot| slot / 4).collect();
    let factors: Vec<f32> = texts
        .slots
        .iter()
        .zip(&texts.times)
        .map(|(slot, times)| times * draft.weights[(slot % 4) as usize][(slot / 4) as usize])
        .collect();
    debug_assert_eq!(TextField::ALL.len(), draft.weights.len());
    let mut sums = sum_up(texts, &row_of, &factors, &draft.rows, width);
    for sum in sums.chunks_mut(width) {
        let length = dot(sum, sum).sqrt().max(1e-9);
        sum.iter_mut().for_each(|value| *value /= length);
    }
    sums
}

/// The best hundred from 0 to 1, the rest 0.
fn spread(scores: &[f32]) -> Vec<f32> {
    let mut sorted = scores.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let (most, least) = (sorted[0], sorted[sorted.len().min(TOP) - 1]);
    scores.iter().map(|score| ((score - least) / (most - least).max(1e-9)).max(0.0)).collect()
}

/// Ties count against it, by half.
fn rank(scores: &[f32], asked: usize) -> usize {
    let own = scores[asked];
    let better = scores.iter().filter(|score| **score > own).count();
    let equal = scores.iter().filter(|score| **score == own).count() - 1;
    1 + better + equal / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_shared() {
        assert_eq!(rank(&[0.1, 0.9, 0.5], 1), 1);
        assert_eq!(rank(&[0.1, 0.9, 0.5], 0), 3);
        assert_eq!(rank(&[0.0; 9], 4), 5);
    }

    #[test]
    fn figures_count_the_first_ten_places() {
        let mut figures = Figures::default();
        [1, 3, 11].into_iter().for_each(|rank| figures.add(rank));
        let Figures { ndcg, mrr, hits, .. } = figures.mean();
        assert!((ndcg - 0.5).abs() < 1e-9 && (hits - 2.0 / 3.0).abs() < 1e-9);
        assert!((mrr - (1.0 + 1.0 / 3.0 + 1.0 / 11.0) / 3.0).abs() < 1e-9);
    }
}
