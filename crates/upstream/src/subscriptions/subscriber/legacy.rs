//! `resources/subscribe` and `resources/unsubscribe`, one resource at a time.

use std::{collections::BTreeSet, sync::Arc};

use tokio::time::timeout;
use toolbay_protocol::{encode_string, method};

use super::{PATIENCE, Subscriber};
use crate::{
    connection::requester::NoResponse,
    subscriptions::{SubscribeError, SubscriptionState},
};

impl Subscriber {
    pub(super) async fn subscribe(&mut self) {
        if !self.declares_subscribe() {
            // Said only when someone wants it: most servers are never asked.
            while self.interests.to_ask().is_empty() {
                self.interests.changed.notified().await;
            }
            self.note_unsupported();
            return self.refuse_all(&SubscribeError::Unsupported).await;
        }
        let mut held: BTreeSet<Arc<str>> = BTreeSet::new();
        loop {
            let wanted = self.interests.to_ask();
            if wanted == held {
                self.interests.changed.notified().await;
                continue;
            }
            for uri in held.difference(&wanted) {
                // What is no longer wanted is also filtered out, so nobody waits for this to succeed.
                let _ = self.request(method::RESOURCES_UNSUBSCRIBE, uri).await;
            }
            held.retain(|uri| wanted.contains(uri));
            for uri in wanted.difference(&held.clone()) {
                match self.request(method::RESOURCES_SUBSCRIBE, uri).await {
                    Ok(()) => {
                        held.insert(uri.clone());
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
        let params = format!("{{\"uri\":{}}}", encode_string(uri));
        match timeout(PATIENCE, self.peer.request(method, Some(params))).await {
            Ok(Ok(response)) => match response.error() {
                None => Ok(()),
                Some(error) => Err(SubscribeError::Refused(Box::new(error))),
            },
            // The next life asks again; until then it is as good as unanswered.
            Ok(Err(NoResponse::Gone)) | Err(_) => Err(SubscribeError::Unanswered),
            Ok(Err(NoResponse::Failed(error))) => Err(SubscribeError::Down(error)),
        }
    }
}
