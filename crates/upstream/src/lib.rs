//! One server as we use it.
//!
//! # Theory of operation
//!
//! [`start`] gives an [`ServerHandle`] at once and starts one task that lives as long as the server is configured.
//! The task lives through *lives*: open a connection, shake hands, list what is offered, serve calls, and when the
//! connection ends decide with a restart policy what comes next.
//!
//! ```text
//! handle.call() ─queue→ waiting ─(running, room)→ pending ─id→ answer
//!                          └── deadlines, cancellations and the end of a life reach both
//! ```
//!
//! # Invariants
//!
//! - Waiting and pending calls belong to the task alone; when it ends, every waiter learns it.
//! - The task awaits only in its `select!`; a server that does not read or does not answer delays nobody else.
//! - Every request gets our own id, which is its progress token too. Answers to ids we do not know are counted and
//!   dropped.
//! - Dropping an [`InFlight`] tells the server (`notifications/cancelled`).
//! - A question that does not say which call it belongs to reaches a client only if no other client has calls at that process; while
//!   it is open, the clocks of the call that carries it stand still.
//! - A resource is subscribed to once, however many want it, and again in each life for as long as anyone does.

#![forbid(unsafe_code)]

mod awaited_path;
mod budget;
mod by_id;
mod call;
mod calls;
pub mod capture;
mod catalogue;
mod conversation;
mod counts;
mod error;
mod events;
mod freshness;
mod handle;
mod handshake;
mod header_rules;
mod hub_chain;
mod interest;
mod last_words;
mod life;
mod listing;
mod log_wish;
mod peer;
mod question;
mod settings;
mod source;
mod status;
mod subscriber;
mod turn;
mod way;

pub use awaited_path::{PathSender, PendingPath};
pub use budget::ByteBudget;
pub use call::{Call, CallEvent, CallResponse, CallerId, InFlight};
pub use catalogue::{Catalog, CatalogKind};
pub use counts::Counts;
pub use error::{CallError, Failure};
pub use events::{CallEventSender, CallEvents, EventRejected, events};
pub use freshness::CacheHints;
pub use handle::{ServerHandle, start};
pub use hub_chain::{HubChain, HubsBehind, MAX_HUBS};
pub use interest::{ResourceSubscription, SubscribeError};
pub use last_words::StderrTail;
pub use log_wish::LogFilter;
pub use question::{ClientReply, ServerRequest};
pub use settings::{RevisionPolicy, ServerSettings, StartPolicy, Timeouts};
pub use source::{Endpoint, ProcessEndpoint};
pub use status::{Phase, StatusObserver, UpstreamState, UpstreamStatus};
pub use toolbay_supervise::{
    Launch, LogLine, LogRing, LogSource, RestartMode, Shim, StderrPolicy, StopGrace, shim,
};
pub use toolbay_translate::ClientIdentity;
pub use toolbay_transport::custom;
pub use toolbay_transport::http::client::{HttpError, Target};
pub use turn::StartGate;
