//! Decisions, compared with a plain interpreter of the rules.

mod decisions;
mod servers;
