//! What all requests to one server share.

use std::{
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri,
    header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, LOCATION, PROXY_AUTHORIZATION, USER_AGENT},
};
use http_body_util::Full;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};
use tokio_util::task::TaskTracker;
use toolbay_protocol::Revision;

use super::{
    HeaderRules, NoAnswer, Target,
    failure::reason,
    headers::{LAST_EVENT, SESSION, VERSION},
    pool::{Pool, pool},
    target::{resolve, same_origin, shown},
    unpack::{Arriving, UNDERSTOOD},
};
use crate::Incoming;

/// How often a request may be sent on within its origin.
const MAX_REDIRECTS: usize = 3;
const OURSELVES: &str = concat!("toolbay/", env!("CARGO_PKG_VERSION"));
pub(super) const EVENT_STREAM: &str = "text/event-stream";
const ANY_ANSWER: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// The way to one server.
pub(super) struct Link {
    pool: Mutex<Pool>,
    tasks: TaskTracker,
    target: Target,
    pub(super) rules: Arc<HeaderRules>,
    messages: mpsc::Sender<Incoming>,
    /// Where the server really is, once it told us.
    url: Mutex<Uri>,
    agreed: Mutex<Agreed>,
    /// Streams on which the server can be heard.
    open: AtomicUsize,
    /// When it was heard last.
    heard: Mutex<Instant>,
}

/// What the handshake of the old era brought; nothing in the new one.
#[derive(Debug, Clone, Default)]
pub(super) struct Agreed {
    pub(super) revision: Option<Revision>,
    pub(super) session: Option<HeaderValue>,
}

impl Link {
    pub(super) fn new(
        target: Target,
        rules: Arc<HeaderRules>,
        messages: mpsc::Sender<Incoming>,
        tasks: &TaskTracker,
    ) -> Self {
        Self {
            pool: Mutex::new(pool(&target, tasks)),
            tasks: tasks.clone(),
            url: Mutex::new(target.url.clone()),
            target,
            rules,
            messages,
            agreed: Mutex::default(),
            open: AtomicUsize::new(0),
            heard: Mutex::new(Instant::now()),
        }
    }

    pub(super) fn max_message(&self) -> usize {
        self.target.max_message
    }

    pub(super) fn max_running(&self) -> usize {
        self.target.max_running
    }

    pub(super) fn stream_idle(&self) -> Option<Duration> {
        self.target.route.timeouts.stream_idle
    }

    pub(super) fn agreed(&self) -> Agreed {
        lock(&self.agreed).clone()
    }

    pub(super) fn agree(&self, agreed: Agreed) {
        *lock(&self.agreed) = agreed;
    }

    /// Where the server is, as people may see it.
    pub(super) fn shown(&self) -> Arc<str> {
        shown(&lock(&self.url))
    }

    /// Passes something on to whoever holds the wire; nobody is there only when it is being dropped.
    pub(super) async fn tell(&self, incoming: Incoming) {
        let _ = self.messages.send(incoming).await;
    }

    /// Until nobody holds the wire any more.
    pub(super) async fn left_alone(&self) {
        self.messages.closed().await;
    }

    /// Whether the server can be heard on any stream.
    pub(super) fn is_open(&self) -> bool {
        self.open.load(Relaxed) > 0
    }

    /// Takes down that the server can be heard, until dropped.
    pub(super) fn opened(&self) -> Open<'_> {
        self.open.fetch_add(1, Relaxed);
        Open(&self.open)
    }

    /// Takes down that the server was heard just now.
    pub(super) fn hears(&self) {
        *lock(&self.heard) = Instant::now();
    }

    /// Nobody waits any longer for what was sent at that time. If nothing at all was heard since, the connections may
    /// be dead without anyone having said so: what comes next gets new ones.
    pub(super) fn gave_up(&self, sent: Instant) {
        if *lock(&self.heard) < sent {
            *lock(&self.pool) = pool(&self.target, &self.tasks);
        }
    }

    /// Headers of the session, if there is one.
    pub(super) fn session_headers(&self) -> HeaderMap {
        let Agreed { revision, session } = self.agreed();
        let mut headers = HeaderMap::new();
        headers.extend(session.map(|id| (SESSION, id)));
        headers.extend(revision.map(|revision| (VERSION, HeaderValue::from_static(revision.as_str()))));
        headers
    }

    pub(super) async fn post(
        &self,
        text: Bytes,
        mut headers: HeaderMap,
    ) -> Result<Response<Arriving>, NoAnswer> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, ANY_ANSWER);
        self.send(Method::POST, headers, text).await
    }

    /// Opens a stream of what the server has to say, behind the event `after`.
    pub(super) async fn get(&self, after: Option<&str>) -> Result<Response<Arriving>, NoAnswer> {
        let mut headers = self.session_headers();
        headers.insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
        headers.extend(after.and_then(|id| HeaderValue::from_str(id).ok()).map(|id| (LAST_EVENT, id)));
        self.send(Method::GET, headers, Bytes::new()).await
    }

    pub(super) async fn delete(&self) -> Result<Response<Arriving>, NoAnswer> {
        self.send(Method::DELETE, self.session_headers(), Bytes::new()).await
    }

    /// Sends a request, and sends it on where the server says so, but never to another origin.
    async fn send(
        &self,
        method: Method,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Arriving>, NoAnswer> {
        headers.insert(USER_AGENT, HeaderValue::from_static(OURSELVES));
        headers.insert(ACCEPT_ENCODING, UNDERSTOOD);
        for (name, value) in &self.target.headers {
            headers.insert(name, value.clone());
        }
        for _ in 0..=MAX_REDIRECTS {
            let url = lock(&self.url).clone();
            let mut request = Request::new(Full::new(body.clone()));
            *request.method_mut() = method.clone();
            *request.uri_mut() = url.clone();
            request.headers_mut().clone_from(&headers);
            self.greet_proxy(&url, request.headers_mut());
            let response = self.exchange(&url, request).await?;
            let Some(next) = redirection(&url, &response)? else { return Ok(response) };
            *lock(&self.url) = next;
        }
        let (url, status) = (self.shown(), StatusCode::TEMPORARY_REDIRECT);
        Err(NoAnswer::Redirected { to: url.to_string(), url, status, why: "again and again" })
    }

    /// Sends one request and waits for the head of its answer.
    async fn exchange(
        &self,
        url: &Uri,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Arriving>, NoAnswer> {
        let (sent, patience) = (Instant::now(), self.target.route.timeouts.first_byte);
        let pool = lock(&self.pool).clone();
        let response = match timeout(patience, pool.request(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.is_connect() => {
                return Err(NoAnswer::Unreachable { url: shown(url), reason: reason(&error) });
            }
            Ok(Err(error)) => return Err(NoAnswer::Broken { url: shown(url), reason: reason(&error) }),
            Err(_) => {
                self.gave_up(sent);
                return Err(NoAnswer::Slow { url: shown(url), after: patience });
            }
        };
        self.hears();
        let (head, body) = response.into_parts();
        match Arriving::new(&head.headers, body) {
            Ok(body) => Ok(Response::from_parts(head, body)),
            Err(encoding) => {
                let found = format!("something packed as `{encoding}`");
                Err(NoAnswer::ContentType { url: shown(url), found })
            }
        }
    }

    /// Tells a proxy that sends requests on who we are; one with a tunnel learns that when it is dug.
    fn greet_proxy(&self, url: &Uri, headers: &mut HeaderMap) {
        if url.scheme_str() != Some("https")
            && let Some(proxy) = self.target.route.proxies.of(url)
            && let Some(password) = proxy.basic_auth()
        {
            headers.insert(PROXY_AUTHORIZATION, password.clone());
        }
    }
}

/// Where a request is to be sent instead.
fn redirection(url: &Uri, response: &Response<Arriving>) -> Result<Option<Uri>, NoAnswer> {
    let status = response.status();
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let Some(location) = location.filter(|_| status.is_redirection()) else { return Ok(None) };
    let refuse = |to: String, why| Err(NoAnswer::Redirected { url: shown(url), status, to, why });
    let Some(to) = resolve(url, location) else { return refuse("nowhere".to_owned(), "which is no URL") };
    if !same_origin(url, &to) {
        return refuse(
            shown(&to).to_string(),
            "which is another origin; name it in the configuration if it is right",
        );
    }
    match status {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => Ok(Some(to)),
        _ => refuse(shown(&to).to_string(), "which is not meant for a POST; use that URL"),
    }
}

/// Holds a place among the open streams.
pub(super) struct Open<'a>(&'a AtomicUsize);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
