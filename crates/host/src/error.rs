//! Why something did not work, for those who use this library.
//!
//! One enum for everything, whether a whole host is used or a single [`Client`](crate::Client). Each error says what happened
//! and to which server; [`Error::hint`] says what to do, [`Error::whose_fault`] who must do it, and
//! [`Error::is_retryable`] whether the same call may simply be made again.

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;
use toolbay_config::ConfigError;
use toolbay_protocol::{ErrorCode, ErrorObject, ServerName};
use toolbay_upstream::{CallError, Failure, NoAnswer, Phase};

/// Why something did not work.
///
/// ```
/// use toolbay_host::{Error, Fault};
///
/// let error = Error::ToolNotFound { name: "git__comit".into(), similar: vec!["git__commit".into()] };
/// assert_eq!(error.to_string(), "no server offers the tool `git__comit`; did you mean `git__commit`?");
/// assert_eq!(error.whose_fault(), Fault::Caller);
/// assert!(!error.is_retryable());
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No server has that name.
    #[error("there is no server `{server}`{}", list("; there are", known))]
    ServerNotFound { server: String, known: Vec<String> },
    /// No server offers that tool.
    #[error("no server offers the tool `{name}`{}", did_you_mean(similar))]
    ToolNotFound { name: String, similar: Vec<String> },
    /// No server offers that prompt.
    #[error("no server offers the prompt `{name}`{}", did_you_mean(similar))]
    PromptNotFound { name: String, similar: Vec<String> },
    /// No server has that resource, or several could.
    #[error("no server has the resource `{uri}`{}", list("; several could:", candidates))]
    ResourceNotFound { uri: String, candidates: Vec<String> },
    /// The server did not come up, and is not tried again by itself.
    #[error("server `{server}` is not up: {failure}")]
    Init { server: ServerName, failure: Arc<Failure> },
    /// The way to the server is gone: it died, was stopped, or cannot be reached.
    #[error(transparent)]
    Connection(CallError),
    /// The server took too long.
    #[error(transparent)]
    Timeout(CallError),
    /// The call took longer than its caller allowed.
    #[error("`{what}` took longer than {} s, which is what the caller allowed", after.as_secs_f32())]
    CallerTimeout { what: String, after: Duration },
    /// Too many calls at once.
    #[error(transparent)]
    Busy(CallError),
    /// The server answered with an error.
    #[error("server `{server}` answered with error {code}: {message}")]
    Server { server: ServerName, code: ErrorCode, message: String, data: Option<Arc<RawValue>> },
    /// The request cannot be sent to anyone.
    #[error("the request was refused: {message} ({code})")]
    Refused { code: ErrorCode, message: String },
    /// The server answered with something that cannot be used.
    #[error("server `{server}` does not keep to the protocol: {reason}")]
    Protocol { server: ServerName, reason: String },
    /// The client was not initialized yet.
    #[error("the client of server `{server}` is not initialized")]
    NotInitialized { server: ServerName },
    /// The client was initialized before.
    #[error("the client of server `{server}` is initialized already")]
    AlreadyInitialized { server: ServerName },
    /// A configuration file cannot be used.
    #[error("{0}")]
    Config(Arc<ConfigError>),
    /// What a program said about a server cannot be used.
    #[error("server `{server}` cannot be set up: {reason}")]
    Setup { server: String, reason: String },
    /// Settings do not fit the schema that was given for them.
    #[error("JSON schema validation failed for {what}: {}", faults.join("; "))]
    Schema { what: String, faults: Vec<String> },
}

/// Who must do something about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Whoever made the call: a name, arguments, the order of things.
    Caller,
    /// Whoever set things up: a missing program, a wrong URL, missing credentials.
    Setup,
    /// The server, or who wrote it.
    Server,
    /// The way to the server.
    Network,
}

impl Error {
    /// Whether the same call may be made again as it is: it certainly never reached the server, and time may help.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Connection(error) | Self::Timeout(error) | Self::Busy(error) => error.is_retryable(),
            Self::Init { failure, .. } => match &**failure {
                Failure::Spawn { source } => source.is_retryable(),
                Failure::Remote { why } => why.is_undelivered(),
                _ => false,
            },
            _ => false,
        }
    }

    /// Who must do something about it.
    pub fn whose_fault(&self) -> Fault {
        match self {
            Self::ServerNotFound { .. }
            | Self::ToolNotFound { .. }
            | Self::PromptNotFound { .. }
            | Self::ResourceNotFound { .. }
            | Self::CallerTimeout { .. }
            | Self::Refused { .. }
            | Self::Busy(_)
            | Self::NotInitialized { .. }
            | Self::AlreadyInitialized { .. } => Fault::Caller,
            Self::Config(_) | Self::Setup { .. } | Self::Schema { .. } => Fault::Setup,
            Self::Protocol { .. } => Fault::Server,
            Self::Init { failure, .. } => fault_of(failure),
            Self::Connection(error) | Self::Timeout(error) => match error {
                CallError::Died { failure, .. } | CallError::Down { failure, .. } => fault_of(failure),
                CallError::Stopped { .. } => Fault::Caller,
                CallError::NoAnswer { why, .. } => fault_on_the_way(why),
                _ => Fault::Server,
            },
            Self::Server { code, .. } => match *code {
                ErrorCode::INVALID_PARAMS | ErrorCode::INVALID_REQUEST | ErrorCode::METHOD_NOT_FOUND => {
                    Fault::Caller
                }
                _ => Fault::Server,
            },
        }
    }

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

    /// The server concerned, where one is.
    pub fn server(&self) -> Option<&str> {
        match self {
            Self::ServerNotFound { server, .. } | Self::Setup { server, .. } => Some(server),
            Self::Init { server, .. }
            | Self::Server { server, .. }
            | Self::Protocol { server, .. }
            | Self::NotInitialized { server }
            | Self::AlreadyInitialized { server } => Some(server.as_str()),
            Self::Connection(error) | Self::Timeout(error) | Self::Busy(error) => {
                Some(error.server().as_str())
            }
            _ => None,
        }
    }

    /// An error that a server gave for an answer.
    pub(crate) fn answered(server: &ServerName, error: ErrorObject) -> Self {
        let ErrorObject { code, message, data } = error;
        Self::Server { server: server.clone(), code, message, data: data.map(Arc::from) }
    }

    pub(crate) fn protocol(server: &ServerName, reason: impl ToString) -> Self {
        Self::Protocol { server: server.clone(), reason: reason.to_string() }
    }
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Down { server, failure } => Self::Init { server, failure },
            CallError::BadAnswer { server, why } => Self::Protocol { server, reason: why.to_string() },
            CallError::Idle { .. } | CallError::TooLong { .. } | CallError::NotReady { .. } => {
                Self::Timeout(error)
            }
            CallError::Busy { .. } => Self::Busy(error),
            CallError::Died { .. } | CallError::Stopped { .. } | CallError::NoAnswer { .. } => {
                Self::Connection(error)
            }
        }
    }
}

impl From<ErrorObject> for Error {
    fn from(error: ErrorObject) -> Self {
        Self::Refused { code: error.code, message: error.message }
    }
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Self::Config(Arc::new(error))
    }
}

fn fault_of(failure: &Failure) -> Fault {
    match failure {
        Failure::Spawn { .. } | Failure::Handshake { .. } | Failure::Neither { .. } => Fault::Setup,
        _ if says_address_in_use(failure) => Fault::Setup,
        Failure::Remote { why } => fault_on_the_way(why),
        // It ended, said nothing in time, or whatever else a server should not do.
        _ => Fault::Server,
    }
}

fn fault_on_the_way(why: &NoAnswer) -> Fault {
    match why {
        why if why.is_unauthorized() => Fault::Setup,
        NoAnswer::Garbled { .. } | NoAnswer::TooLong { .. } => Fault::Server,
        _ => Fault::Network,
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
fn says_address_in_use(failure: &Failure) -> bool {
    let (Failure::Exited { stderr, .. } | Failure::StartTimeout { stderr, .. }) = failure else {
        return false;
    };
    stderr.0.iter().any(|line| {
        let line = line.to_ascii_lowercase();
        line.contains("address already in use") || line.contains("eaddrinuse")
    })
}

fn did_you_mean(similar: &[String]) -> String {
    if similar.is_empty() { String::new() } else { format!("; did you mean `{}`?", similar.join("`, `")) }
}

fn list(before: &str, names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("{before} {}", names.join(", ")) }
}
