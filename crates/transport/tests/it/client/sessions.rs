//! Legacy servers: session ids, the GET stream, resuming streams that broke off.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use toolbay_testkit::Responder;
use toolbay_transport::{Incoming, http::client::HttpError};

use super::{PATIENCE, Stage, legacy, request, value};

const LATER: Duration = Duration::from_secs(60);

fn response(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {}})
}

#[tokio::test]
async fn a_session_is_kept_to_its_end() {
    let mut stage = Stage::new(|asked, answering| async move {
        if let Some((asked, answering)) = legacy(asked, answering).await {
            match asked.method.as_str() {
                "GET" => answering.respond("405 Method Not Allowed", &[], "").await,
                _ => answering.result(&asked, json!({})).await,
            }
        }
    })
    .await;
    stage.initialize().await;
    stage.send(request(1)).await;
    stage.message().await;
    // A response of ours is a message like any other.
    stage.send(json!({"jsonrpc": "2.0", "id": "theirs", "result": {}})).await;
    stage.send(request(2)).await;
    stage.message().await;
    let asked = stage.end().await.requests();
    let initialize = &asked[0];
    assert_eq!((initialize.header("mcp-session-id"), initialize.header("mcp-protocol-version")), ("", ""));
    assert_eq!(asked[1].rpc(), "notifications/initialized");
    for later in &asked[1..] {
        let headers = (later.header("mcp-session-id"), later.header("mcp-protocol-version"));
        assert_eq!(headers, ("s-1", "2025-11-25"), "{later:?}");
        assert_eq!(later.header("mcp-method"), "", "{later:?}");
    }
    let methods: Vec<&str> = asked.iter().map(|asked| asked.method.as_str()).collect();
    assert_eq!(methods.iter().filter(|method| **method == "GET").count(), 1, "405 is taken for an answer");
    assert_eq!(methods.last(), Some(&"DELETE"));
}

/// A log level counts for the call behind it, and nothing is asked before the handshake has ended.
#[tokio::test]
async fn nothing_overtakes_what_later_messages_depend_on() {
    const SLOW: Duration = Duration::from_millis(200);
    let mut stage = Stage::new(|asked, answering| async move {
        match asked.rpc() {
            "notifications/initialized" => {
                sleep(SLOW).await;
                answering.respond("202 Accepted", &[], "").await;
            }
            "logging/setLevel" => {
                sleep(SLOW).await;
                answering.result(&asked, json!({})).await;
            }
            "tools/list" => answering.result(&asked, json!({})).await,
            _ => drop(legacy(asked, answering).await),
        }
    })
    .await;
    stage.initialize().await;
    let began = Instant::now();
    stage.send(request(1)).await;
    assert_eq!(stage.message().await["id"], 1);
    assert!(began.elapsed() >= SLOW * 9 / 10, "{:?}", began.elapsed());
    stage
        .send(json!({"jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": {"level": "debug"}}))
        .await;
    stage.send(request(3)).await;
    assert_eq!(stage.message().await["id"], 2);
    assert_eq!(stage.message().await["id"], 3);
}

#[tokio::test]
async fn the_get_stream_is_read_and_resumed() {
    let mut stage = Stage::new(|asked, answering| async move {
        if let Some((asked, mut answering)) = legacy(asked, answering).await {
            let changed = |from: &str| json!({"jsonrpc": "2.0", "method": "m", "params": {"behind": from}});
            answering.stream().await;
            answering.raw("retry: 150\nid: e1\n").await;
            answering.event(&changed(asked.header("last-event-id"))).await;
            if asked.header("last-event-id") == "e1" {
                sleep(LATER).await;
            }
        }
    })
    .await;
    stage.initialize().await;
    assert_eq!(stage.message().await["params"]["behind"], "");
    let broken = Instant::now();
    assert_eq!(stage.message().await["params"]["behind"], "e1");
    assert!(broken.elapsed() >= Duration::from_millis(140), "{:?}", broken.elapsed());
}

/// Begins to answer with a stream that can be taken up behind `e1`, and breaks off.
async fn begin(answering: &mut Responder) {
    answering.stream().await;
    answering.raw("id: e1\nretry: 150\ndata:\n\n").await;
}

#[tokio::test]
async fn a_response_that_breaks_off_is_resumed() {
    let mut stage = Stage::new(|asked, answering| async move {
        let Some((asked, mut answering)) = legacy(asked, answering).await else { return };
        match (asked.method.as_str(), asked.header("last-event-id")) {
            ("POST", _) => begin(&mut answering).await,
            ("GET", "e1") => {
                answering.stream().await;
                answering.raw("id: e2\n").await;
                answering.event(&json!({"jsonrpc": "2.0", "method": "m"})).await;
            }
            ("GET", "e2") => {
                answering.stream().await;
                answering.event(&response(1)).await;
                sleep(LATER).await; // a stream that goes on behind the response is left
            }
            _ => answering.respond("405 Method Not Allowed", &[], "").await,
        }
    })
    .await;
    stage.initialize().await;
    stage.send(request(1)).await;
    let began = Instant::now();
    let Incoming::About(id, _) = stage.next().await else { panic!() };
    assert_eq!(id.as_number(), Some(1), "what comes later is still about it");
    assert!(began.elapsed() >= Duration::from_millis(140), "{:?}", began.elapsed());
    assert_eq!(stage.message().await["id"], 1);
    let taken_up: Vec<String> =
        stage.server.requests().iter().map(|asked| asked.header("last-event-id").to_owned()).collect();
    assert_eq!(taken_up.iter().filter(|id| !id.is_empty()).collect::<Vec<_>>(), ["e1", "e2"]);
}

#[tokio::test]
async fn a_response_that_cannot_be_resumed_fails() {
    for has_event in [false, true] {
        let mut stage = Stage::new(move |asked, answering| async move {
            let Some((asked, mut answering)) = legacy(asked, answering).await else { return };
            match asked.method.as_str() {
                "POST" if has_event => begin(&mut answering).await,
                "POST" => answering.stream().await,
                _ => answering.respond("405 Method Not Allowed", &[], "").await,
            }
        })
        .await;
        stage.initialize().await;
        stage.send(request(1)).await;
        let why = stage.failure(1).await;
        assert!(matches!(why, HttpError::Broken { .. }), "{why:?}");
    }
}

#[tokio::test]
async fn a_session_that_ended_loses_the_connection_but_no_request_that_was_refused() {
    let mut stage = Stage::new(|asked, answering| async move {
        let Some((asked, answering)) = legacy(asked, answering).await else { return };
        match (asked.method.as_str(), asked.body["id"].as_u64()) {
            ("POST", Some(1)) => sleep(LATER).await, // this one has it, whatever becomes of it
            ("POST", _) => answering.respond("404 Not Found", &[], "").await,
            _ => answering.respond("405 Method Not Allowed", &[], "").await,
        }
    })
    .await;
    stage.initialize().await;
    for id in 1..=5 {
        stage.send(request(id)).await;
    }
    let Incoming::Lost { why, unsent } = stage.next().await else { panic!() };
    assert!(matches!(why, HttpError::SessionGone { .. }), "{why:?}");
    let mut unsent: Vec<u64> = unsent.iter().filter_map(|id| id.as_number()).collect();
    unsent.sort_unstable();
    assert_eq!(unsent, [2, 3, 4, 5]);
    assert!(stage.wire.incoming.recv().await.is_none(), "the wire ends");
    assert!(
        stage.end().await.requests().iter().all(|asked| asked.method != "DELETE"),
        "there is nothing to end"
    );
}

/// What ends a session, as real servers say it, and what does not.
#[tokio::test]
async fn a_refusal_ends_the_session_only_if_it_means_that() {
    for (status, id, code, message, ends) in [
        ("404 Not Found", json!(1), -32601, "Method not found", false),
        ("404 Not Found", json!(null), -32001, "Session not found", true),
        ("404 Not Found", json!("server-error"), -32600, "Session not found", true),
        ("400 Bad Request", json!(null), -32000, "Bad Request: No valid session ID provided", true),
        ("400 Bad Request", json!(1), -32602, "the session argument is wrong", false),
        ("400 Bad Request", json!(null), -32700, "Parse error", false),
    ] {
        let told = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
        let mut stage = Stage::new(move |asked, answering| {
            let told = told.clone();
            async move {
                let Some((asked, answering)) = legacy(asked, answering).await else { return };
                match asked.method.as_str() {
                    "GET" => answering.respond("405 Method Not Allowed", &[], "").await,
                    _ => answering.json(status, &told).await,
                }
            }
        })
        .await;
        stage.initialize().await;
        stage.send(request(1)).await;
        match stage.next().await {
            Incoming::Message(answer) if !ends => {
                assert_eq!(value(&answer)["error"]["code"], code, "{message}")
            }
            Incoming::Lost { unsent, .. } if ends => assert_eq!(unsent.len(), 1, "{message}"),
            other => panic!("{status} {message}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn cancelling_notifies_the_server_and_closes_the_stream() {
    let (closed, mut was_closed) = tokio::sync::mpsc::channel(1);
    let mut stage = Stage::new(move |asked, answering| {
        let closed = closed.clone();
        async move {
            let Some((asked, mut answering)) = legacy(asked, answering).await else { return };
            match (asked.method.as_str(), asked.rpc()) {
                ("POST", "notifications/cancelled") => answering.respond("202 Accepted", &[], "").await,
                ("POST", _) => {
                    answering.stream().await;
                    answering.event(&json!({"jsonrpc": "2.0", "method": "started"})).await;
                    answering.closed().await;
                    closed.send(()).await.unwrap();
                }
                _ => answering.respond("405 Method Not Allowed", &[], "").await,
            }
        }
    })
    .await;
    stage.initialize().await;
    stage.send(request(1)).await;
    stage.next().await;
    stage
        .send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))
        .await;
    timeout(PATIENCE, was_closed.recv()).await.expect("the stream stayed open");
    let asked = stage.end().await.requests();
    assert!(asked.iter().any(|asked| asked.rpc() == "notifications/cancelled"), "{asked:?}");
}
