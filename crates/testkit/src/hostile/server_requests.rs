//! Requests from the server to its client.

use std::{collections::HashMap, sync::mpsc, time::Duration};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::output::Output;

/// Pending server requests, by id.
#[derive(Debug, Default)]
pub(super) struct Questions {
    open: Mutex<HashMap<String, mpsc::Sender<String>>>,
}

impl Questions {
    /// Sends a request, and returns the line of its response.
    pub(super) fn ask(&self, output: &Output, id: &str, method: &str, timeout: Duration) -> Option<String> {
        let (sender, answer) = mpsc::channel();
        self.open.lock().insert(id.to_owned(), sender);
        output.line(&json!({"jsonrpc": "2.0", "id": id, "method": method}).to_string());
        let answer = answer.recv_timeout(timeout).ok();
        self.open.lock().remove(id);
        answer
    }

    /// Takes a line without a method.
    pub(super) fn answered(&self, message: &Value, line: &[u8]) {
        let Some(id) = message["id"].as_str() else { return };
        if let Some(sender) = self.open.lock().remove(id) {
            let _ = sender.send(String::from_utf8_lossy(line).into_owned()); // it may have given up
        }
    }
}
