//! The next step after a failure.
//!
//! How a server is started and where its log is found differ between the command line and a program that embeds Toolbay. So a
//! hint is a value, and each front end words it for its users: those of the command line are its [`Display`](fmt::Display).

use std::fmt;

use toolbay_protocol::ServerName;

/// What to do about a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// Advice that is the same for every front end.
    Advice(String),
    /// The command was not found, and no `PATH` was given; else the advice would be this.
    NoPath {
        /// The usual advice about a missing command.
        otherwise: String,
    },
    /// The server requires credentials.
    Credentials,
    /// The user must log in at the server.
    Login(ServerName),
    /// The server must be started.
    Start(ServerName),
    /// The log of the server says more.
    ShowLog(ServerName),
    /// The cause must be removed, then the server restarted.
    Restart {
        /// The server.
        server: ServerName,
        /// How to remove the cause; without it, the log says more.
        cause: Option<Box<Hint>>,
    },
}

impl Hint {
    pub(crate) fn advice(text: &str) -> Self {
        Self::Advice(text.to_owned())
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Advice(text) | Self::NoPath { otherwise: text } => f.write_str(text),
            Self::Credentials => f.write_str(
                "set what the server requires, such as `Authorization`, in `headers` of its entry",
            ),
            Self::Login(server) => write!(f, "toolbay login {server}"),
            Self::Start(server) => write!(f, "start it with `toolbay start {server}`"),
            Self::ShowLog(server) => write!(f, "see `toolbay logs {server}`"),
            Self::Restart { server, cause: Some(cause) } => {
                write!(f, "{cause}; then `toolbay restart {server}`")
            }
            Self::Restart { server, cause: None } => {
                write!(f, "see `toolbay logs {server}`, then `toolbay restart {server}`")
            }
        }
    }
}
