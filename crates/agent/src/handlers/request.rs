//! Requests of servers, and their results.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolbay_protocol::ServerName;

/// A request for a completion of a model.
#[derive(Debug, Clone)]
pub struct SamplingRequest {
    /// The server that sent it.
    pub server: ServerName,
    /// All parameters, as the server wrote them.
    pub params: Value,
}

impl SamplingRequest {
    /// The messages so far, each with `role` and `content`.
    pub fn messages(&self) -> &[Value] {
        self.params["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The system prompt.
    pub fn system_prompt(&self) -> Option<&str> {
        self.params["systemPrompt"].as_str()
    }

    /// The limit of the completion, in tokens.
    pub fn max_tokens(&self) -> Option<u64> {
        self.params["maxTokens"].as_u64()
    }
}

/// A completion.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SamplingResult {
    /// Usually `assistant`.
    pub role: String,
    /// The model that was used.
    pub model: String,
    /// One block of content: text, image or audio.
    pub content: Value,
    /// Why it ended, such as `endTurn`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
}

impl SamplingResult {
    /// A completion that is text.
    pub fn text(model: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            role: "assistant".to_owned(),
            model: model.into(),
            content: json!({ "type": "text", "text": text.into() }),
            stop_reason: Some("endTurn".to_owned()),
        }
    }
}

/// A request for input of the user.
#[derive(Debug, Clone)]
pub struct ElicitRequest {
    /// The server that sent it.
    pub server: ServerName,
    /// All parameters, as the server wrote them.
    pub params: Value,
}

impl ElicitRequest {
    /// The message for the user.
    pub fn message(&self) -> &str {
        self.params["message"].as_str().unwrap_or_default()
    }

    /// The schema of the form to fill in, unless a page is to be visited.
    pub fn schema(&self) -> Option<&Value> {
        self.params.get("requestedSchema")
    }

    /// The page to visit, in URL mode. Show it to the user before it is opened: it may lead anywhere.
    pub fn url(&self) -> Option<&str> {
        self.params["url"].as_str().filter(|_| self.params["mode"] == "url")
    }
}

/// The decision of the user.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitResult {
    /// The filled form; none for a page.
    Accept(Option<Value>),
    /// The user declined.
    Decline,
    /// The user did not decide.
    Cancel,
}

impl ElicitResult {
    /// Accepts with a filled form.
    pub fn accept(form: Value) -> Self {
        Self::Accept(Some(form))
    }

    pub(super) fn to_result(&self) -> Value {
        match self {
            Self::Accept(Some(form)) => json!({ "action": "accept", "content": form }),
            Self::Accept(None) => json!({ "action": "accept" }),
            Self::Decline => json!({ "action": "decline" }),
            Self::Cancel => json!({ "action": "cancel" }),
        }
    }
}

/// A workspace root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// Its `file://` URI.
    pub uri: String,
    /// Its name for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Root {
    /// A root without a name.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: None }
    }

    /// Adds a name.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }
}
