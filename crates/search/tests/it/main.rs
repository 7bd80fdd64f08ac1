//! Tests of the search with real trees.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "the test command says where it installed `rg`")]

mod codebase; // a tree with all its searches
mod containment; // no path leads out of the tree, whatever is swapped meanwhile
mod differential; // the same results as ripgrep
mod model; // the built-in model
mod semantic; // semantic search: ranking, freshness, damage, endpoints
mod text; // pages, totals, context, large trees
mod text_store; // an index that is killed, damaged, shared, full or read-only
