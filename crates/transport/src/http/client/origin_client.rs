//! Sending requests to one origin, and to no other.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri,
    header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, LOCATION, PROXY_AUTHORIZATION, USER_AGENT},
};
use http_body_util::Full;
use hyper_util::{client::legacy::Client, rt::TokioTimer};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};
use tokio_util::task::TaskTracker;

use crate::http::{
    ReadBodyError,
    client::{
        AfterRefusal, ConnectOptions, HttpError, RefusedRequest, RequestAuthorizer, Target,
        connector::Connector,
        decompress::{DecompressedBody, UNDERSTOOD},
        error::{is_unknown_host, reason},
        response::explain,
        target::{over_http, resolve, same_origin, shown},
    },
    read_body,
    server::accept::TrackedExecutor,
};

/// How often a request may be sent on within its origin.
const MAX_REDIRECTS: usize = 3;
const OURSELVES: &str = concat!("toolbay/", env!("CARGO_PKG_VERSION"));

/// Calls one URL, with the headers that were configured for it.
pub(crate) struct OriginClient {
    shared: Arc<SharedClient>,
    /// The URL of the server, after redirects.
    url: Mutex<Uri>,
}

/// What all callers of one server share.
struct SharedClient {
    target: Target,
    purpose: Purpose,
    tasks: TaskTracker,
    pool: Mutex<Pool>,
    /// When the server last sent anything.
    last_response: Mutex<Instant>,
}

impl OriginClient {
    pub(crate) fn new(target: Target, purpose: Purpose, tasks: &TaskTracker) -> Self {
        let url = Mutex::new(target.url.clone());
        let pool = Mutex::new(pool(&target, purpose, tasks));
        let last_response = Mutex::new(Instant::now());
        Self {
            shared: Arc::new(SharedClient { target, purpose, tasks: tasks.clone(), pool, last_response }),
            url,
        }
    }

    /// Returns a client for another URL of the same server.
    pub(crate) fn at(&self, url: Uri) -> Self {
        Self { shared: self.shared.clone(), url: Mutex::new(url) }
    }

    /// What was configured.
    pub(crate) fn target(&self) -> &Target {
        &self.shared.target
    }

    /// Where the server is.
    pub(crate) fn url(&self) -> Uri {
        self.url.lock().clone()
    }

    /// Where the server is, as people may see it.
    pub(crate) fn shown(&self) -> Arc<str> {
        shown(&self.url())
    }

    /// Records that the server sent something just now.
    pub(crate) fn hears(&self) {
        *self.shared.last_response.lock() = Instant::now();
    }

    /// Records that a request of that time was given up. If nothing at all was received since, the connections may
    /// be half-open: the next request gets a new one.
    pub(crate) fn timed_out(&self, sent: Instant) {
        let SharedClient { target, purpose, tasks, .. } = &*self.shared;
        if *self.shared.last_response.lock() < sent {
            *self.shared.pool.lock() = pool(target, *purpose, tasks);
        }
    }

    /// Sends a request, and sends it on where the server says so, but never to another origin. Where the server wants
    /// authorization, it is sent again with that.
    pub(crate) async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<DecompressedBody>, HttpError> {
        let Some(authorizer) = self.shared.target.authorizer.as_deref() else {
            return self.send_with(None, &method, headers, body).await.map(|(response, _)| response);
        };
        let mut retries = 0;
        loop {
            let active = authorizer.is_active().then_some(authorizer);
            let (response, sent) = self.send_with(active, &method, headers.clone(), body.clone()).await?;
            let (url, status, received) = (over_http(&self.url()), response.status(), response.headers());
            if !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
                if active.is_some() {
                    authorizer.accepted(&url, received);
                }
                return Ok(response);
            }
            let refusal = RefusedRequest { status, url: &url, sent: &sent, received, retries };
            match authorizer.refused(refusal).await {
                Ok(AfterRefusal::Retry) => retries += 1,
                Ok(AfterRefusal::GiveUp) => return Ok(response),
                Err(failure) => return Err(failure.at(self.shown())),
            }
        }
    }

    /// Sends a request and returns the headers that authorized it, too.
    async fn send_with(
        &self,
        authorizer: Option<&dyn RequestAuthorizer>,
        method: &Method,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<(Response<DecompressedBody>, HeaderMap), HttpError> {
        headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(OURSELVES));
        headers.insert(ACCEPT_ENCODING, UNDERSTOOD);
        for (name, value) in &self.shared.target.headers {
            headers.insert(name, value.clone());
        }
        for _ in 0..=MAX_REDIRECTS {
            let url = self.url();
            let mut request = Request::new(Full::new(body.clone()));
            *request.method_mut() = method.clone();
            *request.uri_mut() = over_http(&url);
            request.headers_mut().clone_from(&headers);
            self.greet_proxy(&over_http(&url), request.headers_mut());
            let authorization = match authorizer {
                Some(authorizer) => {
                    let authorization = authorizer.headers(method, request.uri()).await;
                    authorization.map_err(|failure| failure.at(shown(&url)))?
                }
                None => HeaderMap::new(),
            };
            request.headers_mut().extend(authorization.clone());
            let response = self.exchange(&url, request).await?;
            let Some(next) = redirection(&over_http(&url), &response)? else {
                return Ok((response, authorization));
            };
            *self.url.lock() = next;
        }
        let (url, status) = (self.shown(), StatusCode::TEMPORARY_REDIRECT);
        Err(HttpError::Redirected { to: url.to_string(), url, status, why: "again and again" })
    }

    /// Sends one request and waits for the head of its response.
    async fn exchange(
        &self,
        url: &Uri,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<DecompressedBody>, HttpError> {
        let (sent, limit) = (Instant::now(), self.shared.target.route.timeouts.first_byte);
        let pool = self.shared.pool.lock().clone();
        let response = match timeout(limit, pool.request(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.is_connect() => {
                let is_unknown_host = is_unknown_host(&error);
                return Err(HttpError::Unreachable {
                    url: shown(url),
                    reason: reason(&error),
                    is_unknown_host,
                });
            }
            Ok(Err(error)) => return Err(HttpError::Broken { url: shown(url), reason: reason(&error) }),
            Err(_) => {
                self.timed_out(sent);
                return Err(HttpError::Slow { url: shown(url), after: limit });
            }
        };
        self.hears();
        let (head, body) = response.into_parts();
        match DecompressedBody::new(&head.headers, body) {
            Ok(body) => Ok(Response::from_parts(head, body)),
            Err(encoding) => {
                let found = format!("something packed as `{encoding}`");
                Err(HttpError::ContentType { url: shown(url), found })
            }
        }
    }

    /// Adds the credentials for a proxy that forwards requests; a tunnel gets them with `CONNECT`.
    fn greet_proxy(&self, url: &Uri, headers: &mut HeaderMap) {
        if self.shared.purpose.is_sent_on(url)
            && let Some(proxy) = self.shared.target.route.proxies.of(url)
            && let Some(password) = proxy.basic_auth()
        {
            headers.insert(PROXY_AUTHORIZATION, password.clone());
        }
    }
}

/// Where a request is to be sent instead.
fn redirection(url: &Uri, response: &Response<DecompressedBody>) -> Result<Option<Uri>, HttpError> {
    let status = response.status();
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let Some(location) = location.filter(|_| status.is_redirection()) else { return Ok(None) };
    let refuse = |to: String, why| Err(HttpError::Redirected { url: shown(url), status, to, why });
    let Some(to) = resolve(url, location) else {
        return refuse("nowhere".to_owned(), "which is not a valid URL");
    };
    if !same_origin(url, &to) {
        return refuse(
            shown(&to).to_string(),
            "which is another origin; use that URL in the configuration if it is right",
        );
    }
    match status {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => Ok(Some(to)),
        _ => refuse(shown(&to).to_string(), "which is not meant for a POST; use that URL"),
    }
}

/// How long an unused connection is kept. Common servers close theirs after 5 s, and a request that crosses that end
/// would be lost.
const IDLE: Duration = Duration::from_secs(4);
/// The interval of HTTP/2 pings, and the timeout for their response.
const PING: Duration = Duration::from_secs(20);
const PONG: Duration = Duration::from_secs(10);

pub(super) type Pool = Client<Connector, Full<Bytes>>;

/// What connections are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Requests and their responses. Over TLS, HTTP/2 is used where it is supported, and then there is one connection for
    /// everything.
    Requests,
    /// To become something else, which only HTTP/1.1 can, and only when it ends at the server itself.
    Upgrade,
}

impl Purpose {
    /// Whether a proxy for that URL reads and forwards requests; otherwise it is a tunnel.
    pub(super) fn is_sent_on(self, url: &Uri) -> bool {
        self == Self::Requests && url.scheme_str() != Some("https")
    }
}

/// A pool of its own for one server; its connections are tasks of `tasks` and end with it.
pub(super) fn pool(target: &Target, purpose: Purpose, tasks: &TaskTracker) -> Pool {
    pool_of(target.url.scheme_str(), &target.route, purpose, tasks)
}

/// A pool for servers that are reached by this scheme; with `https`, also those without TLS.
pub(super) fn pool_of(
    scheme: Option<&str>,
    route: &ConnectOptions,
    purpose: Purpose,
    tasks: &TaskTracker,
) -> Pool {
    Client::builder(TrackedExecutor(tasks.clone()))
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .http2_keep_alive_interval(PING)
        .http2_keep_alive_timeout(PONG)
        .build(Connector::new(scheme, route, purpose))
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A service with JSON texts as requests and responses.
///
/// It has what servers have: proxies, certificates, a pool of connections, limits, and a URL that is never shown with its
/// secrets.
pub struct JsonService(OriginClient);

/// A response of a [`JsonService`], whatever its status is.
#[derive(Debug, Clone)]
pub struct JsonResponse {
    /// Whether it succeeded.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

impl JsonService {
    /// Connects with the first request.
    pub fn new(target: Target, tasks: &TaskTracker) -> Self {
        Self(OriginClient::new(target, Purpose::Requests, tasks))
    }

    /// Sends a text by POST and waits for the whole response, but no longer than `limit`.
    ///
    /// # Errors
    /// If there is no response in time, or one without success.
    pub async fn post(&self, body: Bytes, limit: Duration) -> Result<Bytes, HttpError> {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, JSON), (ACCEPT, JSON)]);
        let exchange = async {
            let response = self.0.send(Method::POST, headers, body).await?;
            if !response.status().is_success() {
                return Err(explain(self.0.shown(), response).await.1);
            }
            read_whole(&self.0, response, limit).await
        };
        in_time(&self.0, limit, exchange).await
    }

    /// Sends a GET request to a URL of the same origin and waits for the whole response, but no longer than `limit`.
    /// What a status means is up to the caller.
    ///
    /// # Errors
    /// If the URL is of another origin, or there is no response in time.
    pub async fn get(
        &self,
        url: Uri,
        mut headers: HeaderMap,
        limit: Duration,
    ) -> Result<JsonResponse, HttpError> {
        if !same_origin(&self.0.target().url, &url) {
            let (to, url) = (shown(&url).to_string(), self.0.shown());
            let why = "which is another origin";
            return Err(HttpError::Redirected { url, status: StatusCode::BAD_REQUEST, to, why });
        }
        headers.entry(ACCEPT).or_insert(JSON);
        let client = self.0.at(url);
        let exchange = async {
            let response = client.send(Method::GET, headers, Bytes::new()).await?;
            let (status, headers) = (response.status(), response.headers().clone());
            let body = read_whole(&client, response, limit).await?;
            Ok(JsonResponse { status, headers, body })
        };
        in_time(&client, limit, exchange).await
    }
}

async fn in_time<T>(
    client: &OriginClient,
    limit: Duration,
    exchange: impl Future<Output = Result<T, HttpError>>,
) -> Result<T, HttpError> {
    match timeout(limit, exchange).await {
        Ok(done) => done,
        Err(_) => Err(HttpError::Slow { url: client.shown(), after: limit }),
    }
}

async fn read_whole(
    client: &OriginClient,
    response: Response<DecompressedBody>,
    limit: Duration,
) -> Result<Bytes, HttpError> {
    let url = client.shown();
    match read_body(response.into_body(), client.target().max_message, limit).await {
        Ok(response) => Ok(response),
        Err(ReadBodyError::TooSlow { limit }) => Err(HttpError::Slow { url, after: limit }),
        Err(ReadBodyError::TooLong { limit }) => {
            Err(HttpError::Broken { url, reason: format!("its response is longer than {limit} bytes") })
        }
        Err(ReadBodyError::Broken(error)) => Err(HttpError::Broken { url, reason: reason(&*error) }),
    }
}

impl std::fmt::Debug for JsonService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Service({})", self.0.shown())
    }
}
