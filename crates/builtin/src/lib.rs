//! MCP servers that run inside Toolbay.
//!
//! Each is an ordinary server at the other end of `transport::memory`, so it gets the same messages, checks and limits as any
//! other. What they share is in `toolbay_server`; docs/builtin.md shows how to write one.

#![forbid(unsafe_code)]

use std::sync::Arc;

use tokio_util::task::TaskTracker;
use toolbay_transport::Connection;

pub mod brave_search;
pub mod codebase;
pub mod fetch;
mod files;
pub mod filesystem;
pub mod grep;
pub mod hub;
pub mod memory;
pub mod secret;
pub mod shell;
pub mod text_editor;
pub mod time;

pub use files::ClientRoots;

/// Opens a connection to a server in this process.
pub type Connect = Arc<dyn Fn(&TaskTracker) -> Connection + Send + Sync>;

/// The example in docs/builtin.md is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/builtin.md")]
struct WritingBuiltInServers;
