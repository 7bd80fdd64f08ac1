//! MCP servers that run in this process.
//!
//! Such a server is an ordinary MCP server at the other end of `transport::memory`: it gets the same messages, the same checks
//! and the same limits as any other. A [`ToolServer`] is declared: [`Tool`]s, [`Resource`]s, [`Prompt`]s and the state that they share.
//! [`Server`] is what differs between servers; [`serve`] is what they share: the handshake of legacy revisions, requests of
//! modern ones, which name their revision in `_meta` and stand alone, concurrent calls, cancellation, progress, subscriptions
//! and the roots of clients.

#![forbid(unsafe_code)]

mod arguments;
mod changes;
mod connection;
mod context;
mod methods;
mod output;
mod progress;
mod prompt;
mod resource;
mod roots;
mod schema;
mod server;
mod tool;
mod tool_server;
mod toolset;

pub use arguments::NoArguments;
pub use changes::ChangeNotifier;
pub use connection::serve;
pub use context::{BlockingThreads, ToolContext};
pub use output::{ToolError, ToolOutput, ToolResult, limit};
pub use progress::Progress;
pub use prompt::{Prompt, PromptArguments, PromptText};
pub use resource::{Resource, ResourceContents, ResourceError};
pub use roots::ClientRoot;
pub use server::{Call, CallFuture, Server, in_process, unknown_resource};
pub use tool::{Annotations, Tool};
pub use tool_server::ToolServer;
pub use toolset::{Failures, Toolset};
