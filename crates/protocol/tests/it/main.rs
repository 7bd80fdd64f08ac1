//! Text in, messages or refusals out.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod build; // messages of our own, each on one line
mod depth; // nesting, and texts made to exhaust us
mod envelope; // what is a message, what is not, and why
mod header_params; // parameters that are repeated in headers
mod id_recovery; // the id of a text that is discarded
mod ids; // ids and how they differ
mod json; // any JSON value, for the tests with random data
mod keys; // duplicate keys and keys that look alike
mod model; // tools, content, results
mod scan; // the scanner against serde_json
mod splice; // edits that leave the rest alone
