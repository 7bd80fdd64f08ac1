//! WebSocket, both sides, over real sockets.

mod close; // which side closes, and what the other gets
mod keepalive; // peers that are gone, or only slow; in virtual time
mod messages; // what is carried, and how long it may be
mod upgrade; // the request that upgrades

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async, tungstenite};
use tokio_util::task::TaskTracker;
use toolbay_transport::{Connection, Incoming, http::client::Target, stdio::MAX_MESSAGE, websocket};
use tungstenite::{
    Message,
    handshake::server::{Request, Response},
};

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn target(url: &str) -> Target {
    let (headers, url) = (Default::default(), url.parse().unwrap());
    Target {
        url,
        headers,
        max_message: MAX_MESSAGE,
        max_running: 512,
        route: Default::default(),
        authorizer: None,
    }
}

pub(crate) fn request(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})
}

pub(crate) async fn send(wire: &Connection, message: &Value) {
    wire.outgoing.send(message.to_string().into()).await.unwrap();
}

pub(crate) async fn next(wire: &mut Connection) -> Option<Incoming> {
    timeout(PATIENCE, wire.incoming.recv()).await.expect("nothing came")
}

pub(crate) async fn message(wire: &mut Connection) -> Value {
    match next(wire).await {
        Some(Incoming::Message(message)) => serde_json::from_slice(message.text()).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// A connection of the client side, and the bare WebSocket at its other end.
pub(crate) async fn client() -> (Connection, WebSocketStream<TcpStream>, TaskTracker) {
    client_with(|target| target).await
}

pub(crate) async fn client_with(
    change: impl FnOnce(Target) -> Target,
) -> (Connection, WebSocketStream<TcpStream>, TaskTracker) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/mcp?token=s3cret", listener.local_addr().unwrap());
    let tasks = TaskTracker::new();
    let wire = websocket::connect(change(target(&url)), &tasks);
    let (stream, _) = timeout(PATIENCE, listener.accept()).await.unwrap().unwrap();
    #[expect(clippy::result_large_err, reason = "what the library wants")]
    let agree = |_: &Request, mut response: Response| {
        response.headers_mut().insert("sec-websocket-protocol", websocket::SUBPROTOCOL.parse().unwrap());
        Ok(response)
    };
    let socket = timeout(PATIENCE, accept_hdr_async(stream, agree)).await.unwrap().unwrap();
    (wire, socket, tasks)
}

/// Both sides of ours.
pub(crate) async fn both() -> (Connection, Connection, TaskTracker) {
    let (client, socket, tasks) = client().await;
    let server = websocket::accept(socket.into_inner(), MAX_MESSAGE, &tasks);
    (client, server, tasks)
}

pub(crate) fn text(value: &Value) -> Message {
    Message::text(value.to_string())
}
