//! Servers that run inside Toolbay itself.
//!
//! Each is an ordinary MCP server at the other end of `transport::memory`: it gets the same messages, the same checks
//! and the same limits as any other, so it is no special case for anyone. What they share is in `toolbay_server`.

#![forbid(unsafe_code)]

pub mod codebase;
pub mod hub;

/// The page that shows how to add a tool, a resource or a server is true to the code: its example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/builtin.md")]
struct HowToAdd;
