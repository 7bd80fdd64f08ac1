//! Files as people write them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod changes; // what changed between two readings, and what makes two launches the same
mod entries; // what one entry comes to, good and bad
mod files; // what a whole file comes to
mod support; // servers to test with
