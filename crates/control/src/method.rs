//! Methods of our own, beside those of MCP.

/// The status of the hub and its servers: a [`HubStatus`](crate::HubStatus).
pub const STATUS: &str = "status";
/// Returns once the named `tool`, `prompt` or `uri` is there, or no server that could own it is starting any more.
/// Without a name, returns once no server is starting.
pub const READY: &str = "ready";
/// The servers (`owners`) that own `names` of the list of `method` (such as `tools/list`), in the same order; null where
/// none does.
pub const OWNERS: &str = "owners";
/// Lines of a server's log from number `since` on: a [`LogPage`](crate::LogPage). With `follow`, waits for one.
pub const LOGS: &str = "logs";
/// Keeps the messages of clients and servers for as long as the request runs; never answered.
pub const WATCH: &str = "messages/watch";
/// Messages that were kept, from number `since` on, of one `server` or all: a [`MessagePage`](crate::MessagePage). With `follow`,
/// waits for one.
pub const MESSAGES: &str = "messages";
/// Starts a server that is down and returns its [`ServerSnapshot`](crate::ServerSnapshot) once it is up, or known not to
/// come up.
pub const START: &str = "start";
/// Stops a server until it is started again, and returns its [`ServerSnapshot`](crate::ServerSnapshot) once it is down.
pub const STOP: &str = "stop";
/// Waits until the number of the last event is another than `after`, and returns a [`HubStatus`](crate::HubStatus). What
/// happened between two requests is visible in its outcome.
pub const EVENTS: &str = "events";
/// What the hub is as a process: a [`HubSnapshot`](crate::HubSnapshot).
pub const HUB: &str = "hub";
/// Makes the hub give up its sockets and end when its clients are gone; answered once another hub can take its place.
pub const DRAIN: &str = "hub/drain";
/// Ends the hub: running requests are finished first. It may exit before it responds.
pub const SHUT_DOWN: &str = "hub/stop";
/// Restarts a server and returns its [`ServerSnapshot`](crate::ServerSnapshot) once that is done.
pub const RESTART: &str = "restart";
/// Says what profiles and rules decide about a call of `tool` with `arguments` (JSON text) by `principal` with `profile`, and why.
pub const EXPLAIN: &str = "policy/explain";
/// The calls that wait for the owner: a [`PendingPage`](crate::PendingPage).
pub const PENDING: &str = "pending";
/// Decides about the call `id` that waits: `allow` is true or false.
pub const DECIDE: &str = "pending/decide";
/// A notification: requests that follow on the same connection come from a caller who works in the directory `root` and has
/// the profile `profile`.
pub const PROJECT: &str = "notifications/project";
