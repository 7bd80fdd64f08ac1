//! The answer to `prompts/get`.

use toolbay_protocol::{
    ServerName,
    model::{self, PromptMessage},
};

use super::{RawResult, views};
use crate::Error;

/// The conversation that a prompt starts.
#[derive(Debug, Clone)]
pub struct GetPromptResult {
    server: ServerName,
    pub(super) whole: RawResult,
    known: model::GetPromptResult,
}

views!(GetPromptResult);

impl GetPromptResult {
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

    /// What the prompt is for.
    pub fn description(&self) -> Option<&str> {
        self.known.description.as_deref()
    }

    /// Its messages, in order.
    pub fn messages(&self) -> &[PromptMessage] {
        &self.known.messages
    }

    /// Text for people: each message behind the role that says it.
    pub fn to_text(&self) -> String {
        let said = |message: &PromptMessage| format!("{}: {}", message.role, message.content.to_text());
        self.messages().iter().map(said).collect::<Vec<_>>().join("\n\n")
    }
}
