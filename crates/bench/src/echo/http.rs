//! The echo server on HTTP: POST and JSON answers, nothing else.

use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

use super::answer::{Outcome, answer};

/// Serves `/mcp` on `listener` for ever.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    let tasks = TaskTracker::new();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let connection = http1::Builder::new()
            .auto_date_header(false)
            .serve_connection(TokioIo::new(stream), service_fn(respond));
        tasks.spawn(connection);
    }
}

async fn respond(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(match (request.uri().path(), request.method()) {
        ("/mcp", &Method::POST) => match request.into_body().collect().await {
            Ok(body) => post(&body.to_bytes()),
            Err(_) => empty(StatusCode::BAD_REQUEST),
        },
        ("/mcp", &Method::DELETE) => empty(StatusCode::OK),
        ("/mcp", _) => empty(StatusCode::METHOD_NOT_ALLOWED),
        _ => empty(StatusCode::NOT_FOUND),
    })
}

fn post(message: &[u8]) -> Response<Full<Bytes>> {
    let mut out = Vec::new();
    let outcome = answer(message, &mut out);
    if outcome == Outcome::Silent {
        return empty(StatusCode::ACCEPTED);
    }
    let mut response = Response::new(Full::new(Bytes::from(out)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if outcome == Outcome::Initialized {
        static SESSIONS: AtomicU64 = AtomicU64::new(1);
        headers.insert("mcp-session-id", HeaderValue::from(SESSIONS.fetch_add(1, Ordering::Relaxed)));
    }
    response
}

fn empty(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}
