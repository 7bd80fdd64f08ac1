//! A client at the other end of a pair of queues.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_server::{Server, in_process};
use toolbay_transport::{Connection, Incoming};

pub(super) struct Client {
    pub(super) connection: Connection,
    pub(super) tasks: TaskTracker,
    id: u64,
}

impl Client {
    pub(super) fn new(server: Arc<dyn Server>) -> Self {
        let tasks = TaskTracker::new();
        Self { connection: in_process(server)(&tasks), tasks, id: 0 }
    }

    pub(super) async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        self.connection.outgoing.send(request.to_string().into()).await.unwrap();
        self.id
    }

    pub(super) async fn next(&mut self) -> Value {
        match self.connection.incoming.recv().await.unwrap() {
            Incoming::Message(message) => serde_json::from_slice(message.text()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        let response = self.next().await;
        assert_eq!(response["id"], id, "{response}");
        response
    }
}

/// Adds to `params` what makes a request one of a modern revision.
pub(super) fn modern(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params
}
