//! The few messages that are made in more than one place.

use serde_json::{Value, json};

/// What arrived with an id and a method.
#[derive(Debug, Clone)]
pub(super) struct ParsedRequest {
    /// The id as JSON text.
    pub(super) id: String,
    pub(super) method: String,
    pub(super) params: Value,
}

impl ParsedRequest {
    pub(super) fn arguments(&self) -> &Value {
        &self.params["arguments"]
    }

    /// A whole number among the arguments.
    pub(super) fn number(&self, name: &str, default: u64) -> u64 {
        self.arguments()[name].as_u64().unwrap_or(default)
    }

    /// The answer with a result that is written as it stands, but for `resultType`, which modern revisions need.
    pub(super) fn result(&self, result: &str) -> String {
        let is_modern = self.params["_meta"].get("io.modelcontextprotocol/protocolVersion").is_some();
        let result = match result.strip_prefix('{') {
            Some("}") if is_modern => r#"{"resultType":"complete"}"#.to_owned(),
            Some(rest) if is_modern => format!(r#"{{"resultType":"complete",{rest}"#),
            _ => result.to_owned(),
        };
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, self.id)
    }

    /// The answer of a tool that says `text`.
    pub(super) fn text(&self, text: &str) -> String {
        self.result(&format!(r#"{{"content":[{{"type":"text","text":{}}}]}}"#, Value::from(text)))
    }

    pub(super) fn error(&self, code: i64, message: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":{},"error":{}}}"#,
            self.id,
            json!({"code": code, "message": message})
        )
    }
}

pub(super) fn notification(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}
