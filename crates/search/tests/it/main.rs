//! Tests of the search with real trees.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "the test command says where it installed `rg`")]

mod codebase; // everything that can be asked of a tree
mod containment; // no path leads out of the tree, whatever is swapped meanwhile
mod differential; // what ripgrep finds, and nothing else
mod meaning; // search by meaning: ranking, freshness, damage, embedders from outside
mod model; // the model in the program finds what it should
mod text; // pages, totals, context, large trees
mod text_store; // an index that is killed, damaged, shared, full or read-only
