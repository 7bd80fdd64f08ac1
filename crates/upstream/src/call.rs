//! Calls: a request for a server, and its progress to the response.

pub(crate) mod budget;
pub(crate) mod events;
pub(crate) mod table;
pub(crate) mod write_queue;

use std::{
    any::Any,
    future::Future,
    path::Path,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use parking_lot::Mutex;
use smallvec::SmallVec;
use tokio::sync::{Notify, oneshot};
use toolbay_protocol::{Notification, Request, Response, Revision, ServerName, Span};
use toolbay_translate::ClientIdentity;

use crate::{
    CallError, CallEventSender, CallEvents, LogFilter, ServerRequest, Timeouts, call::budget::CallSize,
};

/// A request of a client for a server.
#[derive(Debug)]
pub struct Call {
    /// What the client sent, in the caller's revision.
    pub request: Arc<Request>,
    pub caller: Caller,
    /// Values that the server knows under another text.
    pub renamed: SmallVec<[(Span, Bytes); 1]>,
    /// Receives progress, log messages and server requests.
    pub events: Option<CallEventSender>,
    /// Whether the server does this only as a task.
    pub only_as_task: bool,
    /// Timeouts of this call; else those of the server.
    pub timeouts: Option<Timeouts>,
}

/// The client on whose behalf a call is made.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Distinguishes its calls from those of other clients.
    pub id: CallerId,
    /// The revision of its requests.
    pub revision: Revision,
    /// Its client info and capabilities, as servers get them.
    pub identity: Arc<ClientIdentity>,
    /// Which log messages it gets.
    pub logs: LogFilter,
    /// Whether servers may send it requests before they respond.
    pub accepts_server_requests: bool,
    /// Whether tasks are awaited on its behalf where it does not know tasks.
    pub awaits_tasks: bool,
    /// The project in which it works, where it is known.
    pub root: Option<Arc<Path>>,
}

/// One client, as far as its calls are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallerId(u64);

impl CallerId {
    /// A client unlike any other.
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Default for CallerId {
    fn default() -> Self {
        Self::new()
    }
}

/// What a server sends about a call before the response.
#[derive(Debug)]
pub enum CallEvent {
    /// A progress notification.
    Progress(Box<Notification>),
    /// A log message.
    Log(Box<Notification>),
    /// A notification that the protocol does not know.
    Custom(Box<Notification>),
    /// A server request, which the client has to respond to before the call goes on.
    ServerRequest(Box<ServerRequest>),
    /// A notification of a subscription: its acknowledgment first, then changes.
    Subscription(Box<Notification>),
}

/// A server's response, result or error.
#[derive(Debug, Clone)]
pub struct CallResponse {
    /// The whole message, under our id.
    pub response: Box<Response>,
    /// The revision in which it is written.
    pub revision: Revision,
}

pub(crate) type CallOutcome = Result<CallResponse, CallError>;

/// A call in flight. Await it for the response; drop it to cancel.
#[derive(Debug)]
#[must_use = "dropping a call cancels it"]
pub struct InFlight {
    pub(crate) id: u64,
    pub(crate) server: ServerName,
    pub(crate) response: oneshot::Receiver<CallOutcome>,
    pub(crate) cancelled: Option<Arc<CancelledCalls>>,
    /// Dropped with the call.
    pub(crate) keeps: Option<Box<dyn Any + Send + Sync>>,
    /// Given back with the call.
    pub(crate) weight: Option<Box<CallSize>>,
}

impl InFlight {
    /// Keeps something until the call has ended.
    pub fn keeping(mut self, something: impl Any + Send + Sync) -> Self {
        self.keeps = Some(Box::new(something));
        self
    }

    /// The server that has it.
    pub fn server(&self) -> &ServerName {
        &self.server
    }
}

impl Future for InFlight {
    type Output = CallOutcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<CallOutcome> {
        let outcome = ready!(Pin::new(&mut self.response).poll(context));
        self.cancelled = None;
        Poll::Ready(outcome.unwrap_or_else(|_| Err(CallError::Stopped { server: self.server.clone() })))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some(cancelled) = self.cancelled.take() {
            cancelled.push(self.id);
        }
    }
}

/// Calls whose callers went away.
///
/// Dropping cannot wait for room in a queue, so this is a list. It is bounded all the same: every call enters at most
/// once, and the number of calls is bounded.
#[derive(Debug, Default)]
pub(crate) struct CancelledCalls {
    ids: Mutex<Vec<u64>>,
    pub(crate) arrived: Notify,
}

impl CancelledCalls {
    fn push(&self, id: u64) {
        self.ids.lock().push(id);
        self.arrived.notify_one();
    }

    pub(crate) fn take(&self) -> Vec<u64> {
        std::mem::take(&mut *self.ids.lock())
    }
}

/// A call that is awaited. Dropping it cancels the call.
#[derive(Debug)]
pub struct RunningCall {
    call: InFlight,
    /// None once nothing more can come.
    events: Option<CallEvents>,
    /// How the call ended, while events that were sent before are still to be read.
    ended: Option<Result<CallResponse, CallError>>,
}

/// The next thing that happens in a call.
#[derive(Debug)]
pub enum CallUpdate {
    /// The server sent something that belongs to the call.
    Event(CallEvent),
    /// The call has ended.
    Ended(Result<CallResponse, CallError>),
}

impl RunningCall {
    /// Joins a call with its events, if there is a receiver.
    pub fn new(call: InFlight, events: Option<CallEvents>) -> Self {
        Self { call, events, ended: None }
    }

    /// Waits for the end; what comes before is discarded.
    pub async fn outcome(self) -> Result<CallResponse, CallError> {
        self.call.await
    }

    /// Returns the next update; must not be called after the end. Cancel safe.
    pub async fn next(&mut self) -> CallUpdate {
        let Some(events) = &mut self.events else { return CallUpdate::Ended((&mut self.call).await) };
        if self.ended.is_none() {
            tokio::select! {
                biased;
                // The server sent its events before its response. They are looked for after it, so none is missed.
                outcome = &mut self.call => self.ended = Some(outcome),
                Some(event) = events.recv() => return CallUpdate::Event(event),
            }
        }
        match (events.try_recv(), self.ended.take()) {
            (Some(event), ended) => {
                self.ended = ended;
                CallUpdate::Event(event)
            }
            (None, Some(outcome)) => CallUpdate::Ended(outcome),
            (None, None) => std::future::pending().await, // it has ended already
        }
    }
}
