//! Authorization of the requests to one server, as transports need it.
//!
//! How tokens come about is not known here: an implementation brings the headers of each request and decides about refusals. It is
//! asked by all transports that begin with an HTTP request, in one place, so that they behave alike.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use http::{HeaderMap, Method, StatusCode, Uri};

use super::HttpError;

/// A future as a trait object.
pub type AuthorizerFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Authorizes the requests to one server.
pub trait RequestAuthorizer: fmt::Debug + Send + Sync {
    /// Whether requests may need headers. While it says no, a request that is not refused costs nothing more than this question.
    fn is_active(&self) -> bool;

    /// Returns the headers that authorize a request.
    ///
    /// # Errors
    /// If tokens have expired and cannot be renewed now.
    fn headers<'a>(
        &'a self,
        method: &'a Method,
        url: &'a Uri,
    ) -> AuthorizerFuture<'a, Result<HeaderMap, AuthorizationFailure>>;

    /// Takes note of a request that was not refused, with the headers of its response.
    fn accepted(&self, url: &Uri, received: &HeaderMap);

    /// Decides about a request that was refused.
    ///
    /// # Errors
    /// If the user has to log in, or tokens cannot be obtained now.
    fn refused<'a>(
        &'a self,
        request: RefusedRequest<'a>,
    ) -> AuthorizerFuture<'a, Result<AfterRefusal, AuthorizationFailure>>;

    /// Resolves when the user may have logged in, here or in another process.
    fn changed(&self) -> AuthorizerFuture<'_, ()>;

    /// Begins a login, unless one has begun, and returns the URL that the user has to open.
    ///
    /// # Errors
    /// If there is no such page. The text says why.
    fn login_page(&self) -> AuthorizerFuture<'_, Result<String, String>>;
}

/// A request that the server refused with 401 or 403.
#[derive(Debug, Clone, Copy)]
pub struct RefusedRequest<'a> {
    /// The status of the response.
    pub status: StatusCode,
    /// Where it was sent.
    pub url: &'a Uri,
    /// The headers that authorized it.
    pub sent: &'a HeaderMap,
    /// The headers of the response.
    pub received: &'a HeaderMap,
    /// How often it was sent again already.
    pub retries: u32,
}

/// What to do with a refused request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterRefusal {
    /// Send it again, with new headers.
    Retry,
    /// The refusal is the response.
    GiveUp,
}

/// Why a request is not authorized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthorizationFailure {
    /// The user has to log in.
    LoginRequired {
        /// Whether the user is logged in, but this request needs more scopes.
        is_step_up: bool,
    },
    /// There are no tokens.
    Failed {
        /// Why. Holds no secrets.
        reason: String,
        /// Whether the same may succeed later.
        is_transient: bool,
    },
}

impl AuthorizationFailure {
    /// The failure as that of a request to `url`, which is shown to people.
    pub(super) fn at(self, url: Arc<str>) -> HttpError {
        match self {
            Self::LoginRequired { is_step_up } => HttpError::LoginRequired { url, is_step_up },
            Self::Failed { reason, is_transient } => HttpError::Unauthorized { url, reason, is_transient },
        }
    }
}
