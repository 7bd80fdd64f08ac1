//! Notifications of changes to clients.

use std::{collections::VecDeque, pin::Pin, sync::Arc, time::Duration};

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::{sync::broadcast::error::RecvError, time::timeout};
use toolbay_host::{CatalogKind, Host, HostChange, HostChanges, ResourceWatch};
use toolbay_protocol::{
    ErrorCode, ErrorObject, Message, Notification, ObjectBuilder, Request, RequestId, Rope, ServerName, meta,
    method,
};
use toolbay_translate::tagged;

use crate::{
    error,
    gateway::Gateway,
    request::{call::FinalResponse, client::RequestClient, serve::Served},
    security::principal_usage::{Limited, UsageGuard},
    session::Session,
    tasks::TaskWatch,
};

/// How many resources one subscription may name; the rest is not acknowledged.
const MAX_WATCHED: usize = 1024;
/// How long the acknowledgement waits for servers; what is not agreed to by then is not acknowledged.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(10);

/// What a client wants to hear of.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct SubscriptionFilter {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tools_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    prompts_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resource_subscriptions: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    task_ids: Vec<String>,
}

/// `subscriptions/listen` of modern revisions: one request, to which changes are sent for as long as it lasts.
pub(crate) struct Subscription {
    id: RequestId,
    filter: SubscriptionFilter,
    changes: HostChanges,
    tasks: TaskWatch,
    /// Until it is acknowledged: asks the servers of all named resources.
    opening: Option<Pin<Box<dyn Future<Output = Vec<ResourceWatch>> + Send>>>,
    watched: Vec<ResourceWatch>,
    queue: VecDeque<Rope>,
    _usage: UsageGuard,
}

impl Subscription {
    pub(crate) fn open(
        gateway: &Arc<Gateway>,
        client: &RequestClient,
        request: &Request,
    ) -> Result<Self, ErrorObject> {
        let bad = |why: String| {
            ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("`params.notifications`: {why}"))
        };
        let span = request.call.param("notifications").ok_or_else(|| bad("it is missing".to_owned()))?;
        let mut filter: SubscriptionFilter =
            serde_json::from_str(request.call.raw(span)).map_err(|error| bad(error.to_string()))?;
        if !filter.task_ids.is_empty() && !client.has_tasks() {
            return Err(error::needs_tasks());
        }
        let usage = gateway.usage.take(&client.access.principal, Limited::Subscriptions);
        let usage = usage.map_err(|limit| error::limit_reached(&limit))?;
        let mut uris = std::mem::take(&mut filter.resource_subscriptions);
        uris.truncate(MAX_WATCHED);
        // From here on nothing is missed: changes before the acknowledgement are sent after it.
        let changes = client.host.changes();
        let host = client.host.clone();
        let opening = Box::pin(async move {
            let watch = uris.iter().map(|uri| timeout(ACKNOWLEDGE_TIMEOUT, host.watch(uri)));
            join_all(watch).await.into_iter().flatten().flatten().collect()
        });
        Ok(Self {
            id: request.id.clone(),
            tasks: TaskWatch::open(gateway, client, &filter.task_ids),
            filter,
            changes,
            opening: Some(opening),
            watched: Vec::new(),
            queue: VecDeque::new(),
            _usage: usage,
        })
    }

    pub(crate) fn id(&self) -> &RequestId {
        &self.id
    }

    /// The next message of the stream. Cancel safe; ends with the host.
    pub(crate) async fn next(&mut self) -> Option<Rope> {
        if let Some(opening) = &mut self.opening {
            self.filter.task_ids = self.tasks.agreed().await;
            self.watched = opening.await;
            self.opening = None;
            return Some(self.acknowledgement());
        }
        loop {
            if let Some(text) = self.queue.pop_front() {
                return Some(text);
            }
            let news = tokio::select! {
                news = next_change(&mut self.changes) => news?,
                notification = self.tasks.next() => return Some(tagged(&notification, &self.id)),
            };
            match news {
                ChangeEvent::List(kind) => self.tell_list(kind),
                ChangeEvent::Resource(server, notification) => {
                    let notifications =
                        self.watched.iter().filter_map(|it| it.updated(&server, &notification));
                    self.queue.extend(notifications.map(|notification| tagged(&notification, &self.id)));
                }
                ChangeEvent::Task(..) => {} // for sessions; this client's own come through `tasks`
                ChangeEvent::Missed => {
                    for kind in MISSABLE {
                        self.tell_list(kind);
                    }
                    let notifications = self.watched.iter().map(|watched| updated(&watched.uri()));
                    self.queue.extend(notifications.map(|notification| tagged(&notification, &self.id)));
                }
            }
        }
    }

    fn acknowledgement(&mut self) -> Rope {
        let mut filter = self.filter.clone();
        filter.resource_subscriptions = self.watched.iter().map(ResourceWatch::uri).collect();
        let params = ObjectBuilder::new().raw("_meta", &self.meta()).value("notifications", &filter);
        toolbay_protocol::notification(method::LISTEN_ACKNOWLEDGED, Some(&params.finish())).into()
    }

    /// The result that ends the subscription on our side.
    pub(crate) fn final_result(&self) -> Rope {
        let result = ObjectBuilder::new().string("resultType", "complete").raw("_meta", &self.meta());
        toolbay_protocol::result(&self.id, &result.finish()).into()
    }

    /// `_meta` of what belongs to this subscription.
    fn meta(&self) -> String {
        ObjectBuilder::new().raw(meta::SUBSCRIPTION_ID, self.id.as_raw()).finish()
    }

    /// The notification that ends it as well, for clients whose messages share one channel: the specification asks for
    /// both, and a client that knows one of them ignores the other.
    pub(crate) fn cancellation(&self) -> Rope {
        toolbay_protocol::cancelled(&self.id, Some("the subscription was closed")).into()
    }

    fn tell_list(&mut self, kind: CatalogKind) {
        let wanted = match kind {
            CatalogKind::Tools => self.filter.tools_list_changed,
            CatalogKind::Prompts => self.filter.prompts_list_changed,
            CatalogKind::Resources | CatalogKind::ResourceTemplates => self.filter.resources_list_changed,
        };
        if wanted {
            self.queue.push_back(tagged(&list_changed(kind), &self.id));
        }
    }
}

/// The notifications that a legacy session receives outside of its requests.
#[derive(Debug)]
pub(crate) struct SessionStream {
    session: Arc<Session>,
    changes: HostChanges,
    queue: VecDeque<Rope>,
}

impl SessionStream {
    pub(crate) fn open(host: &Host, session: Arc<Session>) -> Self {
        let changes = host.changes();
        let table = host.table();
        // Lists that changed between the client's last look and this stream.
        let missed = CatalogKind::ALL.into_iter().filter(|kind| {
            let seen = session.seen(*kind);
            seen != 0 && seen != table.version(*kind)
        });
        let queue = missed.map(|kind| list_changed(kind).call.text.into()).collect();
        Self { session, changes, queue }
    }

    /// The next message. Cancel safe; ends with the host.
    pub(crate) async fn next(&mut self) -> Option<Rope> {
        loop {
            if let Some(text) = self.queue.pop_front() {
                return Some(text);
            }
            let change = tokio::select! {
                change = next_change(&mut self.changes) => change?,
                () = self.session.own_list_changed.notified() => ChangeEvent::List(CatalogKind::Tools),
            };
            match change {
                ChangeEvent::List(kind) => self.queue.push_back(list_changed(kind).call.text.into()),
                ChangeEvent::Resource(server, notification) => {
                    let notifications = self.session.updates(&server, &notification);
                    self.queue.extend(
                        notifications.into_iter().map(|notification| notification.text.clone().into()),
                    );
                }
                ChangeEvent::Missed => {
                    self.queue.extend(MISSABLE.map(|kind| list_changed(kind).call.text.into()));
                    let notifications = self.session.watched().into_iter();
                    self.queue.extend(notifications.map(|uri| updated(&uri).call.text.into()));
                }
                ChangeEvent::Task(server, notification) => {
                    let notifications = self.session.task_notification(&server, &notification);
                    self.queue.extend(notifications.map(|notification| notification.call.text.into()));
                }
            }
        }
    }
}

/// What a reader of changes learns.
#[derive(Debug)]
enum ChangeEvent {
    List(CatalogKind),
    Resource(ServerName, Arc<Notification>),
    Task(ServerName, Arc<Notification>),
    /// It fell behind: any list and any resource may have changed.
    Missed,
}

/// One kind for each notification that there is.
const MISSABLE: [CatalogKind; 3] = [CatalogKind::Tools, CatalogKind::Resources, CatalogKind::Prompts];

async fn next_change(changes: &mut HostChanges) -> Option<ChangeEvent> {
    match changes.recv().await {
        Ok(HostChange::List(kind)) => Some(ChangeEvent::List(kind)),
        Ok(HostChange::Resource { server, notification }) => {
            Some(ChangeEvent::Resource(server, notification))
        }
        Ok(HostChange::Task { server, notification }) => Some(ChangeEvent::Task(server, notification)),
        Err(RecvError::Lagged(_)) => Some(ChangeEvent::Missed),
        Err(RecvError::Closed) => None,
    }
}

fn list_changed(kind: CatalogKind) -> Box<Notification> {
    let method = match kind {
        CatalogKind::Tools => method::TOOLS_CHANGED,
        CatalogKind::Prompts => method::PROMPTS_CHANGED,
        CatalogKind::Resources | CatalogKind::ResourceTemplates => method::RESOURCES_CHANGED,
    };
    ours(method, None)
}

fn updated(uri: &str) -> Box<Notification> {
    ours(method::RESOURCE_UPDATED, Some(&ObjectBuilder::new().string("uri", uri).finish()))
}

fn ours(method: &str, params: Option<&str>) -> Box<Notification> {
    match Message::parse(toolbay_protocol::notification(method, params)) {
        Ok(Message::Notification(notification)) => notification,
        other => unreachable!("we write valid notifications: {other:?}"),
    }
}

impl Gateway {
    /// Remembers that a session wants to hear of a resource, once its server has agreed.
    pub(crate) fn subscribe(&self, client: &RequestClient, request: &Request) -> Served {
        let (session, uri) = match of(client, request) {
            Ok(of) => of,
            Err(error) => return Served::Known(FinalResponse::error(Some(&request.id), &error)),
        };
        let mut running = match session.enter(&request.id).and_then(|running| {
            session.may_watch()?;
            Ok(running)
        }) {
            Ok(running) => running,
            Err(why) => {
                return Served::Known(FinalResponse::error(Some(&request.id), &error::not_entered(why)));
            }
        };
        let (host, id) = (client.host.clone(), request.id.clone());
        Served::Soon(Box::pin(async move {
            let watched = tokio::select! {
                watched = host.watch(&uri) => watched,
                Ok(()) = &mut running.cancelled => Err(error::cancelled()),
            };
            match watched.and_then(|watched| session.watch(uri, watched).map_err(error::not_entered)) {
                Ok(()) => FinalResponse::result(&id, "{}"),
                Err(error) => FinalResponse::error(Some(&id), &error),
            }
        }))
    }

    /// Ends a subscription; the server is told when no other client has one.
    pub(crate) fn unsubscribe(&self, client: &RequestClient, request: &Request) -> Served {
        Served::Known(match of(client, request) {
            Ok((session, uri)) => {
                session.unwatch(&uri);
                FinalResponse::result(&request.id, "{}")
            }
            Err(error) => FinalResponse::error(Some(&request.id), &error),
        })
    }
}

fn of(client: &RequestClient, request: &Request) -> Result<(Arc<Session>, String), ErrorObject> {
    let bad = |code, message| ErrorObject::new(code, message);
    let uri = request.call.string_param("uri");
    let uri = uri.ok_or_else(|| bad(ErrorCode::INVALID_PARAMS, "`params.uri` is missing or not a string"))?;
    let session = client.session.clone().ok_or_else(|| {
        bad(ErrorCode::INVALID_REQUEST, "subscriptions require a session; send `initialize` first")
    })?;
    Ok((session, uri.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reader_that_fell_behind_learns_that_anything_may_have_changed() {
        let sender = tokio::sync::broadcast::Sender::new(1);
        let mut changes = sender.subscribe();
        for _ in 0..3 {
            sender.send(HostChange::List(CatalogKind::Resources)).unwrap();
        }
        drop(sender);
        assert!(matches!(next_change(&mut changes).await, Some(ChangeEvent::Missed)));
        assert!(matches!(next_change(&mut changes).await, Some(ChangeEvent::List(CatalogKind::Resources))));
        assert!(next_change(&mut changes).await.is_none());
    }
}
