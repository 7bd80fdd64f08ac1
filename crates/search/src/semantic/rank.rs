//! Ranking candidates.

pub(crate) mod features;
pub(crate) mod path;
pub(crate) mod weights;
