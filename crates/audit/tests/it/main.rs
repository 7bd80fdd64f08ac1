//! Tests of the audit log as others use it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

/// What is changed, removed, cut or moved is found.
mod tampering;
/// What is written is there, whatever happens.
mod writing;
