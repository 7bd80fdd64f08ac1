//! What each principal takes of the hub, so that one cannot take all of it.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use toolbay_access::Principal;

/// How much one principal may take at a time. The owner has no limits but those of the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrincipalLimits {
    /// Sessions over Streamable HTTP.
    pub sessions: usize,
    /// Connections over HTTP+SSE and WebSocket.
    pub connections: usize,
    /// Calls that run.
    pub calls: usize,
    /// Subscriptions to changes.
    pub subscriptions: usize,
    /// Calls that wait for input of their client.
    pub suspended_calls: usize,
}

impl Default for PrincipalLimits {
    fn default() -> Self {
        Self { sessions: 1000, connections: 250, calls: 500, subscriptions: 250, suspended_calls: 100 }
    }
}

/// Something of which a principal may not have any number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limited {
    Sessions,
    Connections,
    Calls,
    Subscriptions,
    SuspendedCalls,
}

/// The usage of all principals.
#[derive(Debug)]
pub(crate) struct PrincipalUsage {
    limits: PrincipalLimits,
    by_principal: Mutex<HashMap<Principal, Arc<Counts>>>,
}

/// How much one principal takes, by [`Limited`].
#[derive(Debug, Default)]
struct Counts([AtomicUsize; 5]);

/// One piece of what a principal takes, until it is dropped.
#[derive(Debug)]
pub(crate) struct UsageGuard(Option<(Arc<Counts>, Limited)>);

/// A principal takes as much as it may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LimitReached {
    principal: Principal,
    limited: Limited,
    limit: usize,
}

impl PrincipalUsage {
    pub(crate) fn new(limits: PrincipalLimits) -> Self {
        Self { limits, by_principal: Mutex::default() }
    }

    /// Counts one more, unless there are too many.
    pub(crate) fn take(&self, principal: &Principal, limited: Limited) -> Result<UsageGuard, LimitReached> {
        if principal.is_owner() {
            return Ok(UsageGuard(None));
        }
        let mut by_principal = self.by_principal.lock();
        let counts = match by_principal.get(principal) {
            Some(counts) => counts.clone(),
            None => by_principal.entry(principal.clone()).or_default().clone(),
        };
        drop(by_principal);
        let limit = self.limit(limited);
        let take_one = |count: usize| (count < limit).then_some(count + 1);
        match counts.0[limited as usize].fetch_update(Ordering::Relaxed, Ordering::Relaxed, take_one) {
            Ok(_) => Ok(UsageGuard(Some((counts, limited)))),
            Err(_) => Err(LimitReached { principal: principal.clone(), limited, limit }),
        }
    }

    /// Forgets principals that take nothing.
    pub(crate) fn sweep(&self) {
        // A guard holds the counts, so what nothing holds is zero.
        self.by_principal.lock().retain(|_, counts| Arc::strong_count(counts) > 1);
    }

    fn limit(&self, limited: Limited) -> usize {
        match limited {
            Limited::Sessions => self.limits.sessions,
            Limited::Connections => self.limits.connections,
            Limited::Calls => self.limits.calls,
            Limited::Subscriptions => self.limits.subscriptions,
            Limited::SuspendedCalls => self.limits.suspended_calls,
        }
    }
}

impl Drop for UsageGuard {
    fn drop(&mut self) {
        if let Some((counts, limited)) = &self.0 {
            counts.0[*limited as usize].fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.limited {
            Limited::Sessions => "sessions",
            Limited::Connections => "connections over HTTP+SSE and WebSocket",
            Limited::Calls => "running calls",
            Limited::Subscriptions => "subscriptions",
            Limited::SuspendedCalls => "calls that wait for input",
        };
        let Self { principal, limit, .. } = self;
        write!(f, "`{principal}` has {limit} {what}, the most that one principal may have; try again later")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_principal_has_its_own_limits_and_the_owner_none() {
        let usage = PrincipalUsage::new(PrincipalLimits { calls: 2, ..PrincipalLimits::default() });
        let (one, other) = (Principal::hub_token("one"), Principal::hub_token("other"));
        let first = usage.take(&one, Limited::Calls).unwrap();
        let second = usage.take(&one, Limited::Calls).unwrap();
        let reached = usage.take(&one, Limited::Calls).unwrap_err().to_string();
        assert!(reached.starts_with("`token:one` has 2 running calls"), "{reached}");
        let elsewhere = (usage.take(&one, Limited::Sessions), usage.take(&other, Limited::Calls));
        assert!(elsewhere.0.is_ok() && elsewhere.1.is_ok());
        let owners: Vec<_> =
            (0..10).map(|_| usage.take(&Principal::OWNER, Limited::Calls).unwrap()).collect();
        drop((first, owners, elsewhere));
        assert!(usage.take(&one, Limited::Calls).is_ok(), "one has ended");
        usage.sweep();
        assert_eq!(usage.by_principal.lock().len(), 1);
        drop(second);
        usage.sweep();
        assert_eq!(usage.by_principal.lock().len(), 0);
    }
}
