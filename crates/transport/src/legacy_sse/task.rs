//! The task that owns a stream and all that is posted.

use std::{
    collections::{BTreeMap, VecDeque},
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt, stream::FuturesUnordered};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header::CONTENT_TYPE};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, sleep_until, timeout},
};
use toolbay_protocol::{Message, RequestId, Response};

use crate::{
    Incoming, Outgoing,
    http::{
        client::{
            HttpError,
            origin_client::OriginClient,
            response::{explain, under},
        },
        read_body,
    },
    legacy_sse::{
        OpenStream,
        keepalive::{KeepAlive, KeepAliveAction},
    },
    outgoing::{OutgoingKind, unsent},
};

/// How long a message that nothing may overtake may hold up others.
const HOLD_BACK: Duration = Duration::from_secs(5);
/// How long what was queued may take to be posted when we end the stream.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Numbers posts in the order in which they were sent.
type PostNumber = u64;
type Work = Pin<Box<dyn Future<Output = (PostNumber, Posted)> + Send>>;

/// Invariant: awaits only in the `select!` of [`run`].
struct SseTask {
    endpoint: Arc<OriginClient>,
    work: FuturesUnordered<Work>,
    running: BTreeMap<PostNumber, RunningPost>,
    posted: PostNumber,
    /// Whether the endpoint took a message before.
    endpoint_is_known: bool,
    /// What is sent next waits for this post, because it changes what later ones mean, but not for ever.
    barrier: Option<(PostNumber, Instant)>,
    /// What arrived, until there is room for it. Nothing more is read meanwhile, so it holds no more than there are posts.
    arrived: VecDeque<Incoming>,
}

struct RunningPost {
    id: Option<RequestId>,
    may_have_arrived: Arc<AtomicBool>,
    is_ping: bool,
}

/// Serves a connection until its sender is dropped or the stream is lost.
pub(super) async fn run(
    mut stream: OpenStream,
    max_running: usize,
    mut outgoing: mpsc::Receiver<Outgoing>,
    messages: mpsc::Sender<Incoming>,
) {
    let mut task = SseTask {
        endpoint: stream.endpoint.clone(),
        work: FuturesUnordered::new(),
        running: BTreeMap::new(),
        posted: 0,
        endpoint_is_known: false,
        barrier: None,
        arrived: VecDeque::new(),
    };
    let mut keep_alive = KeepAlive::new();
    let lost = loop {
        task.barrier.take_if(|(_, until)| *until <= Instant::now());
        let held_until = task.barrier.map(|(_, until)| until);
        let may_send = held_until.is_none() && task.work.len() < max_running;
        let is_reading = task.arrived.is_empty();
        tokio::select! {
            slot = messages.reserve(), if !is_reading => {
                if let (Some(arrived), Ok(slot)) = (task.arrived.pop_front(), slot) {
                    slot.send(arrived);
                }
                keep_alive.received(); // what we did not listen to was no silence
            }
            next = stream.next(), if is_reading => match next {
                Ok(text) => {
                    keep_alive.received();
                    let arrived = text.map(Incoming::read);
                    task.arrived.extend(arrived.filter(|arrived| !is_pong(&keep_alive, arrived)));
                }
                Err(why) => break why,
            },
            beat = keep_alive.next(), if is_reading => match beat {
                KeepAliveAction::Ping(text) => task.post(text, None, true),
                KeepAliveAction::Dead(after) => break HttpError::Silent { url: stream.url, after },
            },
            message = outgoing.recv(), if may_send => match message {
                Some(message) => task.send(message),
                None => {
                    let rest = async { while task.work.next().await.is_some() {} };
                    // A server that does not take the rest does without it.
                    let _ = timeout(CLOSE_TIMEOUT, rest).await;
                    return;
                }
            },
            Some((number, posted)) = task.work.next() => {
                if let Some(why) = task.done(number, posted) {
                    break why;
                }
            }
            () = sleep_until(held_until.unwrap_or_else(Instant::now)), if held_until.is_some() => {}
        }
    };
    let mut never_arrived = task.never_arrived();
    never_arrived.extend(unsent(Vec::new(), outgoing).await);
    let _ = messages.send(Incoming::Lost { why: lost, unsent: never_arrived }).await; // the receiver may be gone
}

impl SseTask {
    fn send(&mut self, Outgoing { text, kind }: Outgoing) {
        let is_needed = matches!(kind, OutgoingKind::SetLevel(_) | OutgoingKind::Initialized);
        let id = match kind {
            OutgoingKind::Initialize(id) | OutgoingKind::SetLevel(id) | OutgoingKind::Request(id) => Some(id),
            OutgoingKind::Initialized | OutgoingKind::Cancelled(_) | OutgoingKind::Other => None,
        };
        self.post(text.into_bytes(), id, false);
        if is_needed {
            self.barrier = Some((self.posted, Instant::now() + HOLD_BACK));
        }
    }

    fn post(&mut self, text: Bytes, id: Option<RequestId>, is_ping: bool) {
        self.posted += 1;
        let number = self.posted;
        let may_have_arrived = Arc::new(AtomicBool::new(false));
        let post = Post {
            text,
            endpoint_is_known: self.endpoint_is_known,
            may_have_arrived: may_have_arrived.clone(),
        };
        self.running.insert(number, RunningPost { id, may_have_arrived, is_ping });
        let endpoint = self.endpoint.clone();
        self.work.push(Box::pin(async move { (number, post.run(&endpoint).await) }));
    }

    /// Takes the end of a post; returns the reason if the stream is of no use any more.
    fn done(&mut self, number: PostNumber, posted: Posted) -> Option<HttpError> {
        self.barrier.take_if(|(held, _)| *held == number);
        let RunningPost { id, is_ping, .. } = self.running.remove(&number)?;
        match (posted, id) {
            (Posted::Accepted, _) => self.endpoint_is_known = true,
            (Posted::Failed(why), id) if matches!(why, HttpError::SessionGone { .. }) => {
                let may_have_arrived = Arc::default();
                self.running.insert(number, RunningPost { id, may_have_arrived, is_ping });
                return Some(why);
            }
            (Posted::Failed(why @ HttpError::Unreachable { .. }), _) if is_ping => return Some(why),
            // A server that refuses a ping is there.
            (_, _) if is_ping => {}
            (Posted::Refused(refusal), Some(id)) => {
                self.arrived.push_back(Incoming::Message(Message::Response(under(&refusal, &id))));
            }
            (Posted::Refused(refusal), None) => {
                tracing::debug!(error = ?refusal.error(), "a notification was rejected");
            }
            (Posted::Failed(why), id) => self.arrived.push_back(Incoming::Failed { id, why }),
        }
        None
    }

    /// The requests that the server cannot have, in the order in which they were sent.
    fn never_arrived(self) -> Vec<RequestId> {
        let running = self.running.into_values();
        running
            .filter(|running| !running.may_have_arrived.load(Relaxed))
            .filter_map(|running| running.id)
            .collect()
    }
}

fn is_pong(keep_alive: &KeepAlive, arrived: &Incoming) -> bool {
    matches!(arrived, Incoming::Message(message) if keep_alive.is_pong(message))
}

/// How long a server may take to accept a message. Some never do, and respond on the stream all the same.
const ACCEPT: Duration = Duration::from_secs(30);
/// How long what it says with that may take, and how much of it is read, so that the connection can be used again.
const BODY_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_BODY: usize = 4 * 1024;
/// How long a server may refuse connections while its stream is open, and how often it is tried meanwhile.
const RETRY_FOR: Duration = Duration::from_secs(10);
const FIRST_RETRY: Duration = Duration::from_millis(50);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(1);

/// A message to be posted.
pub(super) struct Post {
    pub(super) text: Bytes,
    /// Whether the server took messages at this endpoint before.
    pub(super) endpoint_is_known: bool,
    /// Whether the server may have received it. Shared, because it is read after the post was dropped.
    pub(super) may_have_arrived: Arc<AtomicBool>,
}

/// How a server took a message.
pub(super) enum Posted {
    /// Responses come on the stream.
    Accepted,
    /// The response came at once: it is a refusal.
    Refused(Box<Response>),
    /// It did not take it.
    Failed(HttpError),
}

impl Post {
    pub(super) async fn run(&self, endpoint: &OriginClient) -> Posted {
        let until = Instant::now() + RETRY_FOR;
        let mut delay = FIRST_RETRY;
        loop {
            self.may_have_arrived.store(true, Relaxed);
            let why = match timeout(ACCEPT, self.send(endpoint)).await {
                Ok(Ok(posted)) => return posted,
                Ok(Err(why)) => why,
                Err(_) => return Posted::Accepted,
            };
            if !matches!(why, HttpError::Unreachable { .. }) {
                return Posted::Failed(why);
            }
            self.may_have_arrived.store(false, Relaxed);
            if Instant::now() >= until {
                return Posted::Failed(why);
            }
            sleep(delay).await;
            delay = (delay * 2).min(MAX_RETRY_DELAY);
        }
    }

    async fn send(&self, endpoint: &OriginClient) -> Result<Posted, HttpError> {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        let response = endpoint.send(Method::POST, headers, self.text.clone()).await?;
        match response.status() {
            status if status.is_success() => {
                let _ = read_body(response.into_body(), MAX_BODY, BODY_TIMEOUT).await;
                Ok(Posted::Accepted)
            }
            // There is one stream for each endpoint: a server that does not know ours any more has dropped it.
            StatusCode::NOT_FOUND | StatusCode::GONE if self.endpoint_is_known => {
                Err(HttpError::SessionGone { url: endpoint.shown() })
            }
            _ => match explain(endpoint.shown(), response).await {
                (Some(Message::Response(refusal)), _) => Ok(Posted::Refused(refusal)),
                (_, why) => Err(why),
            },
        }
    }
}
