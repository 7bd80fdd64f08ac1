//! Calls that wait for the owner, as plain data.

use serde::{Deserialize, Serialize};

/// The result of [`PENDING`](crate::method::PENDING).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PendingPage {
    /// The oldest first.
    pub pending: Vec<PendingEntry>,
}

/// A call that waits for the owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingEntry {
    /// Its number.
    pub id: u64,
    /// Who calls.
    pub principal: String,
    /// What the client calls itself.
    pub client: Option<String>,
    /// The server that would get it.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// The arguments, without secrets.
    pub arguments: String,
    /// The rule that wants it.
    pub rule: String,
    /// Since when it waits, in milliseconds since 1970.
    pub since_ms: u64,
}
