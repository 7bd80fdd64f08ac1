//! Handshakes, failures, progress and cancelling.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_builtin::codebase::{Code, CodeError, CodebaseIdentity, Opener, codebase};
use toolbay_protocol::Rope;
use toolbay_server::in_process;
use toolbay_transport::Connection;

use super::made::{Client, Made, list};

#[tokio::test]
async fn failures_are_results_unless_the_document_is_wanted_to_the_letter() {
    let broken = json!({ "name": "search_code", "arguments": { "query": "broken" } });
    let mut client = Client::with_hits(1).await;
    let answer = client.ask("tools/call", broken.clone()).await;
    assert_eq!(answer["result"]["content"][0]["text"], "Search failed: the disk is gone");
    assert_eq!(answer["result"]["isError"], true);
    let mut literal =
        Client::new(Made::default(), CodebaseIdentity { s3_errors: true, ..CodebaseIdentity::ALONE }).await;
    let answer = literal.ask("tools/call", broken).await;
    assert_eq!(answer["error"], json!({ "code": -32603, "message": "Search failed: the disk is gone" }));
    for (params, message) in [
        (json!({ "name": "rm" }), "Unknown tool: rm"),
        (json!({}), "Missing tool name"),
        (json!({ "name": "search_code", "arguments": [] }), "`params.arguments` must be an object"),
    ] {
        let answer = client.ask("tools/call", params).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().starts_with(message), "{answer}");
    }
}

#[tokio::test]
async fn progress_comes_before_the_answer() {
    let mut client = Client::with_hits(1).await;
    let params = json!({ "name": "search_by_embedding", "arguments": { "query": "x" }, "_meta": { "progressToken": "p" } });
    let id = client.send("tools/call", params).await;
    for done in [1, 2] {
        let note = client.next().await;
        let expected = json!({ "progressToken": "p", "progress": done, "total": 2, "message": "indexing" });
        assert_eq!((&note["method"], &note["params"]), (&json!("notifications/progress"), &expected));
    }
    assert_eq!(client.next().await["id"], id);
}

#[tokio::test]
async fn a_cancelled_search_stops_working() {
    let (news, heard) = mpsc::channel();
    let mut client =
        Client::new(Made { news: Some(news), ..Made::default() }, CodebaseIdentity::IN_HUB).await;
    let id = client.send("tools/call", json!({ "name": "search_code", "arguments": { "query": "x" } })).await;
    let hear = |heard: mpsc::Receiver<&'static str>| async move {
        tokio::task::spawn_blocking(move || (heard.recv_timeout(Duration::from_secs(20)), heard))
            .await
            .unwrap()
    };
    let (started, heard) = hear(heard).await;
    assert_eq!(started, Ok("started"));
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    client.wire.outgoing.send(Rope::from(cancel.to_string())).await.unwrap();
    assert_eq!(hear(heard).await.0, Ok("stopped"));
    // It has no answer; the next one does not wait for it.
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn a_tree_that_cannot_be_opened_is_tried_again() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = tries.clone();
    let opener = Opener::new(move || match counted.fetch_add(1, Ordering::Relaxed) {
        0 => Err(CodeError::Failed("there is no such folder".to_owned())),
        _ => Ok(Arc::new(Made::default())),
    });
    let tasks = TaskTracker::new();
    let wire = in_process(codebase(Arc::new(opener), CodebaseIdentity::IN_HUB))(&tasks);
    let mut client = Client { wire, tasks, id: 0 };
    client.ask("initialize", json!({ "protocolVersion": "2025-06-18" })).await;
    let failed = client.call("search_code", json!({ "query": "x" })).await;
    assert_eq!(failed["content"][0]["text"], "Search failed: there is no such folder");
    for _ in 0..2 {
        assert_eq!(list(&client.call("search_code", json!({ "query": "x" })).await), [] as [Value; 0]);
    }
    assert_eq!(tries.load(Ordering::Relaxed), 2, "opened once for all calls");
    let Client { wire, tasks, .. } = client;
    drop(wire);
    tasks.close();
    tasks.wait().await; // it ends with its client
}

#[tokio::test]
async fn a_client_that_sends_no_more_gets_its_answers() {
    let client = Client::with_hits(1).await;
    let Client { wire: Connection { outgoing, mut incoming }, .. } = client;
    let call = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": { "name": "search_code", "arguments": { "query": "x" } } });
    outgoing.send(Rope::from(call.to_string())).await.unwrap();
    drop(outgoing);
    let mut answers = 0;
    while incoming.recv().await.is_some() {
        answers += 1;
    }
    assert_eq!(answers, 1);
}

#[tokio::test]
async fn nothing_but_the_handshake_comes_first() {
    let tasks = TaskTracker::new();
    let opener = Arc::new(Opener::new(|| Ok(Arc::new(Made::default()) as Arc<dyn Code>)));
    let wire = in_process(codebase(opener, CodebaseIdentity::ALONE))(&tasks);
    let mut client = Client { wire, tasks, id: 0 };
    let refused = json!({ "code": -32000, "message": "Not initialized" });
    for method in ["tools/list", "tools/call", "resources/list", "resources/read", "no/such"] {
        assert_eq!(client.ask(method, json!({})).await["error"], refused, "{method}");
    }
    // Requests of the stateless era need no handshake.
    let meta = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } });
    assert_eq!(client.ask("resources/list", meta.clone()).await["result"]["resultType"], "complete");
    let mut read = meta;
    read["uri"] = json!("codebase://nothing");
    assert_eq!(client.ask("resources/read", read).await["error"]["code"], -32602);
}
