//! What all requests to one server share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE},
};
use parking_lot::Mutex;
use tokio::{sync::mpsc, time::Instant};
use tokio_util::task::TaskTracker;
use toolbay_protocol::Revision;

use crate::{
    Incoming,
    http::client::{
        HeaderRules, HttpError, Target,
        decompress::DecompressedBody,
        headers::{LAST_EVENT, SESSION, VERSION},
        origin_client::{OriginClient, Purpose},
        response::{EVENT_STREAM, ResponseStream, is_stream},
    },
};

const ANY_ANSWER: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// The session with one server.
pub(super) struct HttpSession {
    caller: OriginClient,
    pub(super) rules: Arc<HeaderRules>,
    messages: mpsc::Sender<Incoming>,
    agreed: Mutex<Negotiated>,
    /// Open streams from the server.
    open: AtomicUsize,
}

/// What `initialize` negotiated; nothing for modern servers.
#[derive(Debug, Clone, Default)]
pub(super) struct Negotiated {
    pub(super) revision: Option<Revision>,
    pub(super) session: Option<HeaderValue>,
}

impl HttpSession {
    pub(super) fn new(
        target: Target,
        rules: Arc<HeaderRules>,
        messages: mpsc::Sender<Incoming>,
        tasks: &TaskTracker,
    ) -> Self {
        Self {
            caller: OriginClient::new(target, Purpose::Requests, tasks),
            rules,
            messages,
            agreed: Mutex::default(),
            open: AtomicUsize::new(0),
        }
    }

    pub(super) fn max_message(&self) -> usize {
        self.caller.target().max_message
    }

    pub(super) fn max_running(&self) -> usize {
        self.caller.target().max_running
    }

    pub(super) fn stream_idle(&self) -> Option<Duration> {
        self.caller.target().route.timeouts.stream_idle
    }

    pub(super) fn agreed(&self) -> Negotiated {
        self.agreed.lock().clone()
    }

    pub(super) fn agree(&self, agreed: Negotiated) {
        *self.agreed.lock() = agreed;
    }

    /// Where the server is, as people may see it.
    pub(super) fn shown(&self) -> Arc<str> {
        self.caller.shown()
    }

    /// Delivers something to the other end of the connection, unless it is being dropped.
    pub(super) async fn deliver(&self, incoming: Incoming) {
        let _ = self.messages.send(incoming).await;
    }

    /// Resolves when the connection was dropped.
    pub(super) async fn abandoned(&self) {
        self.messages.closed().await;
    }

    /// Whether any stream from the server is open.
    pub(super) fn is_open(&self) -> bool {
        self.open.load(Relaxed) > 0
    }

    /// Counts an open stream until the guard is dropped.
    pub(super) fn opened(&self) -> StreamPermit<'_> {
        self.open.fetch_add(1, Relaxed);
        StreamPermit(&self.open)
    }

    /// Records that the server sent something just now.
    pub(super) fn hears(&self) {
        self.caller.hears();
    }

    /// Records that a request of that time was given up.
    pub(super) fn timed_out(&self, sent: Instant) {
        self.caller.timed_out(sent);
    }

    /// Headers of the session, if there is one.
    pub(super) fn session_headers(&self) -> HeaderMap {
        let Negotiated { revision, session } = self.agreed();
        let mut headers = HeaderMap::new();
        headers.extend(session.map(|id| (SESSION, id)));
        headers.extend(revision.map(|revision| (VERSION, HeaderValue::from_static(revision.as_str()))));
        headers
    }

    pub(super) async fn post(
        &self,
        text: Bytes,
        mut headers: HeaderMap,
    ) -> Result<Response<DecompressedBody>, HttpError> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, ANY_ANSWER);
        self.caller.send(Method::POST, headers, text).await
    }

    /// Opens a stream of what the server has to say, behind the event `after`.
    pub(super) async fn get(&self, after: Option<&str>) -> Result<Response<DecompressedBody>, HttpError> {
        let mut headers = self.session_headers();
        headers.insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
        headers.extend(after.and_then(|id| HeaderValue::from_str(id).ok()).map(|id| (LAST_EVENT, id)));
        self.caller.send(Method::GET, headers, Bytes::new()).await
    }

    pub(super) async fn delete(&self) -> Result<Response<DecompressedBody>, HttpError> {
        self.caller.send(Method::DELETE, self.session_headers(), Bytes::new()).await
    }
}

/// Holds a place among the open streams.
pub(super) struct StreamPermit<'a>(&'a AtomicUsize);

impl Drop for StreamPermit<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(30);
/// The shortest delay, whatever `retry` of the server says.
const SHORTEST_DELAY: Duration = Duration::from_millis(100);

/// Listens for as long as the server offers it. The error is one that ends the session.
pub(super) async fn listen(link: Arc<HttpSession>) -> Result<(), HttpError> {
    let mut stream = ResponseStream::new(&link, None);
    let mut delay = FIRST_DELAY;
    let mut was_open = false;
    loop {
        let last_event = stream.last_event().map(str::to_owned);
        match link.get(last_event.as_deref()).await {
            Ok(response) if is_stream(&response) => {
                was_open = true;
                if stream.take_stream(response.into_body()).await.had_events {
                    delay = FIRST_DELAY;
                }
            }
            Ok(response) => match response.status() {
                // Of one that never offered a stream it means only that.
                StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST
                    if was_open && link.agreed().session.is_some() =>
                {
                    return Err(HttpError::SessionGone { url: link.shown() });
                }
                StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS => {}
                status if status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED => {}
                _ => return Ok(()), // it offers none
            },
            // While other streams are open, the server is still there.
            Err(why @ HttpError::Unreachable { .. }) if !link.is_open() => return Err(why),
            Err(HttpError::Redirected { .. }) => return Ok(()),
            Err(_) => {}
        }
        tokio::time::sleep(stream.retry().unwrap_or(delay).max(SHORTEST_DELAY)).await;
        delay = (delay * 2).min(LONGEST_DELAY);
    }
}
