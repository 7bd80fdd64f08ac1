//! What is remembered about one client.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use toolbay_protocol::{Notification, RequestId, Response, Revision, method};

use super::change::Change;

/// One connection, or one legacy session over HTTP; for a modern request over HTTP, that request alone.
#[derive(Debug, Default)]
pub(super) struct Session {
    legacy: Mutex<Legacy>,
    running: Mutex<HashMap<RequestId, CancellationToken>>,
    /// Waits for the client's response to a server request.
    questions: Mutex<HashMap<RequestId, oneshot::Sender<Box<Response>>>>,
}

/// What a legacy client sent in its handshake.
#[derive(Debug, Default)]
struct Legacy {
    revision: Option<Revision>,
    capabilities: Arc<Value>,
    /// The least severe log message it wants.
    level: usize,
    subscribed: HashSet<String>,
    /// How many server requests it got. They are numbered like the client's own requests, as both sides may.
    asked: u64,
}

impl Session {
    pub(super) fn revision(&self) -> Option<Revision> {
        self.legacy.lock().revision
    }

    /// Takes down how the handshake ended.
    pub(super) fn agree(&self, revision: Revision, capabilities: Value) {
        let mut legacy = self.legacy.lock();
        legacy.revision = Some(revision);
        legacy.capabilities = Arc::new(capabilities);
    }

    pub(super) fn capabilities(&self) -> Arc<Value> {
        self.legacy.lock().capabilities.clone()
    }

    pub(super) fn level(&self) -> usize {
        self.legacy.lock().level
    }

    pub(super) fn set_level(&self, level: usize) {
        self.legacy.lock().level = level;
    }

    pub(super) fn subscribe(&self, uri: String) {
        self.legacy.lock().subscribed.insert(uri);
    }

    pub(super) fn unsubscribe(&self, uri: &str) {
        self.legacy.lock().subscribed.remove(uri);
    }

    /// Whether this client is notified of a change without a subscription of a modern revision.
    pub(super) fn wants(&self, change: &Change) -> bool {
        let legacy = self.legacy.lock();
        legacy.revision.is_some()
            && match change {
                Change::Tools | Change::Resources | Change::Prompts | Change::Other { .. } => true,
                Change::Updated(uri) => legacy.subscribed.contains(uri),
            }
    }

    /// Takes down that a request runs, so that it can be cancelled.
    pub(super) fn begin(self: &Arc<Self>, id: &RequestId) -> Running {
        let ended = CancellationToken::new();
        self.running.lock().insert(id.clone(), ended.clone());
        Running { session: self.clone(), id: id.clone(), ended }
    }

    /// Acts on a notification of the client.
    pub(super) fn notice(&self, notification: &Notification) {
        if notification.method() != method::CANCELLED {
            return;
        }
        let id = notification.param("requestId").map(|span| notification.raw(span).as_bytes());
        let running = id.and_then(RequestId::from_raw).and_then(|id| self.running.lock().remove(&id));
        if let Some(ended) = running {
            ended.cancel();
        }
    }

    pub(super) fn next_question(&self) -> u64 {
        let mut legacy = self.legacy.lock();
        legacy.asked += 1;
        legacy.asked
    }

    /// Registers a server request that is about to be sent.
    pub(super) fn expect_answer(&self, id: &RequestId) -> Waiting<'_> {
        let (sender, answer) = oneshot::channel();
        self.questions.lock().insert(id.clone(), sender);
        Waiting { session: self, id: id.clone(), answer }
    }

    /// Takes a response of the client; one without a request is dropped.
    pub(super) fn answered(&self, response: Box<Response>) {
        let waiting = response.id.as_ref().and_then(|id| self.questions.lock().remove(id));
        if let Some(waiting) = waiting {
            let _ = waiting.send(response); // it may just have given up
        }
    }
}

/// A pending server request; dropping it gives up.
#[derive(Debug)]
pub(super) struct Waiting<'a> {
    session: &'a Session,
    id: RequestId,
    answer: oneshot::Receiver<Box<Response>>,
}

impl Waiting<'_> {
    /// The answer; nothing when the client is gone.
    pub(super) async fn answer(mut self) -> Option<Box<Response>> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.session.questions.lock().remove(&self.id);
    }
}

/// A request while it runs; dropping it ends it.
#[derive(Debug)]
pub(super) struct Running {
    session: Arc<Session>,
    id: RequestId,
    /// Cancelled when the client cancels the request, and when it ends otherwise.
    pub(super) ended: CancellationToken,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.session.running.lock().remove(&self.id);
        self.ended.cancel();
    }
}
