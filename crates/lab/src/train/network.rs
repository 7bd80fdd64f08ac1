//! What is learned: a row and weights for each word, and a step of it.

use std::collections::HashMap;

use toolbay_search::{
    model::{Draft, Vocabulary},
    words,
};

use super::{
    bags::Bags,
    loss::{View, contrast},
    parallel,
    random::Random,
    table::{Pace, Table},
};

/// Words that begin alike share a part of their row.
const SHARED_LETTERS: usize = 5;
const NOBODY: u32 = u32::MAX;

/// Learned: the row of a word is the sum of its own, that of its stem and that of its first letters; so that a rare word learns from its
/// relatives. They are summed when the model is written.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) width: usize,
    /// The vectors are also trained to be good when they are cut here.
    narrow: usize,
    own: Table,
    stems: Table,
    beginnings: Table,
    /// Logarithms of the weights, four for each word.
    weights: Table,
    stem_of: Vec<u32>,
    beginning_of: Vec<u32>,
}

/// A batch: questions and codes, pair by pair, and which questions are one and the same.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// First the questions, then the codes.
    pub(super) texts: Bags,
    pub(super) same: Vec<u64>,
}

impl Network {
    /// `start` gives the first weights, four for each word.
    pub(super) fn new(
        vocabulary: &Vocabulary,
        start: &[f32],
        width: usize,
        narrow: usize,
        random: &mut Random,
    ) -> Self {
        let list: Vec<&str> = (0..vocabulary.len() as u32).map(|number| vocabulary.word(number)).collect();
        let (stem_of, stems) = groups(list.iter().map(|word| words::stem(word).into_owned()));
        let (beginning_of, beginnings) = groups(list.iter().map(|word| {
            if word.len() < SHARED_LETTERS {
                (*word).to_owned()
            } else {
                word.chars().take(SHARED_LETTERS).collect()
            }
        }));
        let deviation = 0.5 / (width as f32).sqrt();
        Self {
            width,
            narrow,
            own: Table::random(list.len(), width, deviation, random),
            stems: Table::random(stems, width, deviation, random),
            beginnings: Table::random(beginnings, width, deviation, random),
            weights: Table::new(4, start.iter().map(|weight| weight.ln()).collect()),
            stem_of,
            beginning_of,
        }
    }

    /// Learns from a batch; gives the loss before it.
    pub(super) fn learn(&mut self, batch: &Batch, rows: Pace, weights: Pace, view: View) -> f32 {
        let (width, pairs) = (self.width, batch.same.len());
        let present = Present::new(&batch.texts);
        let table = self.rows(&present.words);
        let factors: Vec<f32> = batch
            .texts
            .slots
            .iter()
            .zip(&batch.texts.times)
            .map(|(slot, times)| times * self.weights.values[*slot as usize].exp())
            .collect();
        let sums = sum_up(&batch.texts, &present.at, &factors, &table, width);

        let mut slopes = vec![0.0; sums.len()];
        let mut loss = 0.0;
        for wide in [width, self.narrow] {
            let (units, lengths) = to_units(&sums, width, wide);
            let (queries, codes) = units.split_at(pairs * wide);
            let found = contrast(queries, codes, wide, &batch.same, view);
            loss += found.loss / 2.0;
            for (at, slope) in found.queries.chunks(wide).chain(found.codes.chunks(wide)).enumerate() {
                let unit = &units[at * wide..][..wide];
                let along: f32 = unit.iter().zip(slope).map(|(unit, slope)| unit * slope).sum();
                let into = &mut slopes[at * width..][..wide];
                for ((into, slope), unit) in into.iter_mut().zip(slope).zip(unit) {
                    *into += (slope - unit * along) / lengths[at];
                }
            }
        }

        let (of_rows, of_weights) = present.gradients(&factors, &batch.texts, &table, &slopes, width);
        let count = present.words.len() as u32;
        let touched: Vec<(u32, u32)> = present.words.iter().copied().zip(0..count).collect();
        self.weights.learn(&touched, &of_weights, weights);
        self.own.learn(&touched, &of_rows, rows);
        for (table, group_of) in
            [(&mut self.stems, &self.stem_of), (&mut self.beginnings, &self.beginning_of)]
        {
            let mut touched: Vec<(u32, u32)> = touched
                .iter()
                .map(|(word, at)| (group_of[*word as usize], *at))
                .filter(|(group, _)| *group != NOBODY)
                .collect();
            touched.sort_unstable();
            table.learn(&touched, &of_rows, rows);
        }
        loss
    }

    /// The model as it is now, of the first `width` numbers of each row.
    pub(super) fn draft(&self, vocabulary: &Vocabulary, width: usize) -> Draft {
        let all: Vec<u32> = (0..vocabulary.len() as u32).collect();
        let rows = self.rows(&all).chunks(self.width).flat_map(|row| row[..width].to_vec()).collect();
        let weights = [0, 1, 2, 3]
            .map(|field| self.weights.values.chunks(4).map(|weights| weights[field].exp()).collect());
        Draft { words: all.iter().map(|number| vocabulary.word(*number).to_owned()).collect(), weights, rows }
    }

    /// The whole rows of these words.
    fn rows(&self, words: &[u32]) -> Vec<f32> {
        let mut rows = vec![0.0_f32; words.len() * self.width];
        let ranges = parallel::ranges(words.len());
        let slices = parallel::cut(&mut rows, ranges.iter().map(|range| range.len() * self.width));
        parallel::join(ranges.into_iter().zip(slices).collect(), |(range, rows)| {
            for (word, row) in words[range].iter().map(|word| *word as usize).zip(rows.chunks_mut(self.width))
            {
                row.copy_from_slice(self.own.row(word));
                for (table, group) in
                    [(&self.stems, self.stem_of[word]), (&self.beginnings, self.beginning_of[word])]
                {
                    if group != NOBODY {
                        row.iter_mut()
                            .zip(table.row(group as usize))
                            .for_each(|(row, shared)| *row += shared);
                    }
                }
            }
        });
        rows
    }
}

/// Numbers for keys that more than one word has, and how many there are.
fn groups(keys: impl Iterator<Item = String>) -> (Vec<u32>, usize) {
    let keys: Vec<String> = keys.collect();
    let mut counts: HashMap<&str, u32> = HashMap::new();
    keys.iter().for_each(|key| *counts.entry(key).or_default() += 1);
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut of = Vec::with_capacity(keys.len());
    for key in &keys {
        let next = numbers.len() as u32;
        of.push(if counts[key.as_str()] > 1 { *numbers.entry(key).or_insert(next) } else { NOBODY });
    }
    let count = numbers.len();
    (of, count)
}

/// The first `wide` numbers of every vector at length one, and how long they were.
fn to_units(sums: &[f32], width: usize, wide: usize) -> (Vec<f32>, Vec<f32>) {
    let mut units = Vec::with_capacity(sums.len() / width * wide);
    let mut lengths = Vec::with_capacity(sums.len() / width);
    for sum in sums.chunks(width) {
        let length = sum[..wide].iter().map(|value| value * value).sum::<f32>().sqrt().max(1e-6);
        units.extend(sum[..wide].iter().map(|value| value / length));
        lengths.push(length);
    }
    (units, lengths)
}

/// The vectors of texts, not yet of length one.
pub(super) fn sum_up(texts: &Bags, row_of: &[u32], factors: &[f32], table: &[f32], width: usize) -> Vec<f32> {
    let mut sums = vec![0.0_f32; texts.len() * width];
    let ranges = parallel::ranges(texts.len());
    let slices = parallel::cut(&mut sums, ranges.iter().map(|range| range.len() * width));
    parallel::join(ranges.into_iter().zip(slices).collect(), |(range, sums)| {
        for (text, sum) in range.zip(sums.chunks_mut(width)) {
            for entry in texts.range(text) {
                let row = &table[row_of[entry] as usize * width..][..width];
                let factor = factors[entry];
                sum.iter_mut().zip(row).for_each(|(sum, row)| *sum += factor * row);
            }
        }
    });
    sums
}

/// The words of a batch, and where each stands in it.
struct Present {
    /// Sorted.
    words: Vec<u32>,
    /// For each entry of the texts, its word's place in `words`.
    at: Vec<u32>,
    /// By word: entries, and the text of each.
    uses: Vec<(u32, u32)>,
    /// Where the uses of each word end.
    ends: Vec<usize>,
}

impl Present {
    fn new(texts: &Bags) -> Self {
        let mut words: Vec<u32> = texts.slots.iter().map(|slot| slot / 4).collect();
        words.sort_unstable();
        words.dedup();
        let largest = words.last().map_or(0, |word| *word as usize + 1);
        let mut place = vec![0_u32; largest];
        words.iter().enumerate().for_each(|(at, word)| place[*word as usize] = at as u32);
        let at: Vec<u32> = texts.slots.iter().map(|slot| place[(slot / 4) as usize]).collect();
        let mut ends = vec![0_usize; words.len()];
        at.iter().for_each(|at| ends[*at as usize] += 1);
        let mut total = 0;
        let mut next: Vec<usize> = ends
            .iter()
            .map(|count| {
                let start = total;
                total += count;
                start
            })
            .collect();
        let mut uses = vec![(0, 0); at.len()];
        for text in 0..texts.len() {
            for entry in texts.range(text) {
                let next = &mut next[at[entry] as usize];
                uses[*next] = (entry as u32, text as u32);
                *next += 1;
            }
        }
        Self { words, at, uses, ends: next }
    }

    /// How the loss changes with the rows of the words, and with the logarithms of their weights.
    fn gradients(
        &self,
        factors: &[f32],
        texts: &Bags,
        table: &[f32],
        slopes: &[f32],
        width: usize,
    ) -> (Vec<f32>, Vec<f32>) {
        let mut of_rows = vec![0.0_f32; self.words.len() * width];
        let mut of_weights = vec![0.0_f32; self.words.len() * 4];
        let ranges = self.balanced();
        let rows = parallel::cut(&mut of_rows, ranges.iter().map(|range| range.len() * width));
        let weights = parallel::cut(&mut of_weights, ranges.iter().map(|range| range.len() * 4));
        let jobs = ranges.into_iter().zip(rows.into_iter().zip(weights)).collect();
        parallel::join(jobs, |(range, (rows, weights)): (std::ops::Range<usize>, _)| {
            let places = range.zip(rows.chunks_mut(width).zip(weights.chunks_mut(4)));
            for (word, (of_row, of_weight)) in places {
                let start = if word == 0 { 0 } else { self.ends[word - 1] };
                let row = &table[word * width..][..width];
                for (entry, text) in &self.uses[start..self.ends[word]] {
                    let slope = &slopes[*text as usize * width..][..width];
                    let factor = factors[*entry as usize];
                    of_row.iter_mut().zip(slope).for_each(|(of_row, slope)| *of_row += factor * slope);
                    of_weight[(texts.slots[*entry as usize] % 4) as usize] += factor * dot(row, slope);
                }
            }
        });
        (of_rows, of_weights)
    }

    /// Words in ranges with about as many uses each.
    fn balanced(&self) -> Vec<std::ops::Range<usize>> {
        let mut start = 0;
        parallel::ranges(self.uses.len())
            .into_iter()
            .map(|range| {
                let end = self.ends.partition_point(|end| *end <= range.end).max(start);
                std::mem::replace(&mut start, end)..end
            })
            .collect()
    }
}

/// In eight sums, so that they can be made side by side.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 8];
    for (a, b) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::{
        corpus::{Kind, Record},
        evaluate::Test,
        examples::{Dropout, Examples, vocabulary},
        loss::View,
    };

    /// Questions share no word with their code; only learning can bring them together.
    fn records(packages: usize) -> Vec<Record> {
        const LETTERS: [&str; 15] =
            ["ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu"];
        let word =
            |side: &str, number: usize| format!("{side}{}{}", LETTERS[number / 15], LETTERS[number % 15]);
        let pairs = (0..packages).flat_map(|package| (0..225).map(move |number| (package, number)));
        let record = |(package, number): (usize, usize)| Record {
            package: format!("rust/{package}"),
            kind: Kind::Function,
            query: format!("{} {}", word("ask", number), word("what", (number + package) % 225)),
            names: vec![word("name", number)],
            path: "src/lib.rs".to_owned(),
            code: format!("{} {}", word("code", number), word("text", (number + package) % 225)),
        };
        pairs.map(record).collect()
    }

    #[test]
    fn what_belongs_together_is_learned_from_nothing() {
        let records = records(4);
        let (learned, held_out): (Vec<&Record>, Vec<&Record>) =
            records.iter().partition(|record| record.package != "rust/3");
        let (vocabulary, weights) = vocabulary(&learned, 2_000);
        let test = Test::new(Examples::new(&vocabulary, &held_out), &held_out);
        let examples = Examples::new(&vocabulary, &learned);
        let mut random = Random::new(1);
        let mut network = Network::new(&vocabulary, &weights, 32, 16, &mut random);
        let [_, before, _] = test.measure(&network.draft(&vocabulary, 32));
        let mut batch = Batch::default();
        let view = View { temperature: 0.05, back: 0.5 };
        let (mut first, mut last, mut step) = (None, 0.0, 0);
        for _ in 0..8 {
            for pairs in examples.order(75, &mut random).chunks(225) {
                step += 1;
                let drop = Dropout { queries: 0.0, codes: 0.1 };
                examples.batch(pairs, drop, &mut random, &mut batch);
                last = network.learn(&batch, Pace::new(0.02, step), Pace::new(0.01, step), view);
                first.get_or_insert(last);
            }
        }
        let [words, after, _] = test.measure(&network.draft(&vocabulary, 32));
        assert_eq!(words.queries, 60);
        assert!(words.ndcg < 0.1 && before.ndcg < 0.3, "words {words}, before {before}");
        assert!(after.ndcg > 0.9, "before {before}, after {after}");
        assert!(last < first.unwrap() / 2.0, "{first:?} {last}");
        // The second loss makes half of it useful as well.
        let [_, half, _] = test.measure(&network.draft(&vocabulary, 16));
        assert!(half.ndcg > 0.8, "{half}");
    }

    #[test]
    fn the_same_seed_gives_the_same_table() {
        let records = records(2);
        let all: Vec<&Record> = records.iter().collect();
        let (vocabulary, weights) = vocabulary(&all, 2_000);
        let examples = Examples::new(&vocabulary, &all);
        let learn = || {
            let mut random = Random::new(5);
            let mut network = Network::new(&vocabulary, &weights, 16, 8, &mut random);
            let mut batch = Batch::default();
            let order = examples.order(50, &mut random);
            let drop = Dropout { queries: 0.1, codes: 0.2 };
            examples.batch(&order[..200], drop, &mut random, &mut batch);
            let view = View { temperature: 0.05, back: 0.5 };
            network.learn(&batch, Pace::new(0.01, 1), Pace::new(0.01, 1), view);
            network.draft(&vocabulary, 16).write()
        };
        assert_eq!(learn(), learn());
    }
}
