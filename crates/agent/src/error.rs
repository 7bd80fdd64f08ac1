//! Errors of the library.
//!
//! One enum for agents and single [`Client`](crate::Client)s. Each error says what failed and for which server;
//! [`Error::hint`] says what to do, [`Error::whose_fault`] who has to do it, and [`Error::is_retryable`] whether the same call
//! may be made again.

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;
use toolbay_bundle::DescriptorError;
use toolbay_config::ConfigError;
use toolbay_host::{Hint, ServerError, ServerState};
use toolbay_protocol::{ErrorCode, ErrorObject, ServerName};
use toolbay_upstream::{CallError, Failure, HttpError};

/// An error of the library.
///
/// ```
/// use toolbay_agent::{Error, Fault};
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
    #[error("no server named `{server}`{}", list("; there are", known))]
    ServerNotFound {
        /// The name in the request.
        server: String,
        /// The servers that there are.
        known: Vec<String>,
    },
    /// No server offers that tool.
    #[error("no server offers the tool `{name}`{}", did_you_mean(similar))]
    ToolNotFound {
        /// The name in the request.
        name: String,
        /// Similar names.
        similar: Vec<String>,
    },
    /// No server offers that prompt.
    #[error("no server offers the prompt `{name}`{}", did_you_mean(similar))]
    PromptNotFound {
        /// The name in the request.
        name: String,
        /// Similar names.
        similar: Vec<String>,
    },
    /// No server has that resource, or it is not clear which.
    #[error("no server has the resource `{uri}`{}", list("; several could:", candidates))]
    ResourceNotFound {
        /// The name in the request.
        uri: String,
        /// Servers that could have it.
        candidates: Vec<String>,
    },
    /// The server could not be started. Its state ([`Agent::status`](crate::Agent::status)) says whether it is tried again.
    #[error("server `{server}` has failed: {failure}")]
    Init {
        /// The server.
        server: ServerName,
        /// The reason.
        failure: Arc<Failure>,
    },
    /// The server may not run now: it is disabled, was stopped, or needs approval.
    #[error("server `{server}` {}", state.predicate())]
    NotRunning {
        /// The server.
        server: ServerName,
        /// Its state.
        state: ServerState,
    },
    /// The connection to the server ended: it crashed, was stopped, or cannot be reached.
    #[error(transparent)]
    Connection(CallError),
    /// The call exceeded a timeout of the server.
    #[error(transparent)]
    Timeout(CallError),
    /// The call exceeded the timeout of its caller.
    #[error("`{what}` exceeded the caller's timeout of {} s", after.as_secs_f32())]
    CallerTimeout {
        /// What was called.
        what: String,
        /// The timeout.
        after: Duration,
    },
    /// Too many calls at once.
    #[error(transparent)]
    Busy(CallError),
    /// The server returned an error.
    #[error("server `{server}` returned error {code}: {message}")]
    Server {
        /// The server.
        server: ServerName,
        /// The code, as the server sent it.
        code: ErrorCode,
        /// The message of the server.
        message: String,
        /// Further data, for programs.
        data: Option<Arc<RawValue>>,
    },
    /// The request was rejected before it was sent.
    #[error("the request was rejected: {message} ({code})")]
    Refused {
        /// The code that a client of a hub would get.
        code: ErrorCode,
        /// The reason.
        message: String,
    },
    /// The server sent something that cannot be used.
    #[error("server `{server}` violates the protocol: {reason}")]
    Protocol {
        /// The server.
        server: ServerName,
        /// The problem.
        reason: String,
        /// What to do about it, where that is known.
        hint: Option<Hint>,
    },
    /// The client is not initialized.
    #[error("the client of server `{server}` is not initialized")]
    NotInitialized {
        /// The server.
        server: ServerName,
    },
    /// The client is already initialized.
    #[error("the client of server `{server}` is already initialized")]
    AlreadyInitialized {
        /// The server.
        server: ServerName,
    },
    /// A configuration file cannot be used.
    #[error("{0}")]
    Config(Arc<ConfigError>),
    /// The configuration of a server cannot be used.
    #[error("server `{server}` cannot be set up: {reason}")]
    Setup {
        /// The server.
        server: String,
        /// The problem.
        reason: String,
    },
    /// Settings do not match their schema.
    #[error("JSON schema validation failed for {what}: {}", faults.join("; "))]
    Schema {
        /// What the settings are for.
        what: String,
        /// The problems, each with its JSON pointer.
        faults: Vec<String>,
    },
}

impl Error {
    /// Whether the same call may be made again: it certainly never reached the server, and may succeed later.
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

    /// The server concerned, if there is one.
    pub fn server(&self) -> Option<&str> {
        match self {
            Self::ServerNotFound { server, .. } | Self::Setup { server, .. } => Some(server),
            Self::Init { server, .. }
            | Self::NotRunning { server, .. }
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

    /// An error that a server returned.
    pub(crate) fn from_response(server: &ServerName, error: ErrorObject) -> Self {
        let ErrorObject { code, message, data } = error;
        Self::Server { server: server.clone(), code, message, data: data.map(Arc::from) }
    }

    pub(crate) fn name_taken(server: &str) -> Self {
        Self::Setup { server: server.to_owned(), reason: "another server has the same name".to_owned() }
    }

    pub(crate) fn protocol(server: &ServerName, reason: impl ToString) -> Self {
        Self::Protocol { server: server.clone(), reason: reason.to_string(), hint: None }
    }
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Down { server, failure } => Self::Init { server, failure },
            CallError::BadAnswer { ref server, ref why } => {
                Self::Protocol { server: server.clone(), reason: why.to_string(), hint: error.next_step() }
            }
            CallError::Idle { .. } | CallError::TooLong { .. } | CallError::NotReady { .. } => {
                Self::Timeout(error)
            }
            CallError::Busy { .. } | CallError::Full { .. } => Self::Busy(error),
            CallError::Died { .. } | CallError::Stopped { .. } | CallError::NoAnswer { .. } => {
                Self::Connection(error)
            }
        }
    }
}

impl From<ServerError> for Error {
    fn from(error: ServerError) -> Self {
        match error {
            ServerError::Unknown(server) => Self::ServerNotFound { server, known: Vec::new() },
            ServerError::Disabled(server) => Self::NotRunning { server, state: ServerState::Disabled },
            ServerError::Pending(server) => Self::NotRunning { server, state: ServerState::Pending },
        }
    }
}

impl From<DescriptorError> for Error {
    fn from(error: DescriptorError) -> Self {
        let reason = error.to_string();
        match error {
            DescriptorError::Settings { id, problems } => Self::Schema {
                what: format!("the settings of `{id}`"),
                faults: problems.iter().map(ToString::to_string).collect(),
            },
            DescriptorError::Unknown { id }
            | DescriptorError::Taken { id }
            | DescriptorError::Broken { id, .. }
            | DescriptorError::Unconfirmed { id, .. }
            | DescriptorError::CommandMissing { id, .. }
            | DescriptorError::Platform { id, .. }
            | DescriptorError::NeedsBundle { id, .. } => Self::Setup { server: id, reason },
            _ => Self::Setup { server: "an extension".to_owned(), reason },
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

/// Who has to do something about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The caller: a name, arguments, the order of calls.
    Caller,
    /// The setup: a missing program, a wrong URL, missing credentials.
    Setup,
    /// The server.
    Server,
    /// The network between here and the server.
    Network,
}

impl Error {
    /// Who has to do something about it.
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
            Self::Config(_) | Self::Setup { .. } | Self::Schema { .. } | Self::NotRunning { .. } => {
                Fault::Setup
            }
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
}

fn fault_of(failure: &Failure) -> Fault {
    match failure {
        Failure::Spawn { .. }
        | Failure::Handshake { .. }
        | Failure::Neither { .. }
        | Failure::Incomplete(_) => Fault::Setup,
        failure if failure.is_address_in_use() => Fault::Setup,
        Failure::Remote { why } => fault_on_the_way(why),
        // It exited, timed out, or broke the protocol.
        _ => Fault::Server,
    }
}

fn fault_on_the_way(why: &HttpError) -> Fault {
    match why {
        why if why.is_unauthorized() => Fault::Setup,
        HttpError::Garbled { .. } | HttpError::TooLong { .. } => Fault::Server,
        _ => Fault::Network,
    }
}

impl Error {
    /// One line on what to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Init { failure, .. } => failure.next_step().map(|hint| in_library_words(&hint)),
            Self::Protocol { hint, .. } => hint.as_ref().map(in_library_words),
            Self::Connection(error) | Self::Timeout(error) | Self::Busy(error) => {
                error.next_step().map(|hint| in_library_words(&hint))
            }
            Self::ResourceNotFound { uri, candidates } if !candidates.is_empty() => {
                Some(format!("name the server: toolbay://<server>/{uri}"))
            }
            Self::NotRunning { server, state } => Some(match state {
                ServerState::Disabled => format!("enable it with `enable_server(\"{server}\")`"),
                ServerState::Pending => format!(
                    "it came with a project: review what it runs, then approve it with `enable_server(\"{server}\")`"
                ),
                _ => format!("start it with `start_server(\"{server}\")`"),
            }),
            Self::NotInitialized { .. } => Some("call `initialize` first".to_owned()),
            Self::CallerTimeout { .. } => {
                Some("allow the call more time with `CallOptions::timeout`".to_owned())
            }
            Self::Schema { .. } => Some("change the settings to match the schema".to_owned()),
            _ => None,
        }
    }

    /// The error and, on a line of its own, the hint.
    pub fn explained(&self) -> String {
        match self.hint() {
            Some(hint) => format!("{self}\nhint: {hint}"),
            None => self.to_string(),
        }
    }
}

/// A hint in terms of this library.
fn in_library_words(hint: &Hint) -> String {
    match hint {
        Hint::NoPath { otherwise } => {
            format!("call `inherit_env()` on the builder, so that `PATH` is searched; or {otherwise}")
        }
        Hint::Credentials => {
            "send what the server requires, such as `Authorization`, with `header()`".to_owned()
        }
        Hint::Start(server) => format!("start it with `start_server(\"{server}\")`"),
        Hint::ShowLog(server) => format!("see `server(\"{server}\")` and its `log()`"),
        Hint::Restart { server, cause: Some(cause) } => {
            format!("{}; then `restart_server(\"{server}\")`", in_library_words(cause))
        }
        Hint::Restart { server, cause: None } => {
            format!("see `server(\"{server}\")` and its `log()`, then `restart_server(\"{server}\")`")
        }
        advice => advice.to_string(),
    }
}

fn did_you_mean(similar: &[String]) -> String {
    if similar.is_empty() { String::new() } else { format!("; did you mean `{}`?", similar.join("`, `")) }
}

fn list(before: &str, names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("{before} {}", names.join(", ")) }
}
