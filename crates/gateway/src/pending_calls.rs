//! Calls that a rule wants a person to allow.
//!
//! A client that can ask its user does so. The calls of others wait here, until the owner of the hub decides
//! (`toolbay pending`) or time is over.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;
use tokio::{sync::oneshot, time::Instant};
use toolbay_access::Principal;

/// How long a person may take.
pub(crate) const ASK_TIMEOUT: Duration = Duration::from_secs(120);
/// How many calls may wait for the owner, and how many of one principal.
const MAX_WAITING: usize = 256;
const MAX_OF_PRINCIPAL: usize = 16;
/// How many clients may ask their users at once: each has an entry here.
const MAX_ASKED: usize = 4096;

/// A call that waits for the owner of the hub.
#[derive(Debug, Clone)]
pub struct PendingCall {
    /// Its number.
    pub id: u64,
    /// Who calls.
    pub principal: Principal,
    /// What the client calls itself.
    pub client: Option<String>,
    /// The server that would get it.
    pub server: String,
    /// The tool, as the client calls it.
    pub tool: String,
    /// The arguments, without secrets.
    pub arguments: String,
    /// The rule that wants it.
    pub rule: String,
    /// Since when it waits.
    pub since: SystemTime,
}

/// All calls that wait.
#[derive(Debug, Default)]
pub(crate) struct PendingCalls {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    last: u64,
    waiting: BTreeMap<u64, (PendingCall, oneshot::Sender<bool>)>,
    /// What clients without a session ask their users, and until when; each can be answered once.
    asked: HashMap<u64, Instant>,
}

/// A call for as long as it waits.
#[derive(Debug)]
pub(crate) struct WaitingCall {
    calls: Arc<PendingCalls>,
    id: u64,
    /// Receives the decision.
    pub(crate) decision: oneshot::Receiver<bool>,
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        self.calls.inner.lock().waiting.remove(&self.id);
    }
}

impl PendingCalls {
    /// Lets a call wait, unless too many do. Its number is set here.
    pub(crate) fn wait(self: &Arc<Self>, call: PendingCall) -> Option<WaitingCall> {
        let mut inner = self.inner.lock();
        let of_principal =
            inner.waiting.values().filter(|(other, _)| other.principal == call.principal).count();
        if inner.waiting.len() >= MAX_WAITING || of_principal >= MAX_OF_PRINCIPAL {
            return None;
        }
        inner.last += 1;
        let id = inner.last;
        let (sender, decision) = oneshot::channel();
        inner.waiting.insert(id, (PendingCall { id, ..call }, sender));
        Some(WaitingCall { calls: self.clone(), id, decision })
    }

    /// The calls that wait, the oldest first.
    pub(crate) fn list(&self) -> Vec<PendingCall> {
        self.inner.lock().waiting.values().map(|(call, _)| call.clone()).collect()
    }

    /// Decides about a call; returns whether it waited.
    pub(crate) fn decide(&self, id: u64, is_allowed: bool) -> bool {
        let waiting = self.inner.lock().waiting.remove(&id);
        waiting.is_some_and(|(_, sender)| sender.send(is_allowed).is_ok())
    }

    /// A number for what a client asks its user, unless too many do.
    pub(crate) fn ask(&self) -> Option<u64> {
        let mut inner = self.inner.lock();
        let now = Instant::now();
        if inner.asked.len() >= MAX_ASKED {
            inner.asked.retain(|_, until| *until > now);
        }
        if inner.asked.len() >= MAX_ASKED {
            return None;
        }
        inner.last += 1;
        let id = inner.last;
        inner.asked.insert(id, now + ASK_TIMEOUT);
        Some(id)
    }

    /// Whether a client comes back with what it asked its user, for the first time and not too late.
    pub(crate) fn answered(&self, id: u64) -> bool {
        self.inner.lock().asked.remove(&id).is_some_and(|until| until > Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(principal: Principal) -> PendingCall {
        PendingCall {
            id: 0,
            principal,
            client: None,
            server: "s".to_owned(),
            tool: "s__t".to_owned(),
            arguments: "{}".to_owned(),
            rule: "r".to_owned(),
            since: SystemTime::now(),
        }
    }

    #[tokio::test]
    async fn a_call_waits_until_it_is_decided_or_gone() {
        let calls = Arc::new(PendingCalls::default());
        let mut first = calls.wait(call(Principal::OWNER)).unwrap();
        let second = calls.wait(call(Principal::OWNER)).unwrap();
        assert_eq!(calls.list().iter().map(|call| call.id).collect::<Vec<_>>(), [1, 2]);
        assert!(calls.decide(1, true) && !calls.decide(1, true));
        assert_eq!((&mut first.decision).await, Ok(true));
        drop(second);
        assert!(calls.list().is_empty() && !calls.decide(2, true));
    }

    #[tokio::test]
    async fn one_principal_leaves_room_for_others() {
        let calls = Arc::new(PendingCalls::default());
        let waiting: Vec<_> =
            (0..MAX_OF_PRINCIPAL).map(|_| calls.wait(call(Principal::OWNER)).unwrap()).collect();
        assert!(calls.wait(call(Principal::OWNER)).is_none());
        assert!(calls.wait(call(Principal::hub_token("t"))).is_some());
        drop(waiting);
        assert!(calls.wait(call(Principal::OWNER)).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_counts_once_and_in_time() {
        let calls = PendingCalls::default();
        let (first, second) = (calls.ask().unwrap(), calls.ask().unwrap());
        assert!(calls.answered(first) && !calls.answered(first));
        tokio::time::advance(ASK_TIMEOUT).await;
        assert!(!calls.answered(second));
    }
}
