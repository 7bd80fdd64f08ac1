//! Why a server is not there, and why a call failed.

use std::{path::PathBuf, sync::Arc, time::Duration};

use toolbay_protocol::{ParseError, ServerName};
use toolbay_supervise::{CommandNotFound, Exit, SpawnError};
use toolbay_transport::http::client::HttpError;

use crate::{Hint, Incomplete, status::Phase, stderr_tail::StderrTail};

/// Why a server is down.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Failure {
    /// It could not be started.
    #[error("it could not be started: {source}")]
    Spawn { source: Arc<SpawnError> },
    /// What it is started with is not there, such as a secret.
    #[error("{0}")]
    Incomplete(Incomplete),
    /// The process ended.
    #[error("it exited {phase} ({exit}){stderr}")]
    Exited { exit: Exit, phase: Phase, stderr: StderrTail },
    /// The connection ended, and there is no process whose exit explains it.
    #[error("it closed the connection {phase}")]
    Closed { phase: Phase },
    /// It was stopped.
    #[error("it was stopped")]
    Stopped,
    /// It was up, but did not respond.
    #[error("it did not respond to a keep-alive ping within {} s", after.as_secs_f32())]
    Unresponsive { after: Duration },
    /// It was not ready in time.
    #[error("it was not ready within {} s (it was {phase}){stderr}", after.as_secs_f32())]
    StartTimeout { after: Duration, phase: Phase, stderr: StderrTail },
    /// It answered the handshake with something we cannot use.
    #[error("the handshake failed: {reason}")]
    Handshake { reason: String },
    /// It is, or leads back to, the hub that asks.
    #[error("{reason}")]
    Cycle { reason: String },
    /// It could not be reached at its URL, or refused us there.
    #[error("{why}")]
    Remote { why: HttpError },
    /// It is protected, and the user is not logged in.
    #[error("login required")]
    LoginRequired { server: ServerName },
    /// Something responds at its URL, but with no known protocol.
    #[error("it speaks neither Streamable HTTP ({http}) nor HTTP+SSE ({sse})")]
    Neither { http: Box<Failure>, sse: Box<Failure> },
}

impl Failure {
    /// Whether the server wants to know first who we are.
    pub fn is_unauthorized(&self) -> bool {
        match self {
            Self::Remote { why } => why.is_unauthorized(),
            Self::LoginRequired { .. } => true,
            _ => false,
        }
    }

    /// Whether a login of the user is all that is missing.
    pub fn is_login_required(&self) -> bool {
        matches!(self, Self::LoginRequired { .. })
    }

    /// Whether trying again cannot help before something is changed.
    pub(crate) fn is_hopeless(&self) -> bool {
        match self {
            Self::Spawn { source } => !source.is_retryable(),
            Self::Cycle { .. } => true,
            Self::Incomplete(why) => !why.may_change,
            _ => self.is_unauthorized(),
        }
    }

    /// Whether the server was there and refused the handshake.
    pub(crate) fn is_about_handshake(&self) -> bool {
        match self {
            Self::Handshake { .. } | Self::Neither { .. } => true,
            Self::Remote { why } => !why.is_undelivered(),
            _ => false,
        }
    }

    /// Whether stderr says that the port of the server is in use.
    pub fn is_address_in_use(&self) -> bool {
        self.stderr().iter().any(|line| {
            let line = line.to_ascii_lowercase();
            line.contains("address already in use") || line.contains("eaddrinuse")
        })
    }

    /// What to do about it, in the words of the command line.
    pub fn hint(&self) -> Option<String> {
        self.next_step().map(|hint| hint.to_string())
    }

    /// What to do about it.
    pub fn next_step(&self) -> Option<Hint> {
        let advice = |text| Some(Hint::advice(text));
        match self {
            _ if self.is_address_in_use() => {
                advice("another process uses the server's port: stop it, or configure another port")
            }
            Self::Spawn { source } => {
                let hint = source.hint()?;
                let has_no_path = self.missing_command().is_some_and(|missing| missing.has_no_path);
                Some(if has_no_path { Hint::NoPath { otherwise: hint } } else { Hint::Advice(hint) })
            }
            Self::Exited { phase: Phase::Serving, .. }
            | Self::Closed { .. }
            | Self::Unresponsive { .. }
            // The reason says what to do.
            | Self::Incomplete(_) => None,
            Self::Exited { stderr, .. } => Some(match stderr.missing_package() {
                Some(package) => {
                    Hint::Advice(format!("no such package: `{package}`; check its name and version"))
                }
                None => Hint::advice("run the command by hand in a terminal to see what it needs"),
            }),
            Self::Stopped => advice("it was stopped; start it and try again"),
            Self::StartTimeout { .. } => {
                advice("check what the server logged; if it is just slow, raise its `startup_timeout`")
            }
            Self::Handshake { .. } => advice("check that the command or URL is that of an MCP server"),
            Self::Cycle { .. } => advice("remove the entry, or let it name a hub with another configuration"),
            Self::Remote { why } => remote_hint(why),
            Self::LoginRequired { server } => Some(Hint::Login(server.clone())),
            Self::Neither { http, .. } => http.next_step(),
        }
    }

    /// The last lines that the server wrote to stderr.
    pub fn stderr(&self) -> &[Arc<str>] {
        match self {
            Self::Exited { stderr, .. } | Self::StartTimeout { stderr, .. } => &stderr.0,
            _ => &[],
        }
    }

    /// The places where its command was searched for, if it was not found.
    pub fn searched(&self) -> &[PathBuf] {
        self.missing_command().map_or(&[], |missing| &missing.looked_in)
    }

    fn missing_command(&self) -> Option<&CommandNotFound> {
        match self {
            Self::Spawn { source } => match &**source {
                SpawnError::NotFound(missing) => Some(missing),
                _ => None,
            },
            _ => None,
        }
    }

    /// The line of stderr that most likely says why, if there is one.
    pub fn cause(&self) -> Option<&str> {
        match self {
            Self::Exited { stderr, .. } | Self::StartTimeout { stderr, .. } => stderr.cause(),
            _ => None,
        }
    }

    /// What happened, without the server's stderr and the places where its command was searched for.
    pub fn headline(&self) -> String {
        if let Some(missing) = self.missing_command() {
            return format!("it could not be started: {}", missing.headline());
        }
        match self {
            Self::Exited { exit, phase, .. } => {
                Self::Exited { exit: exit.clone(), phase: *phase, stderr: StderrTail::default() }.to_string()
            }
            Self::StartTimeout { after, phase, .. } => {
                Self::StartTimeout { after: *after, phase: *phase, stderr: StderrTail::default() }.to_string()
            }
            other => other.to_string(),
        }
    }

    /// What happened and the line of stderr that most likely says why, on one line.
    pub fn summary(&self) -> String {
        match self.cause() {
            Some(cause) => format!("{}: {cause}", self.headline()),
            None if self.missing_command().is_some() => self.to_string(),
            None => self.headline(),
        }
    }

    /// Whether the server ended the connection, or it broke, once it stood.
    pub(crate) fn is_hang_up(&self) -> bool {
        matches!(self, Self::Remote { why: HttpError::Closed { .. } | HttpError::Broken { .. } })
    }
}

fn remote_hint(why: &HttpError) -> Option<Hint> {
    let advice = |text| Some(Hint::advice(text));
    match why {
        HttpError::Unreachable { is_unknown_host: true, .. } => {
            advice("its host name cannot be resolved: check the URL for a typo, and the network or VPN")
        }
        HttpError::Unreachable { .. } => advice("check that the server runs at that URL"),
        why if why.is_unauthorized() => Some(Hint::Credentials),
        HttpError::TooLong { .. } => advice(TOO_LONG),
        HttpError::Status { .. } | HttpError::ContentType { .. } => {
            advice("check that the URL is that of an MCP endpoint; many end in `/mcp`")
        }
        _ => None,
    }
}

/// What to do about a message that is too long.
const TOO_LONG: &str = "raise `max_message` of the server, or request less";

/// Why a call failed without a response from the server.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CallError {
    /// The server died while it had the call.
    #[error("server `{server}` failed before it responded: {failure}")]
    Died { server: ServerName, failure: Arc<Failure> },
    /// The server is down and will not be restarted by itself.
    #[error("server `{server}` has failed: {failure}")]
    Down { server: ServerName, failure: Arc<Failure> },
    /// The server was stopped.
    #[error("server `{server}` is stopped")]
    Stopped { server: ServerName },
    /// The call waited too long for the server to be ready.
    #[error("server `{server}` was still {phase} after {} s", after.as_secs_f32())]
    NotReady { server: ServerName, phase: String, after: Duration },
    /// No activity.
    #[error("server `{server}` timed out: no response or progress for {} s (total timeout: {} s)",
        idle.as_secs_f32(), total.as_secs_f32())]
    Idle { server: ServerName, idle: Duration, total: Duration },
    /// Took too long in all.
    #[error("server `{server}` did not finish the call within {} s", total.as_secs_f32())]
    TooLong { server: ServerName, total: Duration },
    /// Too many calls at once.
    #[error("server `{server}` is busy: {in_flight} calls are running and {waiting} wait")]
    Busy { server: ServerName, in_flight: usize, waiting: usize },
    /// Calls that are too long in all.
    #[error("server `{server}` is busy: {in_use} bytes of calls are in flight; {limit} are allowed")]
    Full { server: ServerName, in_use: usize, limit: usize },
    /// The response is no message we can pass on.
    #[error("server `{server}` sent an invalid response: {why}")]
    BadAnswer { server: ServerName, why: ParseError },
    /// There is no response, and the transport knows why.
    #[error("server `{server}` sent no response: {why}")]
    NoAnswer { server: ServerName, why: HttpError },
}

impl CallError {
    /// Whether it took too long.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::NotReady { .. } | Self::Idle { .. } | Self::TooLong { .. })
    }

    /// Whether the call certainly never reached the server, so that sending it again is safe.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Down { .. }
            | Self::Stopped { .. }
            | Self::NotReady { .. }
            | Self::Busy { .. }
            | Self::Full { .. } => true,
            Self::NoAnswer { why, .. } => why.is_undelivered(),
            Self::Died { .. } | Self::Idle { .. } | Self::TooLong { .. } | Self::BadAnswer { .. } => false,
        }
    }

    /// Whether the call needs a login of the user first, or one with more scopes.
    pub fn is_login_required(&self) -> bool {
        match self {
            Self::Died { failure, .. } | Self::Down { failure, .. } => failure.is_login_required(),
            Self::NoAnswer { why, .. } => matches!(why, HttpError::LoginRequired { .. }),
            _ => false,
        }
    }

    /// The server concerned.
    pub fn server(&self) -> &ServerName {
        match self {
            Self::Died { server, .. }
            | Self::Down { server, .. }
            | Self::Stopped { server }
            | Self::NotReady { server, .. }
            | Self::Idle { server, .. }
            | Self::TooLong { server, .. }
            | Self::Busy { server, .. }
            | Self::Full { server, .. }
            | Self::BadAnswer { server, .. }
            | Self::NoAnswer { server, .. } => server,
        }
    }

    /// What to do about it, in the words of the command line.
    pub fn hint(&self) -> Option<String> {
        self.next_step().map(|hint| hint.to_string())
    }

    /// What to do about it.
    pub fn next_step(&self) -> Option<Hint> {
        let advice = |text| Some(Hint::advice(text));
        match self {
            Self::Died { failure, .. } => {
                failure.next_step().or_else(|| advice("it is being restarted; try again"))
            }
            Self::Down { failure, .. } if failure.is_login_required() => failure.next_step(),
            Self::Down { server, failure } => {
                Some(Hint::Restart { server: server.clone(), cause: failure.next_step().map(Box::new) })
            }
            Self::NotReady { server, .. } => Some(Hint::ShowLog(server.clone())),
            Self::Idle { .. } | Self::TooLong { .. } => {
                advice("raise `idle_timeout` or `total_timeout` of the server if its calls are that slow")
            }
            Self::Busy { .. } | Self::Full { .. } => advice("try again later"),
            Self::BadAnswer { why: ParseError::TooLong { .. }, .. } => advice(TOO_LONG),
            Self::NoAnswer { server, why: HttpError::LoginRequired { .. } } => {
                Some(Hint::Login(server.clone()))
            }
            Self::NoAnswer { why, .. } => remote_hint(why),
            Self::Stopped { server } => Some(Hint::Start(server.clone())),
            Self::BadAnswer { .. } => None,
        }
    }
}
