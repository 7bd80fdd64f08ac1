//! Tests of the pins as others use them.

/// Every field of every definition, changed one at a time.
mod fields;
/// The file: shared, damaged, approved.
mod file;
