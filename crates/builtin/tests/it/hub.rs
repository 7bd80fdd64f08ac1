//! The hub's own server, with legacy and modern requests.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_builtin::hub::hub;
use toolbay_transport::Incoming;

/// Sends requests to a new hub and returns the responses, in the order of their ids.
async fn responses(requests: &[Value]) -> Vec<Value> {
    let tasks = TaskTracker::new();
    let mut connection = hub(Arc::new(|| json!({ "servers": [{ "name": "x" }] })), None)(&tasks);
    for request in requests {
        connection.outgoing.send(request.to_string().into()).await.unwrap();
    }
    let mut responses = Vec::new();
    while responses.len() < requests.len() {
        match connection.incoming.recv().await.unwrap() {
            Incoming::Message(message) => responses.push(serde_json::from_slice(message.text()).unwrap()),
            other => panic!("{other:?}"),
        }
    }
    drop(connection);
    tasks.close();
    tasks.wait().await; // it ends with its client
    responses.sort_by_key(|response: &Value| response["id"].as_u64());
    responses
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

#[tokio::test]
async fn legacy_requests_follow_a_handshake() {
    let responses = responses(&[
        request(1, "initialize", json!({ "protocolVersion": "2025-06-18" })),
        request(2, "tools/list", json!({})),
        request(3, "tools/call", json!({ "name": "status", "arguments": {} })),
        request(4, "tools/call", json!({ "name": "other" })),
        request(5, "prompts/list", json!({})),
        request(6, "initialize", json!({ "protocolVersion": "2026-07-28" })),
        request(7, "ping", json!({})),
    ])
    .await;
    assert_eq!(responses[0]["result"]["protocolVersion"], "2025-06-18");
    let tool = &responses[1]["result"]["tools"][0];
    assert_eq!((&tool["name"], &tool["annotations"]["readOnlyHint"]), (&json!("status"), &json!(true)));
    assert_eq!(responses[1]["result"]["resultType"], Value::Null);
    assert_eq!(responses[2]["result"]["structuredContent"]["servers"][0]["name"], "x");
    assert_eq!(responses[3]["error"]["code"], -32602);
    assert_eq!(responses[4]["error"]["code"], -32601);
    assert_eq!(responses[5]["error"], json!({ "code": -32000, "message": "Already initialized" }));
    assert_eq!(responses[6]["result"], json!({}));
}

#[tokio::test]
async fn modern_requests_need_no_handshake() {
    let meta = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } });
    let mut call = meta.clone();
    call["name"] = json!("status");
    let responses = responses(&[
        request(1, "server/discover", meta.clone()),
        request(2, "tools/list", meta),
        request(3, "tools/call", call),
    ])
    .await;
    assert_eq!(responses[0]["result"]["supportedVersions"][0], "2026-07-28");
    for response in &responses {
        assert_eq!(response["result"]["resultType"], "complete", "{response}");
    }
}
