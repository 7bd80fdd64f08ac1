//! Compressed answers.

use std::sync::Arc;

use async_compression::tokio::write::{BrotliEncoder, GzipEncoder};
use serde_json::json;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::Notify,
};
use tokio_util::task::TaskTracker;
use toolbay_protocol::ParseError;
use toolbay_testkit::{HttpScript, Responder};
use toolbay_transport::{
    Incoming,
    http::client::{Target, connect},
};

use super::{Stage, request, target};

type Encoder = Box<dyn Encoding + Send + Unpin>;

/// An encoder whose output can be taken while it goes on.
trait Encoding: AsyncWrite {
    fn output(&mut self) -> &mut Vec<u8>;
}

impl Encoding for GzipEncoder<Vec<u8>> {
    fn output(&mut self) -> &mut Vec<u8> {
        self.get_mut()
    }
}

impl Encoding for BrotliEncoder<Vec<u8>> {
    fn output(&mut self) -> &mut Vec<u8> {
        self.get_mut()
    }
}

fn encoder(name: &str) -> Encoder {
    match name {
        "br" => Box::new(BrotliEncoder::new(Vec::new())),
        _ => Box::new(GzipEncoder::new(Vec::new())),
    }
}

async fn packed(name: &str, text: &[u8]) -> Vec<u8> {
    let mut encoder = encoder(name);
    encoder.write_all(text).await.unwrap();
    encoder.shutdown().await.unwrap();
    std::mem::take(encoder.output())
}

fn head(kind: &str, encoding: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-encoding: {encoding}\r\nconnection: close\r\n\r\n"
    )
}

async fn send_packed(answering: &mut Responder, encoding: &str, text: &str) {
    answering.raw(&head("application/json", encoding)).await;
    answering.bytes(&packed(encoding, text.as_bytes()).await).await;
}

#[tokio::test]
async fn compressed_responses_are_decompressed() {
    for encoding in ["gzip", "br", "x-gzip"] {
        let mut stage = Stage::new(move |asked, mut answering| async move {
            let answer =
                json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": {"text": "ab".repeat(5000)}});
            send_packed(&mut answering, encoding, &answer.to_string()).await;
        })
        .await;
        stage.send(request(1)).await;
        let text = stage.message().await["result"]["text"].take();
        assert_eq!(text.as_str().map(str::len), Some(10_000), "{encoding}");
        assert_eq!(stage.server.requests()[0].header("accept-encoding"), "gzip, br");
    }
}

#[tokio::test]
async fn a_packed_refusal_is_read() {
    let mut stage = Stage::new(|_, mut answering| async move {
        answering.raw("HTTP/1.1 500 Oh\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n").await;
        answering.bytes(&packed("gzip", b"out of order").await).await;
    })
    .await;
    stage.send(request(1)).await;
    let why = stage.failure(1).await.to_string();
    assert!(why.ends_with("500 Internal Server Error: out of order"), "{why}");
}

#[tokio::test]
async fn packed_events_arrive_when_they_are_sent() {
    for encoding in ["gzip", "br"] {
        let seen = Arc::new(Notify::new());
        let heard = seen.clone();
        let mut stage = Stage::new(move |asked, mut answering| {
            let heard = heard.clone();
            async move {
                answering.raw(&head("text/event-stream", encoding)).await;
                let mut encoder = encoder(encoding);
                let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress"});
                let answer = json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": {}});
                for message in [progress, answer] {
                    encoder.write_all(format!("data: {message}\n\n").as_bytes()).await.unwrap();
                    encoder.flush().await.unwrap();
                    answering.bytes(&std::mem::take(encoder.output())).await;
                    // The rest only once the client has had this.
                    heard.notified().await;
                }
            }
        })
        .await;
        stage.send(request(1)).await;
        assert!(matches!(stage.next().await, Incoming::About(..)), "{encoding}");
        seen.notify_one();
        assert_eq!(stage.message().await["result"], json!({}), "{encoding}");
        seen.notify_one();
    }
}

#[tokio::test]
async fn what_unpacks_to_too_much_is_refused_by_name() {
    const LIMIT: usize = 100_000;
    for encoding in ["gzip", "br"] {
        for is_stream in [false, true] {
            let server = HttpScript::start(&TaskTracker::new(), move |asked, mut answering| async move {
                let mut text = json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": {}}).to_string();
                text.insert_str(1, &" ".repeat(3_000_000));
                if is_stream {
                    answering.raw(&head("text/event-stream", encoding)).await;
                    answering.bytes(&packed(encoding, format!("data: {text}\n\n").as_bytes()).await).await;
                } else {
                    send_packed(&mut answering, encoding, &text).await;
                }
            })
            .await
            .unwrap();
            let tasks = TaskTracker::new();
            let target = Target { max_message: LIMIT, ..target(&server.url) };
            let mut wire = connect(target, Arc::default(), &tasks);
            wire.outgoing.send(request(1).to_string().into()).await.unwrap();
            let Some(Incoming::Refused(refusal)) = wire.incoming.recv().await else { panic!() };
            assert_eq!(refusal.why, ParseError::TooLong { limit: LIMIT }, "{encoding}");
            assert_eq!(refusal.id.and_then(|id| id.as_number()), Some(1));
        }
    }
}

#[tokio::test]
async fn an_unknown_encoding_fails_the_request() {
    for (encoding, body, said) in [
        ("zstd", &b"whatever"[..], "something packed as `zstd`"),
        ("gzip", &b"this is no gzip"[..], "was lost before the response"),
        ("gzip", &[0x1f, 0x8b, 8][..], "was lost before the response"),
    ] {
        let mut stage = Stage::new(move |_, mut answering| async move {
            answering.raw(&head("application/json", encoding)).await;
            answering.bytes(body).await;
        })
        .await;
        stage.send(request(1)).await;
        let why = stage.failure(1).await.to_string();
        assert!(why.contains(said), "{why}");
    }
}
