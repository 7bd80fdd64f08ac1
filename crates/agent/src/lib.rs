//! MCP servers in your own program.
//!
//! An [`Agent`] starts many servers, watches over them and calls their tools; [`Agent::as_tools`] returns these as [`Tool`]s, and
//! [`adapter`] puts them into the formats of model APIs. A [`Client`] is a connection to one server and nothing more.
//! `docs/library.md` is the guide.
//!
//! # Invariants
//!
//! - Calls of an agent take the path of all others, [`Host::dispatch`](toolbay_host::Host::dispatch), with the same checks.
//! - The environment is read by `inherit_env` alone, and nothing is printed.
//! - At most 45 names are exported here; the modules hold the rest.

#![forbid(unsafe_code)]

pub mod adapter;
mod agent;
mod builder;
mod call;
pub mod client;
pub mod config;
mod error;
pub mod handlers;
pub mod message;
pub mod model;
mod options;
mod peer;
mod reload;
mod result;
mod server;
mod tool;
pub mod transport;

pub use agent::{Agent, CompletionReference};
pub use builder::AgentBuilder;
pub use client::{Client, ServerNotification};
pub use config::{HttpConfig, ServerConfig, StdioConfig};
pub use error::{Error, Fault};
pub use handlers::{BoxError, BoxFuture, Handlers};
pub use options::{CallOptions, LogMessage, Progress};
pub use peer::ServerInfo;
pub use result::{
    CallToolResult, CompleteResult, GetPromptResult, OutputLimit, ReadResourceResult, Truncated,
};
pub use server::Server;
pub use tool::{HostTool, Tool, ToolContext, ToolNames, ToolOutput, serve_tools, tool_fn};
pub use toolbay_host::{HostEventKind, Naming, ServerState, ServerStatus, Shim, shim};
pub use toolbay_protocol::LogLevel;
