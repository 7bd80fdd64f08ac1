//! Weights made better one at a time.

use std::collections::BTreeMap;

use toolbay_search::meaning::{Feature, Weights, list};

use super::examples::{Example, Kind};
use crate::semble::{TOP, mean, ndcg_of};

/// What is looked at: the kinds of questions, those of them that share no word with the names of the answer, and those with
/// an answer in several chunks.
pub(super) const FIGURES: usize = Kind::ALL.len() + 2;
/// How much each counts. The last is a part of the others, and only to be kept in sight.
const COUNTS: [f64; FIGURES] = [2.0, 1.5, 1.0, 1.5, 0.5];

/// NDCG@10 of each kind of questions, as the mean of the repositories; of those in other words; and of those with long
/// answers.
pub(super) fn figures(weights: &Weights, examples: &[Example]) -> [f64; FIGURES] {
    let half = examples.len() / 2;
    let each = |examples: &[Example]| -> Vec<f64> {
        examples.iter().map(|example| figure(weights, example)).collect()
    };
    let values = std::thread::scope(|threads| {
        let second = threads.spawn(|| each(&examples[half..]));
        let mut first = each(&examples[..half]);
        first.append(&mut second.join().unwrap_or_default());
        first
    });
    let mut groups: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
    let (mut in_other_words, mut long) = (Vec::new(), Vec::new());
    for (example, value) in examples.iter().zip(&values) {
        groups.entry((example.kind as usize, example.group)).or_default().push(*value);
        if example.in_other_words() {
            in_other_words.push(*value);
        }
        if example.is_long() {
            long.push(*value);
        }
    }
    let [places, bare, published] = Kind::ALL.map(|kind| {
        let groups = groups.iter().filter(|((known, _), _)| *known == kind as usize);
        mean(&groups.map(|(_, figures)| mean(figures)).collect::<Vec<_>>())
    });
    [places, bare, published, mean(&in_other_words), mean(&long)]
}

fn figure(weights: &Weights, example: &Example) -> f64 {
    let listed = list(weights, &example.candidates, TOP);
    let hits: Vec<u64> = listed.iter().map(|(at, _)| example.hits[*at]).collect();
    ndcg_of(&hits, example.targets)
}

/// Going far from where it began costs a little, so that no weight changes for nothing.
fn worth(weights: &Weights, start: &Weights, examples: &[Example]) -> f64 {
    const PULL: f64 = 3e-5;
    let far = weights.features.iter().zip(&start.features).map(|(weight, start)| (weight - start).powi(2));
    let figures = figures(weights, examples);
    let sum: f64 = figures.iter().zip(COUNTS).map(|(figure, count)| figure * count).sum();
    sum / COUNTS.iter().sum::<f64>() - f64::from(far.sum::<f32>()) * PULL
}

/// Tries steps of each weight, smaller and smaller, and keeps what helps.
pub(super) fn ascend(start: Weights, examples: &[Example]) -> Weights {
    let mut weights = start;
    let mut best = worth(&weights, &start, examples);
    for step in [0.8, 0.4, 0.8, 0.4, 0.2] {
        for at in 0..Feature::COUNT + 2 {
            for direction in [step, -step] {
                let mut tried = weights;
                match tried.features.get_mut(at) {
                    Some(weight) => *weight += direction,
                    None if at == Feature::COUNT => tried.repeat = (tried.repeat + direction / 4.0).max(0.0),
                    None => tried.again = (tried.again + direction / 2.0).max(0.0),
                }
                let figure = worth(&tried, &start, examples);
                // Less than this is chance.
                if figure > best + 5e-5 {
                    (weights, best) = (tried, figure);
                    break;
                }
            }
        }
    }
    weights
}
