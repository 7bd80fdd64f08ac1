//! HTTP bodies and their limits, over a real socket.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_protocol::Rope;
use toolbay_transport::http::{Body, ConnectionLimits, ReadBodyError, Respond, read_body, serve};

const LIMIT: usize = 100_000;
const PATIENCE: Duration = Duration::from_millis(200);

/// Says how long the body was, or why there was none.
struct Measure;

impl Respond for Measure {
    async fn respond(&self, request: Request<hyper::body::Incoming>) -> Response<Body> {
        let (status, said) = match read_body(request.into_body(), LIMIT, PATIENCE).await {
            Ok(body) => (StatusCode::OK, format!("{} bytes", body.len())),
            Err(error @ ReadBodyError::TooLong { .. }) => (StatusCode::PAYLOAD_TOO_LARGE, error.to_string()),
            Err(error @ ReadBodyError::TooSlow { .. }) => (StatusCode::REQUEST_TIMEOUT, error.to_string()),
            Err(error @ ReadBodyError::Broken(_)) => (StatusCode::BAD_REQUEST, error.to_string()),
        };
        let mut response = Response::new(Body::full(Rope::from(said)));
        *response.status_mut() = status;
        response
    }
}

/// Sends raw bytes and returns the status and body that come back.
async fn exchange(sent: &[u8]) -> String {
    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tasks.spawn(serve(listener, Arc::new(Measure), ConnectionLimits::default(), stop.clone(), tasks.clone()));
    let mut stream = TcpStream::connect(address).await.unwrap();
    let _ = stream.write_all(sent).await; // the server may have said no before it read all
    let mut answer = vec![0; 4096];
    let count = stream.read(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer[..count]).into_owned();
    stop.cancel();
    drop(stream);
    tasks.close();
    tasks.wait().await;
    let status = answer.split(' ').nth(1).unwrap_or("none").to_owned();
    format!("{status} {}", answer.split("\r\n\r\n").nth(1).unwrap_or(""))
}

fn post(header: &str, body: &[u8]) -> Vec<u8> {
    [format!("POST / HTTP/1.1\r\nhost: x\r\n{header}\r\n\r\n").as_bytes(), body].concat()
}

/// `size` bytes in chunks of 10,000.
fn chunked(size: usize) -> Vec<u8> {
    let chunk = [&b"2710\r\n"[..], &[b'x'; 10_000], b"\r\n"].concat();
    post("transfer-encoding: chunked", &[chunk.repeat(size / 10_000), b"0\r\n\r\n".to_vec()].concat())
}

#[tokio::test]
async fn bodies_up_to_the_limit() {
    assert_eq!(exchange(&post("content-length: 0", b"")).await, "200 0 bytes");
    assert_eq!(exchange(&post("content-length: 5", b"hello")).await, "200 5 bytes");
    assert_eq!(exchange(&post("content-length: 100000", &[b'x'; LIMIT])).await, "200 100000 bytes");
    assert_eq!(exchange(&chunked(LIMIT)).await, "200 100000 bytes");
}

#[tokio::test]
async fn longer_bodies_are_refused() {
    let refused = "413 the body is longer than 100000 bytes";
    assert_eq!(exchange(&post("content-length: 100001", b"")).await, refused); // before any of it came
    assert_eq!(exchange(&post("content-length: 99999999999999", b"x")).await, refused);
    assert_eq!(exchange(&chunked(LIMIT + 10_000)).await, refused);
}

#[tokio::test]
async fn slow_bodies_are_refused() {
    let refused = "408 the body did not arrive within 0 s";
    assert_eq!(exchange(&post("content-length: 5", b"hel")).await, refused);
    assert_eq!(exchange(&post("transfer-encoding: chunked", b"5\r\nhello\r\n")).await, refused);
}

/// Else every request that waits for its response keeps the whole buffer of its connection.
#[tokio::test]
async fn a_small_body_does_not_keep_what_it_was_read_to() {
    for (length, keeps) in [(100, false), (50_000, true)] {
        let buffer = Bytes::from(vec![b'x'; length]);
        let read = read_body(Body::full(buffer.clone()), LIMIT, PATIENCE).await.unwrap();
        assert_eq!(read, buffer);
        assert_eq!(!buffer.is_unique(), keeps, "{length} bytes");
    }
}
