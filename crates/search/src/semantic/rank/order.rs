//! The order of the answer.

use crate::semantic::rank::weights::{Features, Weights};

/// A candidate as the order sees it.
#[derive(Debug, Clone)]
pub struct RankedCandidate<F, S> {
    /// Tells files apart.
    pub file: F,
    /// Tells definitions of a file apart; none where nothing has a name.
    pub symbol: Option<S>,
    /// What is known about it.
    pub features: Features,
    /// What it gets beyond the weighted sum.
    pub bonus: f32,
}

/// Puts candidates in order: by score, with something taken off for each better chunk of the same file, and more for one of
/// the same definition.
///
/// Gives places in `candidates` with their scores, best first, at most `most`.
pub fn list<F: PartialEq, S: PartialEq>(
    weights: &Weights,
    candidates: &[RankedCandidate<F, S>],
    most: usize,
) -> Vec<(usize, f32)> {
    let mut left: Vec<(usize, f32)> = candidates
        .iter()
        .enumerate()
        .map(|(at, one)| (at, weights.score(&one.features) + one.bonus))
        .collect();
    let mut listed = Vec::with_capacity(most.min(left.len()));
    while listed.len() < most {
        let best = (0..left.len()).max_by(|a, b| left[*a].1.total_cmp(&left[*b].1).then(b.cmp(a)));
        let Some((at, score)) = best.map(|best| left.remove(best)) else { break };
        listed.push((at, score));
        let shown = &candidates[at];
        for (other, score) in &mut left {
            let other = &candidates[*other];
            if other.file == shown.file {
                *score -= weights.repeat;
                if other.symbol.is_some() && other.symbol == shown.symbol {
                    *score -= weights.again;
                }
            }
        }
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::rank::weights::Feature;

    #[test]
    fn what_was_shown_steps_back() {
        let weights = Weights { features: [1.0; Feature::COUNT], repeat: 0.5, again: 0.5 };
        let with = |file: char, symbol: &'static str, score: f32, bonus: f32| {
            let mut features = Features::default();
            features[0] = score;
            RankedCandidate {
                file,
                symbol: Some(symbol).filter(|symbol| !symbol.is_empty()),
                features,
                bonus,
            }
        };
        let candidates = [
            with('a', "f", 1.0, 0.0),
            with('a', "f", 0.95, 0.0),
            with('a', "g", 0.9, 0.0),
            with('b', "", 0.6, 0.0),
            with('b', "", 0.55, 0.0),
            with('c', "f", 0.1, 2.0),
        ];
        let order: Vec<usize> = list(&weights, &candidates, 10).into_iter().map(|(at, _)| at).collect();
        assert_eq!(order, [5, 0, 3, 2, 4, 1]);
        assert_eq!(list(&weights, &candidates, 2).len(), 2);
    }
}
