//! One server as we use it.
//!
//! # Theory of operation
//!
//! [`start`] returns a [`ServerHandle`] at once and spawns one supervisor, which runs as long as the server is configured.
//! The supervisor opens a connection, performs the handshake, lists the catalog and serves calls; when the
//! connection ends decide with a restart policy what comes next.
//!
//! ```text
//! handle.call() ─queue→ waiting ─(running, room)→ pending ─id→ response
//!                          └── deadlines, cancellations and the end of a connection reach both
//! ```
//!
//! # Invariants
//!
//! - Waiting and pending calls belong to the task alone; when it ends, every waiter learns it.
//! - The task awaits only in its `select!`; a server that does not read or does not respond delays no other.
//! - Every request gets our own id, which is its progress token too. Responses to ids we do not know are counted and
//!   dropped.
//! - Dropping an [`InFlight`] tells the server (`notifications/cancelled`).
//! - A server request that does not say which call it belongs to reaches a client only if no other client has calls at that process; while
//!   it is open, the clocks of the call that carries it stand still.
//! - A resource is subscribed to once, however many clients want it, and again on each connection for as long as any does.

#![forbid(unsafe_code)]

mod call;
pub mod capture;
mod catalog;
mod connection;
mod endpoint;
mod error;
mod handle;
mod hint;
mod hub_chain;
mod log_filter;
mod settings;
mod status;
mod stderr_tail;
mod subscriptions;
mod supervisor;

pub use call::budget::ByteBudget;
pub use call::events::{CallEventSender, CallEvents, EventRejected, events};
pub use call::{Call, CallEvent, CallResponse, CallUpdate, Caller, CallerId, InFlight, RunningCall};
pub use catalog::freshness::CacheHints;
pub use catalog::{Catalog, CatalogKind};
pub use connection::server_requests::{ClientReply, ServerRequest};
pub use endpoint::completion::{Completion, Incomplete};
pub use endpoint::{Endpoint, ProcessEndpoint};
pub use error::{CallError, Failure};
pub use handle::{ServerHandle, start};
pub use hint::Hint;
pub use hub_chain::{HubChain, HubsBehind, MAX_HUBS};
pub use log_filter::LogFilter;
pub use settings::{RevisionPolicy, ServerSettings, StartPolicy, Timeouts};
pub use status::{Counts, Phase, StatusObserver, UpstreamState, UpstreamStatus};
pub use stderr_tail::StderrTail;
pub use subscriptions::{ResourceSubscription, SubscribeError};
pub use supervisor::start_gate::{PathSender, PendingPath, StartGate};
pub use toolbay_supervise::{
    Launch, LogLine, LogRing, LogSource, RestartMode, Shim, StderrPolicy, StopGrace, find_command, shim,
};
pub use toolbay_translate::ClientIdentity;
pub use toolbay_transport::custom;
pub use toolbay_transport::http::client::{HttpError, Target};
