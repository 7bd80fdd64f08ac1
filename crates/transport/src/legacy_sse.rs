//! HTTP+SSE of 2024-11-05, client side: a server at a URL as a [`Connection`].
//!
//! # Theory of operation
//!
//! A GET opens a stream of events on which the server says everything it has to say; its first event names the endpoint
//! to which our messages are posted. One task owns both: the stream, and every running POST as a future, so a server that
//! answers a POST late holds up nobody. A stream that was silent for long is checked with a `ping`.
//!
//! # Invariants
//!
//! - Messages are posted to the origin of the stream only, whatever the server names as its endpoint.
//! - When the stream breaks, the wire ends with [`Incoming::Lost`]: answers have no other way to us.
//!   It names the requests that certainly never arrived.

mod keepalive;
mod open;
mod post;
mod task;

use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use crate::{
    Connection, Incoming,
    connection::unsent,
    http::client::{Target, origin_client::OriginClient, pool::Purpose},
};

/// A wire to a server at a URL. Opens its stream at once; what is sent meanwhile waits.
///
/// Dropping the wire ends the stream once what was queued is posted; dropped before the stream stands, nothing is posted.
pub fn connect(target: Target, tasks: &TaskTracker) -> Connection {
    let (outgoing, texts) = mpsc::channel(Connection::QUEUE);
    let (messages, incoming) = mpsc::channel(Connection::QUEUE);
    let max_running = target.max_running;
    let caller = OriginClient::new(target, Purpose::Requests, tasks);
    tasks.spawn(async move {
        let opened = tokio::select! {
            opened = open::open(&caller, caller.target().max_message) => opened,
            () = messages.closed() => return,
        };
        match opened {
            Ok(stream) => task::run(stream, max_running, texts, messages).await,
            Err(why) => {
                let unsent = unsent(Vec::new(), texts).await;
                let _ = messages.send(Incoming::Lost { why, unsent }).await; // nobody may be there to hear it
            }
        }
    });
    Connection { outgoing, incoming }
}
