//! Statuses, redirects, servers that are not there.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;
use toolbay_protocol::ParseError;
use toolbay_testkit::{HttpScript, own_loopback};
use toolbay_transport::{
    Incoming,
    http::client::{HttpError, Target, connect},
};

use super::{Stage, request, target};

#[tokio::test]
async fn what_is_no_response_fails_the_request_with_the_reason() {
    for (head, body, said) in [
        (
            "500 Internal Server Error\r\ncontent-type: text/plain",
            "it\n  broke",
            "500 Internal Server Error: it broke",
        ),
        ("401 Unauthorized", "", "returned 401 Unauthorized"),
        ("200 OK\r\ncontent-type: text/html", "<html>", "returned `text/html` instead of JSON"),
        ("202 Accepted", "", "status 202 and no content"),
        (
            "200 OK\r\ncontent-type: application/json",
            r#"{"jsonrpc":"2.0","id":9,"result":{}}"#,
            "unexpected response",
        ),
        ("303 See Other\r\nlocation: /other", "", "/other, which is not meant for a POST"),
        ("307 Temporary Redirect\r\nlocation: /mcp", "", "again and again"),
    ] {
        let mut stage = Stage::new(move |_, mut answering| async move {
            let length = body.len();
            answering.raw(&format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\n\r\n{body}")).await;
        })
        .await;
        stage.send(request(1)).await;
        let why = loop {
            match stage.next().await {
                Incoming::Failed { id: Some(id), why } if id.as_number() == Some(1) => break why.to_string(),
                Incoming::Message(_) => {} // a response to something else
                other => panic!("{other:?}"),
            }
        };
        assert!(why.contains(said), "{said}: {why}");
        assert!(why.contains(&stage.server.url), "{why}");
    }
}

#[tokio::test]
async fn a_refusal_that_is_a_json_rpc_error_is_the_response() {
    for (status, id) in [
        ("400 Bad Request", Value::Null),
        ("404 Not Found", json!(1)),
        ("403 Forbidden", json!("server-error")),
    ] {
        let refusal =
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32022, "message": "m", "data": {"x": 1}}});
        let mut stage = Stage::new(move |_, answering| {
            let refusal = refusal.clone();
            async move { answering.json(status, &refusal).await }
        })
        .await;
        stage.send(request(1)).await;
        let answer = stage.message().await;
        assert_eq!((&answer["id"], &answer["error"]["data"]["x"]), (&json!(1), &json!(1)), "{status}");
    }
}

#[tokio::test]
async fn a_response_that_is_no_message_is_rejected_by_id() {
    for body in ["", "{", "[]", r#"{"jsonrpc":"2.0","id":1}"#] {
        let mut stage = Stage::new(move |_, answering| async move {
            answering.respond("200 OK", &[("content-type", "application/json; charset=utf-8")], body).await;
        })
        .await;
        stage.send(request(1)).await;
        loop {
            match stage.next().await {
                Incoming::Refused(refusal) if refusal.id.is_some() => break,
                Incoming::Refused(_) => {}
                Incoming::Failed { id: Some(_), .. } if body == "[]" => break,
                other => panic!("{body}: {other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_response_that_is_too_long_is_rejected_by_id() {
    for is_stream in [false, true] {
        let server = HttpScript::start(&TaskTracker::new(), move |asked, mut answering| async move {
            let text = "x".repeat(2000);
            if is_stream {
                answering.stream().await;
                answering
                    .event(&json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": {"text": text}}))
                    .await;
            } else {
                answering.result(&asked, json!({"text": text})).await;
            }
        })
        .await
        .unwrap();
        let tasks = TaskTracker::new();
        let target = Target { max_message: 1000, ..target(&server.url) };
        let mut wire = connect(target, Arc::default(), &tasks);
        wire.outgoing.send(request(1).to_string().into()).await.unwrap();
        let Some(Incoming::Refused(refusal)) = wire.incoming.recv().await else { panic!() };
        assert_eq!(refusal.id.and_then(|id| id.as_number()), Some(1));
        assert_eq!(refusal.why, ParseError::TooLong { limit: 1000 });
    }
}

#[tokio::test]
async fn redirects_are_followed_within_the_origin_only() {
    let elsewhere = HttpScript::start(&TaskTracker::new(), |asked, answering| async move {
        answering.result(&asked, json!({})).await;
    })
    .await
    .unwrap();
    let other = elsewhere.url.clone();
    let mut stage = Stage::new(move |asked, answering| {
        let other = other.clone();
        async move {
            match asked.path.as_str() {
                "/mcp" if asked.body["id"] == 1 => {
                    answering.respond("307 Temporary Redirect", &[("location", "/mcp/")], "").await;
                }
                "/mcp/" if asked.body["id"] == 2 => {
                    answering.respond("307 Temporary Redirect", &[("location", &other)], "").await;
                }
                _ => answering.result(&asked, json!({"at": asked.path})).await,
            }
        }
    })
    .await;
    stage.send(request(1)).await;
    assert_eq!(stage.message().await["result"]["at"], "/mcp/");
    stage.send(request(2)).await;
    let why = stage.failure(2).await.to_string();
    assert!(why.contains("another origin") && why.contains(&elsewhere.url), "{why}");
    assert!(elsewhere.requests().is_empty(), "nothing is sent to a stranger");
    stage.send(request(3)).await;
    assert_eq!(stage.message().await["result"]["at"], "/mcp/", "it is remembered where the server is");
}

#[tokio::test]
async fn an_unreachable_server_loses_the_connection() {
    let listener = TcpListener::bind((own_loopback(), 0)).await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    // With room for one request, the others are still in the queue when the server turns out not to be there.
    for max_running in [1, 512] {
        let tasks = TaskTracker::new();
        let mut wire = connect(Target { max_running, ..target(&url) }, Arc::default(), &tasks);
        for id in 1..=3 {
            wire.outgoing.send(request(id).to_string().into()).await.unwrap();
        }
        let Some(Incoming::Lost { why, unsent }) = wire.incoming.recv().await else { panic!() };
        assert!(matches!(why, HttpError::Unreachable { .. }), "{why:?}");
        assert!(why.to_string().contains(&url) && why.to_string().contains("refused"), "{why}");
        assert_eq!(unsent.len(), 3, "{max_running}");
        assert!(wire.incoming.recv().await.is_none());
    }
}

#[tokio::test]
async fn secrets_are_sent_but_never_shown() {
    let server = HttpScript::start(&TaskTracker::new(), |_, answering| async move {
        answering.respond("403 Forbidden", &[], "no").await;
    })
    .await
    .unwrap();
    let mut secret: http::HeaderValue = "Bearer s3cret".parse().unwrap();
    secret.set_sensitive(true);
    let headers = [(http::header::AUTHORIZATION, secret)].into_iter().collect();
    let target = Target { headers, ..target(&format!("{}?token=s3cret", server.url)) };
    assert!(!format!("{:?}", target.headers).contains("s3cret"));
    let mut wire = connect(target, Arc::default(), &TaskTracker::new());
    wire.outgoing.send(request(1).to_string().into()).await.unwrap();
    let Some(Incoming::Failed { why, .. }) = wire.incoming.recv().await else { panic!() };
    assert!(!why.to_string().contains("s3cret") && why.is_unauthorized(), "{why}");
    let asked = server.requests().pop().unwrap();
    assert_eq!((asked.header("authorization"), asked.path.as_str()), ("Bearer s3cret", "/mcp?token=s3cret"));
}
