//! Weights from nothing: those that make what is right likely.
//!
//! Each candidate is as likely as `exp(score)`, and the weights are those that make the right ones most likely. That is smooth
//! and leans on every question, not only on those that are about to change their rank. What is found does not depend on the
//! weights that the search has today, so that a part which is held out is held out indeed.

use std::collections::BTreeMap;

use toolbay_search::semantic::{Feature, Features, Weights};

use super::{
    ascent::counts,
    examples::{Example, Kind},
};

const STEPS: i32 = 160;
const RATE: f64 = 0.08;
/// What a weight costs, so that one that hardly matters stays small.
const COST: f64 = 1e-4;
/// A chunk that has the question word for word comes first in any case; it need not be learned from.
const MOST_BONUS: f32 = 8.0;

type Slope = [f64; Feature::COUNT];

/// Adam, from zero.
pub(super) fn descend(examples: &[Example]) -> Weights {
    let counts = counts(examples);
    let mut weights = Weights { features: [0.0; Feature::COUNT], ..Weights::FITTED };
    let (mut first, mut second) = ([0.0; Feature::COUNT], [0.0; Feature::COUNT]);
    for step in 1..=STEPS {
        let slope = slope(&weights, examples, &counts);
        let rate = if step <= STEPS * 6 / 10 { RATE } else { RATE * 0.3 };
        for at in 0..Feature::COUNT {
            let slope = slope[at] + COST * f64::from(weights.features[at]);
            first[at] = 0.9 * first[at] + 0.1 * slope;
            second[at] = 0.99 * second[at] + 0.01 * slope * slope;
            let mean = first[at] / (1.0 - 0.9_f64.powi(step));
            let spread = (second[at] / (1.0 - 0.99_f64.powi(step))).sqrt() + 1e-8;
            weights.features[at] -= (rate * mean / spread) as f32;
        }
    }
    weights
}

/// How the loss changes with each weight.
fn slope(weights: &Weights, examples: &[Example], counts: &[f64]) -> Slope {
    let half = examples.len() / 2;
    let part = |examples: &[Example], counts: &[f64]| {
        let mut slope = [0.0; Feature::COUNT];
        for (example, count) in examples.iter().zip(counts) {
            add_slope(weights, example, *count, &mut slope);
        }
        slope
    };
    std::thread::scope(|threads| {
        let second = threads.spawn(|| part(&examples[half..], &counts[half..]));
        let mut slope = part(&examples[..half], &counts[..half]);
        let second = second.join().unwrap_or([0.0; Feature::COUNT]);
        slope.iter_mut().zip(second).for_each(|(slope, second)| *slope += second);
        slope
    })
}

fn add_slope(weights: &Weights, example: &Example, count: f64, slope: &mut Slope) {
    let scored: Vec<(f32, &Features, bool)> = shown(weights, example);
    if !scored.iter().any(|(_, _, right)| *right) {
        return;
    }
    let most = scored.iter().map(|(score, ..)| *score).fold(f32::NEG_INFINITY, f32::max);
    let likely = |score: f32| f64::from((score - most).exp());
    let all: f64 = scored.iter().map(|(score, ..)| likely(*score)).sum();
    let right = || scored.iter().filter(|(_, _, right)| *right);
    let all_right: f64 = right().map(|(score, ..)| likely(*score)).sum();
    let each = 1.0 / right().count() as f64;
    for (score, features, is_right) in &scored {
        // Of several files all should be found, of the parts of a function any.
        let wanted = match (is_right, example.kind) {
            (false, _) => 0.0,
            (true, Kind::Place) => each,
            (true, _) => likely(*score) / all_right.max(f64::MIN_POSITIVE),
        };
        let off = (likely(*score) / all - wanted) * count;
        slope.iter_mut().zip(*features).for_each(|(slope, feature)| *slope += off * f64::from(*feature));
    }
}

/// Candidates with their scores; where files are asked for, only the best of each.
fn shown<'a>(weights: &Weights, example: &'a Example) -> Vec<(f32, &'a Features, bool)> {
    let scored = example.candidates.iter().zip(&example.hits).map(|(one, hits)| {
        let score = weights.score(&one.features) + one.bonus.min(MOST_BONUS);
        (one.file, (score, &one.features, *hits != 0))
    });
    if example.kind != Kind::Place {
        return scored.map(|(_, one)| one).collect();
    }
    let mut best: BTreeMap<u32, (f32, &Features, bool)> = BTreeMap::new();
    for (file, one) in scored {
        let known = best.entry(file).or_insert(one);
        if one.0 > known.0 {
            *known = one;
        }
    }
    best.into_values().collect()
}
