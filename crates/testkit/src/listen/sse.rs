//! HTTP+SSE of 2024-11-05: a stream for what the server says, POSTs for what the client does.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use ::http::{HeaderValue, Method, Request, Response, StatusCode, header::CONTENT_TYPE};
use futures_util::stream;
use hyper::body::Incoming as Arriving;
use parking_lot::Mutex;
use tokio::{net::TcpListener, sync::mpsc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_protocol::{Message, Rope};
use toolbay_transport::{
    Connection, Incoming, Outgoing,
    http::{Body, ConnectionLimits, Respond, event, read_body, serve as serve_connections},
};

/// Serves clients, each with `each`, until `stop`. Streams are cut then: nothing in a test waits for them.
pub async fn serve<F, S>(each: F, listener: TcpListener, stop: CancellationToken)
where
    F: Fn(Connection) -> S + Send + Sync + 'static,
    S: Future<Output = ()> + Send + 'static,
{
    let limits = ConnectionLimits { drain: Duration::from_millis(200), ..ConnectionLimits::default() };
    let tasks = TaskTracker::new();
    let service = Service { each, limits: limits.clone(), streams: Arc::default(), tasks: tasks.clone() };
    serve_connections(listener, Arc::new(service), limits, stop, tasks.clone()).await;
    tasks.close();
    tasks.wait().await;
}

/// Where what is posted goes, by the number of the stream.
type Streams = Arc<Mutex<HashMap<u64, mpsc::Sender<Incoming>>>>;

struct Service<F> {
    each: F,
    limits: ConnectionLimits,
    streams: Streams,
    tasks: TaskTracker,
}

impl<F, S> Respond for Service<F>
where
    F: Fn(Connection) -> S + Send + Sync + 'static,
    S: Future<Output = ()> + Send + 'static,
{
    async fn respond(&self, request: Request<Arriving>) -> Response<Body> {
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/sse") => self.open(),
            (&Method::POST, "/messages") => self.post(request).await,
            (_, "/sse" | "/messages") => status(StatusCode::METHOD_NOT_ALLOWED),
            _ => status(StatusCode::NOT_FOUND),
        }
    }
}

impl<F, S> Service<F>
where
    F: Fn(Connection) -> S,
    S: Future<Output = ()> + Send + 'static,
{
    fn open(&self) -> Response<Body> {
        // Distinct in this process, so that a stream of an earlier connection is never mistaken for one of ours.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Relaxed);
        let (outgoing, texts) = mpsc::channel(Connection::QUEUE);
        let (messages, incoming) = mpsc::channel(Connection::QUEUE);
        self.streams.lock().insert(number, messages);
        self.tasks.spawn((self.each)(Connection { outgoing, incoming }));
        let endpoint = format!("event: endpoint\ndata: /messages?stream={number}\n\n");
        let open = Open { streams: self.streams.clone(), number, texts, endpoint: Some(endpoint.into()) };
        let events = stream::unfold(open, async |mut open| {
            let next = match open.endpoint.take() {
                Some(endpoint) => endpoint,
                None => event(open.texts.recv().await?.into_text()),
            };
            Some((next, open))
        });
        let mut response = Response::new(Body::stream(events));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        response
    }

    async fn post(&self, request: Request<Arriving>) -> Response<Body> {
        let named = request.uri().query().and_then(|query| query.strip_prefix("stream=")?.parse().ok());
        let stream = named.and_then(|number: u64| self.streams.lock().get(&number).cloned());
        let Some(stream) = stream else { return status(StatusCode::NOT_FOUND) };
        let read = read_body(request.into_body(), self.limits.max_body, self.limits.body_timeout).await;
        let Ok(text) = read else { return status(StatusCode::PAYLOAD_TOO_LARGE) };
        let Ok(message) = Message::parse(text) else { return status(StatusCode::BAD_REQUEST) };
        match stream.send(Incoming::Message(message)).await {
            Ok(()) => status(StatusCode::ACCEPTED),
            Err(_) => status(StatusCode::NOT_FOUND),
        }
    }
}

/// A stream while its client reads it; what it belongs to ends with it.
struct Open {
    streams: Streams,
    number: u64,
    texts: mpsc::Receiver<Outgoing>,
    endpoint: Option<Rope>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.streams.lock().remove(&self.number);
    }
}

fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
