//! Weights made better one at a time.

use std::collections::BTreeMap;

use toolbay_search::meaning::{Feature, Weights, list};

use super::examples::{Example, Kind};
use crate::semble::{TOP, mean, ndcg_of};

/// NDCG@10 of both kinds of questions, as the mean of the repositories.
pub(super) fn figures(weights: &Weights, examples: &[Example]) -> (f64, f64) {
    let half = examples.len() / 2;
    let (mut first, second) = std::thread::scope(|threads| {
        let other = threads.spawn(|| by_group(weights, &examples[half..]));
        (by_group(weights, &examples[..half]), other.join().unwrap_or_default())
    });
    for (key, mut figures) in second {
        first.entry(key).or_default().append(&mut figures);
    }
    let of = |kind: Kind| {
        let groups = first.iter().filter(|((is_place, _), _)| *is_place == (kind == Kind::Place));
        mean(&groups.map(|(_, figures)| mean(figures)).collect::<Vec<_>>())
    };
    (of(Kind::Place), of(Kind::Function))
}

fn by_group(weights: &Weights, examples: &[Example]) -> BTreeMap<(bool, usize), Vec<f64>> {
    let mut groups: BTreeMap<(bool, usize), Vec<f64>> = BTreeMap::new();
    for example in examples {
        let listed = list(weights, &example.candidates, TOP);
        let hits: Vec<u64> = listed.iter().map(|(at, _)| example.hits[*at]).collect();
        let figure = ndcg_of(&hits, example.targets);
        groups.entry((example.kind == Kind::Place, example.group)).or_default().push(figure);
    }
    groups
}

/// Both kinds count the same; large weights cost a little, so that none grows for nothing.
fn worth(weights: &Weights, examples: &[Example]) -> f64 {
    let (places, functions) = figures(weights, examples);
    let size: f32 = weights.features.iter().map(|weight| weight.abs()).sum();
    (places + functions) / 2.0 - f64::from(size) * 1e-5
}

/// Tries steps of each weight, smaller and smaller, and keeps what helps.
pub(super) fn ascend(mut weights: Weights, examples: &[Example]) -> Weights {
    let mut best = worth(&weights, examples);
    for step in [0.8, 0.4, 0.2, 0.4, 0.2] {
        for at in 0..=Feature::COUNT {
            for direction in [step, -step] {
                let mut tried = weights;
                match tried.features.get_mut(at) {
                    Some(weight) => *weight += direction,
                    None => tried.repeat = (tried.repeat + direction / 4.0).max(0.0),
                }
                let figure = worth(&tried, examples);
                // Less than this is chance.
                if figure > best + 1e-4 {
                    (weights, best) = (tried, figure);
                    break;
                }
            }
        }
    }
    weights
}
