//! Built-in servers, over the protocol.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod codebase; // search and reading: results, limits, errors
mod endpoint; // embeddings from an endpoint, over HTTP
mod hub; // the hub's own server, legacy and modern
mod pages; // the page about built-in servers agrees with the code
