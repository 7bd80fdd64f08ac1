//! Accepting connections.

use std::{convert::Infallible, future::Future, io, sync::Arc, time::Duration};

use http::{Request, Response, Version};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::http::{
    Body, Tls,
    server::{
        body::read_body,
        limits::{ActiveRequests, ConnectionTimeouts, TimedStream, TrackedBody},
        upgrade,
    },
};

/// How many headers hyper reads unasked. Room for any other number is made anew for every request, which costs more than
/// to read them.
const HYPERS_MAX_HEADERS: usize = 100;

/// How much is read of a body that is not needed.
const DISCARDED_BODY: usize = 64 * 1024;
const DISCARDED_TIME: Duration = Duration::from_secs(1);

/// What one connection may take.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// Time for the headers of a request, from their first byte; on a new connection, from its beginning.
    pub header_timeout: Duration,
    /// Time between requests.
    pub idle: Duration,
    /// Time in which a client that is sent something must take some of it.
    pub standstill: Duration,
    /// Time for its body.
    pub body_timeout: Duration,
    /// Length of its body.
    pub max_body: usize,
    /// Number of its headers.
    pub max_headers: usize,
    /// Length of all its headers.
    pub max_header_bytes: usize,
    /// Time for running requests to end when we stop.
    pub drain: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            standstill: Duration::from_secs(15),
            body_timeout: Duration::from_secs(30),
            max_body: crate::stdio::MAX_MESSAGE,
            max_headers: HYPERS_MAX_HEADERS,
            max_header_bytes: 64 * 1024,
            drain: Duration::from_secs(5),
        }
    }
}

/// Responds to requests.
pub trait Respond: Send + Sync + 'static {
    /// Responds to one request. Dropping the future or the body means that the client disconnected.
    fn respond(&self, request: Request<Incoming>) -> impl Future<Output = Response<Body>> + Send;

    /// Judges a new connection, once: if it is refused, so is every request on it, with this response.
    fn refuse(&self, _connection: &TcpStream) -> impl Future<Output = Option<RejectConnection>> + Send {
        std::future::ready(None)
    }
}

/// Makes the response to every request of a connection that is refused.
pub type RejectConnection = fn() -> Response<Body>;

/// Serves until `stop`, then lets running requests finish for a while. The caller owns the socket.
pub async fn serve(
    listener: TcpListener,
    service: Arc<impl Respond>,
    limits: ConnectionLimits,
    stop: CancellationToken,
    tasks: TaskTracker,
) {
    accept(listener, None, service, limits, stop, tasks).await;
}

/// As [`serve`], with TLS; nothing else is spoken there.
pub async fn serve_tls(
    listener: TcpListener,
    tls: Tls,
    service: Arc<impl Respond>,
    limits: ConnectionLimits,
    stop: CancellationToken,
    tasks: TaskTracker,
) {
    accept(listener, Some(tls), service, limits, stop, tasks).await;
}

async fn accept(
    listener: TcpListener,
    tls: Option<Tls>,
    service: Arc<impl Respond>,
    limits: ConnectionLimits,
    stop: CancellationToken,
    tasks: TaskTracker,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, _)) => {
                let (service, limits, stop) = (service.clone(), limits.clone(), stop.clone());
                let _ = stream.set_nodelay(true); // a slower connection is still one
                let beside = tasks.clone();
                match tls.clone() {
                    None => tasks.spawn(async move {
                        let refusal = service.refuse(&stream).await;
                        connection(stream, service, refusal, limits, stop, beside).await;
                    }),
                    Some(tls) => tasks.spawn(async move {
                        let refusal = service.refuse(&stream).await;
                        let stream = tokio::select! {
                            stream = tls.accept(stream, limits.header_timeout) => stream,
                            () = stop.cancelled() => None,
                        };
                        if let Some(stream) = stream {
                            connection(stream, service, refusal, limits, stop, beside).await;
                        }
                    }),
                };
            }
            // Out of file descriptors or memory: wait instead of spinning, connections will end.
            Err(error) if !is_about_one_connection(&error) => {
                tracing::warn!(%error, "cannot accept connections for now");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Err(_) => {}
        }
    }
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    service: Arc<impl Respond>,
    refusal: Option<RejectConnection>,
    limits: ConnectionLimits,
    stop: CancellationToken,
    tasks: TaskTracker,
) {
    let mut builder = auto::Builder::new(TrackedExecutor(tasks));
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(None) // see `pace`
        // No `pipeline_flush`: with it, hyper's own responses to a request that it cannot read are never sent.
        .max_buf_size(limits.max_header_bytes.max(8 * 1024))
        // Head and body in one buffer: responses are mostly small, and one plain write is cheaper than a vectored one.
        .writev(false);
    if limits.max_headers != HYPERS_MAX_HEADERS {
        builder.http1().max_headers(limits.max_headers);
    }
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(limits.max_header_bytes as u32)
        .keep_alive_interval(Duration::from_secs(20));
    let pace =
        ConnectionTimeouts { head: limits.header_timeout, idle: limits.idle, standstill: limits.standstill };
    let requests = ActiveRequests::default();
    let stream = TimedStream::new(stream, pace, requests.clone());
    let respond = service_fn(move |mut request: Request<Incoming>| {
        let (service, running) = (service.clone(), requests.begin());
        if upgrade::is_requested(request.headers()) {
            request.extensions_mut().insert(requests.clone());
        }
        async move {
            let response = match refusal {
                None => service.respond(request).await,
                Some(refusal) => {
                    discard(request).await;
                    refusal()
                }
            };
            Ok::<_, Infallible>(response.map(|body| TrackedBody::new(body, running)))
        }
    });
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), respond);
    tokio::pin!(connection);
    let outcome = tokio::select! {
        outcome = connection.as_mut() => outcome,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            match tokio::time::timeout(limits.drain, connection).await {
                Ok(outcome) => outcome,
                Err(_) => return,
            }
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "connection ended");
    }
}

/// Reads a short body that is not needed: some clients on HTTP/2 do not see a response while they still send.
async fn discard(request: Request<Incoming>) {
    if request.version() == Version::HTTP_2 {
        // Whatever is longer, or slow, is cut off.
        let _ = read_body(request.into_body(), DISCARDED_BODY, DISCARDED_TIME).await;
    }
}

/// Runs what hyper wants to run beside us as tasks of ours.
#[derive(Clone)]
pub(crate) struct TrackedExecutor(pub(crate) TaskTracker);

impl<F: Future<Output: Send> + Send + 'static> hyper::rt::Executor<F> for TrackedExecutor {
    fn execute(&self, work: F) {
        self.0.spawn(work);
    }
}

fn is_about_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
