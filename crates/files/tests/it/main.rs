//! Tests of the crate from outside.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod allowed; // paths in and out of allowed directories
mod races; // links that are swapped while paths are resolved
