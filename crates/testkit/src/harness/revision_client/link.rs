//! The ways to a server.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::http::HttpLink;
use crate::harness::{Lines, http1::Connection};

/// Takes the messages before a response, and returns the reply to a server request.
pub(super) type Hear<'a> = dyn FnMut(Value) -> Result<Option<Value>> + 'a;

pub(super) enum Link {
    Lines { lines: Box<dyn Lines>, timeout: Duration },
    Http(Box<HttpLink>),
}

/// A request on its way.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) id: Value,
    /// Its own connection, over HTTP.
    pub(super) connection: Option<Connection>,
}

impl Link {
    /// Sends a request, takes all messages until its response, and returns that.
    pub(super) fn exchange(&mut self, message: &Value, hear: &mut Hear<'_>) -> Result<Value> {
        match self {
            Self::Http(link) => link.exchange(message, hear),
            Self::Lines { lines, timeout } => {
                lines.send(&message.to_string())?;
                loop {
                    let heard = line(&mut **lines, *timeout)?;
                    if heard.get("method").is_none() && heard["id"] == message["id"] {
                        return Ok(heard);
                    }
                    if let Some(reply) = hear(heard)? {
                        lines.send(&reply.to_string())?;
                    }
                }
            }
        }
    }

    /// Sends a request and waits for nothing.
    pub(super) fn start(&mut self, message: &Value) -> Result<Started> {
        let connection = match self {
            Self::Http(link) => Some(link.start(message)?),
            Self::Lines { lines, .. } => {
                lines.send(&message.to_string())?;
                None
            }
        };
        Ok(Started { id: message["id"].clone(), connection })
    }

    /// Sends what has no answer.
    pub(super) fn post(&mut self, message: &Value) -> Result<()> {
        match self {
            Self::Http(link) => link.post(message),
            Self::Lines { lines, .. } => lines.send(&message.to_string()),
        }
    }
}

/// The next message.
pub(super) fn line(lines: &mut dyn Lines, timeout: Duration) -> Result<Value> {
    let line = lines.line_within(timeout)?;
    let heard: Value = serde_json::from_str(&line).with_context(|| format!("no message: {line}"))?;
    ensure!(heard["jsonrpc"] == "2.0", "no message: {line}");
    Ok(heard)
}
