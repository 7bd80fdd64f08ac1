//! Tests of the search with real trees.
