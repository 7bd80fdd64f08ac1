//! The test server over Streamable HTTP.

use serde_json::{Value, json};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_testkit::{SupportedRevisions, TestServer};

use crate::http_client::{Answer, post, send};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

async fn start(server: &TestServer) -> String {
    server.start_http(&TaskTracker::new(), CancellationToken::new()).await.unwrap()
}

fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

async fn initialize(url: &str) -> String {
    let answer = post(url, &[], &request("initialize", json!({"protocolVersion": "2025-06-18"}))).await;
    assert_eq!(answer.status, 200);
    let session = answer.header("mcp-session-id").unwrap().to_owned();
    assert_eq!(answer.json().await["result"]["protocolVersion"], "2025-06-18");
    session
}

#[tokio::test]
async fn legacy_sessions() {
    let server = TestServer::demo();
    let url = start(&server).await;
    let session = initialize(&url).await;
    let headers = [("mcp-session-id", session.as_str())];
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(&url, &headers, &initialized).await.status, 202);
    let answer = post(&url, &headers, &request("tools/call", json!({"name": "counter"}))).await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.json().await["result"]["structuredContent"], json!({"count": 1}));
    let list = request("tools/list", json!({}));
    assert_eq!(post(&url, &[], &list).await.status, 400);
    assert_eq!(post(&url, &[("mcp-session-id", "other")], &list).await.status, 404);
    assert_eq!(send("DELETE", &url, &headers, "").await.status, 200);
    assert_eq!(post(&url, &headers, &list).await.status, 404);
    assert_eq!(send("PUT", &url, &headers, "").await.status, 405);
    assert_eq!(post(&url, &[], &json!([])).await.status, 400);
    assert_eq!(server.handle().received()[1], initialized.to_string());
}

#[tokio::test]
async fn legacy_changes_come_on_the_get_stream() {
    let server = TestServer::new("changing");
    let url = start(&server).await;
    let session = initialize(&url).await;
    let headers = [("mcp-session-id", session.as_str())];
    let mut stream = send("GET", &url, &headers, "").await;
    assert!(stream.is_stream());
    server.handle().add_tool("new", |_| Ok(json!({})));
    assert_eq!(stream.event().await.unwrap()["method"], "notifications/tools/list_changed");
    server.handle().expire_sessions();
    assert_eq!(send("GET", &url, &headers, "").await.status, 404);
    assert_eq!(send("GET", &url, &[], "").await.status, 400);
}

#[tokio::test]
async fn a_legacy_call_can_be_cancelled() {
    let server = TestServer::new("slow").with_async_tool("hang", async |_, context| {
        context.progress(1.0, 2.0).await;
        std::future::pending().await
    });
    let url = start(&server).await;
    let session = initialize(&url).await;
    let headers = [("mcp-session-id", session.as_str())];
    let params = json!({"name": "hang", "_meta": {"progressToken": 1}});
    let mut stream = post(&url, &headers, &request("tools/call", params)).await;
    assert_eq!(stream.event().await.unwrap()["method"], "notifications/progress");
    let params = json!({"requestId": 1});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    assert_eq!(post(&url, &headers, &cancel).await.status, 202);
    assert!(stream.event().await.is_none());
}

/// Sends a modern request with the headers that belong to it.
async fn modern(url: &str, method: &str, mut params: Value) -> Answer {
    params["_meta"][VERSION] = "2026-07-28".into();
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    if !name.is_empty() {
        headers.push(("mcp-name", &name));
    }
    post(url, &headers, &request(method, params)).await
}

#[tokio::test]
async fn modern_requests_stand_alone() {
    let server = TestServer::demo().revisions(SupportedRevisions::Modern);
    let url = start(&server).await;
    let found = modern(&url, "server/discover", json!({})).await;
    assert!(found.header("mcp-session-id").is_none());
    assert_eq!(found.json().await["result"]["resultType"], "complete");
    let called = modern(&url, "tools/call", json!({"name": "add", "arguments": {"a": 1, "b": 2}})).await;
    assert_eq!(called.json().await["result"]["structuredContent"], json!({"sum": 3}));
    assert_eq!(modern(&url, "some/method", json!({})).await.status, 404);
    let hello = post(&url, &[], &request("initialize", json!({"protocolVersion": "2025-11-25"}))).await;
    assert_eq!(hello.status, 400);
    assert_eq!(hello.json().await["error"]["code"], -32022);
    assert_eq!(send("GET", &url, &[], "").await.status, 405);
}

#[tokio::test]
async fn modern_headers_are_checked() {
    let url = start(&TestServer::demo()).await;
    let version = ("mcp-protocol-version", "2026-07-28");
    let list = request("tools/list", json!({"_meta": {VERSION: "2026-07-28"}}));
    let code = async |headers: &[(&str, &str)], body: &Value| {
        let answer = post(&url, headers, body).await;
        assert_eq!(answer.status, 400);
        answer.json().await["error"]["code"].as_i64().unwrap()
    };
    assert_eq!(code(&[], &list).await, -32020);
    assert_eq!(code(&[version], &list).await, -32020);
    assert_eq!(code(&[version, ("mcp-method", "tools/call")], &list).await, -32020);
    assert_eq!(code(&[version], &request("tools/list", json!({}))).await, -32602);
    let old = request("tools/list", json!({"_meta": {VERSION: "1900-01-01"}}));
    let headers = [("mcp-protocol-version", "1900-01-01"), ("mcp-method", "tools/list")];
    assert_eq!(code(&headers, &old).await, -32022);
}

#[tokio::test]
async fn progress_makes_a_stream() {
    let url = start(&TestServer::demo()).await;
    let arguments = json!({"ms": 20, "progress_ms": 10});
    let params = json!({"name": "sleep", "arguments": arguments, "_meta": {"progressToken": 7}});
    let mut stream = modern(&url, "tools/call", params).await;
    assert!(stream.is_stream());
    for done in [10, 20] {
        assert_eq!(stream.event().await.unwrap()["params"]["progress"], done);
    }
    assert_eq!(stream.event().await.unwrap()["result"]["content"][0]["text"], "slept 20 ms");
    assert!(stream.event().await.is_none());
}

#[tokio::test]
async fn subscriptions_are_streams_and_clients_that_leave_cancel() {
    let (sender, mut contexts) = tokio::sync::mpsc::channel(1);
    let server = TestServer::new("changing").with_async_tool("hang", move |_, context| {
        let sender = sender.clone();
        async move {
            sender.send(context).await?;
            std::future::pending().await
        }
    });
    let url = start(&server).await;
    let params = json!({"notifications": {"toolsListChanged": true}});
    let mut stream = modern(&url, "subscriptions/listen", params).await;
    assert_eq!(stream.event().await.unwrap()["method"], "notifications/subscriptions/acknowledged");
    server.handle().add_tool("new", |_| Ok(json!({})));
    let changed = stream.event().await.unwrap();
    assert_eq!(changed["params"]["_meta"], json!({"io.modelcontextprotocol/subscriptionId": 1}));
    let context = tokio::select! {
        _ = modern(&url, "tools/call", json!({"name": "hang"})) => unreachable!("it hangs"),
        context = contexts.recv() => context.unwrap(),
    };
    context.cancelled().await;
}

#[tokio::test]
async fn it_stops_with_its_token() {
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let server = TestServer::demo();
    let url = server.start_http(&tasks, stop.clone()).await.unwrap();
    let params = json!({"notifications": {"toolsListChanged": true}});
    let mut stream = modern(&url, "subscriptions/listen", params).await;
    stream.event().await.unwrap();
    stop.cancel();
    tasks.close();
    tasks.wait().await;
}
