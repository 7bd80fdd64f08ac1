//! Streamable HTTP, client side: a server at a URL as a [`Connection`].
//!
//! # Theory of operation
//!
//! One task owns the connection. Every message that is sent becomes a POST of its own, and every running POST is a future of
//! the task, so a slow response delays no other. What a response carries, be it one JSON text or a stream of events,
//! arrives in its order; what is not the response itself arrives as [`Incoming::About`](crate::Incoming::About) it.
//!
//! Both kinds of revisions are served, message by message. What names a modern revision in its `_meta` gets the headers of
//! that revision, and is cancelled by closing its stream. With an `initialize` the connection becomes a session: it keeps the
//! session id, opens the GET stream behind `notifications/initialized`, takes up streams that broke off where they broke off,
//! and says goodbye with a DELETE.
//!
//! # Invariants
//!
//! - Every request gets a response, an [`Incoming::Failed`](crate::Incoming::Failed), or the connection ends.
//! - A request is sent again by the caller only, which is told which ones are safe
//!   ([`Incoming::Lost`](crate::Incoming::Lost)).
//! - Nothing is sent to another origin than the target's; no header and no query is ever printed.
//! - Responses may be compressed; limits count what comes out.

mod addresses;
mod authorize;
mod connector;
pub(crate) mod decompress;
pub(crate) mod error;
mod headers;
pub(crate) mod origin_client;
mod post;
pub(crate) mod response;
mod session;
pub(crate) mod target;
mod task;
mod web;

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

pub use addresses::{AddressPolicy, PrivateAddress};
pub use authorize::{
    AfterRefusal, AuthorizationFailure, AuthorizerFuture, RefusedRequest, RequestAuthorizer,
};
pub use connector::{ConnectOptions, HttpTimeouts, Proxies};
pub use error::HttpError;
pub use headers::HeaderRules;
pub use origin_client::{JsonResponse, JsonService};
pub use target::Target;
pub use web::{WebClient, WebError, WebResponse};

use crate::Connection;
use session::HttpSession;

/// A connection to a server at a URL. Nothing is sent before the first message is.
///
/// Dropping the connection ends what runs, and the session.
pub fn connect(target: Target, rules: Arc<HeaderRules>, tasks: &TaskTracker) -> Connection {
    let (outgoing, texts) = mpsc::channel(Connection::QUEUE);
    let (messages, incoming) = mpsc::channel(Connection::QUEUE);
    let link = Arc::new(HttpSession::new(target, rules, messages, tasks));
    tasks.spawn(task::run(link, texts));
    Connection { outgoing, incoming }
}
