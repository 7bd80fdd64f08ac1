//! What can go wrong with the index.

use super::segment::Damaged;
use crate::store::StoreError;

/// Why the index could not be updated or searched. Searches go on with what there is.
#[derive(Debug, thiserror::Error)]
pub enum SemanticError {
    /// The folder of the index cannot be written or read.
    #[error("cannot write the index to disk")]
    Store(#[from] StoreError),
    /// Some of it is not what was written. It has been left out and is made anew by the next update.
    #[error("a part of the index was corrupt and is ignored; it will be rebuilt")]
    Damaged(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Nobody waits for the answer any more.
    #[error("the search was stopped")]
    Stopped,
    /// A glob that cannot be understood.
    #[error("invalid glob `{glob}`: {reason}")]
    Glob {
        /// As it was given.
        glob: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl From<Damaged> for SemanticError {
    fn from(damaged: Damaged) -> Self {
        Self::Damaged(Box::new(damaged))
    }
}
