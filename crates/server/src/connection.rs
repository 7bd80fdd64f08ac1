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
use tokio::{sync::mpsc, time::Instant};
use toolbay_protocol::{ErrorObject, Message, Notification, Request, RequestId, Rope, error, method};
use toolbay_transport::{Connection, Incoming, Outgoing};

use crate::{
    Progress, Server,
    methods::{Handshake, answer, is_slow, slow_answer},
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
        server,
        handshake: Handshake::default(),
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
                if is_slow(request.call.method()) {
                    self.start(request);
                    return None;
                }
                Some(answer(&*self.server, &request))
            }
            Incoming::Message(Message::Notification(note)) => {
                if let Some(abort) = cancelled(&note).and_then(|id| self.running.remove(&id)) {
                    abort.abort();
                }
                None
            }
            Incoming::Message(Message::Response(_))
            | Incoming::About(..)
            | Incoming::Failed { .. }
            | Incoming::Lost { .. } => None,
            Incoming::Refused(refusal) => {
                let why = ErrorObject::new(refusal.why.code(), refusal.why.to_string());
                Some(error(refusal.id.as_ref(), &why).into())
            }
        }
    }

    fn start(&mut self, request: Box<Request>) {
        let (abort, registration) = AbortHandle::new_pair();
        self.running.insert(request.id.clone(), abort);
        let (server, progress) = (self.server.clone(), Progress::of(&request, &self.notes));
        self.calls.push(Box::pin(async move {
            let answer = Abortable::new(slow_answer(&*server, &request, progress), registration).await;
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

fn cancelled(note: &Notification) -> Option<RequestId> {
    if note.method() != method::CANCELLED {
        return None;
    }
    RequestId::from_raw(note.raw(note.param("requestId")?).as_bytes())
}
