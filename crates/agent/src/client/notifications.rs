//! The notifications of one server.

use std::{
    collections::VecDeque,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::{Stream, StreamExt, stream};
use tokio::sync::{broadcast, mpsc, watch};
use toolbay_host::Host;
use toolbay_protocol::{Notification, ServerName, method};
use toolbay_upstream::{Catalog, CatalogKind, UpstreamState, UpstreamStatus};

/// How many notifications a reader may fall behind.
pub(crate) const BEHIND: usize = 256;

/// A notification of a server, or a change of its connection.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ServerNotification {
    /// A list has changed; the new one is known already.
    ListChanged(CatalogKind),
    /// A resource that is subscribed to has changed.
    ResourceUpdated {
        /// The resource.
        uri: String,
    },
    /// The status of a task has changed.
    TaskStatus(Arc<Notification>),
    /// The progress of a call for which progress was requested.
    Progress(Arc<Notification>),
    /// A log message, about a call or not.
    Log(Arc<Notification>),
    /// A notification with a method that the protocol does not define.
    Custom(Arc<Notification>),
    /// The server is up, again or for the first time.
    Connected,
    /// The server is gone. Unless it was stopped, it is started again.
    Disconnected,
    /// The reader was too slow, and this many were left out.
    Missed(u64),
}

/// A stream of notifications. It ends with the last clone of the client, or with the agent.
pub struct Notifications(Pin<Box<dyn Stream<Item = ServerNotification> + Send>>);

impl Notifications {
    pub(super) fn of_client(receiver: broadcast::Receiver<(ServerName, ServerNotification)>) -> Self {
        Self(Box::pin(stream::unfold(receiver, |mut receiver| async move {
            match receiver.recv().await {
                Ok((_, notification)) => Some((notification, receiver)),
                Err(broadcast::error::RecvError::Lagged(missed)) => {
                    Some((ServerNotification::Missed(missed), receiver))
                }
                Err(broadcast::error::RecvError::Closed) => None,
            }
        })))
    }

    /// Those of one server of a host. `in_calls` are those that arrive in the middle of calls.
    pub(crate) fn of_server(
        host: &Host,
        server: ServerName,
        status: watch::Receiver<UpstreamStatus>,
        in_calls: broadcast::Receiver<(ServerName, ServerNotification)>,
    ) -> Self {
        let source = HostSource {
            server,
            outside: host.notifications(),
            in_calls,
            status: StatusChanges::new(status),
            stopping: Box::pin(host.stopping()),
        };
        Self(Box::pin(stream::unfold(source, |mut source| async move {
            source.next().await.map(|notification| (notification, source))
        })))
    }

    /// Returns the next notification, without the traits of streams. Cancel safe.
    pub async fn recv(&mut self) -> Option<ServerNotification> {
        self.0.next().await
    }
}

impl Stream for Notifications {
    type Item = ServerNotification;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(context)
    }
}

impl fmt::Debug for Notifications {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notifications")
    }
}

/// Passes on the notifications of a client's server until it is gone for good.
pub(super) async fn forward(
    mut updates: mpsc::Receiver<(ServerName, Box<Notification>)>,
    status: watch::Receiver<UpstreamStatus>,
    listeners: broadcast::Sender<(ServerName, ServerNotification)>,
    server: ServerName,
) {
    let mut status = StatusChanges::new(status);
    // Without listeners nothing is sent, here and below.
    let send = |notification| drop(listeners.send((server.clone(), notification)));
    loop {
        tokio::select! {
            Some((_, notification)) = updates.recv() => {
                classified(Arc::from(notification)).into_iter().for_each(send);
            }
            change = status.next() => match change {
                Some(notification) => send(notification),
                None => return,
            }
        }
    }
}

/// Which kind of notification it is.
fn classified(notification: Arc<Notification>) -> Option<ServerNotification> {
    Some(match notification.method() {
        method::TASK_STATUS => ServerNotification::TaskStatus(notification),
        method::LOG_MESSAGE => ServerNotification::Log(notification),
        method::RESOURCE_UPDATED => {
            let uri = notification.string_param("uri")?.into_owned();
            ServerNotification::ResourceUpdated { uri }
        }
        _ => ServerNotification::Custom(notification),
    })
}

/// Everything that one server of a host sends.
struct HostSource {
    server: ServerName,
    outside: broadcast::Receiver<(ServerName, Arc<Notification>)>,
    in_calls: broadcast::Receiver<(ServerName, ServerNotification)>,
    status: StatusChanges,
    stopping: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl HostSource {
    async fn next(&mut self) -> Option<ServerNotification> {
        use broadcast::error::RecvError::{Closed, Lagged};
        loop {
            tokio::select! {
                outside = self.outside.recv() => match outside {
                    Ok((server, notification)) if server == self.server => {
                        if let Some(notification) = classified(notification) {
                            return Some(notification);
                        }
                    }
                    Ok(_) => {}
                    Err(Lagged(missed)) => return Some(ServerNotification::Missed(missed)),
                    Err(Closed) => return None,
                },
                in_call = self.in_calls.recv() => match in_call {
                    Ok((server, notification)) if server == self.server => return Some(notification),
                    Ok(_) => {}
                    Err(Lagged(missed)) => return Some(ServerNotification::Missed(missed)),
                    Err(Closed) => return None,
                },
                change = self.status.next() => return change,
                () = &mut self.stopping => return None,
            }
        }
    }
}

/// Changes of a server's status as notifications.
struct StatusChanges {
    status: watch::Receiver<UpstreamStatus>,
    known: Option<Arc<Catalog>>,
    is_up: bool,
    pending: VecDeque<ServerNotification>,
}

impl StatusChanges {
    fn new(status: watch::Receiver<UpstreamStatus>) -> Self {
        let (known, is_up) = {
            let now = status.borrow();
            (Some(now.catalog.clone()), matches!(now.state, UpstreamState::Running))
        };
        Self { status, known, is_up, pending: VecDeque::new() }
    }

    /// The next change; nothing once the server is gone for good. Cancel safe.
    async fn next(&mut self) -> Option<ServerNotification> {
        loop {
            if let Some(notification) = self.pending.pop_front() {
                return Some(notification);
            }
            self.status.changed().await.ok()?;
            let now = self.status.borrow_and_update().clone();
            let is_up = matches!(now.state, UpstreamState::Running);
            if is_up != self.is_up {
                self.is_up = is_up;
                self.pending.push_back(match is_up {
                    true => ServerNotification::Connected,
                    false => ServerNotification::Disconnected,
                });
            }
            // The first lists are no change.
            let before =
                self.known.replace(now.catalog.clone()).filter(|before| before.server_info.is_some());
            if let Some(before) = before {
                let changed =
                    CatalogKind::ALL.into_iter().filter(|kind| before.list(*kind) != now.catalog.list(*kind));
                self.pending.extend(changed.map(ServerNotification::ListChanged));
            }
        }
    }
}
