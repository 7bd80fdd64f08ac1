//! The answer to `resources/read`.

use toolbay_protocol::{
    ServerName,
    model::{self, ResourceContents},
};

use super::{RawResult, views};
use crate::Error;

/// What a resource holds.
#[derive(Debug, Clone)]
pub struct ReadResourceResult {
    server: ServerName,
    pub(super) whole: RawResult,
    known: model::ReadResourceResult,
}

views!(ReadResourceResult);

impl ReadResourceResult {
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

    /// Its parts; most resources have one.
    pub fn contents(&self) -> &[ResourceContents] {
        &self.known.contents
    }

    /// Text for people and models; parts that are no text are named in one line.
    pub fn to_text(&self) -> String {
        self.contents().iter().map(ResourceContents::to_text).collect::<Vec<_>>().join("\n")
    }
}
