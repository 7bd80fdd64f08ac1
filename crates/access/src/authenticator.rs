//! Whose token it is.

use std::{
    fmt,
    future::pending,
    sync::{Arc, LazyLock},
    time::{Duration, SystemTime},
};

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

/// How long at most is waited for the expiry of a token before the clock is read again: people set clocks.
const CLOCK_CHECK: Duration = Duration::from_secs(30);

impl Access {
    /// The access of the owner: everything, for as long as the hub runs.
    pub fn owner() -> Arc<Self> {
        static OWNER: LazyLock<Arc<Access>> = LazyLock::new(|| {
            let (rights, revoked) = (Rights::default(), CancellationToken::new());
            Arc::new(Access { principal: Principal::OWNER, rights, expires: None, revoked })
        });
        OWNER.clone()
    }

    /// The access of everyone who reaches a hub that wants no tokens, until it does: everything, until `revoked`.
    pub fn owner_until(revoked: CancellationToken) -> Arc<Self> {
        Arc::new(Self { principal: Principal::OWNER, rights: Rights::default(), expires: None, revoked })
    }

    /// Whether it is over: revoked or expired.
    pub fn is_over(&self) -> bool {
        self.expires.is_some_and(|expires| expires <= SystemTime::now()) || self.revoked.is_cancelled()
    }

    /// Whether requests have to look after its end. Those of the owner do not; streams end with it nevertheless.
    pub fn can_end(&self) -> bool {
        !self.principal.is_owner() || self.expires.is_some()
    }

    /// Waits until it is revoked or expires.
    pub async fn ended(&self) {
        let expired = async {
            let Some(expires) = self.expires else { return pending().await };
            while let Ok(left) = expires.duration_since(SystemTime::now()) {
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(left.min(CLOCK_CHECK)).await;
            }
        };
        tokio::select! {
            () = self.revoked.cancelled() => {}
            () = expired => {}
        }
    }
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
    /// Whether requests need a token because of it. Read for every request. Once true, it stays true: what is protected does
    /// not become open while the hub runs.
    fn is_in_use(&self) -> bool {
        true
    }

    /// Cancelled when requests begin to need a token because of it. `None` if that does not change.
    fn put_in_use(&self) -> Option<CancellationToken> {
        None
    }

    /// What is known about a token without waiting. This is the path of every call: it must be cheap.
    fn known(&self, token: &str) -> Option<Arc<Access>>;

    /// Finds out whose token it is. May ask an issuer; the result is remembered for [`known`](Self::known).
    ///
    /// `None` if tokens of this kind are not ours, so that the next authenticator is asked.
    fn authenticate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<Result<Arc<Access>, Refusal>>>;
}
