//! What is known about a candidate, and how much each of it counts.

/// Something known about a candidate, as a number of about 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// Cosine of query and chunk, 0 to 1 over the candidates.
    Cosine,
    /// BM25, by the best.
    Words,
    /// Cosine of query and file, 0 to 1 over the candidates.
    FileCosine,
    /// BM25 of the file, by the best.
    FileWords,
    /// How much of the query is in the names of the chunk and its scopes.
    Names,
    /// How much of those names is in the query.
    NamesAsked,
    /// How much of the query is the best name all of whose words are in it.
    BestName,
    /// Cosine of the query with the names and the file's name alone, 0 to 1 over the candidates.
    NamesCosine,
    /// How many pairs of words of the query stand side by side in the chunk.
    Pairs,
    /// How much of the file's name is in the query.
    Stem,
    /// How much of the query is in the folders.
    Folders,
    /// The file has the name of a symbol in the query.
    StemIsSymbol,
    /// The query is a symbol and the chunk defines it.
    Defines,
    /// How many symbols of the query the chunk has.
    Symbols,
    /// How many files use what the chunk defines.
    Uses,
    /// How many files import something named like the file.
    Imports,
    /// Length of the chunk.
    ChunkLines,
    /// Length of the file.
    FileLines,
    /// The chunk defines something, or goes on with what was defined before it: a long definition is not less of one for
    /// being cut.
    Definition,
    /// Depth of the folder.
    Depth,
    /// The file re-exports what others define.
    Barrel,
    /// The path looks like tests.
    Test,
    /// The path looks like examples.
    Example,
    /// The path looks old, vendored or generated.
    Aside,
    /// The best cosine of the parts of its definition: long ones are cut, and the part that is near to the query stands for
    /// all of it.
    DefinitionCosine,
}

impl Feature {
    /// How many there are.
    pub const COUNT: usize = 25;
}

/// What is known about a candidate, by [`Feature`].
pub type Features = [f32; Feature::COUNT];

/// How much each feature counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// By [`Feature`].
    pub features: Features,
    /// Taken off a chunk for each better one of the same file.
    pub repeat: f32,
    /// Taken off as well for each better one of the same definition.
    pub again: f32,
}

impl Weights {
    /// Fitted by `toolbay-lab fit`, see there.
    pub const FITTED: Self = Self {
        features: [
            3.6, 2.1, 0.9, 2.4, // vectors and words, of the chunk and of the file
            1.3, 0.1, 1.6, 1.1,  // names
            -0.5, // pairs
            1.4, 0.7, 0.9, // path
            3.5, 1.1, // symbols
            0.2, 0.3, // uses, imports
            4.0, 1.3, 1.6, // lengths, definition
            -1.8, 0.7, // depth, barrel
            -3.5, -1.5, -0.7, // tests, examples, aside
            2.6,  // the definition
        ],
        repeat: 0.5,
        again: 2.0,
    };

    /// The weighted sum.
    pub fn score(&self, features: &Features) -> f32 {
        self.features.iter().zip(features).map(|(weight, feature)| weight * feature).sum()
    }
}

impl Default for Weights {
    fn default() -> Self {
        Self::FITTED
    }
}

/// A candidate as the order sees it.
#[derive(Debug, Clone)]
pub struct RankedCandidate<F, S> {
    /// Identifies the file.
    pub file: F,
    /// Identifies the definition in its file; none where nothing has a name.
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
