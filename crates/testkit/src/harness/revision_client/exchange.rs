//! What happens between a request and its answer.

use std::collections::VecDeque;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::ClientResponse;

/// A request, its response, and the messages until then.
#[derive(Debug, Default)]
pub struct Exchange {
    /// The whole answer.
    pub response: Value,
    /// The parameters of each progress notification.
    pub progress: Vec<Value>,
    /// The parameters of each log message.
    pub logs: Vec<Value>,
    /// The server requests in between: `method` and `params` of each.
    pub server_requests: Vec<Value>,
    /// How often the client had to come back.
    pub rounds: usize,
}

impl Exchange {
    /// The text of a tool that succeeded.
    pub fn text(&self) -> Result<String> {
        let result = &self.response["result"];
        let text = result["content"][0]["text"].as_str().filter(|_| result["isError"] != true);
        text.map(str::to_owned).with_context(|| format!("no text: {self:?}"))
    }

    /// Returns the code and message of an error; 0 for a tool result with `isError`.
    pub fn failure(&self) -> Result<(i64, String)> {
        let error = &self.response["error"];
        if let (Some(code), Some(message)) = (error["code"].as_i64(), error["message"].as_str()) {
            return Ok((code, message.to_owned()));
        }
        let result = &self.response["result"];
        let text = result["content"][0]["text"].as_str().filter(|_| result["isError"] == true);
        Ok((0, text.with_context(|| format!("it did not fail: {self:?}"))?.to_owned()))
    }

    /// Takes a message that is not the response, and returns the reply to it if it is a server request.
    pub(super) fn hear(
        &mut self,
        mut heard: Value,
        changes: &mut VecDeque<Value>,
        answer: impl FnOnce(&str, &Value) -> Result<ClientResponse>,
    ) -> Result<Option<Value>> {
        let method = heard["method"].as_str().with_context(|| format!("a stray answer: {heard}"))?.to_owned();
        if let Some(id) = heard.get("id") {
            let reply = match answer(&method, &heard["params"])? {
                ClientResponse::Result(result) => {
                    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
                }
                ClientResponse::Error { code, message } => {
                    Some(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }))
                }
                ClientResponse::Nothing => None,
            };
            self.server_requests.push(json!({ "method": method, "params": heard["params"] }));
            return Ok(reply);
        }
        match method.as_str() {
            "notifications/progress" => self.progress.push(heard["params"].take()),
            "notifications/message" => self.logs.push(heard["params"].take()),
            _ if super::changes::is_change(&heard) => changes.push_back(heard),
            _ => bail!("an unknown notification: {heard}"),
        }
        Ok(None)
    }
}
