//! What servers answer.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::{ContentBlock, decoded_len};

/// The answer to `tools/call`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolResult {
    /// What the tool said.
    #[serde(default)]
    pub content: Vec<ContentBlock>,
    /// The same for programs, as JSON text.
    pub structured_content: Option<Box<RawValue>>,
    /// Whether the tool failed.
    #[serde(default)]
    pub is_error: bool,
}

impl CallToolResult {
    /// Text for people and models: the blocks, or the structured content when no block holds any text (C11).
    pub fn to_text(&self) -> String {
        let text = self.content.iter().map(ContentBlock::to_text).collect::<Vec<_>>().join("\n");
        match &self.structured_content {
            Some(structured) if text.trim().is_empty() => structured.get().to_owned(),
            _ => text,
        }
    }
}

/// The answer to `resources/read`.
#[derive(Debug, Clone, Deserialize)]
pub struct ReadResourceResult {
    /// One or more parts.
    pub contents: Vec<ResourceContents>,
}

/// A part of a resource.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceContents {
    /// Which resource.
    pub uri: String,
    /// Its media type.
    pub mime_type: Option<String>,
    /// Its text, when it is one.
    pub text: Option<String>,
    /// Its bytes in base64, when it is not.
    pub blob: Option<String>,
}

impl ResourceContents {
    /// What a person reads.
    pub fn to_text(&self) -> String {
        match (&self.text, &self.blob) {
            (Some(text), _) => text.clone(),
            (None, Some(blob)) => format!("[{} bytes of {}]", decoded_len(blob), self.uri),
            (None, None) => String::new(),
        }
    }
}

/// The answer to `prompts/get`.
#[derive(Debug, Clone, Deserialize)]
pub struct GetPromptResult {
    /// What the prompt is for.
    pub description: Option<String>,
    /// The conversation it starts.
    pub messages: Vec<PromptMessage>,
}

/// One message of a prompt.
#[derive(Debug, Clone, Deserialize)]
pub struct PromptMessage {
    /// `user` or `assistant`.
    pub role: String,
    /// What it says.
    pub content: ContentBlock,
}
