//! Keeping a server's subscriptions in step with what is wanted.
//!
//! One loop per connection, beside its calls. It looks at all that is wanted whenever that changes, so changes
//! that come during a request are gathered by themselves, and a new connection starts with all of them.

mod modern;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tokio::{sync::mpsc, time::timeout};
use toolbay_protocol::{Notification, ObjectBuilder, Revision, method};
use toolbay_supervise::{LogRing, LogSource};

use crate::{
    connection::requester::{NoResponse, Requester},
    status::StatusPublisher,
    subscriptions::{ResourceSubscriptions, SubscribeError, SubscriptionState},
};

/// How long a response may take; then those who wait get an error.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// A server agreed to a subscription, and says to what of it.
#[derive(Debug)]
pub(crate) struct Acknowledged {
    pub(crate) id: u64,
    pub(crate) notification: Box<Notification>,
}

/// Everything the loop works with.
pub(crate) struct Subscriber {
    peer: Requester,
    interests: Arc<ResourceSubscriptions>,
    acknowledged: mpsc::Receiver<Acknowledged>,
    status: Arc<StatusPublisher>,
    log: Arc<LogRing>,
    /// Whether the log says already that the server does not announce changes of resources.
    has_warned: bool,
}

impl Subscriber {
    pub(crate) fn new(
        peer: Requester,
        interests: Arc<ResourceSubscriptions>,
        acknowledged: mpsc::Receiver<Acknowledged>,
        status: Arc<StatusPublisher>,
        log: Arc<LogRing>,
    ) -> Self {
        Self { peer, interests, acknowledged, status, log, has_warned: false }
    }

    /// Works until the connection ends, which drops it.
    pub(crate) async fn keep(mut self, revision: Revision) {
        self.interests.forget_refusals();
        if revision.features().has_listen() {
            self.listen().await
        } else {
            self.subscribe().await
        }
        // The connection has ended.
        std::future::pending().await
    }

    /// Refuses whatever is wanted, now and from now on.
    async fn refuse_all(&self, why: &SubscribeError) {
        loop {
            for uri in self.interests.wanted_uris() {
                self.interests.settle(&uri, SubscriptionState::Refused(why.clone()));
            }
            self.interests.changed.notified().await;
        }
    }

    /// Whether the server declares that it announces changes of single resources.
    fn declares_subscribe(&self) -> bool {
        let capabilities = self.status.borrow().catalog.capabilities.clone();
        let declared: serde_json::Value =
            capabilities.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        declared["resources"]["subscribe"] == true
    }

    fn note_unsupported(&mut self) {
        if !std::mem::replace(&mut self.has_warned, true) {
            self.note("a client subscribed to a resource, but the server does not support subscriptions");
        }
    }

    fn note(&self, text: &str) {
        self.log.push(LogSource::Event, text);
    }
}

impl Subscriber {
    async fn subscribe(&mut self) {
        if !self.declares_subscribe() {
            // Logged only when a client wants it: most servers never get a subscription.
            while self.interests.wanted_uris().is_empty() {
                self.interests.changed.notified().await;
            }
            self.note_unsupported();
            return self.refuse_all(&SubscribeError::Unsupported).await;
        }
        let mut subscribed: BTreeSet<Arc<str>> = BTreeSet::new();
        loop {
            let wanted = self.interests.wanted_uris();
            if wanted == subscribed {
                self.interests.changed.notified().await;
                continue;
            }
            for uri in subscribed.difference(&wanted) {
                // What is no longer wanted is also filtered out, so a failure does not matter.
                let _ = self.request(method::RESOURCES_UNSUBSCRIBE, uri).await;
            }
            subscribed.retain(|uri| wanted.contains(uri));
            for uri in wanted.difference(&subscribed.clone()) {
                match self.request(method::RESOURCES_SUBSCRIBE, uri).await {
                    Ok(()) => {
                        subscribed.insert(uri.clone());
                        self.interests.settle(uri, SubscriptionState::Watched);
                    }
                    Err(why) => {
                        self.note(&format!("cannot subscribe to the resource {uri}: {why}"));
                        self.interests.settle(uri, SubscriptionState::Refused(why));
                    }
                }
            }
        }
    }

    async fn request(&self, method: &'static str, uri: &str) -> Result<(), SubscribeError> {
        let params = ObjectBuilder::new().string("uri", uri).finish();
        match timeout(RESPONSE_TIMEOUT, self.peer.request(method, Some(params))).await {
            Ok(Ok(response)) => match response.error() {
                None => Ok(()),
                Some(error) => Err(SubscribeError::Refused(Box::new(error))),
            },
            // The next connection subscribes again; until then there is no response.
            Ok(Err(NoResponse::Gone)) | Err(_) => Err(SubscribeError::Unanswered),
            Ok(Err(NoResponse::Failed(error))) => Err(SubscribeError::Down(error)),
        }
    }
}
