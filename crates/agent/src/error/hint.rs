//! What to do about an error.

use toolbay_host::ServerState;

use super::Error;

impl Error {
    /// One line on what to do about it, where we know one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Init { failure, .. } => failure.hint(),
            Self::Connection(error) | Self::Timeout(error) | Self::Busy(error) => error.hint(),
            Self::ResourceNotFound { uri, candidates } if !candidates.is_empty() => {
                Some(format!("name the server: toolbay://<server>/{uri}"))
            }
            Self::NotRunning { server, state } => Some(match state {
                ServerState::Disabled => format!("enable `{server}` first"),
                ServerState::Pending => {
                    format!("it came with a project: review what it runs, then approve `{server}`")
                }
                _ => format!("start `{server}` first"),
            }),
            Self::NotInitialized { .. } => Some("call `initialize` first".to_owned()),
            Self::CallerTimeout { .. } => Some("allow the call more time".to_owned()),
            Self::Schema { .. } => Some("change the settings to match the schema".to_owned()),
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
