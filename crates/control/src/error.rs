//! Why the control API gave no result.

use std::{io, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolbay_protocol::ErrorObject;

/// Why the control API gave no result.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// No hub runs here.
    #[error("no hub is running")]
    NoHub,
    /// A hub with the same configuration has the socket.
    #[error("another hub already serves this configuration")]
    Taken,
    /// The folder of the socket is not ours alone.
    #[error("the directory {} must belong to you and not be accessible by others", path.display())]
    UnsafeDir { path: PathBuf },
    /// Another program listens on a requested socket.
    #[error("another program listens on {}", path.display())]
    Occupied { path: PathBuf },
    /// The socket cannot be made or used.
    #[error("cannot use the socket {}", path.display())]
    Socket {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The hub exited before it responded.
    #[error("the hub exited before it responded")]
    Gone,
    /// The hub answered something we do not understand.
    #[error("the hub sent an invalid response: {why}")]
    BadAnswer { why: String },
    /// The hub, or a server behind it, answered with an error.
    #[error("{}", error.message)]
    Answered { error: ErrorObject, reason: Reason, hint: Option<String> },
}

/// The kind of an error of a hub; `data.reason` of the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// No such tool, prompt, resource or server.
    Unknown,
    /// The server concerned is not there.
    NotReady,
    /// It must be approved first.
    Denied,
    /// Anything else; errors of servers too.
    #[serde(other)]
    Failed,
}

/// What our errors carry in `data`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Details {
    pub(crate) reason: Reason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
    /// What the error carried before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Box<RawValue>>,
}
