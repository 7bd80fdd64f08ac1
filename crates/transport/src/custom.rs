//! Transports that others bring.
//!
//! Whatever can carry texts can carry MCP: a serial line, a message queue, a tunnel of one's own. Implement
//! [`Transport`], and a server behind it is used like any other: era detection, restarts, deadlines and all.

use std::{error::Error, future::Future, pin::Pin, sync::Arc};

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use toolbay_protocol::Rope;

use crate::{Connection, Incoming, connection::unsent, http::client::HttpError};

/// Why a connection ended; any error or text will do.
pub type BoxError = Box<dyn Error + Send + Sync>;
/// A connection from its beginning to its end.
pub type CustomConnection<'a> = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send + 'a>>;

/// A way to reach a server.
pub trait Transport: Send + Sync + 'static {
    /// What people see where others read `http` or `stdio`.
    fn name(&self) -> &'static str;

    /// Opens a connection and serves it to its end; called once for each life of the server.
    ///
    /// `Ok` when there is nothing more to send, because nobody wants anything of the server any more; an error when the
    /// server is gone, which people are told. What is dropped with the future is closed.
    fn carry<'a>(&'a self, texts: &'a mut TextChannels) -> CustomConnection<'a>;
}

/// What a connection carries, one JSON-RPC message each, as text on one line.
#[derive(Debug)]
pub struct TextChannels {
    to_send: mpsc::Receiver<Rope>,
    messages: mpsc::Sender<Incoming>,
}

impl TextChannels {
    /// The next message for the server; nothing when there will be no more. Cancel safe.
    pub async fn next(&mut self) -> Option<Bytes> {
        self.to_send.recv().await.map(Rope::into_bytes)
    }

    /// Takes a message of the server. Waits when there is no room for it.
    pub async fn received(&self, text: impl Into<Bytes>) {
        // Nobody listens only when the connection is about to end.
        let _ = self.messages.send(Incoming::read(text.into())).await;
    }
}

/// A wire over a transport that others brought.
pub fn connect(transport: Arc<dyn Transport>, tasks: &TaskTracker) -> Connection {
    let (outgoing, to_send) = mpsc::channel(Connection::QUEUE);
    let (messages, incoming) = mpsc::channel(Connection::QUEUE);
    tasks.spawn(async move {
        let mut texts = TextChannels { to_send, messages };
        if let Err(error) = transport.carry(&mut texts).await {
            let why = HttpError::Closed { url: transport.name().into(), reason: error.to_string() };
            let unsent = unsent(Vec::new(), texts.to_send).await;
            let _ = texts.messages.send(Incoming::Lost { why, unsent }).await; // nobody may be there to hear it
        }
    });
    Connection { outgoing, incoming }
}
