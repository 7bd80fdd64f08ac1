//! The answer to `tools/call`.

use serde_json::{Value, value::RawValue};
use toolbay_protocol::{
    ServerName,
    model::{self, ContentBlock},
};

use super::{RawResult, views};
use crate::Error;

/// What a tool said.
#[derive(Debug, Clone)]
pub struct CallToolResult {
    server: ServerName,
    pub(super) whole: RawResult,
    known: model::CallToolResult,
}

views!(CallToolResult);

impl CallToolResult {
    /// Reads a result of `server` (JSON text).
    ///
    /// # Errors
    ///
    /// When it is not what the specification says a result is.
    pub fn parse(server: &ServerName, json: &str) -> Result<Self, Error> {
        let (whole, known) = RawResult::read(server, json)?;
        Ok(Self { server: server.clone(), whole, known })
    }

    /// The server that answered.
    pub fn server(&self) -> &ServerName {
        &self.server
    }

    /// Whether the tool failed; the text then says why.
    pub fn is_error(&self) -> bool {
        self.known.is_error
    }

    /// Everything the tool said, block by block.
    pub fn content(&self) -> &[ContentBlock] {
        &self.known.content
    }

    /// The same for programs, if the tool gave that.
    pub fn structured(&self) -> Option<&RawValue> {
        self.known.structured_content.as_deref()
    }

    /// As [`CallToolResult::structured`], as a value.
    pub fn structured_value(&self) -> Option<Value> {
        self.structured().and_then(|json| serde_json::from_str(json.get()).ok())
    }

    /// Text for people and models: the blocks, one after the other; what is no text is named in one line. Where no block
    /// holds any text, the structured content follows (C11).
    pub fn to_text(&self) -> String {
        let mut parts: Vec<String> = self.content().iter().map(ContentBlock::to_text).collect();
        parts.retain(|part| !part.trim().is_empty());
        if let Some(structured) = self.structured()
            && !self.content().iter().any(holds_text)
        {
            parts.push(structured.get().to_owned());
        }
        parts.join("\n")
    }

    /// The blocks that are no text: images, audio, links and whatever else.
    pub fn artifacts(&self) -> impl Iterator<Item = &ContentBlock> {
        self.content().iter().filter(|block| block.as_text().is_none())
    }
}

/// Whether a block says something in words.
fn holds_text(block: &ContentBlock) -> bool {
    let is_said = |text: &str| !text.trim().is_empty();
    match block.as_text() {
        Some(text) => is_said(text),
        None => {
            let block: Value = serde_json::from_str(block.raw()).unwrap_or_default();
            block["resource"]["text"].as_str().is_some_and(is_said)
        }
    }
}
