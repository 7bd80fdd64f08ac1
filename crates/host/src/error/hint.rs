//! What to do about an error.

use toolbay_upstream::{CallError, Failure, Phase};

use super::Error;
use crate::ServerState;

impl Error {
    /// One line on what to do about it, where we know one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Init { failure, .. } => hint_of(failure),
            Self::Connection(CallError::Died { failure, .. } | CallError::Down { failure, .. })
                if says_address_in_use(failure) =>
            {
                hint_of(failure)
            }
            Self::Connection(error) | Self::Timeout(error) | Self::Busy(error) => error.hint(),
            Self::ResourceNotFound { uri, candidates } if !candidates.is_empty() => {
                Some(format!("say which server is meant: toolbay://<server>/{uri}"))
            }
            Self::NotRunning { server, state } => Some(match state {
                ServerState::Disabled => format!("enable `{server}` first"),
                ServerState::Pending => {
                    format!("it came with a project: look at what it runs, then approve of `{server}`")
                }
                _ => format!("start `{server}` first"),
            }),
            Self::NotInitialized { .. } => Some("call `initialize` first".to_owned()),
            Self::CallerTimeout { .. } => Some("allow the call more time".to_owned()),
            Self::Schema { .. } => Some("change the settings so that they fit the schema".to_owned()),
            _ => None,
        }
    }

    /// The error and, on a line of its own, what to do about it.
    pub fn explained(&self) -> String {
        match self.hint() {
            Some(hint) => format!("{self}\nhint: {hint}"),
            None => self.to_string(),
        }
    }
}

fn hint_of(failure: &Failure) -> Option<String> {
    if says_address_in_use(failure) {
        return Some("another process has the server's port: end it, or give the server another port".into());
    }
    match failure {
        Failure::StartTimeout { phase: Phase::Handshaking, .. } => {
            Some("look at what the server logged; if it is just slow, raise its `startup_timeout`".into())
        }
        failure => failure.hint(),
    }
}

/// Whether a server's last words are that it could not listen.
pub(super) fn says_address_in_use(failure: &Failure) -> bool {
    let (Failure::Exited { stderr, .. } | Failure::StartTimeout { stderr, .. }) = failure else {
        return false;
    };
    stderr.0.iter().any(|line| {
        let line = line.to_ascii_lowercase();
        line.contains("address already in use") || line.contains("eaddrinuse")
    })
}
