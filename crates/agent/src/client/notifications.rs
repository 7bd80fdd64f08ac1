//! What a server says that belongs to no call.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::{Stream, StreamExt, stream};
use tokio::sync::{broadcast, mpsc, watch};
use toolbay_protocol::{Notification, ServerName, method};
use toolbay_upstream::{Catalog, CatalogKind, UpstreamState, UpstreamStatus};

/// How many a reader may fall behind.
pub(super) const BEHIND: usize = 256;

/// Something that a server said, or that happened to it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ServerNotification {
    /// A list is another now; the cached one is the new one.
    ListChanged(CatalogKind),
    /// A resource that is watched changed.
    ResourceUpdated {
        /// Which one.
        uri: String,
    },
    /// A task stands otherwise; the server's own notification.
    TaskStatus(Arc<Notification>),
    /// A log message that belongs to no call; the server's own notification.
    Log(Arc<Notification>),
    /// A notification that the protocol does not know, in a call or not; as the server sent it.
    Custom(Arc<Notification>),
    /// The server is up, again or for the first time.
    Connected,
    /// The server is gone; unless the client was closed, it is started again.
    Disconnected,
    /// The reader was too slow, and so many were left out.
    Missed(u64),
}

/// What a server says, as a stream; it ends with the last clone of the client. See [`ServerNotification::Missed`] for slow readers.
pub struct Notifications(Pin<Box<dyn Stream<Item = ServerNotification> + Send>>);

impl Notifications {
    pub(super) fn new(receiver: broadcast::Receiver<ServerNotification>) -> Self {
        Self(Box::pin(stream::unfold(receiver, |mut receiver| async move {
            match receiver.recv().await {
                Ok(notification) => Some((notification, receiver)),
                Err(broadcast::error::RecvError::Lagged(missed)) => {
                    Some((ServerNotification::Missed(missed), receiver))
                }
                Err(broadcast::error::RecvError::Closed) => None,
            }
        })))
    }

    /// The next one, without having to know about streams. Cancel safe.
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

/// Passes on what a server says, until it is gone for good.
pub(super) async fn forward(
    mut updates: mpsc::Receiver<(ServerName, Box<Notification>)>,
    mut status: watch::Receiver<UpstreamStatus>,
    told: broadcast::Sender<ServerNotification>,
) {
    let mut known: Option<Arc<Catalog>> = None;
    let mut was_up = false;
    // Nobody listening is fine, here and below.
    let tell = |notification| drop(told.send(notification));
    loop {
        tokio::select! {
            Some((_, notification)) = updates.recv() => match notification.method() {
                method::TASK_STATUS => tell(ServerNotification::TaskStatus(Arc::from(notification))),
                method::LOG_MESSAGE => tell(ServerNotification::Log(Arc::from(notification))),
                method::RESOURCE_UPDATED => if let Some(uri) = notification.string_param("uri") {
                    tell(ServerNotification::ResourceUpdated { uri: uri.into_owned() });
                },
                _ => tell(ServerNotification::Custom(Arc::from(notification))),
            },
            changed = status.changed() => {
                let now = status.borrow_and_update().clone();
                let is_up = matches!(now.state, UpstreamState::Running);
                if is_up != was_up {
                    tell(if is_up { ServerNotification::Connected } else { ServerNotification::Disconnected });
                    was_up = is_up;
                }
                // The first lists are no change.
                if let Some(before) = known.replace(now.catalog.clone()).filter(|before| before.server_info.is_some()) {
                    for kind in CatalogKind::ALL {
                        if before.list(kind) != now.catalog.list(kind) {
                            tell(ServerNotification::ListChanged(kind));
                        }
                    }
                }
                if changed.is_err() {
                    return;
                }
            }
        }
    }
}
