//! The answer to `completion/complete`.

use serde::Deserialize;
use toolbay_protocol::ServerName;

use super::{RawResult, views};
use crate::Error;

/// How an argument may go on.
#[derive(Debug, Clone)]
pub struct CompleteResult {
    server: ServerName,
    pub(super) whole: RawResult,
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
    /// When it is not what the specification says a result is.
    pub fn parse(server: &ServerName, json: &str) -> Result<Self, Error> {
        let (whole, Known { completion: known }) = RawResult::read(server, json)?;
        Ok(Self { server: server.clone(), whole, known })
    }

    /// The server that answered.
    pub fn server(&self) -> &ServerName {
        &self.server
    }

    /// Values that fit, best first.
    pub fn values(&self) -> &[String] {
        &self.known.values
    }

    /// How many there are in all, if the server says so.
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
