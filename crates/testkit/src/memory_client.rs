//! A client of a server in this process.

use std::time::Duration;

use serde_json::{Value, json};
use toolbay_transport::{Connection, Incoming};

/// How long a message may take; only one that never comes takes that long.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A client at one end of a connection in memory. What must not happen panics.
#[derive(Debug)]
pub struct MemoryClient {
    /// The connection to the server.
    pub connection: Connection,
    /// Added to `_meta` of each request.
    pub meta: Option<Value>,
    next_id: u64,
}

impl MemoryClient {
    /// A client that has sent nothing yet, and sends legacy requests.
    pub fn new(connection: Connection) -> Self {
        Self { connection, meta: None, next_id: 0 }
    }

    /// A client that has shaken hands.
    pub async fn legacy(connection: Connection, revision: &str) -> Self {
        let mut client = Self::new(connection);
        let params = json!({ "protocolVersion": revision, "capabilities": {} });
        let response = client.request("initialize", params).await;
        assert_eq!(response["result"]["protocolVersion"], revision, "{response}");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        client
    }

    /// A client that sends modern requests.
    pub fn modern(connection: Connection) -> Self {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        Self { meta: Some(meta), ..Self::new(connection) }
    }

    /// Sends a message.
    pub async fn send(&self, message: &Value) {
        self.send_text(message.to_string()).await;
    }

    /// Sends the text of a message.
    pub async fn send_text(&self, text: String) {
        self.connection.outgoing.send(text.into()).await.expect("the server takes messages");
    }

    /// Sends a request, and returns its id.
    pub async fn start(&mut self, method: &str, mut params: Value) -> u64 {
        self.next_id += 1;
        for (key, value) in self.meta.iter().filter_map(Value::as_object).flatten() {
            params["_meta"][key] = value.clone();
        }
        let id = self.next_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    /// Sends a request, and returns its response, which must be the next message.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        let response = self.next().await;
        assert_eq!(response["id"], id, "{response}");
        response
    }

    /// Calls a tool, and returns the result.
    pub async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await["result"].take()
    }

    /// Cancels the request with this id.
    pub async fn cancel(&self, id: u64) {
        let params = json!({ "requestId": id });
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
    }

    /// Returns the next message.
    pub async fn next(&mut self) -> Value {
        serde_json::from_str(&self.next_text().await).expect("a message is JSON")
    }

    /// Returns the text of the next message.
    pub async fn next_text(&mut self) -> String {
        let next = tokio::time::timeout(TIMEOUT, self.connection.incoming.recv()).await;
        match next {
            Ok(Some(Incoming::Message(message))) => String::from_utf8_lossy(message.text()).into_owned(),
            other => panic!("no message: {other:?}"),
        }
    }
}
