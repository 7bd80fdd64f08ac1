//! The hub about itself, in both eras.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_builtin::hub::hub;
use toolbay_protocol::Rope;
use toolbay_transport::Incoming;

/// Sends requests to a new hub and gives the answers, in the order of their ids.
async fn answers(requests: &[Value]) -> Vec<Value> {
    let tasks = TaskTracker::new();
    let mut wire = hub(Arc::new(|| json!({ "servers": [{ "name": "x" }] })), None)(&tasks);
    for request in requests {
        wire.outgoing.send(Rope::from(request.to_string())).await.unwrap();
    }
    let mut answers = Vec::new();
    while answers.len() < requests.len() {
        match wire.incoming.recv().await.unwrap() {
            Incoming::Message(message) => answers.push(serde_json::from_slice(message.text()).unwrap()),
            other => panic!("{other:?}"),
        }
    }
    drop(wire);
    tasks.close();
    tasks.wait().await; // it ends with its client
    answers.sort_by_key(|answer: &Value| answer["id"].as_u64());
    answers
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

#[tokio::test]
async fn with_a_handshake() {
    let answers = answers(&[
        request(1, "initialize", json!({ "protocolVersion": "2025-06-18" })),
        request(2, "tools/list", json!({})),
        request(3, "tools/call", json!({ "name": "status", "arguments": {} })),
        request(4, "tools/call", json!({ "name": "other" })),
        request(5, "prompts/list", json!({})),
        request(6, "initialize", json!({ "protocolVersion": "2026-07-28" })),
        request(7, "ping", json!({})),
    ])
    .await;
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-06-18");
    let tool = &answers[1]["result"]["tools"][0];
    assert_eq!((&tool["name"], &tool["annotations"]["readOnlyHint"]), (&json!("status"), &json!(true)));
    assert_eq!(answers[1]["result"]["resultType"], Value::Null);
    assert_eq!(answers[2]["result"]["structuredContent"]["servers"][0]["name"], "x");
    assert_eq!(answers[3]["error"]["code"], -32602);
    assert_eq!(answers[4]["error"]["code"], -32601);
    assert_eq!(answers[5]["error"], json!({ "code": -32000, "message": "Already initialized" }));
    assert_eq!(answers[6]["result"], json!({}));
}

#[tokio::test]
async fn without_one() {
    let meta = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } });
    let mut call = meta.clone();
    call["name"] = json!("status");
    let answers = answers(&[
        request(1, "server/discover", meta.clone()),
        request(2, "tools/list", meta),
        request(3, "tools/call", call),
    ])
    .await;
    assert_eq!(answers[0]["result"]["supportedVersions"][0], "2026-07-28");
    for answer in &answers {
        assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    }
}
