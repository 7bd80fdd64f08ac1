//! Our own servers, as any client meets them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod codebase; // search and reading in a tree, its words and limits
mod endpoint; // vectors from outside, over real HTTP
mod hub; // the hub about itself, in both eras
mod pages; // docs that must be true to the code
