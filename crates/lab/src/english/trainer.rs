//! Learns rows of words from pairs: the two texts of a pair should point the same way, and those of others not (InfoNCE).

use std::collections::HashMap;

use anyhow::Result;
use toolbay_toolsearch::{
    english::{DIM, Draft, Table},
    words,
};

use super::{
    options::Options,
    pairs::{Kind, Pair},
    start::{Glove, WIDTH},
};
use crate::train::{
    loss::{View, contrast},
    random::Random,
    table::{Pace, Table as Rows},
};

/// The share of all steps in which the pace rises.
const WARM_UP: f32 = 0.05;
/// The most common words of English are known whatever the pairs are about.
const COMMON_WORDS: usize = 14_000;
/// Words in fewer pairs are left out.
const LEAST_PAIRS: usize = 4;
/// How long the numbers after those of GloVe are at the start, as a share of it, and the rows of words that GloVe does not have.
const REST: f32 = 0.3;
const UNKNOWN: f32 = 0.5;

/// Trains, and returns the file of the table.
pub(super) fn train(pairs: &[Pair], options: &Options) -> Result<Vec<u8>> {
    let glove = Glove::read(&options.data)?;
    let counts = counts(pairs);
    let words = vocabulary(&glove, &counts, options.words);
    let known = words.iter().filter(|word| glove.row(word).is_some()).count();
    println!("{} pairs, {} words, {known} of them in GloVe", pairs.len(), words.len());
    let mut random = Random::new(options.seed);
    let start = start(&words, &glove, &counts, options.common, &mut random);
    let file = Draft { words: words.clone(), rows: start.clone() }.write();
    let texts = Texts::new(&Table::parse(&file)?, pairs);
    let rows = learn(start, &texts, pairs, options, &mut random);
    Ok(Draft { words, rows }.write())
}

/// How many pairs have a word.
fn counts(pairs: &[Pair]) -> HashMap<String, usize> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for pair in pairs {
        let mut found: Vec<String> = Vec::new();
        for text in [&pair.left, &pair.right] {
            words::split(text, |word| {
                let is_word =
                    word.text.len() > 1 && word.text.len() <= 20 && !word.text.as_bytes()[0].is_ascii_digit();
                if is_word && !words::is_stop_word(word.text) {
                    found.push(word.text.to_owned());
                }
            });
        }
        found.sort_unstable();
        found.dedup();
        found.into_iter().for_each(|word| *counts.entry(word).or_default() += 1);
    }
    counts
}

/// The words that get a row, sorted: common ones, then those that most pairs have.
fn vocabulary(glove: &Glove, counts: &HashMap<String, usize>, most: usize) -> Vec<String> {
    let common =
        glove.words.iter().filter(|word| !words::is_stop_word(word)).take(COMMON_WORDS.min(most * 2 / 3));
    let mut words: Vec<String> = common.cloned().collect();
    let known: std::collections::HashSet<String> = words.iter().cloned().collect();
    let mut others: Vec<(&String, &usize)> = counts
        .iter()
        .filter(|(word, count)| **count >= LEAST_PAIRS && !known.contains(*word) && word.is_ascii())
        .collect();
    others.sort_unstable_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    words.extend(others.into_iter().take(most - words.len()).map(|(word, _)| word.clone()));
    words.sort_unstable();
    words
}

/// Rows of GloVe, the longer the rarer the word, and a little noise in the numbers that GloVe does not have.
fn start(
    words: &[String],
    glove: &Glove,
    counts: &HashMap<String, usize>,
    common: f32,
    random: &mut Random,
) -> Vec<f32> {
    let total: usize = counts.values().sum();
    let mut rows = Vec::with_capacity(words.len() * DIM);
    for word in words {
        let share = counts.get(word).copied().unwrap_or_default() as f32 / total as f32;
        let weight = common / (common + share);
        let (vector, rest) = match glove.row(word) {
            Some(vector) => (*vector, REST),
            None => (std::array::from_fn(|_| random.normal() * UNKNOWN / (WIDTH as f32).sqrt()), REST),
        };
        rows.extend(vector.iter().map(|value| value * weight));
        let deviation = rest / ((DIM - WIDTH) as f32).sqrt();
        rows.extend((WIDTH..DIM).map(|_| random.normal() * deviation * weight));
    }
    rows
}

/// All texts as numbers of words with how much each counts: of a pair, first the left one.
struct Texts {
    ends: Vec<usize>,
    entries: Vec<(u32, f32)>,
    /// By pair: equal numbers are not wrong answers of each other.
    same: Vec<u64>,
}

impl Texts {
    fn new(table: &Table<'_>, pairs: &[Pair]) -> Self {
        let mut texts = Self { ends: Vec::new(), entries: Vec::new(), same: Vec::new() };
        let mut numbers = Vec::new();
        for pair in pairs {
            for text in [&pair.left, &pair.right] {
                numbers.clear();
                table.numbers(text, |number| numbers.push(number));
                numbers.sort_unstable();
                let runs = numbers.chunk_by(|a, b| a == b);
                texts.entries.extend(runs.map(|run| (run[0], 1.0 + (run.len() as f32).ln())));
                texts.ends.push(texts.entries.len());
            }
            // What a server is for is said once for all that users may ask of it.
            let text =
                if matches!(pair.kind, Kind::Prompt | Kind::Readme) { &pair.source } else { &pair.left };
            texts.same.push(text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3)
            }));
        }
        texts
    }

    fn entries(&self, text: usize) -> &[(u32, f32)] {
        let start = if text == 0 { 0 } else { self.ends[text - 1] };
        &self.entries[start..self.ends[text]]
    }
}

fn learn(start: Vec<f32>, texts: &Texts, pairs: &[Pair], options: &Options, random: &mut Random) -> Vec<f32> {
    let usable: Vec<u32> = (0..pairs.len())
        .filter(|pair| !texts.entries(pair * 2).is_empty() && !texts.entries(pair * 2 + 1).is_empty())
        .map(|pair| pair as u32)
        .collect();
    let mut rows = Rows::new(DIM, start.clone());
    let view = View { temperature: options.temperature, back: 0.5 };
    let most = options.shares.iter().fold(0.0_f32, |most, share| most.max(*share));
    let (mut order, mut losses) = (Vec::new(), 0.0);
    for step in 1..=options.batches {
        while order.len() < options.batch {
            // One more time all pairs, those of rarer kinds only by chance.
            let mut more: Vec<u32> = usable
                .iter()
                .copied()
                .filter(|pair| random.fraction() * most < options.shares[pairs[*pair as usize].kind as usize])
                .collect();
            random.shuffle(&mut more);
            order.extend(more);
        }
        let batch = order.split_off(order.len() - options.batch);
        let share = step as f32 / options.batches as f32;
        let pace = if share < WARM_UP {
            share / WARM_UP
        } else {
            0.5 * (1.0 + (std::f32::consts::PI * (share - WARM_UP) / (1.0 - WARM_UP)).cos())
        };
        let pull = options.pull * pace;
        let pace = Pace::new(options.rate * pace, step);
        losses += step_on(&mut rows, &start, texts, &batch, options.drop, pace, pull, view, random);
        if step.is_multiple_of(100) {
            println!("step {step}: loss {:.3}", losses / 100.0);
            losses = 0.0;
        }
    }
    rows.values
}

#[expect(clippy::too_many_arguments, reason = "what a step needs, named once")]
fn step_on(
    rows: &mut Rows,
    start: &[f32],
    texts: &Texts,
    batch: &[u32],
    drop: f32,
    pace: Pace,
    pull: f32,
    view: View,
    random: &mut Random,
) -> f32 {
    // First all left texts, then all right ones, some of their words left out.
    let mut chosen: Vec<Vec<(u32, f32)>> = Vec::with_capacity(batch.len() * 2);
    for side in 0..2 {
        for pair in batch {
            let all = texts.entries(*pair as usize * 2 + side);
            let mut some: Vec<(u32, f32)> =
                all.iter().copied().filter(|_| random.fraction() >= drop).collect();
            if some.is_empty() {
                some = all.to_vec();
            }
            chosen.push(some);
        }
    }
    let mut units = vec![0.0_f32; chosen.len() * DIM];
    let mut lengths = Vec::with_capacity(chosen.len());
    for (entries, unit) in chosen.iter().zip(units.chunks_mut(DIM)) {
        for (word, times) in entries {
            unit.iter_mut().zip(rows.row(*word as usize)).for_each(|(sum, value)| *sum += times * value);
        }
        let length = unit.iter().map(|value| value * value).sum::<f32>().sqrt().max(1e-6);
        unit.iter_mut().for_each(|value| *value /= length);
        lengths.push(length);
    }
    let same: Vec<u64> = batch.iter().map(|pair| texts.same[*pair as usize]).collect();
    let (lefts, rights) = units.split_at(batch.len() * DIM);
    let found = contrast(lefts, rights, DIM, &same, view);

    let mut present: Vec<u32> = chosen.iter().flatten().map(|(word, _)| *word).collect();
    present.sort_unstable();
    present.dedup();
    let place: HashMap<u32, usize> = present.iter().enumerate().map(|(at, word)| (*word, at)).collect();
    let mut gradients = vec![0.0_f32; present.len() * DIM];
    let slopes = found.queries.chunks(DIM).chain(found.codes.chunks(DIM));
    for (((entries, slope), unit), length) in chosen.iter().zip(slopes).zip(units.chunks(DIM)).zip(&lengths) {
        let along: f32 = unit.iter().zip(slope).map(|(unit, slope)| unit * slope).sum();
        let slope: Vec<f32> =
            slope.iter().zip(unit).map(|(slope, unit)| (slope - unit * along) / length).collect();
        for (word, times) in entries {
            let into = &mut gradients[place[word] * DIM..][..DIM];
            into.iter_mut().zip(&slope).for_each(|(into, slope)| *into += times * slope);
        }
    }
    let touched: Vec<(u32, u32)> = present.iter().copied().zip(0..).collect();
    rows.learn(&touched, &gradients, pace);
    for word in present {
        let at = word as usize * DIM;
        let row = rows.values[at..at + DIM].iter_mut().zip(&start[at..at + DIM]);
        row.for_each(|(value, start)| *value += pull * (start - *value));
    }
    found.loss
}
