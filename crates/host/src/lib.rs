//! Many servers as one.
//!
//! A [`Host`] starts the configured servers, keeps a [`RouteTable`] of everything they offer under names of our own, and
//! sends calls to whoever owns a name. The table is made anew whenever a server's lists change and swapped in whole:
//! readers never wait, and never see half of a change.
//!
//! For agents: [`Host::builder`] describes a host, [`Host::as_tools`] gives everything as [`Tool`]s, [`adapter`] puts them
//! into the formats of model APIs, and a [`Client`] is one connection without a host. `docs/library.md` is the guide.
//!
//! # Invariants
//!
//! - Routing is an exact table made when lists arrive, never a split of a string; it knows no transport and no revision.
//! - One failing server takes nothing from the others: not their tools, not their time.
//! - Calls of this program take the way of all others, [`Host::dispatch`]; there is no back door.

#![forbid(unsafe_code)]

pub mod adapter;
mod agent;
mod builder;
mod call;
mod catalog;
mod changes;
mod client;
mod error;
mod events;
pub mod handlers;
mod host;
mod options;
mod reconcile;
mod result;
mod router;
mod sequential_transport;
mod servers;
mod subscriptions;
mod tool;

pub use agent::{Agent, CompletionReference};
pub use builder::HostBuilder;
pub use catalog::{
    Naming, Quarantined, ResourceRoute, Route, RouteTable, ServerPart, Validator, list_page, qualified_uri,
    slugs,
};
pub use changes::{HostChange, HostChanges};
pub use client::{Client, ClientBuilder, Notifications, ServerInfo, ServerNotification};
pub use error::{Error, Fault};
pub use events::{ConfigProblem, HostEvent, HostEventKind, HostEvents};
pub use handlers::{BoxError, BoxFuture, Handlers};
pub use host::{Connector, Host, HostOptions, InProcess};
pub use options::{CallOptions, LogMessage, Progress};
pub use reconcile::{ApplyReport, ServerError, ServerStatus};
pub use result::{
    CallToolResult, CompleteResult, GetPromptResult, OutputLimit, ReadResourceResult, Truncated,
};
pub use router::{Caller, HostRequest, Resume, Routed, Unavailable};
pub use sequential_transport::{MessageTransport, OpenedTransport, one_by_one};
pub use servers::auth::AuthenticationError;
pub use servers::state::ServerState;
pub use subscriptions::ResourceWatch;
pub use tool::{HostTool, Tool, ToolContext, ToolNames, ToolOutput, serve_tools, tool_fn};
pub use toolbay_config::{Problem, ServerConfig, ServerOptions};
pub use toolbay_protocol::model::{
    ContentBlock, Prompt, PromptMessage, Resource, ResourceContents, ResourceTemplate, Tool as ToolDefinition,
};
pub use toolbay_protocol::{ErrorCode, LogLevel, Revision, ServerName};
pub use toolbay_transport::{Connection, memory};
pub use toolbay_upstream::{
    CacheHints, CallError, CallEvent, CallEventSender, CallEvents, CallResponse, CallUpdate, CallerId,
    Catalog, CatalogKind, ClientIdentity, ClientReply, Counts, Endpoint, Failure, HubChain, HubsBehind,
    InFlight, LogFilter, LogLine, LogRing, LogSource, MAX_HUBS, PathSender, PendingPath, Phase,
    ResourceSubscription, RunningCall, ServerHandle, ServerRequest, Shim, UpstreamState, UpstreamStatus,
    capture, custom, events, shim,
};
