//! Tests of the search with real trees.

mod codebase; // everything that can be asked of a tree
/// Search by meaning: ranking, freshness, damage, embedders from outside.
mod meaning;
/// The model in the program finds what it should.
mod model;
