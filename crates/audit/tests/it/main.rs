//! Tests of the audit log as others use it.

/// What is changed, removed, cut or moved is found.
mod tampering;
/// What is written is there, whatever happens.
mod writing;
