//! What a text costs a model.

/// How many tokens of a model a text of so many bytes takes, estimated: four bytes each. `docs/context.md` says how far that is
/// from real tokenizers.
pub const fn estimated_tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}
