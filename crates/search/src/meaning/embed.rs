//! Who makes vectors of texts: the model in the program, or something outside that is asked for them.

use super::{term, vector};
use crate::words;

/// A piece of code to be embedded.
#[derive(Debug, Clone, Copy)]
pub struct Code<'a> {
    /// Where it is, from the root of the tree.
    pub path: &'a str,
    /// What it defines.
    pub names: &'a [String],
    /// What it says.
    pub text: &'a str,
}

/// Why no vectors were made. The built-in model takes over, so this is a notice and not the end of a search.
#[derive(Debug, thiserror::Error)]
#[error("the embedding endpoint `{embedder}` gave no vectors: {reason}")]
pub struct EmbedError {
    /// Which one.
    pub embedder: String,
    /// What it said, or what was wrong with it.
    pub reason: String,
}

/// Makes vectors of texts, in place of the built-in model.
///
/// Vectors of one embedder have one length, and texts that mean the same have a small angle. What fails is tried again
/// with the next update of the index; meanwhile the built-in model answers, whose vectors are always there too.
pub trait Embedder: Send + Sync + std::fmt::Debug {
    /// Who this is: endpoint and model. Vectors of different names are never compared.
    fn name(&self) -> &str;

    /// A vector for each piece of code, in order.
    fn codes(&self, batch: &[Code<'_>]) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// The vector of a question.
    fn query(&self, text: &str) -> Result<Vec<f32>, EmbedError>;
}

/// Numbers in a vector of the built-in model.
const DIM: usize = 256;
/// Bytes of a row of the built-in model.
pub(super) const BUILT_IN_ROW: usize = DIM + 4;

/// The row of a piece of code by the built-in model.
pub(super) fn built_in_code(code: Code<'_>) -> Vec<u8> {
    let mut sum = [0.0; DIM];
    project(code.text, &mut sum);
    project(code.path, &mut sum);
    code.names.iter().for_each(|name| project(name, &mut sum));
    vector::row(&sum)
}

/// The row of a question by the built-in model.
pub(super) fn built_in_query(text: &str) -> Vec<u8> {
    let mut sum = [0.0; DIM];
    project(text, &mut sum);
    vector::row(&sum)
}

/// Adds a fixed direction for each word, the same for all words of a stem.
fn project(text: &str, sum: &mut [f32; DIM]) {
    words::split(text, |word| {
        if words::is_stop_word(word) {
            return;
        }
        let mut bits = term::hash(term::Space::Word, &words::stem(word));
        for sum in sum.iter_mut() {
            bits = bits.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            *sum += if bits >> 63 == 0 { 1.0 } else { -1.0 };
        }
    });
}
