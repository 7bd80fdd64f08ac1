//! A directory with files, and a client of a server over it.

use std::{fs, path::Path, sync::Arc};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;
use toolbay_builtin::codebase::{CodebaseIdentity, LazyCodebase, codebase};
use toolbay_protocol::Rope;
use toolbay_search::codebase::Options;
use toolbay_server::in_process;
use toolbay_transport::{Connection, Incoming};

/// A new directory with these files.
pub(super) fn directory(files: &[(&str, String)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

/// The codebase of a directory, without an index on disk.
pub(super) fn lazy(directory: &Path) -> LazyCodebase {
    LazyCodebase::at(directory, Options::default())
}

/// A client of a codebase server.
pub(super) struct Client {
    pub(super) connection: Connection,
    pub(super) tasks: TaskTracker,
    id: u64,
    /// Keeps the files.
    _directory: Option<TempDir>,
}

impl Client {
    /// A client that has shaken hands with a server over these files.
    pub(super) async fn new(files: &[(&str, String)]) -> Self {
        let directory = directory(files);
        let mut client = Self::of(lazy(directory.path()), CodebaseIdentity::IN_HUB);
        client._directory = Some(directory);
        client.initialize().await;
        client
    }

    /// A client that has not.
    pub(super) fn of(tree: LazyCodebase, identity: CodebaseIdentity) -> Self {
        let tasks = TaskTracker::new();
        let connection = in_process(codebase(Arc::new(tree), identity))(&tasks);
        Self { connection, tasks, id: 0, _directory: None }
    }

    pub(super) async fn initialize(&mut self) {
        self.request("initialize", json!({ "protocolVersion": "2025-06-18" })).await;
    }

    pub(super) async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        self.connection.outgoing.send(Rope::from(request.to_string())).await.unwrap();
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
        loop {
            let response = self.next().await;
            if response["id"] == id {
                return response;
            }
        }
    }

    /// Returns the result of a call.
    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let mut response = self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        response["result"].take()
    }
}

/// Returns the list in the first block of a result.
pub(super) fn list(result: &Value) -> Vec<Value> {
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"));
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
