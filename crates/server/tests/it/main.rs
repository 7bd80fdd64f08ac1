//! Small servers, as any client meets them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod client; // a client in this process
mod connection; // requests of both kinds of revisions, progress, cancellation
mod prompts; // declared prompts
mod resources; // declared resources, subscriptions
mod roots; // what clients return when they are asked for their roots
mod tools; // declared tools: definitions, arguments, results, failures, cancellation
