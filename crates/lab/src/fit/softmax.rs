//! A smooth way to weights: the right candidates shall have most of the probability.

use std::collections::HashMap;

use toolbay_search::meaning::{Feature, Features, Weights};

use super::examples::{Example, Kind};

/// Steps of the descent.
const STEPS: usize = 300;
const RATE: f32 = 0.15;
/// How strongly weights are held where they began.
const HOLD: f32 = 0.002;

/// Descends from `start`. Convex but for questions with several right candidates, so the start hardly matters.
pub(super) fn descend(start: &Weights, examples: &[Example]) -> Weights {
    let mut sizes: HashMap<(bool, usize), f32> = HashMap::new();
    for example in examples {
        *sizes.entry((example.kind == Kind::Place, example.group)).or_default() += 1.0;
    }
    // Both kinds, and all repositories of a kind, count the same.
    let groups = |kind: bool| sizes.keys().filter(|(of, _)| *of == kind).count() as f32;
    let counts = [groups(false), groups(true)];
    let share = |example: &Example| {
        let kind = example.kind == Kind::Place;
        0.5 / counts[usize::from(kind)] / sizes[&(kind, example.group)]
    };
    let mut weights = *start;
    let (mut first, mut second) = (Features::default(), Features::default());
    for step in 1..=STEPS {
        let half = examples.len() / 2;
        let sum = |part: &[Example]| {
            let mut gradient = Features::default();
            part.iter().for_each(|example| add_gradient(&weights, example, share(example), &mut gradient));
            gradient
        };
        let (one, other) = std::thread::scope(|threads| {
            let other = threads.spawn(|| sum(&examples[half..]));
            (sum(&examples[..half]), other.join().unwrap_or_default())
        });
        for at in 0..Feature::COUNT {
            let hold = HOLD * (weights.features[at] - start.features[at]);
            let gradient = one[at] + other[at] - hold;
            first[at] = 0.9 * first[at] + 0.1 * gradient;
            second[at] = 0.99 * second[at] + 0.01 * gradient * gradient;
            let (first, second) = (
                first[at] / (1.0 - 0.9_f32.powi(step as i32)),
                second[at] / (1.0 - 0.99_f32.powi(step as i32)),
            );
            let rate = RATE * (1.0 - step as f32 / (STEPS + 1) as f32);
            weights.features[at] += rate * first / (second.sqrt() + 1e-8);
        }
    }
    weights
}

/// Adds the direction in which the right candidates of a question gain.
fn add_gradient(weights: &Weights, example: &Example, share: f32, gradient: &mut Features) {
    let scores: Vec<f32> =
        example.candidates.iter().map(|(_, features, bonus)| weights.score(features) + bonus).collect();
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let likely: Vec<f32> = scores.iter().map(|score| (score - most).exp()).collect();
    let all: f32 = likely.iter().sum();
    let right: f32 = likely.iter().zip(&example.hits).filter(|(_, hit)| **hit != 0).map(|(one, _)| one).sum();
    if right <= 0.0 {
        return;
    }
    for (((_, features, _), one), hit) in example.candidates.iter().zip(&likely).zip(&example.hits) {
        let is_right = if *hit != 0 { one / right } else { 0.0 };
        let factor = share * (is_right - one / all);
        for (gradient, feature) in gradient.iter_mut().zip(features) {
            *gradient += factor * feature;
        }
    }
}
