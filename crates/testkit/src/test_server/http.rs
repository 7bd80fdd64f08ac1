//! Streamable HTTP: sessions for legacy revisions, none for modern ones.

mod headers;
mod stream;

use std::{sync::Arc, time::Duration};

use ::http::{Method, Request, Response, StatusCode, header::CONTENT_TYPE};
use hyper::body::Incoming;
use tokio::{net::TcpListener, sync::mpsc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_protocol::{ErrorCode, ErrorObject, Message, RequestId, Rope, error, meta, method};
use toolbay_transport::http::{Body, ConnectionLimits, Respond, read_body, serve as serve_connections};

use super::{
    answer::{Answered, Call, respond},
    session::Session,
    shared::Shared,
};
use headers::SESSION;
use stream::Streaming;

/// Serves until `stop`. Streams are cut then: nothing in a test waits for them.
pub(super) async fn serve(shared: Arc<Shared>, listener: TcpListener, stop: CancellationToken) {
    let limits = ConnectionLimits { drain: Duration::from_millis(200), ..ConnectionLimits::default() };
    let tasks = TaskTracker::new();
    let service = Arc::new(Service { shared, limits: limits.clone() });
    serve_connections(listener, service, limits, stop, tasks.clone()).await;
    tasks.close();
    tasks.wait().await;
}

struct Service {
    shared: Arc<Shared>,
    limits: ConnectionLimits,
}

impl Respond for Service {
    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        match *request.method() {
            Method::POST => self.post(request).await,
            Method::GET => match self.session(&request) {
                Ok(session) => sse(Body::stream(stream::changes(&self.shared, session))),
                Err(why) => why.response(),
            },
            Method::DELETE => match headers::get(request.headers(), SESSION) {
                Some(id) if self.shared.sessions().remove(id).is_some() => empty(StatusCode::OK),
                _ => empty(StatusCode::NOT_FOUND),
            },
            _ => empty(StatusCode::METHOD_NOT_ALLOWED),
        }
    }
}

impl Service {
    async fn post(&self, request: Request<Incoming>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let head = Request::from_parts(head, ());
        let text = match read_body(body, self.limits.max_body, self.limits.body_timeout).await {
            Ok(text) => text,
            Err(_) => return empty(StatusCode::PAYLOAD_TOO_LARGE),
        };
        self.shared.record(&text);
        match Message::parse(text) {
            Err(why) => refuse(None, &ErrorObject::new(why.code(), why.to_string())),
            Ok(Message::Response(response)) => match self.session(&head) {
                Ok(session) => {
                    session.answered(response);
                    empty(StatusCode::ACCEPTED)
                }
                Err(why) => why.response(),
            },
            Ok(Message::Notification(notification)) => {
                if let Ok(session) = self.session(&head) {
                    session.notice(&notification);
                }
                empty(StatusCode::ACCEPTED)
            }
            Ok(Message::Request(request)) => self.answer(&head, request).await,
        }
    }

    async fn answer(&self, head: &Request<()>, request: Box<toolbay_protocol::Request>) -> Response<Body> {
        let spoken = self.shared.settings().spoken.clone();
        let modern =
            headers::names_modern(head.headers()) || request.call.meta(meta::PROTOCOL_VERSION).is_some();
        let mut session_id = None;
        let session = if modern && spoken.modern() {
            if let Err(told) = headers::check(head.headers(), &request) {
                return refuse(Some(&request.id), &told);
            }
            Arc::default()
        } else if request.call.method() == method::INITIALIZE || !spoken.legacy() {
            session_id = spoken.legacy().then(new_session_id);
            Arc::default()
        } else {
            match self.session(head) {
                Ok(session) => session,
                Err(why) => return why.response(),
            }
        };
        if let Some(id) = &session_id {
            self.shared.sessions().insert(id.clone(), Arc::clone(&session));
        }
        let mut response = self.work(session, request, !spoken.legacy() || modern).await;
        if let Some(id) = session_id.and_then(|id| id.parse().ok()) {
            response.headers_mut().insert(SESSION, id);
        }
        response
    }

    /// Runs a request; one that has something to say before its answer is answered with a stream.
    async fn work(
        &self,
        session: Arc<Session>,
        request: Box<toolbay_protocol::Request>,
        modern: bool,
    ) -> Response<Body> {
        let (sink, events) = mpsc::channel(64);
        let running = session.begin(&request.id);
        let call = Call { shared: self.shared.clone(), session, request, sink, running };
        let streaming = Streaming::new(Box::pin(respond(call)), events);
        match streaming.first().await {
            Ok(streaming) => sse(Body::stream(streaming.into_events())),
            Err(Some(answered)) => answer_at_once(answered, modern),
            Err(None) => empty(StatusCode::ACCEPTED), // cancelled
        }
    }

    /// The legacy session that a request names.
    fn session<T>(&self, request: &Request<T>) -> Result<Arc<Session>, NoSession> {
        let spoken = self.shared.settings().spoken.clone();
        if !spoken.legacy() {
            return Err(NoSession::NotHere);
        }
        let id = headers::get(request.headers(), SESSION).ok_or(NoSession::Unnamed)?;
        let session = self.shared.sessions().get(id).cloned().ok_or(NoSession::Unknown)?;
        match session.revision() {
            Some(revision) if spoken.exact && !headers::names(request.headers(), revision) => {
                Err(NoSession::OtherRevision)
            }
            _ => Ok(session),
        }
    }
}

/// Why a request belongs to no session.
enum NoSession {
    /// This server has none.
    NotHere,
    Unnamed,
    Unknown,
    /// The header with the revision is missing, or not the one that was agreed on.
    OtherRevision,
}

impl NoSession {
    fn response(self) -> Response<Body> {
        let told = |message| ErrorObject::new(ErrorCode::SERVER_ERROR, message);
        match self {
            Self::NotHere => empty(StatusCode::METHOD_NOT_ALLOWED),
            Self::Unnamed => refuse(None, &told("Bad Request: no session id")),
            Self::OtherRevision => refuse(None, &told("Bad Request: not the revision that was agreed on")),
            Self::Unknown => json(StatusCode::NOT_FOUND, error(None, &told("Session not found")).into()),
        }
    }
}

/// Distinct in this process, which is all a test needs.
fn new_session_id() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("test-session-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn answer_at_once(answered: Answered, modern: bool) -> Response<Body> {
    let status = match answered.error {
        Some(code) if modern && code == ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        Some(code) if code.is_modern() => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    };
    json(status, answered.text)
}

fn refuse(id: Option<&RequestId>, told: &ErrorObject) -> Response<Body> {
    json(StatusCode::BAD_REQUEST, error(id, told).into())
}

fn json(status: StatusCode, text: Rope) -> Response<Body> {
    response(status, "application/json", Body::full(text))
}

fn sse(body: Body) -> Response<Body> {
    response(StatusCode::OK, "text/event-stream", body)
}

fn response(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = empty(status);
    *response.body_mut() = body;
    response.headers_mut().insert(CONTENT_TYPE, ::http::HeaderValue::from_static(content_type));
    response
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
