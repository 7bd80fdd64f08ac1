//! Transports that embedding programs implement.
//!
//! Whatever can carry texts can carry MCP: a serial line, a message queue, a tunnel of one's own. Implement
//! [`Transport`], and a server behind it is used like any other: revision detection, restarts, deadlines and all.

use std::{error::Error, future::Future, pin::Pin, sync::Arc};

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use crate::{Connection, Incoming, Outgoing, http::client::HttpError, outgoing::unsent};

/// Why a connection ended; any error or text will do.
pub type BoxError = Box<dyn Error + Send + Sync>;
/// A connection from its beginning to its end.
pub type CustomConnection<'a> = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send + 'a>>;

/// A custom transport to a server.
pub trait Transport: Send + Sync + 'static {
    /// What people see where others read `http` or `stdio`.
    fn name(&self) -> &'static str;

    /// Opens a connection and serves it to its end; called once for each connection to the server.
    ///
    /// `Ok` when there is nothing more to send, because the server is no longer used; an error when the
    /// server is gone, which is shown to people. What is dropped with the future is closed.
    fn carry<'a>(&'a self, texts: &'a mut TextChannels) -> CustomConnection<'a>;
}

/// What a connection carries, one JSON-RPC message each, as text on one line.
#[derive(Debug)]
pub struct TextChannels {
    to_send: mpsc::Receiver<Outgoing>,
    messages: mpsc::Sender<Incoming>,
}

impl TextChannels {
    /// The next message for the server; nothing when there will be no more. Cancel safe.
    pub async fn next(&mut self) -> Option<Bytes> {
        self.to_send.recv().await.map(|message| message.into_text().into_bytes())
    }

    /// Takes a message of the server. Waits when there is no room for it.
    pub async fn received(&self, text: impl Into<Bytes>) {
        // The receiver is gone only when the connection is about to end.
        let _ = self.messages.send(Incoming::read(text.into())).await;
    }
}

/// Opens a connection over a custom transport.
pub fn connect(transport: Arc<dyn Transport>, tasks: &TaskTracker) -> Connection {
    let (outgoing, to_send) = mpsc::channel(Connection::QUEUE);
    let (messages, incoming) = mpsc::channel(Connection::QUEUE);
    tasks.spawn(async move {
        let mut texts = TextChannels { to_send, messages };
        if let Err(error) = transport.carry(&mut texts).await {
            let why = HttpError::Closed { url: transport.name().into(), reason: error.to_string() };
            let unsent = unsent(Vec::new(), texts.to_send).await;
            let _ = texts.messages.send(Incoming::Lost { why, unsent }).await; // the receiver may be gone
        }
    });
    Connection { outgoing, incoming }
}
