//! Tests of the search with real trees.

/// Search by meaning: ranking, freshness, damage, embedders from outside.
mod meaning;
