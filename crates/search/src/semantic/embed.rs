//! Embedders: the built-in model, or an endpoint.

use crate::model::{Model, Vector};

/// A piece of code to be embedded.
#[derive(Debug, Clone, Copy)]
pub struct Code<'a> {
    /// Where it is, from the root of the tree.
    pub path: &'a str,
    /// What it is a part of, outermost first, then what it defines.
    pub names: &'a [String],
    /// Its text.
    pub text: &'a str,
}

/// Why no vectors were made. The built-in model takes over, so this is a notice and not the end of a search.
#[derive(Debug, thiserror::Error)]
#[error("the embedding endpoint `{embedder}` returned no vectors: {reason}")]
pub struct EmbedError {
    /// Which one.
    pub embedder: String,
    /// Its error, or what is wrong with its response.
    pub reason: String,
}

/// Makes vectors of texts, in place of the built-in model.
///
/// Vectors of one embedder have one length, and texts that mean the same have a small angle. What fails is tried again
/// with the next update of the index; meanwhile the built-in model is used, whose vectors always exist.
pub trait Embedder: Send + Sync + std::fmt::Debug {
    /// Who this is: endpoint and model. Vectors of different names are never compared.
    fn name(&self) -> &str;

    /// A vector for each piece of code, in order.
    fn codes(&self, batch: &[Code<'_>]) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// Returns the vector of a query.
    fn query(&self, text: &str) -> Result<Vec<f32>, EmbedError>;
}

/// Bytes of a row of the built-in model.
pub(super) const BUILT_IN_ROW: usize = Vector::BYTES;

/// The row of a piece of code by the built-in model.
pub(super) fn built_in_code(code: Code<'_>) -> [u8; BUILT_IN_ROW] {
    Model::built_in().code(code.path, code.names, code.text).to_bytes()
}

/// Returns the row of a query by the built-in model.
pub(super) fn built_in_query(text: &str) -> [u8; BUILT_IN_ROW] {
    Model::built_in().query(text).to_bytes()
}

/// Identifies a model: vectors of two models cannot be compared.
pub(super) fn built_in_mark() -> u64 {
    let probe = "read the file, open a connection, parse errors, send requests, lock and retry";
    built_in_query(probe)
        .iter()
        .fold(0, |mark, byte| (mark ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
