//! HTTP+SSE of 2024-11-05, client side, over real sockets.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{sync::Notify, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_testkit::{HttpScript, RecordedRequest, Responder, TestServer};
use toolbay_transport::{
    Connection, Incoming,
    http::client::{HttpError, Target},
    legacy_sse,
};

const PATIENCE: Duration = Duration::from_secs(20);

fn target(url: &str) -> Target {
    Target {
        url: url.parse().unwrap(),
        headers: Default::default(),
        max_message: 1 << 24,
        max_running: 512,
        route: Default::default(),
        authorizer: None,
    }
}

fn request(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})
}

async fn send(wire: &Connection, message: &Value) {
    wire.outgoing.send(message.to_string().into()).await.unwrap();
}

async fn next(wire: &mut Connection) -> Option<Incoming> {
    timeout(PATIENCE, wire.incoming.recv()).await.expect("nothing came")
}

async fn message(wire: &mut Connection) -> Value {
    match next(wire).await {
        Some(Incoming::Message(message)) => serde_json::from_slice(message.text()).unwrap(),
        other => panic!("{other:?}"),
    }
}

async fn lost(wire: &mut Connection) -> (HttpError, Vec<u64>) {
    match next(wire).await {
        Some(Incoming::Lost { why, unsent }) => {
            assert!(next(wire).await.is_none());
            (why, unsent.iter().filter_map(|id| id.as_number()).collect())
        }
        other => panic!("{other:?}"),
    }
}

/// The open stream of a script, to be written to and cut.
type Open = Arc<Mutex<Option<Responder>>>;

/// A server that opens a stream with `head`, keeps it in `open`, and answers POSTs with `status`.
async fn script(head: &'static str, status: &'static str) -> (HttpScript, Open, Arc<Notify>) {
    let (open, opened) = (Open::default(), Arc::new(Notify::new()));
    let (kept, told) = (open.clone(), opened.clone());
    let server =
        HttpScript::start(&TaskTracker::new(), move |asked: RecordedRequest, mut answering: Responder| {
            let (kept, told) = (kept.clone(), told.clone());
            async move {
                if asked.method == "GET" {
                    answering.stream().await;
                    answering.raw(head).await;
                    *kept.lock().unwrap() = Some(answering);
                    told.notify_one();
                } else {
                    answering.respond(status, &[], "").await;
                }
            }
        })
        .await
        .unwrap();
    (server, open, opened)
}

async fn say(open: &Open, message: &Value) {
    let mut answering = open.lock().unwrap().take().unwrap();
    answering.event(message).await;
    *open.lock().unwrap() = Some(answering);
}

#[tokio::test]
async fn a_real_server_is_spoken_to() {
    let server = TestServer::new("s");
    let tasks = TaskTracker::new();
    let url = server.start_sse(&tasks, CancellationToken::new()).await.unwrap();
    let mut wire = legacy_sse::connect(target(&url), &tasks);
    send(&wire, &json!({"jsonrpc": "2.0", "id": 0, "method": "ping"})).await;
    assert_eq!(message(&mut wire).await, json!({"jsonrpc": "2.0", "id": 0, "result": {}}));
    for id in 1..=64 {
        send(&wire, &json!({"jsonrpc": "2.0", "id": id, "method": "ping"})).await;
    }
    let mut ids: Vec<u64> = Vec::new();
    for _ in 1..=64 {
        ids.push(message(&mut wire).await["id"].as_u64().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, (1..=64).collect::<Vec<_>>());
}

#[tokio::test]
async fn messages_go_to_the_endpoint_with_the_configured_headers() {
    for (endpoint, path) in [
        ("event: endpoint\ndata: /messages?s=1\n\n", "/messages?s=1"),
        (": hello\n\nevent:endpoint\ndata:post\n\n", "/post"),
        ("event: endpoint\r\ndata: ?s=2\r\n\r\n", "/mcp?s=2"),
    ] {
        let (server, open, opened) = script(endpoint, "202 Accepted").await;
        let headers = [(http::header::AUTHORIZATION, "Bearer s3cret".parse().unwrap())].into_iter().collect();
        let tasks = TaskTracker::new();
        let mut wire = legacy_sse::connect(Target { headers, ..target(&server.url) }, &tasks);
        opened.notified().await;
        send(&wire, &request(1)).await;
        say(&open, &json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})).await;
        assert_eq!(message(&mut wire).await["method"], "notifications/tools/list_changed");
        say(&open, &json!({"jsonrpc": "2.0", "id": 1, "result": {}})).await;
        assert_eq!(message(&mut wire).await["id"], 1);
        // What is queued when the connection is dropped is still posted.
        send(&wire, &json!({"jsonrpc": "2.0", "method": "notifications/cancelled"})).await;
        drop(wire);
        tasks.close();
        timeout(PATIENCE, tasks.wait()).await.expect("it goes on without its wire");
        let asked = server.requests();
        assert_eq!(asked[0].header("accept"), "text/event-stream");
        assert!(asked.iter().all(|asked| asked.header("authorization") == "Bearer s3cret"));
        let posts: Vec<_> = asked.iter().filter(|asked| asked.method == "POST").collect();
        assert_eq!(posts.len(), 2, "{posts:?}");
        assert!(posts.iter().all(|post| post.path == path), "{path}: {posts:?}");
        assert_eq!(posts[0].header("content-type"), "application/json");
    }
}

#[tokio::test]
async fn an_endpoint_of_another_origin_is_refused() {
    for (head, said) in [
        (
            "event: endpoint\ndata: http://127.0.0.1:1/m?token=s3cret\n\n",
            "http://127.0.0.1:1/m for messages, which is another origin",
        ),
        (
            "event: endpoint\ndata: //evil.example/m\n\n",
            "http://evil.example/m for messages, which is another origin",
        ),
        ("event: endpoint\ndata: http://\n\n", "is not a valid URL"),
        ("event: message\ndata: {}\n\n", "begins with an event `message` instead of `endpoint`"),
    ] {
        let (server, _open, _) = script(head, "202 Accepted").await;
        let mut wire = legacy_sse::connect(target(&server.url), &TaskTracker::new());
        send(&wire, &request(1)).await;
        let (why, unsent) = lost(&mut wire).await;
        assert!(matches!(why, HttpError::Garbled { .. }) && why.to_string().contains(said), "{said}: {why}");
        assert!(!why.to_string().contains("s3cret"), "{why}");
        assert_eq!(unsent, [1]);
        assert_eq!(server.requests().len(), 1, "nothing was posted");
    }
}

#[tokio::test]
async fn what_is_no_stream_is_reported() {
    for (head, said) in [
        ("404 Not Found\r\ncontent-length: 4\r\n\r\nnope", "returned 404 Not Found: nope"),
        ("200 OK\r\ncontent-type: text/html\r\ncontent-length: 0\r\n\r\n", "returned `text/html`"),
        ("401 Unauthorized\r\ncontent-length: 0\r\n\r\n", "returned 401"),
    ] {
        let server = HttpScript::start(&TaskTracker::new(), move |_, mut answering: Responder| async move {
            answering.raw(&format!("HTTP/1.1 {head}")).await;
        })
        .await
        .unwrap();
        let mut wire = legacy_sse::connect(target(&server.url), &TaskTracker::new());
        let (why, _) = lost(&mut wire).await;
        assert!(why.to_string().contains(said), "{why}");
    }
}

#[tokio::test]
async fn a_stream_that_breaks_loses_what_the_server_had() {
    let (server, open, opened) = script("event: endpoint\ndata: /m\n\n", "202 Accepted").await;
    let mut wire = legacy_sse::connect(target(&server.url), &TaskTracker::new());
    opened.notified().await;
    send(&wire, &request(1)).await;
    while !server.requests().iter().any(|asked| asked.method == "POST") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(open.lock().unwrap().take());
    let (why, unsent) = lost(&mut wire).await;
    assert!(why.to_string().contains("closed the connection: its stream ended"), "{why}");
    assert!(unsent.is_empty(), "{unsent:?}");
}

#[tokio::test]
async fn a_post_that_is_refused_fails_alone_unless_the_stream_is_forgotten() {
    let (server, _open, opened) = script("event: endpoint\ndata: /m\n\n", "500 Internal Server Error").await;
    let mut wire = legacy_sse::connect(target(&server.url), &TaskTracker::new());
    opened.notified().await;
    for id in 1..=2 {
        send(&wire, &request(id)).await;
        match next(&mut wire).await {
            Some(Incoming::Failed { id: Some(failed), why }) => {
                assert_eq!(failed.as_number(), Some(id));
                assert!(why.to_string().contains("/m returned 500"), "{why}");
            }
            other => panic!("{other:?}"),
        }
    }
    // An endpoint that was wrong from the start is named; one that was right before has forgotten us.
    let (server, _open, opened) = script("event: endpoint\ndata: /m\n\n", "404 Not Found").await;
    let mut wire = legacy_sse::connect(target(&server.url), &TaskTracker::new());
    opened.notified().await;
    send(&wire, &request(1)).await;
    let Some(Incoming::Failed { why, .. }) = next(&mut wire).await else { panic!() };
    assert!(why.to_string().contains("/m returned 404"), "{why}");

    let accepted = Arc::new(Mutex::new(false));
    let server =
        HttpScript::start(&TaskTracker::new(), move |asked: RecordedRequest, mut answering: Responder| {
            let was_accepted = std::mem::replace(&mut *accepted.lock().unwrap(), asked.method == "POST");
            async move {
                match asked.method.as_str() {
                    "GET" => {
                        answering.stream().await;
                        answering.raw("event: endpoint\ndata: /m\n\n").await;
                        answering.closed().await;
                    }
                    _ if was_accepted => answering.respond("404 Not Found", &[], "").await,
                    _ => answering.respond("202 Accepted", &[], "").await,
                }
            }
        })
        .await
        .unwrap();
    let mut wire = legacy_sse::connect(target(&server.url), &TaskTracker::new());
    send(&wire, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    send(&wire, &request(7)).await;
    let (why, unsent) = lost(&mut wire).await;
    assert!(matches!(why, HttpError::SessionGone { .. }), "{why}");
    assert_eq!(unsent, [7], "it waits for the next life");
}

#[tokio::test]
async fn an_unreachable_server_loses_no_request() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/sse", listener.local_addr().unwrap());
    drop(listener);
    let mut wire = legacy_sse::connect(target(&url), &TaskTracker::new());
    for id in 1..=3 {
        send(&wire, &request(id)).await;
    }
    let (why, unsent) = lost(&mut wire).await;
    assert!(matches!(why, HttpError::Unreachable { .. }), "{why}");
    assert_eq!(unsent, [1, 2, 3]);
}

/// Lets a minute pass for the client, whose sockets are real.
async fn a_while(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
    tokio::time::sleep(Duration::from_millis(200)).await;
}

#[tokio::test]
async fn a_silent_stream_is_checked_and_a_dead_one_is_given_up() {
    let (server, open, opened) = script("event: endpoint\ndata: /m\n\n", "202 Accepted").await;
    let mut wire = legacy_sse::connect(target(&server.url), &TaskTracker::new());
    opened.notified().await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    a_while(31).await;
    let pinged = |server: &HttpScript| {
        let asked = server.requests().into_iter().filter(|asked| asked.rpc() == "ping");
        asked.map(|asked| asked.body["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(pinged(&server), [json!("toolbay-ping-1")]);
    // The response is not delivered, and counts as activity.
    say(&open, &json!({"jsonrpc": "2.0", "id": "toolbay-ping-1", "result": {}})).await;
    say(&open, &request(1)).await;
    assert_eq!(message(&mut wire).await["id"], 1);
    a_while(29).await;
    assert_eq!(pinged(&server).len(), 1, "it was heard a moment ago");
    a_while(2).await;
    assert_eq!(pinged(&server).len(), 2);
    a_while(61).await;
    let (why, _) = lost(&mut wire).await;
    assert!(matches!(why, HttpError::Silent { .. }), "{why}");
}
