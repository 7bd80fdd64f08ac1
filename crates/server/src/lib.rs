//! MCP servers that run in this process.
//!
//! Such a server is an ordinary MCP server at the other end of `transport::memory`: it gets the same messages, the same checks
//! and the same limits as any other. A server that offers tools is a [`Toolset`] of [`Tool`]s. [`Server`] is what differs between servers; [`serve`] is what they share: the handshake
//! of legacy revisions, requests of modern ones, which name their revision in `_meta` and stand alone, concurrent calls,
//! cancellation and progress.

#![forbid(unsafe_code)]

mod arguments;
mod connection;
mod methods;
mod output;
mod progress;
mod schema;
mod server;
mod tool;
mod toolset;

pub use arguments::NoArguments;
pub use connection::serve;
pub use output::{ToolError, ToolOutput, ToolResult, limit};
pub use progress::Progress;
pub use server::{Call, CallFuture, Server, in_process, unknown_resource};
pub use tool::{Annotations, Tool};
pub use toolset::{BlockingThreads, Failures, ToolContext, ToolServer, Toolset};
