//! Code in real processes, with tools of the tests.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bindings; // values, logs, tools, errors
mod containment; // what code must not be able to do
mod tools; // the tools that code calls
