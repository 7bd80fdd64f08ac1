//! Search by meaning: words, vectors and a ranking over chunks.
//!
//! An [`Index`] is made of segments that never change. A search has four steps: candidates by words and by
//! vectors, the features of each ([`Feature`]), a weighted sum, and a look at the disk, so that nothing is
//! shown that is not there.

mod embed;
mod index;
mod pending;
mod query;
pub(crate) mod rank;
pub(crate) mod retrieve;
mod search;
mod segment;
mod source;
mod state;
mod term;
mod update;
mod vector;
mod verify;
mod view;

pub use self::{
    embed::{Code, EmbedError, Embedder},
    index::{Index, Results, SemanticError, Size},
    query::Query,
    rank::weights::{Feature, Features, RankedCandidate, Weights, list},
    search::{ExplainedCandidate, Hit},
    source::{LARGEST_FILE, Text, TextSource},
    update::{UpdateProgress, UpdateReport},
};
