//! One connection of a client.

use std::{
    collections::{HashMap, VecDeque},
    pin::Pin,
    sync::Arc,
};

use futures_util::{
    StreamExt,
    future::{AbortHandle, Abortable, Aborted},
    stream::FuturesUnordered,
};
use tokio::{
    sync::{
        broadcast::{self, error::RecvError},
        mpsc,
    },
    time::Instant,
};
use toolbay_protocol::{ErrorObject, Message, Notification, Request, RequestId, Rope, error, method};
use toolbay_transport::{Connection, Incoming, Outgoing};

use crate::{
    Progress, Server,
    changes::{ServerChange, Subscriptions},
    methods::{Handshake, answer, is_slow, is_subscription, slow_answer, subscribe},
    roots::SessionRoots,
};

/// How many calls one connection may have running.
const MAX_CALLS: usize = 256;

/// How many progress notifications may wait to be sent.
const MAX_NOTES: usize = 64;

/// Serves one connection until the client is gone. One that only closed its sending side still gets its responses.
///
/// Invariant: the task awaits only in this `select!`, and takes the next message only when there is room for its
/// answer.
pub async fn serve(connection: Connection, server: Arc<dyn Server>) {
    let Connection { outgoing, mut incoming } = connection;
    let (notes, noted) = mpsc::channel(MAX_NOTES);
    let mut connection = ServerConnection {
        changes: server.changes().map(|changes| changes.subscribe()),
        server,
        handshake: Handshake::default(),
        subscriptions: Subscriptions::default(),
        roots: SessionRoots::default(),
        notes,
        noted,
        calls: FuturesUnordered::new(),
        running: HashMap::new(),
        done: VecDeque::new(),
    };
    let mut last = None;
    while last.is_none() || connection.is_busy() {
        tokio::select! {
            next = next_message(&outgoing, &mut incoming), if last.is_none() && connection.has_room() => {
                let Some((slot, message)) = next else {
                    last = Some(Instant::now() + connection.server.drain());
                    continue;
                };
                if let Some(answer) = connection.take(message) {
                    slot.send(Outgoing::to_client(answer));
                }
            }
            Some((id, answer)) = connection.calls.next() => connection.finish(&id, answer),
            Some(note) = connection.noted.recv(), if connection.done.len() < MAX_CALLS => {
                connection.done.push_back(note);
            }
            change = next_change(&mut connection.changes), if connection.done.len() < MAX_CALLS => {
                connection.announce(change);
            }
            slot = outgoing.reserve(), if !connection.done.is_empty() => match (slot, connection.done.pop_front()) {
                (Ok(slot), Some(text)) => slot.send(Outgoing::to_client(text)),
                _ => return,
            },
            () = gone(&outgoing, last) => return,
        }
    }
}

/// Resolves when the client no longer reads, or once the time for last responses is over.
async fn gone(outgoing: &mpsc::Sender<Outgoing>, last: Option<Instant>) {
    let over = async {
        match last {
            Some(last) => tokio::time::sleep_until(last).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = outgoing.closed() => {}
        () = over => {}
    }
}

type RunningCall = Pin<Box<dyn Future<Output = (RequestId, Result<Rope, Aborted>)> + Send>>;

struct ServerConnection {
    server: Arc<dyn Server>,
    handshake: Handshake,
    /// What the server announces, if it does.
    changes: Option<broadcast::Receiver<ServerChange>>,
    subscriptions: Subscriptions,
    roots: SessionRoots,
    notes: mpsc::Sender<Rope>,
    noted: mpsc::Receiver<Rope>,
    calls: FuturesUnordered<RunningCall>,
    running: HashMap<RequestId, AbortHandle>,
    /// What waits to be sent.
    done: VecDeque<Rope>,
}

impl ServerConnection {
    fn has_room(&self) -> bool {
        self.running.len() + self.done.len() < MAX_CALLS
    }

    fn is_busy(&self) -> bool {
        !self.running.is_empty() || !self.done.is_empty()
    }

    /// Handles a message; returns the response if there is one at once.
    fn take(&mut self, message: Incoming) -> Option<Rope> {
        match message {
            Incoming::Message(Message::Request(request)) => {
                if let Err(why) = self.handshake.admit(&request) {
                    return Some(error(Some(&request.id), &why).into());
                }
                match request.call.method() {
                    slow if is_slow(slow) => {
                        self.start(request);
                        return None;
                    }
                    method if is_subscription(method) && self.changes.is_some() => {
                        return Some(subscribe(&mut self.subscriptions, &request));
                    }
                    method::INITIALIZE => self.begin_session(&request),
                    _ => {}
                }
                Some(answer(&*self.server, &request))
            }
            Incoming::Message(Message::Notification(notification)) => {
                self.hear(&notification);
                None
            }
            Incoming::Message(Message::Response(response)) => {
                self.roots.take(&response);
                None
            }
            Incoming::About(..) | Incoming::Failed { .. } | Incoming::Lost { .. } => None,
            Incoming::Refused(refusal) => {
                let why = ErrorObject::new(refusal.why.code(), refusal.why.to_string());
                Some(error(refusal.id.as_ref(), &why).into())
            }
        }
    }

    fn begin_session(&mut self, initialize: &Request) {
        self.subscriptions.begin_session();
        if self.server.wants_roots() {
            self.roots.introduce(initialize);
        }
    }

    fn hear(&mut self, notification: &Notification) {
        match notification.method() {
            method::CANCELLED => {
                let Some(id) = cancelled_request(notification) else { return };
                self.subscriptions.cancel(&id);
                if let Some(abort) = self.running.remove(&id) {
                    abort.abort();
                }
            }
            method::INITIALIZED => self.done.extend(self.roots.ask_once()),
            method::ROOTS_CHANGED => self.done.extend(self.roots.ask()),
            _ => {}
        }
    }

    /// Queues the notifications of a change; of all changes, if some were missed.
    fn announce(&mut self, change: Option<ServerChange>) {
        let changes = change.map_or_else(|| self.subscriptions.all(), |change| vec![change]);
        for change in changes {
            self.done.extend(self.subscriptions.notifications(&change));
        }
    }

    fn start(&mut self, request: Box<Request>) {
        self.done.extend(self.roots.ask_once()); // for a client that does not send `notifications/initialized`
        let roots = self.roots.reader();
        let (abort, registration) = AbortHandle::new_pair();
        self.running.insert(request.id.clone(), abort);
        let (server, progress) = (self.server.clone(), Progress::of(&request, &self.notes));
        self.calls.push(Box::pin(async move {
            let answer = Abortable::new(slow_answer(&*server, &request, progress, roots), registration).await;
            (request.id, answer)
        }));
    }

    /// Queues the response of a call behind its progress notifications; an aborted call has none.
    fn finish(&mut self, id: &RequestId, answer: Result<Rope, Aborted>) {
        self.running.remove(id);
        while let Ok(note) = self.noted.try_recv() {
            self.done.push_back(note);
        }
        self.done.extend(answer);
    }
}

async fn next_message<'a>(
    outgoing: &'a mpsc::Sender<Outgoing>,
    incoming: &mut mpsc::Receiver<Incoming>,
) -> Option<(mpsc::Permit<'a, Outgoing>, Incoming)> {
    let slot = outgoing.reserve().await.ok()?;
    Some((slot, incoming.recv().await?))
}

/// Waits for the next change; `None` if some were missed. Pending for a server that announces none.
async fn next_change(changes: &mut Option<broadcast::Receiver<ServerChange>>) -> Option<ServerChange> {
    let Some(receiver) = changes else { return std::future::pending().await };
    match receiver.recv().await {
        Ok(change) => Some(change),
        Err(RecvError::Lagged(_)) => None,
        Err(RecvError::Closed) => std::future::pending().await,
    }
}

fn cancelled_request(notification: &Notification) -> Option<RequestId> {
    RequestId::from_raw(notification.raw(notification.param("requestId")?).as_bytes())
}
