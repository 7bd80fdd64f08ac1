//! Transports of the program.
//!
//! A [`Transport`] carries messages in both directions at once. [`one_by_one`] makes one of a connection with `send`, `receive`,
//! `close` and `is_connected`, each of which borrows all of it.

use std::{fmt, sync::Arc};

pub use toolbay_host::InProcess;
pub use toolbay_transport::{Connection, memory};
pub use toolbay_upstream::custom::{CustomConnection, TextChannels, Transport};

use crate::handlers::{BoxError, BoxFuture};

/// A connection that sends or receives, one message at a time. Messages are JSON texts.
pub trait MessageTransport: Send {
    /// Sends a message. Nothing is received meanwhile.
    fn send(&mut self, message: String) -> BoxFuture<'_, Result<(), BoxError>>;

    /// Receives the next message of the server.
    ///
    /// Must be cancel safe: when there is something to send, the future is dropped, and must not take a message with it.
    fn receive(&mut self) -> BoxFuture<'_, Result<String, BoxError>>;

    /// Ends the connection.
    fn close(&mut self) -> BoxFuture<'_, Result<(), BoxError>>;

    /// Whether the connection is open.
    fn is_connected(&self) -> bool;
}

/// A connection that is being opened.
pub type OpenedTransport = BoxFuture<'static, Result<Box<dyn MessageTransport>, BoxError>>;

/// Makes a transport for [`Client::transport`](crate::Client::transport) and
/// [`AgentBuilder::custom_server`](crate::AgentBuilder::custom_server). `open` is called for each connection; `name` is what
/// the status shows in place of `http` or `stdio`.
pub fn one_by_one(
    name: &'static str,
    open: impl Fn() -> OpenedTransport + Send + Sync + 'static,
) -> Arc<dyn Transport> {
    Arc::new(SequentialTransport { name, open })
}

struct SequentialTransport<F> {
    name: &'static str,
    open: F,
}

impl<F: Fn() -> OpenedTransport + Send + Sync + 'static> Transport for SequentialTransport<F> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn carry<'a>(&'a self, texts: &'a mut TextChannels) -> CustomConnection<'a> {
        Box::pin(async move {
            let mut transport = (self.open)().await?;
            while transport.is_connected() {
                tokio::select! {
                    text = texts.next() => match text {
                        Some(text) => transport.send(String::from_utf8(text.into())?).await?,
                        None => return transport.close().await,
                    },
                    message = transport.receive() => texts.received(message?).await,
                }
            }
            Err("it is no longer connected".into())
        })
    }
}

impl<F> fmt::Debug for SequentialTransport<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OneByOne").field(&self.name).finish()
    }
}
