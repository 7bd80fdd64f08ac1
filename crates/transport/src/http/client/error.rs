//! Why a server at a URL gave no response.

use std::{error::Error, io, iter, sync::Arc, time::Duration};

use http::StatusCode;

/// Why a request got no response. Texts never hold headers, queries or credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// There is no connection.
    #[error("cannot connect to {url}: {reason}")]
    Unreachable {
        url: Arc<str>,
        reason: String,
        /// Whether the name of the host could not be resolved.
        is_unknown_host: bool,
    },
    /// The server ended the session.
    #[error("{url} ended the session")]
    SessionGone { url: Arc<str> },
    /// The server refused.
    #[error("{url} returned {status}{body}")]
    Status { url: Arc<str>, status: StatusCode, body: String },
    /// The user has to log in first.
    #[error("{url} requires a login{}", if *is_step_up { " with more permissions" } else { "" })]
    LoginRequired {
        url: Arc<str>,
        /// Whether only this request does.
        is_step_up: bool,
    },
    /// We have no authorization, and a login does not help.
    #[error("no authorization for {url}: {reason}")]
    Unauthorized {
        url: Arc<str>,
        reason: String,
        /// Whether the same may succeed later.
        is_transient: bool,
    },
    /// The server sends us elsewhere.
    #[error("{url} returned {status} and redirects to {to}, {why}")]
    Redirected { url: Arc<str>, status: StatusCode, to: String, why: &'static str },
    /// The response is something else than MCP.
    #[error("{url} returned {found} instead of JSON or an event stream")]
    ContentType { url: Arc<str>, found: String },
    /// The response ended too early.
    #[error("the connection to {url} was lost before the response: {reason}")]
    Broken { url: Arc<str>, reason: String },
    /// The server ended the connection.
    #[error("{url} closed the connection: {reason}")]
    Closed { url: Arc<str>, reason: String },
    /// The server sent something that cannot be read, and nothing can be read behind it.
    #[error("{url} violates the protocol: {reason}")]
    Garbled { url: Arc<str>, reason: String },
    /// The server sent more than we take, and nothing can be read behind it.
    #[error("{url} sent a message longer than {limit} bytes")]
    TooLong { url: Arc<str>, limit: usize },
    /// The connection is open, but nothing was received.
    #[error("{url} sent nothing for {} s", after.as_secs())]
    Silent { url: Arc<str>, after: Duration },
    /// Nothing came in time.
    #[error("{url} did not respond within {} s", after.as_secs_f32())]
    Slow { url: Arc<str>, after: Duration },
}

impl HttpError {
    /// Whether the server certainly did nothing, so that the same request may be sent again.
    pub fn is_undelivered(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::SessionGone { .. })
    }

    /// Whether the server wants to know first who we are.
    pub fn is_unauthorized(&self) -> bool {
        match self {
            Self::LoginRequired { .. } => true,
            Self::Unauthorized { is_transient, .. } => !is_transient,
            _ => matches!(self.status(), Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)),
        }
    }

    /// Whether nothing helps before the user has logged in; a request that needs more scopes than others says nothing about those.
    pub fn is_login_required(&self) -> bool {
        matches!(self, Self::LoginRequired { is_step_up: false, .. })
    }

    /// Whether the server says that the request came from itself.
    pub fn is_loop(&self) -> bool {
        self.status() == Some(StatusCode::LOOP_DETECTED)
    }

    /// The same error with other texts, such as without secrets that the URL or the response contains.
    pub fn map_texts(mut self, map: impl Fn(&str) -> String) -> Self {
        let (url, text) = match &mut self {
            Self::Unreachable { url, reason, .. }
            | Self::Broken { url, reason }
            | Self::Closed { url, reason }
            | Self::Garbled { url, reason }
            | Self::Unauthorized { url, reason, .. } => (url, Some(reason)),
            Self::Status { url, body, .. } => (url, Some(body)),
            Self::Redirected { url, to, .. } => (url, Some(to)),
            Self::ContentType { url, found } => (url, Some(found)),
            Self::SessionGone { url }
            | Self::LoginRequired { url, .. }
            | Self::TooLong { url, .. }
            | Self::Silent { url, .. }
            | Self::Slow { url, .. } => (url, None),
        };
        *url = map(url).into();
        if let Some(text) = text {
            *text = map(text);
        }
        self
    }

    /// The status of the response, if it is the reason.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }
}

/// The whole chain of an error in one line; the outermost often says nothing.
pub(crate) fn reason(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// The name of a host has no address, as far as the resolver knows.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct UnknownHost(pub(super) io::Error);

/// Whether an error is about a name that cannot be resolved.
pub(super) fn is_unknown_host(error: &(dyn Error + 'static)) -> bool {
    find::<UnknownHost>(error).is_some()
}

/// Returns the error of this type that caused another one.
pub(super) fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut chain = iter::successors(Some(error), |error| (*error).source());
    // An `io::Error` has the source of the error inside it for a source, never that error itself.
    let inside = |error: &'a (dyn Error + 'static)| find(error.downcast_ref::<io::Error>()?.get_ref()?);
    chain.find_map(|error| error.downcast_ref().or_else(|| inside(error)))
}
