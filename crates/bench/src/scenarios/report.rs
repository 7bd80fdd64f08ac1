//! What a run shows: the table of all targets, and the goals.

pub(super) mod goals;
pub(super) mod table;
