//! Text in, messages or refusals out.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod depth; // nesting, and texts made to exhaust us
mod encode; // messages that we write, and the one line they stand on
mod envelope; // what is a message, what is none, and why
mod ids; // ids and how they differ
mod json; // any JSON value, for the tests with random data
mod keys; // duplicate keys and keys that look alike
mod mirrored; // parameters that stand in headers, too
mod scan; // the scanner against serde_json
mod splice; // edits that leave the rest alone
mod tracker; // the id of a text that is thrown away
mod views; // tools, content, results
