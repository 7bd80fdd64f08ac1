//! Servers that run inside Toolbay itself.
//!
//! Each is an ordinary MCP server at the other end of `transport::memory`: it gets the same messages, the same checks
//! and the same limits as any other, so it is no special case for anyone. [`Server`] is what differs between them,
//! [`in_process`] what they share.

#![forbid(unsafe_code)]

pub mod codebase;
pub mod hub;
mod serve;

/// The page that shows how to add a tool, a resource or a server is true to the code: its example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/builtin.md")]
struct HowToAdd;

pub use serve::{Call, CallFuture, Progress, Server, in_process, serve, unknown_resource};
