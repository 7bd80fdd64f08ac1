//! The order of the answer.

use super::weights::{Features, Weights};

/// Puts candidates in order: by score, with something taken off for each better chunk of the same file.
///
/// Gives places in `candidates` with their scores, best first, at most `most`. `file` tells files apart.
pub fn list<F: PartialEq + Copy>(
    weights: &Weights,
    candidates: &[(F, Features, f32)],
    most: usize,
) -> Vec<(usize, f32)> {
    let mut left: Vec<(usize, f32)> = candidates
        .iter()
        .enumerate()
        .map(|(at, (_, features, bonus))| (at, weights.score(features) + bonus))
        .collect();
    let mut listed = Vec::with_capacity(most.min(left.len()));
    while listed.len() < most {
        let best = (0..left.len()).max_by(|a, b| left[*a].1.total_cmp(&left[*b].1).then(b.cmp(a)));
        let Some((at, score)) = best.map(|best| left.remove(best)) else { break };
        listed.push((at, score));
        for (other, score) in &mut left {
            if candidates[*other].0 == candidates[at].0 {
                *score -= weights.repeat;
            }
        }
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_shown_steps_back() {
        let weights = Weights { features: [1.0; 24], repeat: 0.5 };
        let with = |score: f32| {
            let mut features = Features::default();
            features[0] = score;
            features
        };
        let candidates =
            [('a', with(1.0), 0.0), ('a', with(0.9), 0.0), ('b', with(0.6), 0.0), ('c', with(0.1), 2.0)];
        let order: Vec<usize> = list(&weights, &candidates, 10).into_iter().map(|(at, _)| at).collect();
        assert_eq!(order, [3, 0, 2, 1]);
        assert_eq!(list(&weights, &candidates, 2).len(), 2);
    }
}
