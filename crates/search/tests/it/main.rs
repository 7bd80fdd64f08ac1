//! Tests of the search with real trees.

/// The model in the program finds what it should.
mod model;
