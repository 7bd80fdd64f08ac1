//! Servers that run inside Toolbay itself.
//!
//! Each is an ordinary MCP server at the other end of `transport::memory`: it gets the same messages, the same checks
//! and the same limits as any other, so it is no special case for anyone. [`Server`] is what differs between them,
//! [`in_process`] what they share.

#![forbid(unsafe_code)]

pub mod codebase;
pub mod hub;
mod serve;

pub use serve::{Call, CallFuture, Progress, Server, in_process, serve, unknown_resource};
