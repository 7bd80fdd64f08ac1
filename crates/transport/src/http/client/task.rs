//! The task that owns a connection to a server at a URL.

use std::{collections::HashMap, future::Future, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{
    StreamExt,
    future::{AbortHandle, abortable},
    stream::FuturesUnordered,
};
use http::HeaderMap;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until, timeout},
};
use toolbay_protocol::{Message, RequestId};

use super::{HttpError, headers::mirror, post::Post, session::HttpSession};
use crate::http::client::session::listen;
use crate::{
    Incoming, Outgoing,
    outgoing::{OutgoingKind, unsent},
};

/// When the server seems lost, how long other requests may take to end in the same way.
const LOSS_GRACE: Duration = Duration::from_millis(250);
/// How long a message that nothing may overtake may hold up others.
const HOLD_BACK: Duration = Duration::from_secs(5);
/// How long a goodbye may take.
const DELETE_TIMEOUT: Duration = Duration::from_secs(2);

type Work = Pin<Box<dyn Future<Output = WorkOutput> + Send>>;

/// How a piece of work ended.
enum WorkOutput {
    /// A request; the error says that it may be sent again.
    Requested(RequestId, Result<(), HttpError>),
    /// Another message, which others may have waited for.
    Notified(NotificationOutcome, Result<(), HttpError>),
    /// The GET stream ended.
    Listened(Result<(), HttpError>),
    Delivered,
}

/// What a message without a response means to us.
enum NotificationOutcome {
    Initialized,
    Cancelled(RequestId),
    Other,
}

/// Invariant: awaits only in the `select!` of [`run`], so no response holds up another.
struct HttpTask {
    link: Arc<HttpSession>,
    work: FuturesUnordered<Work>,
    running: HashMap<RequestId, RunningRequest>,
    /// What is sent next waits for this.
    barrier: Option<Barrier>,
    loss: Option<ServerLoss>,
}

/// A request whose response has not ended.
struct RunningRequest {
    abort: AbortHandle,
    since: Instant,
}

/// A message that nothing may overtake, because it changes what later ones mean: the end of the handshake, a log level.
struct Barrier {
    /// Nothing for the end of the handshake, which has no id.
    id: Option<RequestId>,
    /// A server that does not respond must not block everything.
    until: Instant,
}

/// The server seems lost.
struct ServerLoss {
    why: HttpError,
    /// Requests that never reached it.
    unsent: Vec<RequestId>,
    until: Instant,
}

/// Serves a connection until it is dropped or the server is lost.
pub(super) async fn run(link: Arc<HttpSession>, mut outgoing: mpsc::Receiver<Outgoing>) {
    let mut task =
        HttpTask { work: FuturesUnordered::new(), running: HashMap::new(), barrier: None, loss: None, link };
    let abandoned = Arc::clone(&task.link);
    let abandoned = abandoned.abandoned();
    tokio::pin!(abandoned);
    let lost = loop {
        if let Some(lost) = task.lost() {
            break Some(lost);
        }
        task.barrier.take_if(|barrier| barrier.until <= Instant::now());
        let until = (task.loss.as_ref().map(|loss| loss.until))
            .or(task.barrier.as_ref().map(|barrier| barrier.until));
        let has_room = until.is_none() && task.work.len() < task.link.max_running();
        tokio::select! {
            message = outgoing.recv(), if has_room => match message {
                Some(message) => task.send(message),
                None => break None,
            },
            Some(done) = task.work.next() => task.done(done),
            () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => {}
            () = &mut abandoned => break None,
        }
    };
    let HttpTask { link, work, running, .. } = task;
    drop((work, running)); // closes what still runs
    if let Some(ServerLoss { why, unsent: mut never_arrived, .. }) = lost {
        never_arrived.extend(unsent(Vec::new(), outgoing).await);
        let unsent = never_arrived;
        return link.deliver(Incoming::Lost { why, unsent }).await;
    }
    if link.agreed().session.is_some() {
        // A server that does not care forgets the session by itself.
        let _ = timeout(DELETE_TIMEOUT, link.delete()).await;
    }
}

impl HttpTask {
    fn send(&mut self, Outgoing { text, kind }: Outgoing) {
        let text = text.into_bytes();
        let has_session = self.link.agreed().revision.is_some();
        let headers = self.headers(&text, has_session);
        match kind {
            OutgoingKind::Initialize(id) => self.request(text, headers, id, true),
            OutgoingKind::SetLevel(id) => {
                self.hold_back(Some(id.clone()));
                self.request(text, headers, id, false);
            }
            OutgoingKind::Request(id) => self.request(text, headers, id, false),
            OutgoingKind::Initialized => {
                self.hold_back(None);
                self.post_one_way(text, headers, NotificationOutcome::Initialized);
            }
            OutgoingKind::Cancelled(id) => {
                if let Some(running) = self.running.get(&id) {
                    self.link.timed_out(running.since);
                }
                if has_session {
                    self.post_one_way(text, headers, NotificationOutcome::Cancelled(id));
                } else {
                    self.abort(&id);
                }
            }
            OutgoingKind::Other => self.post_one_way(text, headers, NotificationOutcome::Other),
        }
    }

    /// The headers of a message. Without a session they mirror parts of it; they are read from the very bytes that are sent,
    /// so that the two cannot differ.
    fn headers(&self, text: &Bytes, has_session: bool) -> HeaderMap {
        let mut headers = self.link.session_headers();
        if !has_session {
            match Message::parse(text.clone()) {
                Ok(Message::Request(request)) => mirror(&request.call, &self.link.rules, &mut headers),
                Ok(Message::Notification(notification)) => {
                    mirror(&notification, &self.link.rules, &mut headers)
                }
                Ok(Message::Response(_)) | Err(_) => {}
            }
        }
        headers
    }

    fn request(&mut self, text: Bytes, headers: HeaderMap, id: RequestId, begins_session: bool) {
        let post = Post { text, headers, id: Some(id.clone()), begins_session };
        let (post, abort) = abortable(post.run(self.link.clone()));
        self.running.insert(id.clone(), RunningRequest { abort, since: Instant::now() });
        // Aborted means that it was cancelled.
        self.work.push(Box::pin(async move { WorkOutput::Requested(id, post.await.unwrap_or(Ok(()))) }));
    }

    fn post_one_way(&mut self, text: Bytes, headers: HeaderMap, notification: NotificationOutcome) {
        let post = Post { text, headers, id: None, begins_session: false };
        let sent = post.run(self.link.clone());
        self.work.push(Box::pin(async move { WorkOutput::Notified(notification, sent.await) }));
    }

    /// Lets what comes next wait for the message of that id.
    fn hold_back(&mut self, id: Option<RequestId>) {
        self.barrier = Some(Barrier { id, until: Instant::now() + HOLD_BACK });
    }

    fn abort(&mut self, id: &RequestId) {
        if let Some(running) = self.running.remove(id) {
            running.abort.abort();
        }
    }

    fn done(&mut self, done: WorkOutput) {
        let (outcome, id) = match done {
            WorkOutput::Requested(id, outcome) => {
                self.running.remove(&id);
                self.barrier.take_if(|barrier| barrier.id.as_ref() == Some(&id));
                (outcome, Some(id))
            }
            WorkOutput::Notified(notification, outcome) => {
                match notification {
                    NotificationOutcome::Initialized => {
                        self.barrier = None;
                        if outcome.is_ok() {
                            let listening = listen(self.link.clone());
                            self.work.push(Box::pin(async move { WorkOutput::Listened(listening.await) }));
                        }
                    }
                    // The server knows: it may leave the stream open for ever now.
                    NotificationOutcome::Cancelled(id) => self.abort(&id),
                    NotificationOutcome::Other => {}
                }
                (outcome, None)
            }
            WorkOutput::Listened(outcome) => (outcome, None),
            WorkOutput::Delivered => return,
        };
        if let Err(why) = outcome {
            let until = Instant::now() + LOSS_GRACE;
            let loss = self.loss.get_or_insert_with(|| ServerLoss { why, unsent: Vec::new(), until });
            loss.unsent.extend(id);
        }
    }

    /// Decides whether the server is lost: it is when its session is, or when it cannot be reached and no stream is open.
    fn lost(&mut self) -> Option<ServerLoss> {
        let loss = self.loss.take()?;
        if !self.running.is_empty() && Instant::now() < loss.until {
            self.loss = Some(loss);
            return None;
        }
        if matches!(loss.why, HttpError::Unreachable { .. }) && self.link.is_open() {
            let link = self.link.clone();
            self.work.push(Box::pin(async move {
                for id in loss.unsent {
                    link.deliver(Incoming::Failed { id: Some(id), why: loss.why.clone() }).await;
                }
                WorkOutput::Delivered
            }));
            return None;
        }
        Some(loss)
    }
}
