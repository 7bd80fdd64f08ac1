//! The new era: headers, streams, cancelling by closing.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::{
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_protocol::header_params::header_params;
use toolbay_testkit::{Responder, TestServer};
use toolbay_transport::{
    Connection, Incoming,
    http::client::{HttpError, connect},
};

use super::{PATIENCE, Stage, modern, request, target, value};

#[tokio::test]
async fn headers_mirror_the_body() {
    let mut stage =
        Stage::new(|asked, answering| async move { answering.result(&asked, json!({})).await }).await;
    let schema = json!({"properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "deep": {"properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
    }});
    let params = header_params(&schema.to_string()).unwrap();
    stage.rules.replace(HashMap::from([("sql".to_owned(), params)]));
    let arguments = json!({"region": "Köln", "deep": {"n": 42}, "other": 1});
    for (method, params, name, region, n) in [
        ("tools/list", json!({}), "", "", ""),
        ("tools/call", json!({"name": "sql", "arguments": arguments}), "sql", "=?base64?S8O2bG4=?=", "42"),
        ("tools/call", json!({"name": "sql", "arguments": {"region": null}}), "sql", "", ""),
        ("tools/call", json!({"name": "other", "arguments": arguments}), "other", "", ""),
        ("tools/call", json!({"name": "ä"}), "=?base64?w6Q=?=", "", ""),
        ("prompts/get", json!({"name": "p"}), "p", "", ""),
        ("resources/read", json!({"uri": "file:///x y"}), "file:///x y", "", ""),
        ("completion/complete", json!({"name": "no"}), "", "", ""),
    ] {
        stage.send(modern(1, method, params.clone())).await;
        stage.message().await;
        let asked = stage.server.requests().pop().unwrap();
        let sent = ["mcp-protocol-version", "mcp-method", "mcp-name", "mcp-param-region", "mcp-param-n"]
            .map(|name| asked.header(name).to_owned());
        assert_eq!(sent, ["2026-07-28", method, name, region, n], "{method} {params}");
        assert_eq!(asked.header("accept"), "application/json, text/event-stream");
        assert_eq!(asked.header("content-type"), "application/json");
        assert_eq!(asked.header("mcp-session-id"), "");
    }
}

#[tokio::test]
async fn what_comes_with_a_response_is_about_it_and_in_order() {
    let mut stage = Stage::new(|asked, mut answering| async move {
        answering.stream().await;
        for step in 0..3 {
            answering
                .event(&json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"n": step}}))
                .await;
        }
        answering.event(&json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": {}})).await;
    })
    .await;
    stage.send(modern(7, "tools/call", json!({"name": "t"}))).await;
    for step in 0..3 {
        let Incoming::About(id, message) = stage.next().await else { panic!() };
        assert_eq!((id.as_number(), &value(&message)["params"]["n"]), (Some(7), &json!(step)));
    }
    assert_eq!(stage.message().await["id"], 7);
}

#[tokio::test]
async fn cancelling_closes_the_stream_and_sends_nothing() {
    let closed = Arc::new(AtomicBool::new(false));
    let seen = closed.clone();
    let stage = Stage::new(move |_, mut answering| {
        let seen = seen.clone();
        async move {
            answering.stream().await;
            answering.closed().await;
            seen.store(true, Ordering::Relaxed);
        }
    })
    .await;
    stage.send(modern(1, "tools/call", json!({"name": "t"}))).await;
    while stage.server.requests().is_empty() {
        sleep(Duration::from_millis(5)).await;
    }
    stage
        .send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))
        .await;
    let ended = async {
        while !closed.load(Ordering::Relaxed) {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, ended).await.expect("the stream stayed open");
    assert_eq!(stage.end().await.requests().len(), 1);
}

#[tokio::test]
async fn a_stream_that_breaks_fails_its_request_alone() {
    let mut stage = Stage::new(|asked, mut answering| async move {
        if asked.body["id"] == 2 {
            return answering.result(&asked, json!({})).await;
        }
        answering.stream().await;
        // An id means nothing in the new era: there is no taking up.
        answering.raw("id: 5\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"resu").await;
    })
    .await;
    stage.send(modern(1, "tools/call", json!({"name": "t"}))).await;
    let why = stage.failure(1).await;
    assert!(matches!(why, HttpError::Broken { .. }), "{why:?}");
    stage.send(modern(2, "tools/call", json!({"name": "t"}))).await;
    assert_eq!(stage.message().await["id"], 2);
    assert!(stage.server.requests().iter().all(|asked| asked.method == "POST"));
}

/// Its connection can be used again if the stream ends soon, but not if it goes on for ever.
#[tokio::test]
async fn a_stream_may_end_a_little_later_than_its_response() {
    let (closed, mut closed_after) = tokio::sync::mpsc::channel(1);
    let mut stage = Stage::new(move |asked, mut answering| {
        let closed = closed.clone();
        async move {
            answering.stream().await;
            answering.event(&json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": {}})).await;
            let began = Instant::now();
            let is_open = async |answering: &mut Responder| {
                timeout(Duration::from_millis(50), answering.closed()).await.is_err()
            };
            while is_open(&mut answering).await {
                answering.raw(":\n\n").await;
            }
            closed.send(began.elapsed()).await.unwrap();
        }
    })
    .await;
    stage.send(modern(1, "tools/call", json!({"name": "t"}))).await;
    stage.message().await;
    let after = timeout(PATIENCE, closed_after.recv()).await.expect("it stayed open").unwrap();
    assert!(after >= Duration::from_millis(500), "{after:?}");
}

#[tokio::test]
async fn a_slow_response_delays_no_other() {
    let mut stage = Stage::new(|asked, answering| async move {
        if asked.body["id"] == 0 {
            sleep(Duration::from_secs(60)).await; // not even headers
        }
        answering.result(&asked, json!({})).await;
    })
    .await;
    for id in 0..=64 {
        stage.send(request(id)).await;
    }
    let mut response_to: Vec<u64> = Vec::new();
    for _ in 0..64 {
        response_to.push(stage.message().await["id"].as_u64().unwrap());
    }
    response_to.sort_unstable();
    assert_eq!(response_to, (1..=64).collect::<Vec<_>>());
}

#[tokio::test]
async fn large_messages_pass_in_both_directions() {
    const LENGTH: usize = 5_000_000;
    let tasks = TaskTracker::new();
    let server = TestServer::new("s").with_raw_tool("echo", |params| {
        let text = &params[params.find("xx").unwrap()..][..LENGTH];
        Ok(format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#))
    });
    let stop = CancellationToken::new();
    let url = server.start_http(&tasks, stop.clone()).await.unwrap();
    let Connection { outgoing, mut incoming } = connect(target(&url), Arc::default(), &tasks);
    let text = "x".repeat(LENGTH);
    for id in 1..=2 {
        let call = modern(id, "tools/call", json!({"name": "echo", "arguments": {"text": text}}));
        outgoing.send(call.to_string().into()).await.unwrap();
    }
    for _ in 1..=2 {
        let Incoming::Message(message) = timeout(PATIENCE, incoming.recv()).await.unwrap().unwrap() else {
            panic!()
        };
        assert!(message.text().len() > LENGTH);
    }
    stop.cancel();
}

#[tokio::test]
async fn connections_are_used_again() {
    let tasks = TaskTracker::new();
    let server = TestServer::new("s").with_async_tool("t", |_, context| async move {
        context.progress(1.0, 2.0).await; // answered with a stream
        Ok(json!(1))
    });
    let stop = CancellationToken::new();
    let url = server.start_http(&tasks, stop.clone()).await.unwrap();
    // What passes here on its way is counted.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let door = format!("http://{}/mcp", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicUsize::new(0));
    let (counter, behind, ways) = (connections.clone(), url[7..url.len() - 4].to_owned(), tasks.clone());
    tasks.spawn(async move {
        while let Ok((mut front, _)) = listener.accept().await {
            counter.fetch_add(1, Ordering::Relaxed);
            let mut back = TcpStream::connect(&behind).await.unwrap();
            ways.spawn(async move { tokio::io::copy_bidirectional(&mut front, &mut back).await });
        }
    });
    let Connection { outgoing, mut incoming } = connect(target(&door), Arc::default(), &tasks);
    for id in 1..=20 {
        let mut call = modern(id, "tools/call", json!({"name": "t"}));
        call["params"]["_meta"]["progressToken"] = json!(id);
        outgoing.send(call.to_string().into()).await.unwrap();
        let mut next = async || timeout(PATIENCE, incoming.recv()).await.unwrap().unwrap();
        assert!(matches!(next().await, Incoming::About(..)));
        assert!(matches!(next().await, Incoming::Message(_)));
        sleep(Duration::from_millis(2)).await; // for the end of the stream
    }
    assert!(connections.load(Ordering::Relaxed) <= 2, "{connections:?}");
    stop.cancel();
}
