//! Weights made better one at a time.

use std::collections::BTreeMap;

use toolbay_search::semantic::{Feature, Weights, list};

use super::examples::{Example, Kind};
use crate::semble::{TOP, ndcg_of};

/// What is looked at: the kinds of questions, those of them that share no word with the names of the answer, and those with
/// an answer in several chunks.
pub(super) const FIGURES: usize = Kind::ALL.len() + 2;
/// How much each counts. The last two are parts of the others, and only to be kept in sight.
const COUNTS: [f64; FIGURES] = [3.0, 2.0, 1.0, 1.0, 0.5, 0.2];

/// NDCG@10 of each kind of questions, as the mean of the repositories; of those in other words; and of those with long
/// answers.
pub(super) fn figures(weights: &Weights, examples: &[Example]) -> [f64; FIGURES] {
    let values = values(weights, examples);
    shares(examples).map(|shares| shares.iter().zip(&values).map(|(share, value)| share * value).sum())
}

/// What each question has to say about each figure.
fn shares(examples: &[Example]) -> [Vec<f64>; FIGURES] {
    let mut groups: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for example in examples {
        *groups.entry((example.kind as usize, example.group)).or_default() += 1.0;
    }
    let [places, bare, published, inside] = Kind::ALL.map(|kind| {
        let all = groups.keys().filter(|(known, _)| *known == kind as usize).count() as f64;
        let share = |example: &Example| {
            let group = groups.get(&(example.kind as usize, example.group)).copied().unwrap_or(1.0);
            if example.kind == kind { 1.0 / all / group } else { 0.0 }
        };
        examples.iter().map(share).collect()
    });
    let among = |is: fn(&Example) -> bool| {
        let all = examples.iter().filter(|example| is(example)).count() as f64;
        examples.iter().map(|example| if is(example) { 1.0 / all } else { 0.0 }).collect()
    };
    [places, bare, published, inside, among(Example::in_other_words), among(Example::is_long)]
}

/// How much each question counts in all.
pub(super) fn counts(examples: &[Example]) -> Vec<f64> {
    let mut counts = vec![0.0; examples.len()];
    for (shares, count) in shares(examples).iter().zip(COUNTS) {
        let of_all = count / COUNTS.iter().sum::<f64>();
        counts.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share * of_all);
    }
    counts
}

/// NDCG@10 of each question.
fn values(weights: &Weights, examples: &[Example]) -> Vec<f64> {
    let half = examples.len() / 2;
    let each = |examples: &[Example]| -> Vec<f64> {
        examples.iter().map(|example| figure(weights, example)).collect()
    };
    std::thread::scope(|threads| {
        let second = threads.spawn(|| each(&examples[half..]));
        let mut first = each(&examples[..half]);
        first.append(&mut second.join().unwrap_or_default());
        first
    })
}

fn figure(weights: &Weights, example: &Example) -> f64 {
    let listed = list(weights, &example.candidates, TOP);
    let hits: Vec<u64> = listed.iter().map(|(at, _)| example.hits[*at]).collect();
    ndcg_of(&hits, example.targets)
}

/// Tries steps of each weight, smaller and smaller, and keeps what helps.
pub(super) fn ascend(start: Weights, examples: &[Example]) -> Weights {
    let counts = counts(examples);
    let worth = |weights: &Weights| -> f64 {
        let values = values(weights, examples);
        let sum: f64 = values.iter().zip(&counts).map(|(value, count)| value * count).sum();
        sum - cost(weights, &start)
    };
    let mut weights = start;
    let mut best = worth(&weights);
    for step in [0.8, 0.4, 0.8, 0.4, 0.2, 0.1] {
        for at in 0..Feature::COUNT + 2 {
            for direction in [step, -step] {
                let mut tried = weights;
                match tried.features.get_mut(at) {
                    Some(weight) => *weight += direction,
                    None if at == Feature::COUNT => tried.repeat = (tried.repeat + direction / 4.0).max(0.0),
                    None => tried.again = (tried.again + direction / 2.0).max(0.0),
                }
                let figure = worth(&tried);
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

/// Going far from where it began costs a little, so that no weight changes for nothing.
fn cost(weights: &Weights, start: &Weights) -> f64 {
    const PULL: f64 = 3e-5;
    let far = weights.features.iter().zip(&start.features).map(|(weight, start)| (weight - start).powi(2));
    f64::from(far.sum::<f32>()) * PULL
}
