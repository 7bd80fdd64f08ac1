//! Search by meaning: words, vectors and a ranking over chunks.
//!
//! An [`Index`] is made of segments that never change. A question is answered in four steps: candidates by words and by
//! vectors, what is known about each of them ([`Feature`]), a weighted sum, and a look at the disk, so that nothing is
//! shown that is not there.

mod answer;
mod candidates;
mod code;
mod confirm;
mod dense;
mod embed;
mod error;
mod features;
mod index;
mod lexical;
mod listing;
mod merging;
mod overlay;
mod path;
mod query;
mod segment;
mod source;
mod state;
mod stored;
mod term;
mod top;
mod update;
mod vector;
mod view;
mod weights;

pub use self::{
    answer::{ExplainedCandidate, Hit},
    embed::{Code, EmbedError, Embedder},
    error::SemanticError,
    index::{Answer, Index, Size},
    listing::{RankedCandidate, list},
    query::{Query, Ranking},
    source::{LARGEST_FILE, Source, Text},
    update::{Progress, Report},
    weights::{Feature, Features, Weights},
};
