//! The tasks of 2025-11-25, from end to end.

use serde_json::{Value, json};

use super::legacy_worker::{OldWorker, RELATED};
use crate::{
    http::{Answer, Ask},
    test_gateway::{Hub, call, initialize, rpc},
};

async fn ask(hub: &Hub, session: &str, message: &Value) -> Answer {
    hub.send(Ask::post(message).header("mcp-session-id", session)).await
}

async fn begin(hub: &Hub, session: &str, arguments: Value) -> Value {
    let mut message = call(1, "job", arguments);
    message["params"]["task"] = json!({"ttl": 1000});
    ask(hub, session, &message).await.json().await["result"].take()
}

#[tokio::test]
async fn a_task_passes_under_an_id_of_ours() {
    let worker = OldWorker::default();
    let hub = Hub::around(worker.connect()).await;
    let hello = hub.send(Ask::post(&initialize("2025-11-25"))).await;
    let session = hello.header("mcp-session-id").unwrap().to_owned();
    let declared = hello.json().await["result"]["capabilities"]["tasks"].take();
    assert_eq!(declared, json!({"cancel": {}, "requests": {"tools": {"call": {}}}}));

    let created = begin(&hub, &session, json!({})).await;
    assert_eq!(created["task"]["status"], "working", "{created}");
    assert_eq!(worker.heard("tools/call")[0]["params"]["task"], json!({"ttl": 1000}));
    let id = created["task"]["taskId"].clone();
    assert!(!id.as_str().unwrap().contains("job-1"));
    for method in ["tasks/get", "tasks/cancel"] {
        let state = ask(&hub, &session, &rpc(2, method, json!({"taskId": id}))).await.json().await;
        assert_eq!(state["result"]["taskId"], id, "{state}");
    }
    let result = ask(&hub, &session, &rpc(3, "tasks/result", json!({"taskId": id}))).await.json().await;
    assert_eq!(result["result"]["structuredContent"]["answers"], json!([]));
    assert_eq!(result["result"]["_meta"], json!({RELATED: {"taskId": id}, "kept": 1}));
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        assert_eq!(worker.heard(method).len(), 1);
        assert_eq!(worker.heard(method)[0]["params"]["taskId"], "job-1");
        for forged in [json!("job-1"), json!("x"), json!(1)] {
            let refused = ask(&hub, &session, &rpc(4, method, json!({"taskId": forged}))).await.json().await;
            assert_eq!(refused["error"]["code"], -32602, "{refused}");
        }
        assert_eq!(worker.heard(method).len(), 1);
    }
    let unknown = ask(&hub, &session, &rpc(5, "tasks/list", json!({}))).await.json().await;
    assert_eq!(unknown["error"]["code"], -32601);
    // Who asks for no task is told by the server that it must.
    let refused = ask(&hub, &session, &call(6, "job", json!({}))).await.json().await;
    assert_eq!(refused["error"]["code"], -32601);
}

#[tokio::test]
async fn only_clients_of_that_revision_hear_of_the_experiment() {
    let worker = OldWorker::default();
    let hub = Hub::around(worker.connect()).await;
    let session = hub.session("2025-11-25").await;
    let id = begin(&hub, &session, json!({})).await["task"]["taskId"].clone();
    let hello = hub.send(Ask::post(&initialize("2025-06-18"))).await;
    let older = hello.header("mcp-session-id").unwrap().to_owned();
    assert_eq!(hello.json().await["result"]["capabilities"].get("tasks"), None);
    let unknown = ask(&hub, &older, &rpc(1, "tasks/get", json!({"taskId": id}))).await.json().await;
    assert_eq!(unknown["error"]["code"], -32601);
    let newer = crate::test_gateway::modern(rpc(1, "tasks/get", json!({"taskId": id}))).with_body(|body| {
        body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    });
    assert_eq!(hub.send(newer).await.json().await["error"]["code"], -32602);
    assert_eq!(worker.heard("tasks/get").len(), 0);
    let discovered =
        hub.send(crate::test_gateway::modern(rpc(1, "server/discover", json!({})))).await.json().await;
    assert_eq!(discovered["result"]["capabilities"].get("tasks"), None);
    let plain = Hub::start().await;
    let hello = plain.send(Ask::post(&initialize("2025-11-25"))).await.json().await;
    assert_eq!(hello["result"]["capabilities"].get("tasks"), None);
}

#[tokio::test]
async fn server_requests_of_a_task_arrive_while_its_client_waits_for_the_result() {
    let worker = OldWorker::default();
    let hub = Hub::around(worker.connect()).await;
    let mut hello = initialize("2025-11-25");
    hello["params"]["capabilities"] = json!({"roots": {}});
    let session = hub.send(Ask::post(&hello)).await.header("mcp-session-id").unwrap().to_owned();
    let created = begin(&hub, &session, json!({"asks": [{"method": "roots/list", "params": {}}]})).await;
    let id = created["task"]["taskId"].clone();
    let mut stream = ask(&hub, &session, &rpc(2, "tasks/result", json!({"taskId": id}))).await;
    let question = stream.event().await.unwrap();
    assert_eq!(question["params"]["_meta"][RELATED]["taskId"], id, "{question}");
    let result = json!({"roots": [], "_meta": {RELATED: {"taskId": id}}});
    ask(&hub, &session, &json!({"jsonrpc": "2.0", "id": question["id"], "result": result})).await;
    let done = stream.event().await.unwrap();
    let answer = &done["result"]["structuredContent"]["answers"][0];
    assert_eq!(*answer, json!({"roots": [], "_meta": {RELATED: {"taskId": "job-1"}}}), "{done}");
}

#[tokio::test]
async fn a_session_is_notified_of_its_own_tasks_only() {
    let worker = OldWorker::default();
    let hub = Hub::around(worker.connect()).await;
    let (one, two) = (hub.session("2025-11-25").await, hub.session("2025-11-25").await);
    let listen = |session: &str| Ask::new("GET", "/mcp").header("mcp-session-id", session);
    let (mut first, mut second) = (hub.send(listen(&one)).await, hub.send(listen(&two)).await);
    let of_one = begin(&hub, &one, json!({})).await["task"]["taskId"].clone();
    let of_two = begin(&hub, &two, json!({})).await["task"]["taskId"].clone();
    for task in ["job-1", "unknown", "job-2", "job-1", "job-2"] {
        worker.tell(task).await;
    }
    for (stream, id, job) in [(&mut first, of_one, "job-1"), (&mut second, of_two, "job-2")] {
        for _ in 0..2 {
            let told = stream.event().await.unwrap();
            assert_eq!(told["method"], "notifications/tasks/status");
            assert_eq!((&told["params"]["taskId"], &told["params"]["statusMessage"]), (&id, &json!(job)));
        }
    }
}
