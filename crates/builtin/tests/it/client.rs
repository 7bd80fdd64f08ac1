//! A client of a server in this process.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_transport::{Connection, Incoming};

pub(crate) struct Client {
    connection: Connection,
    id: u64,
    _tasks: TaskTracker,
}

impl Client {
    pub(crate) async fn new(connect: Arc<dyn Fn(&TaskTracker) -> Connection + Send + Sync>) -> Self {
        let tasks = TaskTracker::new();
        let mut client = Self { connection: connect(&tasks), id: 0, _tasks: tasks };
        client.request("initialize", json!({ "protocolVersion": "2025-06-18" })).await;
        client
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        self.connection.outgoing.send(request.to_string().into()).await.unwrap();
        loop {
            let Incoming::Message(message) = self.connection.incoming.recv().await.unwrap() else { panic!() };
            let message: Value = serde_json::from_slice(message.text()).unwrap();
            if message["id"] == self.id {
                return message;
            }
        }
    }

    /// The next notification.
    pub(crate) async fn notification(&mut self) -> Value {
        loop {
            let Incoming::Message(message) = self.connection.incoming.recv().await.unwrap() else { panic!() };
            let message: Value = serde_json::from_slice(message.text()).unwrap();
            if message["method"].is_string() {
                return message;
            }
        }
    }

    /// The text of a call's result.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Result<String, String> {
        let response = self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        let result = &response["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{response}")).to_owned();
        if result["isError"] == true { Err(text) } else { Ok(text) }
    }
}
