//! What is known about a candidate, and how much each of it counts.

/// Something known about a candidate, as a number of about 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// Cosine of question and chunk, 0 to 1 over the candidates.
    Cosine,
    /// BM25, by the best.
    Words,
    /// Cosine of question and file, 0 to 1 over the candidates.
    FileCosine,
    /// BM25 of the file, by the best.
    FileWords,
    /// How much of the question is in the names of the chunk and its scopes.
    Names,
    /// How much of those names is in the question.
    NamesAsked,
    /// How much of the question is the best name all of whose words are asked for.
    BestName,
    /// Cosine of the question with the names and the file's name alone, 0 to 1 over the candidates.
    NamesCosine,
    /// How many pairs of words of the question stand side by side in the chunk.
    Pairs,
    /// How much of the file's name is in the question.
    Stem,
    /// How much of the question is in the folders.
    Folders,
    /// The file has the name of a symbol in the question.
    StemIsSymbol,
    /// The question is a symbol and the chunk defines it.
    Defines,
    /// How many symbols of the question the chunk has.
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
    /// The file passes on what others define.
    Barrel,
    /// The path looks like tests.
    Test,
    /// The path looks like examples.
    Example,
    /// The path looks old, vendored or generated.
    Aside,
    /// The best cosine of the parts of its definition: long ones are cut, and the part that is near to the question stands for
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
