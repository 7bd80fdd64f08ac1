//! Decisions, compared with a plain interpreter of the rules.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod decisions;
mod servers;
