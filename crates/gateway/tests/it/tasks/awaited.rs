//! Tasks whose client knows no tasks: the hub waits for their end.

use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use toolbay_transport::{Incoming, memory};

use super::{
    legacy_worker::{OldWorker, RELATED},
    worker::{EXTENSION, Worker},
};
use crate::{
    http::{Answer, Ask},
    test_gateway::{Hub, call, eventually, initialize, modern},
};

/// What a client can be asked.
fn everything() -> Value {
    json!({"elicitation": {}, "roots": {}})
}

fn elicit(message: &str) -> Value {
    let schema = json!({"type": "object", "properties": {}});
    json!({"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}})
}

async fn session(hub: &Hub, revision: &str) -> String {
    let mut hello = initialize(revision);
    hello["params"]["capabilities"] = everything();
    hub.send(Ask::post(&hello)).await.header("mcp-session-id").unwrap().to_owned()
}

/// Answers every question with its own message, and gives the answer to the call.
async fn converse(hub: &Hub, session: &str, mut answer: Answer) -> Value {
    if !answer.is_stream() {
        return answer.json().await;
    }
    loop {
        let message = answer.event().await.unwrap();
        if message["method"].is_null() {
            return message;
        }
        let result = json!({"action": "accept", "content": {"said": message["params"]["message"]}});
        let reply = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        hub.send(Ask::post(&reply).header("mcp-session-id", session)).await;
    }
}

async fn call_in(hub: &Hub, session: &str, arguments: Value) -> Value {
    let ask = Ask::post(&call("c", "job", arguments)).header("mcp-session-id", session);
    let answer = hub.send(ask).await;
    converse(hub, session, answer).await
}

#[tokio::test]
async fn a_client_with_a_handshake_gets_the_end_of_a_task() {
    let worker = Worker::default();
    let hub = Hub::around(worker.connect()).await;
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let session = session(&hub, revision).await;
        let done = call_in(&hub, &session, json!({"looks": 3})).await;
        assert_eq!(done["id"], "c");
        assert_eq!(done["result"].get("resultType"), None, "{done}");
        assert!(done["result"]["content"].is_array(), "{done}");
        assert!(done["result"].get("taskId").is_none() && done["result"].get("task").is_none(), "{done}");
        let failed = call_in(&hub, &session, json!({"error": {"code": -32050, "message": "no"}})).await;
        assert_eq!(failed["error"], json!({"code": -32050, "message": "no"}));
    }
    assert_eq!(worker.heard("tasks/get").len(), 3 * (3 + 1));
    assert_eq!(worker.heard("tasks/cancel").len(), 0, "what has ended is not cancelled");
    let declared =
        &worker.heard("tasks/get")[0]["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert!(declared["extensions"][EXTENSION].is_object(), "{declared}");
}

#[tokio::test]
async fn server_requests_of_a_task_reach_the_client_and_responses_reach_the_task() {
    let worker = Worker::default();
    let hub = Hub::around(worker.connect()).await;
    let session = session(&hub, "2025-11-25").await;
    let asks = json!({"a": elicit("first"), "b": elicit("second")});
    let done = call_in(&hub, &session, json!({"asks": asks, "late": 2})).await;
    let said = |text: &str| json!({"action": "accept", "content": {"said": text}});
    let answers = json!({"a": said("first"), "b": said("second")});
    assert_eq!(done["result"]["structuredContent"]["answers"], answers, "{done}");
    assert_eq!(worker.heard("tasks/update").len(), 1);
    // What it cannot be asked ends the call, and the task.
    let sampling = json!({"c": {"method": "sampling/createMessage", "params": {}}});
    let refused = call_in(&hub, &session, json!({"asks": sampling})).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("sampling/createMessage"), "{refused}");
    eventually("the task is cancelled", || worker.heard("tasks/cancel").len() == 1).await;
    assert_eq!(worker.heard("tasks/cancel")[0]["params"]["taskId"], "task-2");
}

#[tokio::test]
async fn a_client_that_cancels_or_disconnects_cancels_the_task() {
    for old in [false, true] {
        let (worker, old_worker) = (Worker::default(), OldWorker::default());
        let hub = Hub::around(if old { old_worker.connect() } else { worker.connect() }).await;
        let heard = |method: &str| if old { old_worker.heard(method) } else { worker.heard(method) };
        let waits = if old { "tasks/result" } else { "tasks/get" };
        let session = session(&hub, "2025-06-18").await;
        let arguments = json!({"looks": 1_000_000, "hang": true});
        let gone = Ask::post(&call("c", "job", arguments.clone())).header("mcp-session-id", &session);
        let connection = gone.open(&hub.address).await;
        eventually("the hub waits", || !heard(waits).is_empty()).await;
        assert_eq!(heard("tasks/cancel").len(), 0);
        drop(connection);
        eventually("the task is cancelled", || heard("tasks/cancel").len() == 1).await;

        let before = heard(waits).len();
        let cancelled = Ask::post(&call("d", "job", arguments)).header("mcp-session-id", &session);
        let connection = cancelled.open(&hub.address).await;
        eventually("the hub waits again", || heard(waits).len() > before).await;
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "d"}});
        hub.send(Ask::post(&cancel).header("mcp-session-id", &session)).await;
        eventually("the second is cancelled", || heard("tasks/cancel").len() == 2).await;
        drop(connection);
        let ids: Vec<Value> =
            heard("tasks/cancel").into_iter().map(|mut message| message["params"]["taskId"].take()).collect();
        let name = if old { "job" } else { "task" };
        assert_eq!(ids, [json!(format!("{name}-1")), json!(format!("{name}-2"))]);
    }
}

#[tokio::test]
async fn a_tool_that_is_done_only_as_a_task_is_awaited_for_clients_without_tasks() {
    let worker = OldWorker::default();
    let hub = Hub::around(worker.connect()).await;
    let at_once = |result: &Value| {
        assert_eq!(result["structuredContent"]["answers"], json!([]), "{result}");
        assert_eq!(result["_meta"], json!({"kept": 1}), "{result}");
    };
    // What the experiment called `task` means nothing to a client of the stateless era.
    let mut message = call(1, "job", json!({}));
    message["params"]["task"] = json!({"ttl": 5});
    for message in [call(1, "job", json!({})), message] {
        let done = hub.send(modern(message)).await.json().await;
        at_once(&done["result"]);
        assert_eq!(done["result"]["resultType"], "complete");
    }
    let session = session(&hub, "2025-06-18").await;
    at_once(&call_in(&hub, &session, json!({})).await["result"]);
    let failed = call_in(&hub, &session, json!({"error": "x"})).await;
    assert_eq!(failed["error"], json!({"code": -32050, "message": "as ordered"}));
    assert!(worker.heard("tools/call").iter().all(|message| message["params"]["task"] == json!({})));
    assert_eq!(worker.heard("tasks/cancel").len(), 0);
    // One that need not be a task is none.
    let mut message = call(1, "maybe", json!({}));
    message["params"]["task"] = json!({});
    let done = hub.send(modern(message)).await.json().await;
    assert_eq!(done["result"]["structuredContent"]["at"], "once", "{done}");
}

#[tokio::test]
async fn server_requests_of_an_awaited_task_reach_clients_of_every_revision() {
    let worker = OldWorker::default();
    let hub = Hub::around(worker.connect()).await;
    let arguments = json!({"asks": [elicit("a"), elicit("b")]});
    // Both wait for tasks of one server, but every question says which it is about.
    let (first, second) = (session(&hub, "2025-06-18").await, session(&hub, "2025-06-18").await);
    let waiting = Ask::post(&call("w", "job", json!({"hang": true}))).header("mcp-session-id", &second);
    let waiting = waiting.open(&hub.address).await;
    eventually("someone waits", || worker.heard("tasks/result").len() == 1).await;
    let done = call_in(&hub, &first, arguments.clone()).await;
    let answers = done["result"]["structuredContent"]["answers"].as_array().unwrap().clone();
    assert_eq!(answers[1]["content"]["said"], "b", "{done}");
    assert_eq!(answers[0]["_meta"][RELATED]["taskId"], "job-2", "{done}");

    let mut params = json!({"name": "s__job", "arguments": arguments});
    for round in ["a", "b"] {
        let message = crate::test_gateway::rpc(round, "tools/call", params.clone());
        let ask = modern(message).with_body(|body| {
            body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = everything();
        });
        let asked = hub.send(ask).await.json().await["result"].take();
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let (key, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
        assert_eq!(question["params"]["message"], round);
        assert_eq!(question["params"]["_meta"].get(RELATED), None, "{question}");
        params["requestState"] = asked["requestState"].clone();
        params["inputResponses"] = json!({key: {"action": "accept", "content": {"said": round}}});
    }
    let done = hub.send(modern(crate::test_gateway::rpc(9, "tools/call", params))).await.json().await;
    let answers = done["result"]["structuredContent"]["answers"].as_array().unwrap().clone();
    assert_eq!(answers[1]["content"]["said"], "b", "{done}");
    assert_eq!(answers[1]["_meta"][RELATED]["taskId"], "job-3", "{done}");
    drop(waiting);
}

/// Calls `job` on a pair of streams, and gives its answer.
async fn call_on_connection(hub: &Hub, arguments: Value) -> Value {
    let tasks = TaskTracker::new();
    let (mut client, theirs) = memory::pair(&tasks);
    let (gateway, stop) = (hub.gateway.clone(), hub.stop.clone());
    tasks.spawn(async move { gateway.serve_connection(theirs, stop).await });
    for message in [initialize("2025-06-18"), call("c", "job", arguments)] {
        client.outgoing.send(message.to_string().into()).await.unwrap();
    }
    loop {
        let Some(Incoming::Message(message)) = client.incoming.recv().await else { panic!("no answer") };
        let answer: Value = serde_json::from_slice(message.text()).unwrap();
        if answer["id"] == "c" {
            return answer;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_waited_for_as_its_server_wants_and_no_longer_than_a_call_may_take() {
    let (worker, old_worker) = (Worker::default(), OldWorker::default());
    for connect in [worker.connect(), old_worker.connect()] {
        let hub = Hub::around(connect).await;
        let start = Instant::now();
        let arguments = json!({"looks": 99, "interval": 59_000, "hang": true});
        let answer = call_on_connection(&hub, arguments).await;
        assert!(answer["error"]["message"].as_str().unwrap().contains("600 s"), "{answer}");
        assert_eq!(start.elapsed().as_secs(), 600);
    }
    assert_eq!(worker.heard("tasks/get").len(), 10);
    let cancelled = |heard: Vec<Value>| heard.len() == 1;
    let both = || cancelled(worker.heard("tasks/cancel")) && cancelled(old_worker.heard("tasks/cancel"));
    eventually("both are cancelled", both).await;
}
