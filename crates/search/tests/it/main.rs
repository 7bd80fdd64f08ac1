//! Tests of the search with real trees.

mod codebase; // everything that can be asked of a tree
/// Search by meaning: ranking, freshness, damage, embedders from outside.
mod meaning;
/// The model in the program finds what it should.
mod model;
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod containment; // no path leads out of the tree, whatever is swapped meanwhile
mod differential; // what ripgrep finds, and nothing else
mod text; // pages, totals, context, large trees
mod text_store; // an index that is killed, damaged, shared, full or read-only
