//! Whose token it is.

use std::{fmt, sync::Arc, time::SystemTime};

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{principal::Principal, rights::Rights};

/// What a valid token gives: who calls, and what they may do.
#[derive(Debug, Clone)]
pub struct Access {
    /// Who calls.
    pub principal: Principal,
    /// What they may do with this token.
    pub rights: Rights,
    /// When the token expires. Streams that it opened end then.
    pub expires: Option<SystemTime>,
    /// Cancelled when the token is revoked. Streams that it opened end then.
    pub revoked: CancellationToken,
}

/// Why a token is refused. Does not contain the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Unknown, malformed, expired, revoked, or for another audience: 401 with `invalid_token`.
    #[error("{0}")]
    InvalidToken(String),
    /// Valid, but without the scopes that the hub requires: 403 with `insufficient_scope` and all that are needed.
    #[error("the token lacks a scope; required: {}", required.join(" "))]
    InsufficientScope {
        /// All scopes that are needed, also those that it has.
        required: Vec<String>,
    },
    /// Valid, but its user may not use the hub, which another token would not change: 403.
    #[error("{0}")]
    NotAllowed(String),
    /// Whether it is valid cannot be found out now: 503.
    #[error("{0}")]
    Unavailable(String),
}

/// Finds out whose token it is.
pub trait Authenticator: fmt::Debug + Send + Sync {
    /// What is known about a token without waiting. This is the path of every call: it must be cheap.
    fn known(&self, token: &str) -> Option<Arc<Access>>;

    /// Finds out whose token it is. May ask an issuer; the result is remembered for [`known`](Self::known).
    ///
    /// `None` if tokens of this kind are not ours, so that the next authenticator is asked.
    fn authenticate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<Result<Arc<Access>, Refusal>>>;
}
