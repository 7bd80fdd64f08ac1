//! Notifications of task changes to modern clients.
//!
//! For each server whose tasks a client names, the hub listens there on its behalf: a client receives what it
//! subscribed to, and the subscription at the server ends with the client.

use std::{collections::BTreeMap, future::pending, pin::Pin, sync::Arc, time::Duration};

use futures_util::future::{join_all, select_all};
use serde::Deserialize;
use tokio::time::{Instant, Sleep, sleep, timeout_at};
use toolbay_host::{CallEvent, CallUpdate, HostRequest, Resume, Routed, RunningCall, events};
use toolbay_protocol::{Notification, ObjectBuilder, ServerName, decode_string, method};

use super::{Sealing, Task, TaskProtocol, our_request};
use crate::{gateway::Gateway, request::client::RequestClient};

/// How long the acknowledgement waits for servers; what is not agreed to by then is not acknowledged.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(10);
/// How soon a subscription that ended is opened again at the server, and the longest pause between attempts.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How many tasks one subscription may name; the rest is not acknowledged.
const MAX_WATCHED: usize = 1024;

/// The tasks of one subscription.
pub(crate) struct TaskWatch {
    gateway: Arc<Gateway>,
    client: RequestClient,
    watched: Vec<WatchedServer>,
    opened: Instant,
}

/// Those of one server.
struct WatchedServer {
    server: ServerName,
    /// The server's ids as JSON text, with those of the client.
    ids: BTreeMap<String, String>,
    agreed: Option<Vec<String>>,
    source: TaskSource,
    pause: Duration,
}

enum TaskSource {
    Listening(Box<RunningCall>),
    /// It ended; it is tried again in a moment.
    Pausing(Pin<Box<Sleep>>),
}

/// What a server agreed to.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AgreedTasks {
    task_ids: Vec<String>,
}

impl TaskWatch {
    /// Listens to tasks, by the ids that the client has. Those that do not open are left out.
    pub(crate) fn open(gateway: &Arc<Gateway>, client: &RequestClient, ids: &[String]) -> Self {
        let mut by_server: BTreeMap<ServerName, BTreeMap<String, String>> = BTreeMap::new();
        for sealed in ids.iter().take(MAX_WATCHED) {
            if let Ok(Task { server, kind: TaskProtocol::Extension, id }) =
                gateway.task_seal.open(sealed, client.principal())
            {
                by_server.entry(server).or_default().insert(id, sealed.clone());
            }
        }
        let watched = by_server.into_iter().map(|(server, ids)| {
            let source = listen(client, &server, &ids, FIRST_PAUSE);
            WatchedServer { server, ids, agreed: None, source, pause: FIRST_PAUSE }
        });
        Self {
            watched: watched.collect(),
            gateway: gateway.clone(),
            client: client.clone(),
            opened: Instant::now(),
        }
    }

    /// The client's ids of the tasks that servers agreed to tell of. Cancel safe.
    pub(crate) async fn agreed(&mut self) -> Vec<String> {
        let until = self.opened + ACKNOWLEDGE_TIMEOUT;
        let all = self.watched.iter_mut().map(|watched| timeout_at(until, watched.acknowledged()));
        join_all(all).await;
        self.watched.iter().flat_map(|watched| watched.agreed.clone().unwrap_or_default()).collect()
    }

    /// The next change, with the client's id; pending while there is none. Cancel safe.
    pub(crate) async fn next(&mut self) -> Box<Notification> {
        let Self { gateway, client, watched, .. } = self;
        if watched.is_empty() {
            return pending().await;
        }
        let changes = watched.iter_mut().map(|watched| Box::pin(watched.next(gateway, client)));
        select_all(changes).await.0
    }
}

impl WatchedServer {
    /// Waits for the acknowledgement of the server, or the end of the subscription.
    async fn acknowledged(&mut self) {
        while self.agreed.is_none() {
            let TaskSource::Listening(call) = &mut self.source else { return };
            match call.next().await {
                CallUpdate::Event(CallEvent::Subscription(notification))
                    if notification.method() == method::LISTEN_ACKNOWLEDGED =>
                {
                    let agreed = notification.param("notifications").map(|span| notification.raw(span));
                    let agreed: AgreedTasks =
                        agreed.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
                    let names = |id: &str| {
                        decode_string(id.as_bytes())
                            .is_some_and(|id| agreed.task_ids.iter().any(|agreed| *agreed == id))
                    };
                    let known = self.ids.iter().filter(|(id, _)| names(id));
                    self.agreed = Some(known.map(|(_, sealed)| sealed.clone()).collect());
                }
                CallUpdate::Event(_) => {}
                CallUpdate::Ended(_) => self.source = TaskSource::Pausing(Box::pin(sleep(self.pause))),
            }
        }
    }

    /// The next change. Cancel safe.
    async fn next(&mut self, gateway: &Arc<Gateway>, client: &RequestClient) -> Box<Notification> {
        loop {
            match &mut self.source {
                TaskSource::Listening(call) => match call.next().await {
                    CallUpdate::Event(CallEvent::Subscription(notification)) => {
                        if let Some(change) = self.change(&notification, gateway, client) {
                            return change;
                        }
                    }
                    CallUpdate::Event(_) => {}
                    CallUpdate::Ended(_) => {
                        self.source = TaskSource::Pausing(Box::pin(sleep(self.pause)));
                        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                    }
                },
                TaskSource::Pausing(pause) => {
                    pause.as_mut().await;
                    self.source = listen(client, &self.server, &self.ids, self.pause);
                }
            }
        }
    }

    /// A change of a task that the client subscribed to, with the client's id.
    fn change(
        &self,
        notification: &Notification,
        gateway: &Gateway,
        client: &RequestClient,
    ) -> Option<Box<Notification>> {
        let id = notification.param("taskId").filter(|_| notification.method() == method::TASK_CHANGED)?;
        if !self.ids.contains_key(notification.raw(id)) {
            return None;
        }
        let (seal, principal) = (&gateway.task_seal, client.principal());
        Sealing { seal, principal, server: &self.server, kind: TaskProtocol::Extension }
            .notification(notification)
    }
}

/// Listens at a server; where that is not possible, later again.
fn listen(
    client: &RequestClient,
    server: &ServerName,
    ids: &BTreeMap<String, String>,
    pause: Duration,
) -> TaskSource {
    let filter = ObjectBuilder::new().array("taskIds", ids.keys().map(String::as_str));
    let params = ObjectBuilder::new().raw("notifications", &filter.finish());
    let sent = our_request(client, method::LISTEN, params).map(|request| {
        let (sender, receiver) = events();
        let resumes = Some(Resume { server: server.clone(), state: None });
        let caller = client.caller(method::LISTEN);
        (
            client.host.dispatch(HostRequest {
                request: request.into(),
                caller,
                events: Some(sender),
                resumes,
            }),
            receiver,
        )
    });
    match sent {
        Some((Routed::Sent(call), events)) => {
            TaskSource::Listening(Box::new(RunningCall::new(call, Some(events))))
        }
        _ => TaskSource::Pausing(Box::pin(sleep(pause))),
    }
}
