//! `subscriptions/listen`: one request for all that is wanted, sent anew when that changes.
//!
//! The old one is cancelled only after the new one is acknowledged, so nothing is missed in between. It carries the
//! changes of lists too, so it is kept open even when no resource is wanted.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde::Deserialize;
use tokio::time::{Instant, sleep, sleep_until};
use toolbay_protocol::{
    ErrorCode, ErrorObject, Notification, ObjectBuilder, Revision, encode_string, method,
};
use toolbay_transport::http::client::HttpError;

use super::{RESPONSE_TIMEOUT, Subscriber};
use crate::{
    CallError, CatalogKind,
    connection::requester::OwnRequest,
    subscriptions::{SubscribeError, SubscriptionState},
};

/// The backoff after a subscription ended: shortest and longest delay.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A subscription that is open.
struct OpenSubscription {
    request: OwnRequest,
    since: Instant,
    wanted: BTreeSet<Arc<str>>,
}

/// What became of a request to listen.
enum ListenOutcome {
    /// Acknowledged, or open for so long that it may be one without that.
    Listening(OpenSubscription),
    Refused(ErrorObject),
    /// It ended before it began.
    Ended,
}

/// What the server agreed to.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AgreedFilter {
    tools_list_changed: bool,
    prompts_list_changed: bool,
    resources_list_changed: bool,
    resource_subscriptions: Vec<String>,
}

impl AgreedFilter {
    fn of(notification: &Notification) -> Self {
        let text = notification.param("notifications").map(|span| notification.raw(span));
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    fn announces(&self, kind: CatalogKind) -> bool {
        match kind {
            CatalogKind::Tools => self.tools_list_changed,
            CatalogKind::Prompts => self.prompts_list_changed,
            CatalogKind::Resources | CatalogKind::ResourceTemplates => self.resources_list_changed,
        }
    }
}

impl Subscriber {
    pub(super) async fn listen(mut self) {
        let mut current: Option<OpenSubscription> = None;
        let mut pause = FIRST_PAUSE;
        loop {
            let wanted = self.wanted();
            if let Some(listening) = &mut current
                && listening.wanted == wanted
            {
                let (id, since) = (listening.request.id, listening.since);
                tokio::select! {
                    () = self.interests.changed.notified() => {}
                    _ = &mut listening.request.response => current = None,
                    // A late acknowledgment; those who waited for it got an error.
                    Some(late) = self.acknowledged.recv() => if late.id == id {
                        self.announces(&AgreedFilter::of(&late.notification));
                    },
                }
                if current.is_none() {
                    self.announces(&AgreedFilter::default());
                    if since.elapsed() > LONGEST_PAUSE {
                        pause = FIRST_PAUSE; // it worked well: this is a new trouble
                    }
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                continue;
            }
            match self.open(wanted.clone()).await {
                ListenOutcome::Listening(listening) => {
                    if let Some(old) = current.replace(listening) {
                        self.peer.cancel(old.request.id).await;
                    }
                }
                ListenOutcome::Refused(error) => {
                    let before =
                        current.as_ref().map(|listening| listening.wanted.clone()).unwrap_or_default();
                    let new: Vec<&Arc<str>> = wanted.difference(&before).collect();
                    self.note(&format!("`{}` was refused: {}", method::LISTEN, error.message));
                    if new.is_empty() && current.is_none() {
                        // Not even for the lists: then it announces nothing.
                        self.note("changes of its lists and resources will not be noticed");
                        return self.refuse_all(&SubscribeError::Refused(Box::new(error))).await;
                    }
                    for uri in new {
                        self.interests.settle(
                            uri,
                            SubscriptionState::Refused(SubscribeError::Refused(Box::new(error.clone()))),
                        );
                    }
                    if let Some(listening) = &mut current
                        && listening.wanted.is_superset(&wanted)
                    {
                        // It refuses a smaller subscription, so it goes on announcing more; that is filtered out.
                        listening.wanted = wanted;
                    }
                }
                ListenOutcome::Ended => {
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    /// Returns what to subscribe to: no resources, where the server does not announce their changes.
    fn wanted(&mut self) -> BTreeSet<Arc<str>> {
        let wanted = self.interests.wanted_uris();
        if wanted.is_empty() || self.declares_subscribe() {
            return wanted;
        }
        self.note_unsupported();
        for uri in &wanted {
            self.interests.settle(uri, SubscriptionState::Refused(SubscribeError::Unsupported));
        }
        BTreeSet::new()
    }

    async fn open(&mut self, wanted: BTreeSet<Arc<str>>) -> ListenOutcome {
        let params = self.peer.our_params(Revision::LATEST, filter(&wanted));
        let Some(mut request) = self.peer.send_request(method::LISTEN, params).await else {
            return ListenOutcome::Ended;
        };
        let deadline = Instant::now() + RESPONSE_TIMEOUT;
        loop {
            tokio::select! {
                biased; // an acknowledgement stands before what follows it
                Some(acknowledged) = self.acknowledged.recv() => if acknowledged.id == request.id {
                    let wanted = self.agreed(wanted, &AgreedFilter::of(&acknowledged.notification));
                    return ListenOutcome::Listening(OpenSubscription { request, since: Instant::now(), wanted });
                },
                response = &mut request.response => return match response {
                    Ok(Ok(response)) => response.response.error().map_or(ListenOutcome::Ended, ListenOutcome::Refused),
                    // A stream may break at any time; any other failure is a refusal too.
                    Ok(Err(CallError::NoAnswer { why: HttpError::Broken { .. }, .. })) => ListenOutcome::Ended,
                    Ok(Err(error @ CallError::NoAnswer { .. })) => {
                        ListenOutcome::Refused(ErrorObject::new(ErrorCode::INTERNAL_ERROR, error.to_string()))
                    }
                    Ok(Err(_)) | Err(_) => ListenOutcome::Ended,
                },
                () = sleep_until(deadline) => {
                    self.note("the server did not acknowledge the subscription");
                    for uri in &wanted {
                        self.interests.settle(uri, SubscriptionState::Refused(SubscribeError::Unanswered));
                    }
                    return ListenOutcome::Listening(OpenSubscription { request, since: Instant::now(), wanted: BTreeSet::new() });
                }
            }
        }
    }

    /// Records what the server acknowledged, and returns it.
    fn agreed(&self, mut wanted: BTreeSet<Arc<str>>, agreed: &AgreedFilter) -> BTreeSet<Arc<str>> {
        self.announces(agreed);
        wanted.retain(|uri| {
            let is_watched = agreed.resource_subscriptions.iter().any(|it| **it == **uri);
            self.interests.settle(
                uri,
                if is_watched {
                    SubscriptionState::Watched
                } else {
                    self.note(&format!("cannot subscribe to the resource {uri}: rejected by the server"));
                    SubscriptionState::Refused(SubscribeError::Unsupported)
                },
            );
            is_watched
        });
        wanted
    }

    fn announces(&self, agreed: &AgreedFilter) {
        self.status.modify_if(|status| {
            let announced = CatalogKind::ALL.map(|kind| agreed.announces(kind));
            std::mem::replace(&mut status.freshness.announced, announced) != announced
        });
    }
}

/// The filter as JSON fields.
fn filter(wanted: &BTreeSet<Arc<str>>) -> ObjectBuilder {
    let lists = ["toolsListChanged", "promptsListChanged", "resourcesListChanged"];
    let mut filter = lists.iter().fold(ObjectBuilder::new(), |filter, list| filter.raw(list, "true"));
    if !wanted.is_empty() {
        let uris: Vec<String> = wanted.iter().map(|uri| encode_string(uri)).collect();
        filter = filter.array("resourceSubscriptions", uris.iter().map(String::as_str));
    }
    ObjectBuilder::new().raw("notifications", &filter.finish())
}
