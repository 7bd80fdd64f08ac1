//! Calls that wait for input of a client without a session.
//!
//! A legacy server sends a request to the client in the middle of a call; a modern client gets it as the end of its
//! request, with `input_required`. In between the call is suspended: a task owns it until the client returns with
//! responses or time is over.
//!
//! ```text
//! input required ──responses──▶ running ──server request──▶ input required (next exchange)
//!   │ 10 min                      │ └──response──▶ ended, kept for 60 s
//!   ▼                             ▼ no request waits for 60 s
//! cancelled                    cancelled
//! ```
//!
//! A client that brings the same responses again, because its stream broke, is linked to what became of them; with other
//! responses it is refused.
//!
//! [`SuspendedCalls`] is the registry, [`SuspendedCall`] the state that the task owns, [`CallLink`] and [`RequestLink`] are
//! the two ends between the task and the request that resumes the call.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep_until},
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use toolbay_host::{
    CallError, CallEvent, CallEventSender, CallEvents, CallResponse, CallUpdate, ClientReply, RunningCall,
    ServerRequest, events,
};
use toolbay_protocol::{ErrorCode, ErrorObject, MethodCall, Revision, encode_string};
use toolbay_translate::{ClientCapabilities, InputRequest, InputRequired, translate_server_request};

use crate::{
    request::call::answer,
    seal::{Binding, SealedContent, StateSeal, canonical},
    security::principal_usage::UsageGuard,
    tasks::AwaitedTask,
};

/// How long a client may take for its responses.
pub(crate) const THINKING_TIME: Duration = Duration::from_secs(600);
/// Servers that send several requests at once send them one after the other.
pub(crate) const GATHER: Duration = Duration::from_millis(10);
/// How long a call goes on, and its outcome is kept, for a client that disconnected.
const RETURN_TIME: Duration = Duration::from_secs(60);
const MAX_SUSPENDED: usize = 1000;

/// All suspended calls.
#[derive(Debug)]
pub(crate) struct SuspendedCalls {
    shared: Arc<Shared>,
    tasks: TaskTracker,
    stop: CancellationToken,
    _end: DropGuard,
    next: AtomicU64,
    /// Keyed with randomness, so that no client can construct a collision.
    hasher: RandomState,
}

#[derive(Debug)]
struct Shared {
    seal: Arc<StateSeal>,
    calls: Mutex<HashMap<u64, mpsc::Sender<ResumeRequest>>>,
}

/// The request whose call is suspended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SuspendedRequest {
    pub(crate) revision: Revision,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) binding: Binding,
}

/// There are too many suspended calls.
#[derive(Debug)]
pub(crate) struct TooManySuspended;

impl SuspendedCalls {
    pub(crate) fn new(seal: Arc<StateSeal>) -> Self {
        let stop = CancellationToken::new();
        Self {
            shared: Arc::new(Shared { seal, calls: Mutex::default() }),
            tasks: TaskTracker::new(),
            _end: stop.clone().drop_guard(),
            stop,
            next: AtomicU64::new(1),
            hasher: RandomState::new(),
        }
    }

    /// Suspends a call whose server sent requests to the client; returns the result that the client gets. `task` is the
    /// task whose end the call waits for.
    pub(crate) fn suspend(
        &self,
        call: RunningCall,
        task: Option<AwaitedTask>,
        requests: Vec<ServerRequest>,
        client: SuspendedRequest,
        usage: UsageGuard,
    ) -> Result<String, TooManySuspended> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, inbox) = mpsc::channel(4);
        {
            let mut calls = self.shared.calls.lock();
            if calls.len() >= MAX_SUSPENDED {
                return Err(TooManySuspended);
            }
            calls.insert(id, sender);
        }
        let mut suspended = SuspendedCall {
            id,
            call: Some(call),
            task,
            client,
            seal: self.shared.seal.clone(),
            exchange: 0,
            open: Vec::new(),
            arrived: Vec::new(),
            gathers_until: Instant::now(),
            requests_so_far: 0,
            answered: None,
            outcome: None,
            link: None,
            progress: None,
            deadline: Instant::now() + THINKING_TIME,
        };
        let result = suspended.require_input(requests);
        let (shared, stop) = (self.shared.clone(), self.stop.clone());
        self.tasks.spawn(async move {
            tokio::select! {
                () = suspended.run(inbox) => {}
                () = stop.cancelled() => {}
            }
            shared.calls.lock().remove(&id);
            drop(usage);
        });
        Ok(result)
    }

    /// Resumes a suspended call with the responses in `retry`; returns nothing when there is no such call any more.
    pub(crate) fn resume(&self, id: u64, exchange: u32, retry: &MethodCall) -> Option<CallLink> {
        let responses = retry.param("inputResponses").map_or("{}", |span| retry.raw(span));
        let mut text = String::new();
        canonical(responses, &mut text);
        let digest = self.hasher.hash_one(&text);
        let responses = serde_json::from_str::<HashMap<String, &serde_json::value::RawValue>>(responses);
        let responses = responses.unwrap_or_default().into_iter();
        let responses = responses.map(|(key, value)| (key, value.get().to_owned())).collect();
        let sender = self.shared.calls.lock().get(&id)?.clone();
        let (request, link) = link();
        sender.try_send(ResumeRequest { exchange, responses, digest, link: request }).ok()?;
        Some(link)
    }
}

/// Server requests that a client supports, and those that it does not.
pub(crate) fn answerable(
    requests: Vec<ServerRequest>,
    capabilities: ClientCapabilities,
) -> (Vec<ServerRequest>, Vec<ServerRequest>) {
    requests.into_iter().partition(|request| capabilities.supports(request.method(), request.params()))
}

/// A suspended call, the requests of its server, and the request that waits for it now.
struct SuspendedCall {
    id: u64,
    /// None once it has ended.
    call: Option<RunningCall>,
    /// The task whose end the call waits for.
    task: Option<AwaitedTask>,
    client: SuspendedRequest,
    seal: Arc<StateSeal>,
    exchange: u32,
    /// What the client must respond to in this exchange, by key.
    open: Vec<(String, ServerRequest)>,
    /// What the server has sent since, and when the client gets it.
    arrived: Vec<ServerRequest>,
    gathers_until: Instant,
    requests_so_far: usize,
    /// The exchange that the client responded to last, and the digest of its responses.
    answered: Option<(u32, u64)>,
    /// What became of those responses.
    outcome: Option<LinkEnd>,
    link: Option<RequestLink>,
    /// The last progress while no request was linked.
    progress: Option<CallEvent>,
    deadline: Instant,
}

impl SuspendedCall {
    /// Runs until the call has ended and its outcome was kept long enough, or until its client does not return.
    async fn run(&mut self, mut inbox: mpsc::Receiver<ResumeRequest>) {
        loop {
            let is_gathering = self.open.is_empty() && !self.arrived.is_empty();
            tokio::select! {
                resumed = inbox.recv() => match resumed {
                    Some(resumed) => self.resume(resumed),
                    None => return,
                },
                update = next(&mut self.call) => self.update(update),
                () = sleep_until(self.gathers_until), if is_gathering => self.require_arrived(),
                () = left(&mut self.link) => {
                    self.link = None;
                    self.deadline = Instant::now() + RETURN_TIME;
                }
                () = sleep_until(self.deadline), if self.link.is_none() => return,
            }
        }
    }

    /// Begins an exchange with more server requests; returns the result that requires a response to all open ones.
    fn require_input(&mut self, requests: Vec<ServerRequest>) -> String {
        for request in requests {
            self.requests_so_far += 1;
            self.open.push((format!("question-{}", self.requests_so_far), request));
        }
        self.exchange += 1;
        self.deadline = Instant::now() + THINKING_TIME;
        let input_request = |(key, request): &(String, ServerRequest)| {
            let (method_name, from, to) = (request.method(), request.revision, self.client.revision);
            let params = translate_server_request(method_name, request.params(), from, to, key);
            InputRequest { key: key.clone(), method: method_name.to_owned(), params: params.ok() }
        };
        let requests = self.open.iter().map(input_request).collect();
        let content = SealedContent::Suspended { id: self.id, exchange: self.exchange };
        // Without randomness nothing can be sealed, and the retry will be refused.
        let state = self.seal.close(content, THINKING_TIME, &self.client.binding).unwrap_or_default();
        InputRequired { requests, request_state: Some(encode_string(&state)) }.to_result()
    }

    /// Takes the responses of a client that came back.
    fn resume(&mut self, resumed: ResumeRequest) {
        let ResumeRequest { exchange, mut responses, digest, link } = resumed;
        if self.answered == Some((exchange, digest)) {
            return self.link(link);
        }
        let is_new = exchange == self.exchange && self.answered.is_none_or(|(last, _)| last < exchange);
        if self.call.is_none() && is_new {
            // The server did not wait for the responses.
            self.answered = Some((exchange, digest));
            return self.link(link);
        }
        if exchange != self.exchange || self.open.is_empty() {
            let message = "this `requestState` was used before with different responses; send the request again without it";
            let refused = LinkEnd::Refused(ErrorObject::new(ErrorCode::INVALID_PARAMS, message));
            let _ = link.end.send(refused); // it may be gone again
            return;
        }
        self.answered = Some((exchange, digest));
        self.outcome = None;
        for (key, request) in std::mem::take(&mut self.open) {
            match responses.remove(&key) {
                Some(result) => answer(request, ClientReply::Result(result), self.client.revision),
                None => self.open.push((key, request)),
            }
        }
        self.link(link);
        if !self.open.is_empty() {
            // What is missing is required once more.
            let result = self.require_input(Vec::new());
            self.publish(LinkEnd::InputRequired(result));
        }
    }

    /// Links a request, in the place of an older one.
    fn link(&mut self, link: RequestLink) {
        if let Some(progress) = self.progress.take() {
            let _ = link.events.send(progress);
        }
        match &self.outcome {
            Some(outcome) => {
                let _ = link.end.send(outcome.clone()); // it may be gone again
            }
            None => self.link = Some(link),
        }
    }

    fn update(&mut self, update: CallUpdate) {
        match update {
            CallUpdate::Event(CallEvent::ServerRequest(request)) => {
                if self.arrived.is_empty() {
                    self.gathers_until = Instant::now() + GATHER;
                }
                self.arrived.push(*request);
            }
            CallUpdate::Event(event) => match &self.link {
                Some(link) => drop(link.events.send(event)),
                None if matches!(event, CallEvent::Progress(_)) => self.progress = Some(event),
                None => {}
            },
            CallUpdate::Ended(outcome) => {
                self.call = None;
                if let (Some(task), Ok(_)) = (self.task.take(), &outcome) {
                    task.ended();
                }
                self.open.clear();
                self.deadline = Instant::now() + RETURN_TIME;
                self.publish(outcome.map_or_else(LinkEnd::Failed, LinkEnd::Answered));
            }
        }
    }

    /// Requires a response to what the server has sent since the last exchange.
    fn require_arrived(&mut self) {
        let (requests, refused) = answerable(std::mem::take(&mut self.arrived), self.client.capabilities);
        if !requests.is_empty() {
            let result = self.require_input(requests);
            self.publish(LinkEnd::InputRequired(result));
        }
        refused.into_iter().for_each(ServerRequest::refuse);
    }

    /// Passes the outcome to the request that waits, or keeps it for the one that returns.
    fn publish(&mut self, end: LinkEnd) {
        if let Some(link) = self.link.take() {
            let _ = link.end.send(end.clone()); // it may just have gone; then it comes back
        }
        self.outcome = Some(end);
    }
}

async fn next(call: &mut Option<RunningCall>) -> CallUpdate {
    match call {
        Some(call) => call.next().await,
        None => std::future::pending().await,
    }
}

/// Resolves when the request that waits is dropped.
async fn left(link: &mut Option<RequestLink>) {
    match link {
        Some(link) => link.end.closed().await,
        None => std::future::pending().await,
    }
}

/// A client that came back.
#[derive(Debug)]
struct ResumeRequest {
    exchange: u32,
    /// Results as JSON text, by key.
    responses: HashMap<String, String>,
    /// Tells these responses from others.
    digest: u64,
    link: RequestLink,
}

/// The end of the link at the request that resumes a call. Dropping it tells the call that the client disconnected.
#[derive(Debug)]
pub(crate) struct CallLink {
    pub(crate) events: CallEvents,
    pub(crate) end: oneshot::Receiver<LinkEnd>,
}

/// The end of the link at the suspended call.
#[derive(Debug)]
struct RequestLink {
    events: CallEventSender,
    end: oneshot::Sender<LinkEnd>,
}

/// How a request that resumes a call ends.
#[derive(Debug, Clone)]
pub(crate) enum LinkEnd {
    /// The server responded.
    Answered(CallResponse),
    /// The call failed.
    Failed(CallError),
    /// The server requires more: a result, as JSON text.
    InputRequired(String),
    /// These responses cannot be taken.
    Refused(ErrorObject),
}

fn link() -> (RequestLink, CallLink) {
    let (sender, receiver) = events();
    let (end, ended) = oneshot::channel();
    (RequestLink { events: sender, end }, CallLink { events: receiver, end: ended })
}
