//! Calls that wait for answers of clients without a session.
//!
//! A server with a handshake asks in the middle of a call; a client of the stateless era is asked by ending its
//! request with `input_required`. In between the call is parked here: one small task per call owns it, until the
//! client comes back with answers or time is over.
//!
//! ```text
//! asked ──answers──▶ running ──question──▶ asked (next round)
//!   │ 10 min            │ └──answer──▶ ended, kept for 60 s
//!   ▼                   ▼ nobody attached for 60 s
//! cancelled          cancelled
//! ```
//!
//! A client that brings the same answers again, because its stream broke, is attached to what became of them; with
//! other answers it is refused.

mod call;
mod link;

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
use tokio::sync::mpsc;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use toolbay_host::ServerRequest;
use toolbay_protocol::{Notification, Revision};
use toolbay_translate::ClientCapabilities;

pub(crate) use self::call::GATHER;
use self::call::SuspendedCall;
pub(crate) use self::link::{CallLink, LinkEnd, LinkEvent};
use crate::{
    request::call::live::LiveCall,
    seal::{Binding, StateSeal, canonical},
};

/// How long a client may think about its answers.
pub(crate) const THINKING_TIME: Duration = Duration::from_secs(600);
/// How long a call goes on, and its end is kept, for a client that went away.
const RETURN_TIME: Duration = Duration::from_secs(60);
const MAX_PARKED: usize = 1000;

/// All parked calls.
#[derive(Debug)]
pub(crate) struct SuspendedCalls {
    shared: Arc<Shared>,
    tasks: TaskTracker,
    stop: CancellationToken,
    _end: DropGuard,
    next: AtomicU64,
    /// Nobody can guess what compares equal.
    hasher: RandomState,
}

#[derive(Debug)]
struct Shared {
    seal: Arc<StateSeal>,
    parked: Mutex<HashMap<u64, mpsc::Sender<ResumeRequest>>>,
}

/// A client that came back.
#[derive(Debug)]
struct ResumeRequest {
    round: u32,
    /// What it brought: keys and results as JSON text.
    answers: HashMap<String, String>,
    /// Tells these answers from others.
    digest: u64,
    attached: link::RequestLink,
}

/// Whose call it is, and what it asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SuspendedRequest {
    pub(crate) revision: Revision,
    pub(crate) abilities: ClientCapabilities,
    pub(crate) binding: Binding,
}

/// Questions that a client can be asked, and those that it cannot.
pub(crate) fn answerable(
    questions: Vec<ServerRequest>,
    abilities: ClientCapabilities,
) -> (Vec<ServerRequest>, Vec<ServerRequest>) {
    questions.into_iter().partition(|question| abilities.supports(question.method(), question.params()))
}

/// There are too many parked calls.
#[derive(Debug)]
pub(crate) struct TooManySuspended;

impl SuspendedCalls {
    pub(crate) fn new(seal: Arc<StateSeal>) -> Self {
        let stop = CancellationToken::new();
        Self {
            shared: Arc::new(Shared { seal, parked: Mutex::default() }),
            tasks: TaskTracker::new(),
            _end: stop.clone().drop_guard(),
            stop,
            next: AtomicU64::new(1),
            hasher: RandomState::new(),
        }
    }

    /// Parks a call whose server asks something; gives the result that tells the client.
    pub(crate) fn park(
        &self,
        live: LiveCall,
        questions: Vec<ServerRequest>,
        asker: SuspendedRequest,
    ) -> Result<String, TooManySuspended> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, inbox) = mpsc::channel(4);
        {
            let mut parked = self.shared.parked.lock();
            if parked.len() >= MAX_PARKED {
                return Err(TooManySuspended);
            }
            parked.insert(id, sender);
        }
        let mut held = SuspendedCall::new(id, live, asker, self.shared.seal.clone());
        let result = held.ask(questions);
        let (shared, stop) = (self.shared.clone(), self.stop.clone());
        self.tasks.spawn(async move {
            tokio::select! {
                () = held.run(inbox) => {}
                () = stop.cancelled() => {}
            }
            shared.parked.lock().remove(&id);
        });
        Ok(result)
    }

    /// Goes on with a parked call, with the answers that `retry` brings; nothing when there is no such call any more.
    pub(crate) fn attach(&self, id: u64, round: u32, retry: &Notification) -> Option<CallLink> {
        let answers = retry.param("inputResponses").map_or("{}", |span| retry.raw(span));
        let mut text = String::new();
        canonical(answers, &mut text);
        let digest = self.hasher.hash_one(&text);
        let answers = serde_json::from_str::<HashMap<String, &serde_json::value::RawValue>>(answers);
        let answers = answers.unwrap_or_default().into_iter();
        let answers = answers.map(|(key, value)| (key, value.get().to_owned())).collect();
        let sender = self.shared.parked.lock().get(&id)?.clone();
        let (attached, attachment) = link::pair();
        sender.try_send(ResumeRequest { round, answers, digest, attached }).ok()?;
        Some(attachment)
    }
}

impl Shared {}
