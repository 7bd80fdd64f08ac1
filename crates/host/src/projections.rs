//! The state of a server as other designs name it.
//!
//! [`ServerState`] says more than any of them; whoever comes from one of these finds its words here (C6).

use std::sync::Arc;

use crate::ServerState;

/// The state of a context server of Zed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextServerStatus {
    /// On its way up, or about to be.
    Starting,
    /// Up.
    Running,
    /// Down, and nothing is wrong.
    Stopped,
    /// Down, and why.
    Error(Arc<str>),
}

/// The state of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionState {
    /// Down, and nothing is wrong.
    Disconnected,
    /// On its way up, or about to be.
    Connecting,
    /// Up.
    Connected,
    /// Down, and why.
    Error(String),
}

/// The state of a server that a manager starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManagedState {
    /// On its way up, or about to be.
    Initializing,
    /// Up.
    Ready,
    /// Down, and why.
    Failed(String),
}

/// What all of them tell apart.
enum Gist {
    Down,
    Rising,
    Up,
    Failed(String),
}

impl ServerState {
    fn gist(&self) -> Gist {
        match self {
            Self::Running | Self::Degraded { .. } => Gist::Up,
            // What went wrong is seen until it is up again, also while it is tried again by itself.
            Self::AuthRequired { failure }
            | Self::Failed { failure }
            | Self::Backoff { failure, .. }
            | Self::Starting { failure: Some(failure), .. } => Gist::Failed(failure.to_string()),
            Self::Starting { failure: None, .. } | Self::Authenticating => Gist::Rising,
            Self::Disabled | Self::Pending | Self::Stopping | Self::Stopped { .. } => Gist::Down,
        }
    }

    /// As Zed has it.
    pub fn as_zed(&self) -> ContextServerStatus {
        match self.gist() {
            Gist::Down => ContextServerStatus::Stopped,
            Gist::Rising => ContextServerStatus::Starting,
            Gist::Up => ContextServerStatus::Running,
            Gist::Failed(why) => ContextServerStatus::Error(why.into()),
        }
    }

    /// As a connection.
    pub fn as_connection_state(&self) -> ConnectionState {
        match self.gist() {
            Gist::Down => ConnectionState::Disconnected,
            Gist::Rising => ConnectionState::Connecting,
            Gist::Up => ConnectionState::Connected,
            Gist::Failed(why) => ConnectionState::Error(why),
        }
    }

    /// As a manager has it, which knows no server that is down for a good reason: that is a failure, too.
    pub fn as_server_state(&self) -> ManagedState {
        match self.gist() {
            Gist::Down => ManagedState::Failed(format!("it is {}", self.word())),
            Gist::Rising => ManagedState::Initializing,
            Gist::Up => ManagedState::Ready,
            Gist::Failed(why) => ManagedState::Failed(why),
        }
    }
}
