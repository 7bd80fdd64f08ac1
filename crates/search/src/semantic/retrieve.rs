//! Retrieving candidates: words, vectors, and the best of both.

pub(crate) mod candidates;
pub(crate) mod dense;
pub(crate) mod lexical;
pub(crate) mod top;
