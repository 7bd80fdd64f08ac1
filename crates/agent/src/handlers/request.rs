//! What servers ask, and what they get.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolbay_protocol::ServerName;

/// A conversation for which a server wants the next message of a model.
#[derive(Debug, Clone)]
pub struct SamplingRequest {
    /// Who asks.
    pub server: ServerName,
    /// All parameters, as the server wrote them.
    pub params: Value,
}

impl SamplingRequest {
    /// The messages so far, each with `role` and `content`.
    pub fn messages(&self) -> &[Value] {
        self.params["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// What the model is told beforehand.
    pub fn system_prompt(&self) -> Option<&str> {
        self.params["systemPrompt"].as_str()
    }

    /// How long the answer may be, in tokens.
    pub fn max_tokens(&self) -> Option<u64> {
        self.params["maxTokens"].as_u64()
    }
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SamplingResult {
    /// `assistant`, as a rule.
    pub role: String,
    /// The model that answered.
    pub model: String,
    /// One block of content: text, image or audio.
    pub content: Value,
    /// Why it ended, such as `endTurn`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
}

impl SamplingResult {
    /// A text.
    pub fn text(model: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            role: "assistant".to_owned(),
            model: model.into(),
            content: json!({ "type": "text", "text": text.into() }),
            stop_reason: Some("endTurn".to_owned()),
        }
    }
}

/// Something that a server wants to know from a person.
#[derive(Debug, Clone)]
pub struct ElicitRequest {
    /// Who asks.
    pub server: ServerName,
    /// All parameters, as the server wrote them.
    pub params: Value,
}

impl ElicitRequest {
    /// What the person is told.
    pub fn message(&self) -> &str {
        self.params["message"].as_str().unwrap_or_default()
    }

    /// The schema of the form to fill in, unless a page is to be visited.
    pub fn schema(&self) -> Option<&Value> {
        self.params.get("requestedSchema")
    }

    /// The page to visit, where that is what is asked. Show it before it is opened: nobody knows where it leads.
    pub fn url(&self) -> Option<&str> {
        self.params["url"].as_str().filter(|_| self.params["mode"] == "url")
    }
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitResult {
    /// The form, filled in; for a page nothing.
    Accept(Option<Value>),
    /// The person does not want to say.
    Decline,
    /// The person did not decide.
    Cancel,
}

impl ElicitResult {
    /// The form, filled in.
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

/// A folder or another place that a server may look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// Where it is; a `file://` URI.
    pub uri: String,
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Root {
    /// A place without a name.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: None }
    }

    /// The same place, with a name.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }
}
