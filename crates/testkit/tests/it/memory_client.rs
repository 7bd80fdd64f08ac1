//! The client's end of a wire.

use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_testkit::TestServer;
use toolbay_transport::{Connection, Incoming};

pub(crate) struct Client {
    wire: Connection,
    next_id: u64,
    pub(crate) meta: Option<Value>,
}

impl Client {
    /// One that did not say hello.
    pub(crate) fn connect(server: &TestServer, tasks: &TaskTracker) -> Self {
        Self { wire: server.in_memory(tasks), next_id: 0, meta: None }
    }

    /// One that shook hands.
    pub(crate) async fn legacy(server: &TestServer, revision: &str) -> Self {
        let mut this = Self::connect(server, &TaskTracker::new());
        let answer = this.ask("initialize", json!({"protocolVersion": revision, "capabilities": {}})).await;
        assert_eq!(answer["result"]["protocolVersion"], revision);
        this.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        this
    }

    /// One that says with each request what it speaks.
    pub(crate) fn modern(server: &TestServer) -> Self {
        let mut this = Self::connect(server, &TaskTracker::new());
        this.meta = Some(json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": {}}));
        this
    }

    pub(crate) async fn send(&self, message: Value) {
        self.send_text(message.to_string()).await;
    }

    pub(crate) async fn send_text(&self, text: String) {
        self.wire.outgoing.send(text.into()).await.unwrap();
    }

    /// Sends a request and gives its id.
    pub(crate) async fn request(&mut self, method: &str, mut params: Value) -> u64 {
        self.next_id += 1;
        for (key, value) in self.meta.iter().flat_map(|meta| meta.as_object().unwrap()) {
            params["_meta"][key] = value.clone();
        }
        self.send(json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})).await;
        self.next_id
    }

    /// Sends a request; what comes next must be its answer.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool and gives the result.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await["result"].take()
    }

    pub(crate) async fn next(&mut self) -> Value {
        serde_json::from_str(&self.next_text().await).unwrap()
    }

    pub(crate) async fn next_text(&mut self) -> String {
        let arrived = tokio::time::timeout(Duration::from_secs(30), self.wire.incoming.recv()).await.unwrap();
        let Some(Incoming::Message(message)) = arrived else { panic!("{arrived:?}") };
        String::from_utf8(message.text().to_vec()).unwrap()
    }
}
