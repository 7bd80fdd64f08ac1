//! The request with which a WebSocket begins.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_util::task::TaskTracker;
use toolbay_transport::{
    Incoming,
    http::client::{HttpError, Target},
    websocket,
};

use super::{message, next, request, target};

/// What a client asks, and what it makes of a response, in which `KEY` stands for the right key.
async fn response_to(answer: &str) -> (String, toolbay_transport::Connection, tokio::net::TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/mcp?token=s3cret", listener.local_addr().unwrap());
    let headers = [(http::header::AUTHORIZATION, "Bearer s3cret".parse().unwrap())].into_iter().collect();
    let wire = websocket::connect(Target { headers, ..target(&url) }, &TaskTracker::new());
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut asked = String::new();
    while !asked.ends_with("\r\n\r\n") {
        asked.push(char::from(stream.read_u8().await.unwrap()));
    }
    let key = asked.lines().find_map(|line| line.strip_prefix("sec-websocket-key: ")).unwrap();
    let answer = answer.replace("KEY", &websocket::accept_key(key.as_bytes()));
    stream.write_all(answer.as_bytes()).await.unwrap();
    (asked, wire, stream)
}

const SWITCHING: &str = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n";

#[tokio::test]
async fn the_request_has_the_headers_and_a_server_may_name_no_subprotocol() {
    let (asked, mut wire, mut stream) =
        response_to(&format!("{SWITCHING}sec-websocket-accept: KEY\r\n\r\n")).await;
    assert!(asked.starts_with("GET /mcp?token=s3cret HTTP/1.1\r\n"), "{asked}");
    for header in [
        "authorization: Bearer s3cret",
        "connection: Upgrade",
        "upgrade: websocket",
        "sec-websocket-version: 13",
        "sec-websocket-protocol: mcp",
        "host: 127.0.0.1:",
    ] {
        assert!(asked.contains(&format!("\r\n{header}")), "{header}: {asked}");
    }
    let text = request(1).to_string();
    stream.write_all(&[0x81, u8::try_from(text.len()).unwrap()]).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    assert_eq!(message(&mut wire).await["id"], 1);
}

#[tokio::test]
async fn a_refusal_has_its_reason() {
    for (answer, said) in [
        (
            "HTTP/1.1 401 Unauthorized\r\ncontent-length: 4\r\n\r\nwho?".to_owned(),
            "returned 401 Unauthorized: who?",
        ),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned(), "returned 200 OK"),
        (
            "HTTP/1.1 307 x\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n".to_owned(),
            "redirects to http://127.0.0.1:1/, which is another origin",
        ),
        (
            format!("{SWITCHING}sec-websocket-accept: bad\r\n\r\n"),
            "its WebSocket handshake response is invalid",
        ),
        (
            format!("{SWITCHING}sec-websocket-accept: KEY\r\nsec-websocket-protocol: chat\r\n\r\n"),
            "it speaks \"chat\" over WebSocket, not `mcp`",
        ),
    ] {
        let (_, mut wire, _stream) = response_to(&answer).await;
        let Some(Incoming::Lost { why, .. }) = next(&mut wire).await else { panic!() };
        assert!(why.to_string().contains(said), "{why}");
        assert!(!why.to_string().contains("s3cret"), "{why}");
        assert_eq!(why.is_unauthorized(), said.contains("401"));
    }
}

#[tokio::test]
async fn a_server_that_never_responds_times_out() {
    tokio::time::pause();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/", listener.local_addr().unwrap());
    let mut wire = websocket::connect(target(&url), &TaskTracker::new());
    match wire.incoming.recv().await {
        Some(Incoming::Lost { why: HttpError::Slow { .. } | HttpError::Unreachable { .. }, .. }) => {}
        other => panic!("{other:?}"),
    }
}
