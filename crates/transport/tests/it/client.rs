//! A server at a URL: both kinds of revisions, and servers that break the rules.

mod authorization; // refusals, retries and logins, on every transport
mod compression; // gzip and br, events and bombs
mod connections; // kept, shared by HTTP/2, given up when nothing is received
mod failures; // statuses, redirects, unreachable servers
mod modern; // modern servers: headers, cancelling by closing
mod proxies; // through proxies, and past them
mod services; // what is no MCP server
mod sessions; // legacy servers: ids, the GET stream, resuming broken streams

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use toolbay_protocol::Message;
use toolbay_testkit::{HttpScript, RecordedRequest, Responder};
use toolbay_transport::{
    Connection, Incoming,
    http::client::{ConnectOptions, HeaderRules, HttpError, Target, connect},
};

const PATIENCE: Duration = Duration::from_secs(10);

/// A client, and the server that it talks to.
pub(crate) struct Stage {
    pub(crate) wire: Connection,
    pub(crate) server: HttpScript,
    pub(crate) rules: Arc<HeaderRules>,
    pub(crate) tasks: TaskTracker,
}

impl Stage {
    pub(crate) async fn new<F, R>(script: F) -> Self
    where
        F: Fn(RecordedRequest, Responder) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let server = HttpScript::start(&TaskTracker::new(), script).await.unwrap();
        let tasks = TaskTracker::new();
        let rules = Arc::new(HeaderRules::default());
        let wire = connect(target(&server.url), rules.clone(), &tasks);
        Self { wire, server, rules, tasks }
    }

    pub(crate) async fn send(&self, message: Value) {
        self.wire.outgoing.send(message.to_string().into()).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> Incoming {
        timeout(PATIENCE, self.wire.incoming.recv()).await.expect("nothing came").expect("the wire ended")
    }

    /// The next message that stands for itself.
    pub(crate) async fn message(&mut self) -> Value {
        match self.next().await {
            Incoming::Message(message) => value(&message),
            other => panic!("{other:?}"),
        }
    }

    /// Why the request of that id got no response.
    pub(crate) async fn failure(&mut self, id: u64) -> HttpError {
        match self.next().await {
            Incoming::Failed { id: Some(failed), why } if failed.as_number() == Some(id) => why,
            other => panic!("{other:?}"),
        }
    }

    /// Performs the legacy handshake.
    pub(crate) async fn initialize(&mut self) {
        self.send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})).await;
        assert_eq!(self.message().await["result"]["protocolVersion"], "2025-11-25");
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    }

    /// Lets the client end, and waits for that.
    pub(crate) async fn end(self) -> HttpScript {
        drop(self.wire);
        self.tasks.close();
        timeout(PATIENCE, self.tasks.wait()).await.expect("the client goes on without its wire");
        self.server
    }
}

pub(crate) fn target(url: &str) -> Target {
    Target {
        url: url.parse().unwrap(),
        headers: Default::default(),
        max_message: 1 << 24,
        max_running: 512,
        route: ConnectOptions::default(),
        authorizer: None,
    }
}

pub(crate) fn value(message: &Message) -> Value {
    serde_json::from_slice(message.text()).unwrap()
}

/// A request that does not name its revision.
pub(crate) fn request(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})
}

/// A call of the new era.
pub(crate) fn modern(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Responds like a server with sessions; returns what is left to the test.
pub(crate) async fn legacy(
    asked: RecordedRequest,
    answering: Responder,
) -> Option<(RecordedRequest, Responder)> {
    let json = ("content-type", "application/json");
    match (asked.method.as_str(), asked.rpc()) {
        ("POST", "initialize") => {
            let result = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
            let body = json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": result});
            answering.respond("200 OK", &[json, ("Mcp-Session-Id", "s-1")], &body.to_string()).await;
        }
        ("POST", "notifications/initialized") => answering.respond("202 Accepted", &[], "").await,
        ("DELETE", _) => answering.respond("204 No Content", &[], "").await,
        _ => return Some((asked, answering)),
    }
    None
}
