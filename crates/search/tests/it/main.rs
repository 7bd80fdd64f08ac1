//! Tests of the search with real trees.

mod codebase; // everything that can be asked of a tree
