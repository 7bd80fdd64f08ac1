//! Accepting connections.

use std::{
    convert::Infallible,
    future::Future,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use http::{Request, Response};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Body, stalled::Impatient};

/// What one connection may take.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Time for the headers of a request.
    pub header_timeout: Duration,
    /// Time for its body.
    pub body_timeout: Duration,
    /// Length of its body.
    pub max_body: usize,
    /// Number of its headers.
    pub max_headers: usize,
    /// Length of all its headers.
    pub max_header_bytes: usize,
    /// Time that a client may read nothing of what there is for it.
    pub stall_timeout: Duration,
    /// Time for running requests to end when we stop.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            max_body: crate::stdio::MAX_MESSAGE,
            max_headers: 64,
            max_header_bytes: 64 * 1024,
            stall_timeout: Duration::from_secs(15),
            drain: Duration::from_secs(5),
        }
    }
}

/// Answers requests.
pub trait Respond: Send + Sync + 'static {
    /// Answers one request. Dropping the future or the body means that the client went away.
    fn respond(&self, request: Request<Incoming>) -> impl Future<Output = Response<Body>> + Send;
}

/// Serves until `stop`, then lets running requests finish for a while. The caller owns the socket.
pub async fn serve(
    listener: TcpListener,
    service: Arc<impl Respond>,
    limits: Limits,
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
                tasks.spawn(connection(stream, service, limits, stop, tasks.clone()));
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
    stream: TcpStream,
    service: Arc<impl Respond>,
    limits: Limits,
    stop: CancellationToken,
    tasks: TaskTracker,
) {
    let _ = stream.set_nodelay(true); // a slower connection is still one
    let mut builder = auto::Builder::new(Tracked(tasks));
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_headers(limits.max_headers)
        // No `pipeline_flush`: with it, hyper's own answers to a request that it cannot read are never sent.
        .max_buf_size(limits.max_header_bytes.max(8 * 1024))
        // Head and body in one buffer: answers are mostly small, and one plain write is cheaper than a vectored one.
        .writev(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(limits.max_header_bytes as u32)
        .keep_alive_interval(Duration::from_secs(20));
    let has_asked = Arc::new(AtomicBool::new(false));
    let asked = has_asked.clone();
    let respond = service_fn(move |request| {
        asked.store(true, Relaxed);
        let service = service.clone();
        async move { Ok::<_, Infallible>(service.respond(request).await) }
    });
    // hyper's timeout for headers begins only when it knows which HTTP is spoken.
    let never_asks = async {
        tokio::time::sleep(limits.header_timeout).await;
        if has_asked.load(Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    let stream = Impatient::new(stream, limits.stall_timeout);
    let connection = builder.serve_connection(TokioIo::new(stream), respond);
    tokio::pin!(connection);
    let outcome = tokio::select! {
        outcome = connection.as_mut() => outcome,
        () = never_asks => return tracing::debug!("a connection without a request ended"),
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

/// Runs what hyper wants to run beside us as tasks of ours.
#[derive(Clone)]
pub(super) struct Tracked(pub(super) TaskTracker);

impl<F: Future<Output: Send> + Send + 'static> hyper::rt::Executor<F> for Tracked {
    fn execute(&self, work: F) {
        self.0.spawn(work);
    }
}

fn is_about_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
