//! MCP servers in your own program.
//!
//! [`Agent::builder`] describes the servers, [`Agent::as_tools`] returns everything they offer as [`Tool`]s, [`adapter`] puts
//! these into the formats of model APIs, and a [`Client`] is one connection to one server. `docs/library.md` is the guide.
//!
//! # Invariants
//!
//! - Calls of an agent take the path of all others, [`Host::dispatch`](toolbay_host::Host::dispatch), with the same checks.
//! - Nothing here reads the environment, unless the program says so.

#![forbid(unsafe_code)]

pub mod adapter;
mod agent;
mod builder;
mod call;
mod client;
mod error;
pub mod handlers;
mod options;
mod result;
mod server_config;
mod tool;
mod transport;

pub use agent::{Agent, CompletionReference};
pub use builder::AgentBuilder;
pub use client::{Client, ClientBuilder, Notifications, ServerInfo, ServerNotification};
pub use error::{Error, Fault};
pub use handlers::{BoxError, BoxFuture, Handlers};
pub use options::{CallOptions, LogMessage, Progress};
pub use result::{
    CallToolResult, CompleteResult, GetPromptResult, OutputLimit, ReadResourceResult, Truncated,
};
pub use tool::{HostTool, Tool, ToolContext, ToolNames, ToolOutput, serve_tools, tool_fn};
pub use toolbay_config::{Problem, ServerConfig, ServerOptions};
pub use toolbay_host::{
    CatalogKind, HostEventKind, InProcess, Naming, ServerState, ServerStatus, Shim, custom, shim,
};
pub use toolbay_protocol::{
    LogLevel,
    model::{Prompt, Resource, ResourceTemplate, Tool as ToolDefinition},
};
pub use transport::{MessageTransport, OpenedTransport, one_by_one};
