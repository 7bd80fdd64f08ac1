//! Subscriptions to resources of one server.
//!
//! Many clients may want the same resource, but the server gets one request: the first interest subscribes, the last one
//! to go unsubscribes. [`subscriber`](crate::subscriptions::subscriber) does the asking; here is only what is wanted.

pub(crate) mod subscriber;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use toolbay_protocol::ErrorObject;

use crate::CallError;

/// How many resources of one server may be watched at once.
const MAX_WATCHED: usize = 4096;

/// Interest in one resource. Dropping it ends it.
pub struct ResourceSubscription {
    interests: Arc<ResourceSubscriptions>,
    uri: Arc<str>,
    state: watch::Receiver<SubscriptionState>,
}

/// Why a resource cannot be watched.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SubscribeError {
    /// The server refused, with its own message.
    #[error("{}", .0.message)]
    Refused(Box<ErrorObject>),
    /// The server never tells of changes.
    #[error("the server does not support resource subscriptions")]
    Unsupported,
    /// The server did not say whether it will.
    #[error("the server did not respond")]
    Unanswered,
    /// There is no server to ask.
    #[error(transparent)]
    Down(CallError),
    /// Too much is being watched.
    #[error("more than {MAX_WATCHED} resources of the server are subscribed")]
    TooMany,
}

/// The state of a subscription at the server.
#[derive(Debug, Clone)]
pub(crate) enum SubscriptionState {
    /// Not requested yet, or without a response yet.
    Asked,
    /// It tells of changes.
    Watched,
    /// It does not.
    Refused(SubscribeError),
}

/// All resources that are wanted of one server, over all its connections.
#[derive(Debug, Default)]
pub(crate) struct ResourceSubscriptions {
    wanted: Mutex<BTreeMap<Arc<str>, WantedResource>>,
    /// Something was added or is no longer wanted. Dropping an interest cannot wait for room in a queue, so there is
    /// none: the subscriber looks at all of it.
    pub(crate) changed: Notify,
}

#[derive(Debug)]
struct WantedResource {
    /// How many want it; never 0.
    count: usize,
    state: watch::Sender<SubscriptionState>,
}

impl WantedResource {
    fn forget_refusal(&self) {
        self.state.send_if_modified(|state| {
            let refused = matches!(state, SubscriptionState::Refused(_));
            if refused {
                *state = SubscriptionState::Asked;
            }
            refused
        });
    }
}

impl ResourceSubscriptions {
    /// Adds an interest, unless there are too many. Where the server refused before, it is requested again.
    pub(crate) fn add(self: &Arc<Self>, uri: &str) -> Result<ResourceSubscription, SubscribeError> {
        let mut all = self.wanted.lock();
        let uri: Arc<str> = match all.get_key_value(uri) {
            Some((known, _)) => known.clone(),
            None if all.len() >= MAX_WATCHED => return Err(SubscribeError::TooMany),
            None => uri.into(),
        };
        let new = || WantedResource { count: 0, state: watch::Sender::new(SubscriptionState::Asked) };
        let wanted = all.entry(uri.clone()).or_insert_with(new);
        wanted.count += 1;
        wanted.forget_refusal();
        let state = wanted.state.subscribe();
        drop(all);
        self.changed.notify_one();
        Ok(ResourceSubscription { interests: self.clone(), uri, state })
    }

    /// Whether nothing is wanted.
    pub(crate) fn is_empty(&self) -> bool {
        self.wanted.lock().is_empty()
    }

    /// Returns what to subscribe to: all that is wanted and was not refused.
    pub(crate) fn wanted_uris(&self) -> BTreeSet<Arc<str>> {
        let all = self.wanted.lock();
        let wanted =
            all.iter().filter(|(_, it)| !matches!(*it.state.borrow(), SubscriptionState::Refused(_)));
        wanted.map(|(uri, _)| uri.clone()).collect()
    }

    /// Sets the state of a resource, if it is still wanted.
    pub(crate) fn settle(&self, uri: &str, state: SubscriptionState) {
        if let Some(wanted) = self.wanted.lock().get(uri) {
            wanted.state.send_replace(state);
        }
    }

    /// Forgets refusals: a new connection may be granted them.
    pub(crate) fn forget_refusals(&self) {
        for wanted in self.wanted.lock().values() {
            wanted.forget_refusal();
        }
    }
}

impl ResourceSubscription {
    /// The resource, under the URI that its server knows.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Waits until the server has granted or refused it.
    pub(crate) async fn settled(&self) -> Result<(), SubscribeError> {
        let mut state = self.state.clone();
        let settled = state.wait_for(|state| !matches!(state, SubscriptionState::Asked)).await;
        match settled.as_deref() {
            Ok(SubscriptionState::Refused(why)) => Err(why.clone()),
            Ok(_) => Ok(()),
            // The sender exists as long as there is an interest, and this is one.
            Err(_) => Err(SubscribeError::Unanswered),
        }
    }
}

impl Drop for ResourceSubscription {
    fn drop(&mut self) {
        let mut all = self.interests.wanted.lock();
        let Some(wanted) = all.get_mut(&self.uri) else { return };
        wanted.count -= 1;
        if wanted.count == 0 {
            all.remove(&self.uri);
            drop(all);
            self.interests.changed.notify_one();
        }
    }
}

impl fmt::Debug for ResourceSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Interest").field(&self.uri).finish()
    }
}
