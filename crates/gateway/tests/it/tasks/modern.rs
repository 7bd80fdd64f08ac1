//! The extension of the stateless era, from end to end.

use serde_json::{Value, json};
use toolbay_gateway::GatewayOptions;

use super::worker::{EXTENSION, Worker};
use crate::{
    http::Ask,
    test_gateway::{Hub, SUBSCRIPTION_KEY, call, eventually, modern, rpc},
};

/// A request of a client that knows tasks.
fn knowing(message: Value) -> Ask {
    modern(message).with_body(|body| {
        body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({"extensions": {EXTENSION: {}}});
    })
}

/// Starts a task and gives the answer's result.
async fn begin(hub: &Hub, arguments: Value) -> Value {
    hub.send(knowing(call(1, "job", arguments))).await.json().await["result"].take()
}

async fn ask(hub: &Hub, method: &str, params: Value) -> Value {
    hub.send(knowing(rpc("t", method, params))).await.json().await
}

#[tokio::test]
async fn a_task_is_looked_at_fed_and_cancelled_under_an_id_of_ours() {
    let worker = Worker::default();
    let hub = Hub::around(worker.connect()).await;
    let asks = json!({"name": {"method": "roots/list"}});
    let task = begin(&hub, json!({"looks": 2, "asks": asks})).await;
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{task}");
    assert_eq!(task["pollIntervalMs"], 20);
    let id = task["taskId"].as_str().unwrap();
    assert!(!id.contains("task-1"), "{id}");

    let looked = ask(&hub, "tasks/get", json!({"taskId": id})).await;
    assert_eq!(looked["id"], "t");
    assert_eq!((&looked["result"]["status"], &looked["result"]["taskId"]), (&json!("working"), &json!(id)));
    let looked = ask(&hub, "tasks/get", json!({"taskId": id})).await;
    assert_eq!(looked["result"]["inputRequests"], asks, "{looked}");

    let answers = json!({"name": {"roots": [], "n": 1.0}});
    let fed = ask(&hub, "tasks/update", json!({"taskId": id, "inputResponses": answers})).await;
    assert_eq!(fed["result"], json!({"resultType": "complete"}));
    let done = ask(&hub, "tasks/get", json!({"taskId": id})).await["result"].take();
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(done["result"]["structuredContent"]["answers"], answers);

    let cancelled = ask(&hub, "tasks/cancel", json!({"taskId": id})).await;
    assert_eq!(cancelled["result"], json!({"resultType": "complete"}));
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let heard = worker.heard(method);
        assert!(heard.iter().all(|message| message["params"]["taskId"] == "task-1"), "{heard:?}");
    }
    // Another task has another id, and the same task always the same.
    assert_ne!(begin(&hub, json!({})).await["taskId"], task["taskId"]);
}

#[tokio::test]
async fn forged_and_foreign_ids_reach_no_server() {
    let (worker, other) = (Worker::default(), Worker::default());
    let hub = Hub::around(worker.connect()).await;
    let elsewhere = Hub::around(other.connect()).await;
    let ours = begin(&hub, json!({})).await["taskId"].as_str().unwrap().to_owned();
    let theirs = begin(&elsewhere, json!({})).await["taskId"].as_str().unwrap().to_owned();
    let flipped = |index: usize| {
        let mut changed = ours.clone().into_bytes();
        changed[index] = if changed[index] == b'x' { b'y' } else { b'x' };
        json!(String::from_utf8(changed).unwrap())
    };
    let bad = [json!("task-1"), json!(theirs), flipped(0), flipped(40), flipped(ours.len() - 2), json!("")];
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        for id in &bad {
            let refused = ask(&hub, method, json!({"taskId": id, "inputResponses": {}})).await;
            assert_eq!(refused["error"]["code"], -32602, "{method} {id}: {refused}");
        }
        for params in [json!({}), json!({"taskId": 1}), json!({"taskId": null})] {
            assert_eq!(ask(&hub, method, params).await["error"]["code"], -32602);
        }
        assert_eq!(worker.heard(method).len(), 0);
    }
    // Names and headers are compared as for tools.
    let mismatched = knowing(rpc(1, "tasks/get", json!({"taskId": ours}))).header("mcp-name", "other");
    assert_eq!(hub.send(mismatched).await.refusal().await, (400, -32020));
    let nameless = knowing(rpc(1, "tasks/get", json!({"taskId": ours}))).without("mcp-name");
    assert_eq!(hub.send(nameless).await.refusal().await, (400, -32020));
    assert_eq!(worker.heard("tasks/get").len(), 0);
}

#[tokio::test]
async fn clients_without_the_extension_get_no_tasks() {
    let worker = Worker::default();
    let hub = Hub::around(worker.connect()).await;
    let id = begin(&hub, json!({})).await["taskId"].clone();
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let answer = hub.send(modern(rpc(1, method, json!({"taskId": id, "inputResponses": {}})))).await;
        assert_eq!(answer.status, 400);
        let error = answer.json().await["error"].take();
        assert_eq!(error["code"], -32021, "{error}");
        assert!(error["data"]["requiredCapabilities"]["extensions"][EXTENSION].is_object(), "{error}");
        assert_eq!(worker.heard(method).len(), 0);
    }
    for method in ["tasks/result", "tasks/list"] {
        let answer = hub.send(knowing(rpc(1, method, json!({"taskId": id})))).await;
        assert_eq!(answer.refusal().await, (404, -32601));
    }
    let at_once = hub.send(modern(call(1, "job", json!({})))).await.json().await["result"].take();
    assert_eq!(at_once["structuredContent"]["at"], "once", "{at_once}");
    let refused = hub.send(modern(call(1, "job", json!({"required": true})))).await;
    assert_eq!(refused.refusal().await, (400, -32021));
}

#[tokio::test]
async fn ids_outlive_the_hub_when_their_key_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("toolbay/tasks.key");
    let worker = Worker::default();
    let options = || GatewayOptions { task_key: Some(file.clone()), ..GatewayOptions::default() };
    let hub = Hub::around_with(worker.connect(), options()).await;
    let id = begin(&hub, json!({})).await["taskId"].clone();
    drop(hub);
    let hub = Hub::around_with(worker.connect(), options()).await;
    let looked = ask(&hub, "tasks/get", json!({"taskId": id})).await;
    assert_eq!(looked["result"]["status"], "completed", "{looked}");
    assert_eq!(looked["result"]["taskId"], id);
    // A place that cannot be written to costs only that.
    let unusable = GatewayOptions { task_key: Some(file.join("below")), ..GatewayOptions::default() };
    let hub = Hub::around_with(worker.connect(), unusable).await;
    assert_eq!(ask(&hub, "tasks/get", json!({"taskId": id})).await["error"]["code"], -32602);
    let id = begin(&hub, json!({})).await["taskId"].clone();
    assert_eq!(ask(&hub, "tasks/get", json!({"taskId": id})).await["result"]["status"], "completed");
}

#[tokio::test]
async fn extensions_of_servers_are_declared() {
    let hub = Hub::around(Worker::default().connect()).await;
    let discovered = hub.send(modern(rpc(1, "server/discover", json!({})))).await.json().await;
    let capabilities = &discovered["result"]["capabilities"];
    assert_eq!(capabilities["extensions"], json!({EXTENSION: {}, "com.example/other": {"deep": [1]}}));
    assert_eq!(capabilities.get("tasks"), None);
    let plain = Hub::start().await;
    let discovered = plain.send(modern(rpc(1, "server/discover", json!({})))).await.json().await;
    assert_eq!(discovered["result"]["capabilities"].get("extensions"), None);
}

#[tokio::test]
async fn a_subscription_to_a_task_is_notified_of_no_other() {
    let worker = Worker::default();
    let hub = Hub::around(worker.connect()).await;
    let first = begin(&hub, json!({})).await["taskId"].clone();
    let second = begin(&hub, json!({})).await["taskId"].clone();
    let listen = |id: &str, tasks: Value| rpc(id, "subscriptions/listen", json!({"notifications": tasks}));
    let mut one = hub.send(knowing(listen("one", json!({"taskIds": [first, "forged"]})))).await;
    let mut both = hub.send(knowing(listen("both", json!({"taskIds": [second, first]})))).await;
    for (stream, id, count) in [(&mut one, "one", 1), (&mut both, "both", 2)] {
        let acknowledged = stream.event().await.unwrap();
        assert_eq!(acknowledged["params"]["_meta"][SUBSCRIPTION_KEY], id, "{acknowledged}");
        let agreed = acknowledged["params"]["notifications"]["taskIds"].as_array().unwrap().clone();
        assert_eq!(agreed.len(), count, "{agreed:?}");
        assert!(agreed.contains(&first), "{agreed:?}");
    }
    worker.tell("task-2").await;
    worker.tell("task-1").await;
    let told = |message: Value| {
        assert_eq!(
            (&message["method"], &message["params"]["status"]),
            (&json!("notifications/tasks"), &json!("working"))
        );
        (message["params"]["taskId"].clone(), message["params"]["_meta"][SUBSCRIPTION_KEY].clone())
    };
    assert_eq!(told(one.event().await.unwrap()), (first.clone(), json!("one")));
    assert_eq!(told(both.event().await.unwrap()), (second, json!("both")));
    assert_eq!(told(both.event().await.unwrap()), (first.clone(), json!("both")));
    // Who goes is not listened for any more.
    drop(one);
    eventually("the server is told", || worker.heard("notifications/cancelled").len() == 1).await;
    let undeclared = modern(listen("no", json!({"taskIds": [first]})));
    assert_eq!(hub.send(undeclared).await.refusal().await, (400, -32021));
}
