//! Handshakes, failures and progress.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_builtin::codebase::{CodeError, CodebaseIdentity, LazyCodebase};
use toolbay_testkit::MemoryClient;
use toolbay_transport::{Connection, Outgoing};

use super::client::{client_of, connect, directory, lazy, legacy_client, list};

fn broken() -> LazyCodebase {
    LazyCodebase::new(|| Err(CodeError::Failed("the disk is gone".to_owned())))
}

#[tokio::test]
async fn failures_are_results_or_errors_as_configured() {
    let call = json!({ "name": "search_code", "arguments": { "query": "x" } });
    let mut client = legacy_client(broken(), CodebaseIdentity::IN_HUB).await;
    let response = client.request("tools/call", call.clone()).await;
    assert_eq!(response["result"]["content"][0]["text"], "Search failed: the disk is gone");
    assert_eq!(response["result"]["isError"], true);
    let mut literal =
        legacy_client(broken(), CodebaseIdentity { s3_errors: true, ..CodebaseIdentity::ALONE }).await;
    let response = literal.request("tools/call", call).await;
    assert_eq!(response["error"], json!({ "code": -32603, "message": "Search failed: the disk is gone" }));
    for (params, message) in [
        (json!({ "name": "rm" }), "Unknown tool: rm"),
        (json!({}), "Missing tool name"),
        (json!({ "name": "search_code", "arguments": [] }), "`params.arguments` must be an object"),
    ] {
        let response = client.request("tools/call", params).await;
        assert_eq!(response["error"]["code"], -32602, "{response}");
        assert!(response["error"]["message"].as_str().unwrap().starts_with(message), "{response}");
    }
}

#[tokio::test]
async fn progress_precedes_the_result() {
    let (mut client, _directory) = client_of(&["a", "b"].map(|name| (name, "text\n".to_owned()))).await;
    let params = json!({
        "name": "chunk_files",
        "arguments": { "file_paths": ["a", "b"] },
        "_meta": { "progressToken": "p" },
    });
    let id = client.start("tools/call", params).await;
    for done in [1, 2] {
        let note = client.next().await;
        let expected =
            json!({ "progressToken": "p", "progress": done, "total": 2, "message": "cutting files" });
        assert_eq!((&note["method"], &note["params"]), (&json!("notifications/progress"), &expected));
    }
    assert_eq!(client.next().await["id"], id);
}

#[tokio::test]
async fn a_directory_that_cannot_be_opened_is_tried_again() {
    let tries = Arc::new(AtomicUsize::new(0));
    let (directory, counted) = (directory(&[("a", "x\n".to_owned())]), tries.clone());
    let path = directory.path().to_owned();
    let tree = LazyCodebase::new(move || match counted.fetch_add(1, Ordering::Relaxed) {
        0 => Err(CodeError::Failed("there is no such folder".to_owned())),
        _ => lazy(&path).get(),
    });
    let tasks = TaskTracker::new();
    let mut client =
        MemoryClient::legacy(connect(tree, CodebaseIdentity::IN_HUB, &tasks), "2025-06-18").await;
    let failed = client.call("search_code", json!({ "query": "x" })).await;
    assert_eq!(failed["content"][0]["text"], "Search failed: there is no such folder");
    for _ in 0..2 {
        let found = list(&client.call("search_code", json!({ "query": "x" })).await);
        assert_eq!(found, [json!({ "file_path": "a", "line_number": 1, "line_content": "x" })]);
    }
    assert_eq!(tries.load(Ordering::Relaxed), 2, "opened once for all calls");
    drop(client);
    tasks.close();
    tasks.wait().await; // it ends with its client
}

#[tokio::test]
async fn a_client_that_sends_no_more_gets_its_responses() {
    let (mut client, _directory) = client_of(&[("a", "x\n".to_owned())]).await;
    client.start("tools/call", json!({ "name": "search_code", "arguments": { "query": "x" } })).await;
    let Connection { outgoing, incoming } = &mut client.connection;
    drop(std::mem::replace(outgoing, tokio::sync::mpsc::channel::<Outgoing>(1).0));
    let mut responses = 0;
    while incoming.recv().await.is_some() {
        responses += 1;
    }
    assert_eq!(responses, 1);
}

#[tokio::test]
async fn legacy_requests_need_a_handshake() {
    let connection = connect(broken(), CodebaseIdentity::ALONE, &TaskTracker::new());
    let mut client = MemoryClient::new(connection);
    let refused = json!({ "code": -32000, "message": "Not initialized" });
    for method in ["tools/list", "tools/call", "resources/list", "resources/read", "no/such"] {
        assert_eq!(client.request(method, json!({})).await["error"], refused, "{method}");
    }
    let modern = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } });
    assert_eq!(client.request("resources/list", modern.clone()).await["result"]["resultType"], "complete");
    let mut read = modern;
    read["uri"] = Value::from("codebase://nothing");
    assert_eq!(client.request("resources/read", read).await["error"]["code"], -32602);
}
