//! WebSocket, both sides: one message per text message of the connection.
//!
//! # Theory of operation
//!
//! One task owns the connection. Reading, writing and the heartbeat are futures of it that never wait for each other: a
//! peer that does not read is still read, and a long message does not hide that the peer is there. The one exception are
//! pings: while many pongs are not taken, nothing more is read. What ends first decides how the connection ends, and a
//! close frame says so to the peer.
//!
//! # Invariants
//!
//! - What was queued when the last sender was dropped is sent before the close frame.
//! - Neither side holds more than a message of the allowed length; a longer one ends the connection with code 1009.
//! - What waits to be written is bounded in bytes, pongs included.
//! - The client side ends with [`Incoming::Lost`], unless we ended it ourselves.

mod close;
mod connection;
mod keepalive;

use std::sync::Arc;

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, StatusCode,
    header::{
        CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
        UPGRADE,
    },
};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
    time::timeout,
};
use tokio_tungstenite::tungstenite::{
    handshake::{client::generate_key, derive_accept_key},
    protocol::Role,
};
use tokio_util::task::TaskTracker;
use toolbay_protocol::ParseError;

use self::{close::CloseReason, connection::WebSocketTask};
use crate::{
    Connection, Incoming, RejectedMessage,
    http::client::{
        HttpError, Target,
        error::reason,
        origin_client::{OriginClient, Purpose},
        response::explain,
        target::shown,
    },
    outgoing::unsent,
};

/// The subprotocol of MCP.
pub const SUBPROTOCOL: &str = "mcp";

/// Returns `Sec-WebSocket-Accept` for the `Sec-WebSocket-Key` of a client.
pub fn accept_key(key: &[u8]) -> String {
    derive_accept_key(key)
}

/// A connection to a client whose request was upgraded already.
///
/// Dropping `outgoing` closes the connection with code 1000 once what was queued is sent.
pub fn accept(
    io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    max_message: usize,
    tasks: &TaskTracker,
) -> Connection {
    let (outgoing, texts) = mpsc::channel(Connection::QUEUE);
    let (messages, incoming) = mpsc::channel(Connection::QUEUE);
    tasks.spawn(async move {
        let mut pump = WebSocketTask::new(texts, messages);
        match pump.run(io, Role::Server, max_message).await {
            CloseReason::Left => {}
            CloseReason::TooLong => {
                let why = ParseError::TooLong { limit: max_message };
                pump.deliver(Incoming::Refused(RejectedMessage::new(why, None, b""))).await;
            }
            end => {
                tracing::debug!(reason = %end.why(&Arc::from("the client"), max_message), "connection ended")
            }
        }
    });
    Connection { outgoing, incoming }
}

/// A connection to a server at a `ws` or `wss` URL. Connects at once; what is sent meanwhile waits.
///
/// Dropping it closes the WebSocket with code 1000 once what was queued is sent; dropped before the WebSocket
/// stands, nothing is sent at all.
pub fn connect(target: Target, tasks: &TaskTracker) -> Connection {
    let (outgoing, texts) = mpsc::channel(Connection::QUEUE);
    let (messages, incoming) = mpsc::channel(Connection::QUEUE);
    let connections = tasks.clone();
    tasks.spawn(async move {
        let (url, max_message) = (shown(&target.url), target.max_message);
        let limit = target.route.timeouts.connect;
        let mut pump = WebSocketTask::new(texts, messages);
        let upgraded = tokio::select! {
            upgraded = timeout(limit, upgrade(&target, &connections)) => upgraded,
            () = pump.abandoned() => return,
        };
        let why = match upgraded {
            Ok(Ok(io)) => match pump.run(io, Role::Client, max_message).await {
                CloseReason::Left => return,
                end => end.why(&url, max_message),
            },
            Ok(Err(why)) => why,
            Err(_) => HttpError::Slow { url, after: limit },
        };
        let WebSocketTask { texts, taken, messages } = pump;
        let unsent = unsent(taken, texts).await;
        let _ = messages.send(Incoming::Lost { why, unsent }).await; // the receiver may be gone
    });
    Connection { outgoing, incoming }
}

/// Connects, and makes a WebSocket of the connection.
async fn upgrade(target: &Target, tasks: &TaskTracker) -> Result<TokioIo<Upgraded>, HttpError> {
    let caller = OriginClient::new(target.clone(), Purpose::Upgrade, tasks);
    let key = generate_key();
    let response = caller.send(Method::GET, headers(&key), Bytes::new()).await?;
    let url = caller.shown();
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let (_, why) = explain(url, response).await;
        return Err(why);
    }
    let garbled = |reason: String| HttpError::Garbled { url: caller.shown(), reason };
    let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT);
    if accepted.map(HeaderValue::as_bytes) != Some(accept_key(key.as_bytes()).as_bytes()) {
        return Err(garbled("its WebSocket handshake response is invalid".to_owned()));
    }
    // Many servers name no subprotocol; one that names another uses another protocol.
    if let Some(chosen) = response.headers().get(SEC_WEBSOCKET_PROTOCOL)
        && chosen != SUBPROTOCOL
    {
        return Err(garbled(format!("it speaks {chosen:?} over WebSocket, not `{SUBPROTOCOL}`")));
    }
    match hyper::upgrade::on(response).await {
        Ok(upgraded) => Ok(TokioIo::new(upgraded)),
        Err(error) => Err(HttpError::Broken { url, reason: reason(&error) }),
    }
}

fn headers(key: &str) -> HeaderMap {
    let key = HeaderValue::from_str(key).expect("Base64 fits into a header");
    HeaderMap::from_iter([
        (CONNECTION, HeaderValue::from_static("Upgrade")),
        (UPGRADE, HeaderValue::from_static("websocket")),
        (SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13")),
        (SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL)),
        (SEC_WEBSOCKET_KEY, key),
    ])
}
