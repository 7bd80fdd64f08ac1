//! Results of servers.
//!
//! Every result keeps the text that the server sent, so that no field is lost. The methods are views of it for people,
//! models and programs.

mod truncate;

pub use truncate::{OutputLimit, Truncated};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};
use toolbay_protocol::{
    ServerName,
    model::{self, ContentBlock, PromptMessage, ResourceContents},
};

use crate::Error;

/// The text of a result as its server sent it.
#[derive(Debug, Clone)]
struct RawResult(Box<RawValue>);

impl RawResult {
    /// Keeps a result and reads its known fields.
    fn read<T: DeserializeOwned>(server: &ServerName, json: &str) -> Result<(Self, T), Error> {
        let unusable = |error: serde_json::Error| Error::protocol(server, format!("its result: {error}"));
        let known = serde_json::from_str(json).map_err(unusable)?;
        Ok((Self(RawValue::from_string(json.to_owned()).map_err(unusable)?), known))
    }

    fn text(&self) -> &str {
        self.0.get()
    }

    fn value(&self) -> Value {
        serde_json::from_str(self.text()).unwrap_or_default()
    }

    fn pretty(&self) -> String {
        serde_json::to_string_pretty(&self.value()).unwrap_or_else(|_| self.text().to_owned())
    }
}

/// The views that all results have.
macro_rules! views {
    ($name:ident) => {
        impl $name {
            /// The whole result as the JSON text that the server sent.
            pub fn as_json(&self) -> &str {
                self.whole.text()
            }

            /// The whole result as a JSON value.
            pub fn to_value(&self) -> serde_json::Value {
                self.whole.value()
            }

            /// The whole result as indented JSON.
            pub fn to_pretty_json(&self) -> String {
                self.whole.pretty()
            }
        }
    };
}

/// The result of `tools/call`.
#[derive(Debug, Clone)]
pub struct CallToolResult {
    server: ServerName,
    whole: RawResult,
    known: model::CallToolResult,
}

views!(CallToolResult);

impl CallToolResult {
    /// Reads a result of `server` (JSON text).
    ///
    /// # Errors
    ///
    /// When it is no such result.
    pub fn parse(server: &ServerName, json: &str) -> Result<Self, Error> {
        let (whole, known) = RawResult::read(server, json)?;
        Ok(Self { server: server.clone(), whole, known })
    }

    /// The server that sent it.
    pub fn server(&self) -> &ServerName {
        &self.server
    }

    /// Whether the tool failed; the text is the reason.
    pub fn is_error(&self) -> bool {
        self.known.is_error
    }

    /// The content blocks.
    pub fn content(&self) -> &[ContentBlock] {
        &self.known.content
    }

    /// The structured content, as the server wrote it.
    pub fn structured_content(&self) -> Option<&RawValue> {
        self.known.structured_content.as_deref()
    }

    /// Reads the structured content as a type of the program.
    ///
    /// ```no_run
    /// # async fn example(agent: toolbay_agent::Agent) -> Result<(), toolbay_agent::Error> {
    /// use std::collections::HashMap;
    ///
    /// let result = agent.call_tool("math__add", serde_json::json!({"a": 1, "b": 2})).await?;
    /// let sums: HashMap<String, i64> = result.structured()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the result has no structured content, or other fields than the type.
    pub fn structured<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let unusable = |reason: String| Error::protocol(&self.server, reason);
        let content = self.structured_content();
        let content = content.ok_or_else(|| unusable("the result has no structured content".to_owned()))?;
        serde_json::from_str(content.get()).map_err(|why| unusable(format!("its structured content: {why}")))
    }

    /// The text for people and models: all blocks in order; a block that is no text is named in one line. Where no block holds any
    /// text, the structured content follows.
    pub fn to_text(&self) -> String {
        let mut parts: Vec<String> = self.content().iter().map(ContentBlock::to_text).collect();
        parts.retain(|part| !part.trim().is_empty());
        if let Some(structured) = self.structured_content()
            && !self.content().iter().any(holds_text)
        {
            parts.push(structured.get().to_owned());
        }
        parts.join("\n")
    }

    /// The blocks that are no text: images, audio, links and others.
    pub fn artifacts(&self) -> impl Iterator<Item = &ContentBlock> {
        self.content().iter().filter(|block| block.as_text().is_none())
    }
}

/// Whether a block has text that is not blank.
fn holds_text(block: &ContentBlock) -> bool {
    let has_words = |text: &str| !text.trim().is_empty();
    match block.as_text() {
        Some(text) => has_words(text),
        None => {
            let block: Value = serde_json::from_str(block.raw()).unwrap_or_default();
            block["resource"]["text"].as_str().is_some_and(has_words)
        }
    }
}

/// The result of `resources/read`.
#[derive(Debug, Clone)]
pub struct ReadResourceResult {
    server: ServerName,
    whole: RawResult,
    known: model::ReadResourceResult,
}

views!(ReadResourceResult);

impl ReadResourceResult {
    /// Reads a result of `server` (JSON text).
    ///
    /// # Errors
    ///
    /// When it is no such result.
    pub fn parse(server: &ServerName, json: &str) -> Result<Self, Error> {
        let (whole, known) = RawResult::read(server, json)?;
        Ok(Self { server: server.clone(), whole, known })
    }

    /// The server that sent it.
    pub fn server(&self) -> &ServerName {
        &self.server
    }

    /// Its parts; most resources have one.
    pub fn contents(&self) -> &[ResourceContents] {
        &self.known.contents
    }

    /// The text for people and models; a part that is no text is named in one line.
    pub fn to_text(&self) -> String {
        self.contents().iter().map(ResourceContents::to_text).collect::<Vec<_>>().join("\n")
    }
}

/// The result of `prompts/get`.
#[derive(Debug, Clone)]
pub struct GetPromptResult {
    server: ServerName,
    whole: RawResult,
    known: model::GetPromptResult,
}

views!(GetPromptResult);

impl GetPromptResult {
    /// Reads a result of `server` (JSON text).
    ///
    /// # Errors
    ///
    /// When it is no such result.
    pub fn parse(server: &ServerName, json: &str) -> Result<Self, Error> {
        let (whole, known) = RawResult::read(server, json)?;
        Ok(Self { server: server.clone(), whole, known })
    }

    /// The server that sent it.
    pub fn server(&self) -> &ServerName {
        &self.server
    }

    /// The description of the prompt.
    pub fn description(&self) -> Option<&str> {
        self.known.description.as_deref()
    }

    /// Its messages, in order.
    pub fn messages(&self) -> &[PromptMessage] {
        &self.known.messages
    }

    /// The text for people: each message after its role.
    pub fn to_text(&self) -> String {
        let line = |message: &PromptMessage| format!("{}: {}", message.role, message.content.to_text());
        self.messages().iter().map(line).collect::<Vec<_>>().join("\n\n")
    }
}

/// The result of `completion/complete`.
#[derive(Debug, Clone)]
pub struct CompleteResult {
    server: ServerName,
    whole: RawResult,
    known: Completion,
}

#[derive(Debug, Clone, Deserialize)]
struct Known {
    completion: Completion,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Completion {
    values: Vec<String>,
    total: Option<u64>,
    #[serde(default)]
    has_more: bool,
}

views!(CompleteResult);

impl CompleteResult {
    /// Reads a result of `server` (JSON text).
    ///
    /// # Errors
    ///
    /// When it is no such result.
    pub fn parse(server: &ServerName, json: &str) -> Result<Self, Error> {
        let (whole, Known { completion: known }) = RawResult::read(server, json)?;
        Ok(Self { server: server.clone(), whole, known })
    }

    /// The server that sent it.
    pub fn server(&self) -> &ServerName {
        &self.server
    }

    /// The values, best first.
    pub fn values(&self) -> &[String] {
        &self.known.values
    }

    /// How many there are in all, if known.
    pub fn total(&self) -> Option<u64> {
        self.known.total
    }

    /// Whether there are more than [`CompleteResult::values`] holds.
    pub fn has_more(&self) -> bool {
        self.known.has_more || self.known.total.is_some_and(|total| total > self.known.values.len() as u64)
    }

    /// One value per line.
    pub fn to_text(&self) -> String {
        self.values().join("\n")
    }
}
