//! Keys of `_meta` and of `extensions`: those that the specification reserves, and our own.

/// Opts a request into progress notifications.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// The revision of a request.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Who sends a request.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// What the sender of a request can do.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The least severe log message a request wants.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The subscription a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// The server that responds.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The task that a message is about; 2025-11-25 only.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// The hubs that a request of a hub has passed; asks a hub for [`HUBS`].
pub const VIA: &str = "toolbay/via";
/// The hubs behind a response: the one that sends it, and those it is connected to.
pub const HUBS: &str = "toolbay/hubs";

/// The extension for tasks, as of 2026-07-28.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";
