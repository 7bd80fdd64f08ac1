//! The states of a server.

use std::{fmt, sync::Arc};

use tokio::time::Instant;
use toolbay_config::Permission;
use toolbay_upstream::{Failure, Phase, UpstreamState, UpstreamStatus};

use crate::servers::registry::StatusContext;

/// The state of a server. One state machine for library, command line and health.
///
/// ```text
/// Disabled ⇄ Pending ⇄ Stopped ─▶ Starting ─▶ Running ⇄ Degraded
///                        ▲          │  ▲         │
///                     Stopping ◀────┼──┼─────────┤
///                                   ▼  │         ▼
/// AuthRequired, LoginRequired ◀── Failed ◀──── Backoff
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ServerState {
    /// It is disabled.
    Disabled,
    /// It came with a project and is not approved yet.
    Pending,
    /// It is starting.
    Starting {
        /// The phase of the start.
        phase: Phase,
        /// Which attempt this is, from 1.
        attempt: u32,
        /// Why the previous attempt failed, so that a server in a crash loop keeps its last error.
        failure: Option<Arc<Failure>>,
    },
    /// It is up.
    Running,
    /// It is up, but something is wrong with its catalog.
    Degraded {
        /// What.
        reason: Arc<str>,
    },
    /// It requires authorization.
    AuthRequired {
        /// The response that says so.
        failure: Arc<Failure>,
    },
    /// It is protected, and the user is not logged in.
    LoginRequired {
        /// That the user is not.
        failure: Arc<Failure>,
    },
    /// Authorization is being obtained.
    Authenticating,
    /// It failed and will be restarted.
    Backoff {
        /// When the next attempt begins.
        until: Instant,
        /// Why it is down.
        failure: Arc<Failure>,
    },
    /// It is stopping.
    Stopping,
    /// It was stopped by a command, or because it was idle: then a call starts it.
    Stopped {
        /// Whether a call starts it.
        wakes: bool,
    },
    /// It failed and will not be restarted by itself.
    Failed {
        /// Why.
        failure: Arc<Failure>,
    },
}

impl ServerState {
    pub(crate) fn of(context: &StatusContext, status: &UpstreamStatus) -> Self {
        match (context.permission(), &status.state) {
            // A server that was just disabled may still be stopping.
            (_, UpstreamState::Stopping) => Self::Stopping,
            (Permission::Disabled, _) => Self::Disabled,
            (Permission::Pending, _) => Self::Pending,
            (Permission::Enabled, _) if context.is_authenticating() => Self::Authenticating,
            (_, UpstreamState::Starting { phase, attempt, failure }) => {
                Self::Starting { phase: *phase, attempt: *attempt, failure: failure.clone() }
            }
            (_, UpstreamState::Running) => {
                match context.flaw().or_else(|| status.catalog.problems.first().map(|it| it.as_str().into()))
                {
                    Some(reason) => Self::Degraded { reason },
                    None => Self::Running,
                }
            }
            (_, UpstreamState::Backoff { until, failure }) => {
                Self::Backoff { until: *until, failure: failure.clone() }
            }
            (_, UpstreamState::Failed { failure }) if failure.is_login_required() => {
                Self::LoginRequired { failure: failure.clone() }
            }
            (_, UpstreamState::Failed { failure }) if failure.is_unauthorized() => {
                Self::AuthRequired { failure: failure.clone() }
            }
            (_, UpstreamState::Failed { failure }) => Self::Failed { failure: failure.clone() },
            (_, UpstreamState::Stopped { wakes }) => Self::Stopped { wakes: *wakes },
        }
    }

    /// The state in one or two words, for tables.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Pending => "needs approval",
            Self::Starting { .. } => "starting",
            Self::Running => "ready",
            Self::Degraded { .. } => "degraded",
            Self::AuthRequired { .. } => "auth required",
            Self::LoginRequired { .. } => "login required",
            Self::Authenticating => "authenticating",
            Self::Backoff { .. } => "restarting",
            Self::Stopping => "stopping",
            Self::Stopped { wakes: true } => "asleep",
            Self::Stopped { wakes: false } => "stopped",
            Self::Failed { .. } => "failed",
        }
    }

    /// The state as the predicate of a sentence: `has failed`, `is stopped`.
    pub fn predicate(&self) -> &'static str {
        match self {
            Self::Disabled => "is disabled",
            Self::Pending => "needs approval",
            Self::Starting { .. } => "is starting",
            Self::Running => "is ready",
            Self::Degraded { .. } => "is degraded",
            Self::AuthRequired { .. } => "requires a login",
            Self::LoginRequired { .. } => "requires a login",
            Self::Authenticating => "is authenticating",
            Self::Backoff { .. } | Self::Failed { .. } => "has failed",
            Self::Stopping => "is stopping",
            Self::Stopped { wakes: true } => "is asleep",
            Self::Stopped { wakes: false } => "is stopped",
        }
    }

    /// Whether it answers calls now.
    pub fn is_up(&self) -> bool {
        matches!(self, Self::Running | Self::Degraded { .. })
    }

    /// Whether its catalog is listed: it is up, will be, or can be; or is stopping, for that may be a restart.
    pub fn is_offered(&self) -> bool {
        !matches!(self, Self::Disabled | Self::Pending | Self::Stopped { wakes: false })
    }

    /// What went wrong, if something did; for a server that is tried again, what went wrong last.
    pub fn failure(&self) -> Option<&Arc<Failure>> {
        match self {
            Self::AuthRequired { failure }
            | Self::LoginRequired { failure }
            | Self::Backoff { failure, .. }
            | Self::Failed { failure } => Some(failure),
            Self::Starting { failure, .. } => failure.as_ref(),
            _ => None,
        }
    }

    /// When it is restarted, if it will be.
    pub fn next_attempt(&self) -> Option<Instant> {
        match self {
            Self::Backoff { until, .. } => Some(*until),
            _ => None,
        }
    }

    /// Whether two states are the same; failures are compared by identity.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let same_failure = match (self.failure(), other.failure()) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        same_failure
            && match (self, other) {
                (
                    Self::Starting { phase, attempt, .. },
                    Self::Starting { phase: other_phase, attempt: other_attempt, .. },
                ) => (phase, attempt) == (other_phase, other_attempt),
                (Self::Degraded { reason }, Self::Degraded { reason: other }) => reason == other,
                (Self::Backoff { until, .. }, Self::Backoff { until: other, .. }) => until == other,
                (Self::Stopped { wakes }, Self::Stopped { wakes: other }) => wakes == other,
                _ => std::mem::discriminant(self) == std::mem::discriminant(other),
            }
    }
}

impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Starting { phase, attempt, .. } => write!(f, "starting ({phase}, attempt {attempt})"),
            Self::Degraded { reason } => write!(f, "degraded: {reason}"),
            Self::AuthRequired { failure } => write!(f, "auth required: {failure}"),
            Self::Backoff { until, failure } => {
                let wait = until.saturating_duration_since(Instant::now()).as_secs_f32().ceil();
                write!(f, "failed, next attempt in {wait} s: {failure}")
            }
            Self::Failed { failure } => write!(f, "failed: {failure}"),
            other => f.write_str(other.word()),
        }
    }
}
