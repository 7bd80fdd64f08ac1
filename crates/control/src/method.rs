//! Methods of our own, beside those of MCP.

/// How the hub and its servers are: a [`Snapshot`](crate::Snapshot).
pub const STATUS: &str = "status";
/// Answers once the named `tool`, `prompt` or `uri` is there, or no server is on its way up any more.
pub const READY: &str = "ready";
/// Lines of a server's log from number `since` on: a [`LogPage`](crate::LogPage). With `follow`, waits for one.
pub const LOGS: &str = "logs";
/// Restarts a server and answers with its [`ServerSnapshot`](crate::ServerSnapshot) once that is done.
pub const RESTART: &str = "restart";
