//! Calls that a person has to allow.

use serde_json::{Value, json};
use toolbay_gateway::PendingCall;

use super::{call, hub, text};
use crate::{
    http::{Answer, Ask},
    test_gateway::{Hub, eventually, initialize, modern, rpc},
};

const RULES: &str = "
    [[policy.rules]]
    name = 'ask first'
    tool = 'delete'
    action = 'ask'
    reason = 'It cannot be undone.'
";

fn can_elicit(ask: Ask) -> Ask {
    ask.with_body(|body| {
        body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({ "elicitation": { "form": {} } });
    })
}

fn delete() -> Value {
    call("s__delete", json!({ "path": "/x", "api_key": "hunter2hunter2" }))
}

/// Sends a call again with the answer of the user.
fn answered(required: &Value, action: &str) -> Ask {
    let state = required["result"]["requestState"].clone();
    can_elicit(modern(delete())).with_body(|body| {
        body["params"]["requestState"] = state;
        body["params"]["inputResponses"] = json!({ "toolbay-approval": { "action": action, "content": {} } });
    })
}

#[tokio::test]
async fn a_modern_client_gets_a_form() {
    let hub = hub(RULES).await;
    let required = hub.send(can_elicit(modern(delete()))).await.json().await;
    assert_eq!(required["result"]["resultType"], "input_required", "{required}");
    let form = &required["result"]["inputRequests"]["toolbay-approval"];
    assert_eq!(form["method"], "elicitation/create");
    let message = form["params"]["message"].as_str().unwrap();
    for part in ["Tool: s__delete", "Server: s", "\"/x\"", "Rule: ask first", "It cannot be undone."] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!message.contains("hunter2"), "{message}");
    assert_eq!(hub.calls(), 0);

    let declined = hub.send(answered(&required, "decline")).await.json().await;
    assert!(text(&declined).contains("the user declined"), "{declined}");
    let again = hub.send(answered(&required, "accept")).await.json().await;
    assert!(again["error"].is_object(), "it was answered before: {again}");
    assert_eq!(hub.calls(), 0);

    let required = hub.send(can_elicit(modern(delete()))).await.json().await;
    let other =
        answered(&required, "accept").with_body(|body| body["params"]["arguments"]["path"] = json!("/y"));
    let other = hub.send(other).await.json().await;
    assert!(other["error"].is_object(), "it was asked for other arguments: {other}");
    let made = hub.send(answered(&required, "accept")).await.json().await;
    assert!(made["result"]["isError"] != true && made["result"].is_object(), "{made}");
    assert_eq!(hub.calls(), 1);
    let received = hub.server.received().pop().unwrap();
    assert!(!received.contains("requestState") && !received.contains("inputResponses"), "{received}");
    let replayed = hub.send(answered(&required, "accept")).await.json().await;
    assert!(replayed["error"].is_object(), "an answer counts once: {replayed}");
    let listed = hub.send(modern(rpc(1, "tools/list", json!({})))).await.json().await;
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let is_hinted = tool["_meta"]["anthropic/requiresUserInteraction"] == true;
        assert_eq!(is_hinted, tool["name"].as_str().unwrap().ends_with("delete"), "{tool}");
    }
    // Other tools are not asked about.
    let looked = hub.send(modern(call("s__look", json!({})))).await.json().await;
    assert!(looked["result"]["isError"] != true, "{looked}");
    assert_eq!(hub.calls(), 2);
}

/// Starts a session whose client can ask its user.
async fn session(hub: &Hub) -> String {
    let first = Ask::post(&initialize("2025-06-18"))
        .with_body(|body| body["params"]["capabilities"] = json!({ "elicitation": {} }));
    hub.send(first).await.header("mcp-session-id").unwrap().to_owned()
}

#[tokio::test]
async fn a_session_gets_a_request() {
    let hub = hub(RULES).await;
    let session = session(&hub).await;
    let in_session = |message: &Value| Ask::post(message).header("mcp-session-id", &session);
    for (reply, is_made) in [
        (json!({ "result": { "action": "accept", "content": {} } }), true),
        (json!({ "result": { "action": "decline" } }), false),
        (json!({ "result": { "action": "cancel" } }), false),
        (json!({ "error": { "code": -1, "message": "no" } }), false),
    ] {
        let before = hub.calls();
        let mut stream: Answer = hub.send(in_session(&delete())).await;
        let request = stream.event().await.unwrap();
        assert_eq!(request["method"], "elicitation/create", "{request}");
        assert!(request["params"]["message"].as_str().unwrap().contains("Tool: s__delete"));
        assert_eq!(hub.calls(), before);
        let mut reply = reply;
        reply["jsonrpc"] = json!("2.0");
        reply["id"] = request["id"].clone();
        assert_eq!(hub.send(in_session(&reply)).await.status, 202);
        let answer = stream.event().await.unwrap();
        assert_eq!(answer["result"]["isError"] != true, is_made, "{answer}");
        assert_eq!(hub.calls() - before, usize::from(is_made));
    }
}

async fn waiting(hub: &Hub) -> Vec<PendingCall> {
    eventually("a call waits", || !hub.gateway.pending_calls().is_empty()).await;
    hub.gateway.pending_calls()
}

#[tokio::test]
async fn the_owner_decides_for_clients_that_cannot_ask() {
    let hub = hub(RULES).await;
    for (is_allowed, ask) in [
        (true, modern(delete())),
        (false, modern(delete())),
        (true, Ask::post(&delete())),
        (false, Ask::post(&delete())),
    ] {
        let before = hub.calls();
        let (answer, ()) = tokio::join!(async { hub.send(ask).await.json().await }, async {
            let [call] = &waiting(&hub).await[..] else { panic!("one call waits") };
            assert_eq!(
                (call.tool.as_str(), call.server.as_str(), call.rule.as_str()),
                ("s__delete", "s", "ask first")
            );
            assert!(call.arguments.contains("/x") && !call.arguments.contains("hunter2"), "{call:?}");
            assert!(hub.gateway.decide_pending(call.id, is_allowed));
        });
        assert_eq!(answer["result"]["isError"] != true, is_allowed, "{answer}");
        assert_eq!(hub.calls() - before, usize::from(is_allowed));
        assert!(hub.gateway.pending_calls().is_empty());
    }
}

#[tokio::test]
async fn a_client_that_leaves_waits_no_longer() {
    let hub = hub(RULES).await;
    let stream = modern(delete()).open(&hub.address).await;
    waiting(&hub).await;
    drop(stream);
    eventually("nothing waits", || hub.gateway.pending_calls().is_empty()).await;
    assert_eq!(hub.calls(), 0);
}

/// In a batch nobody can be asked, so the calls wait for the owner.
#[tokio::test]
async fn a_call_in_a_batch_waits_for_the_owner() {
    let hub = hub(RULES).await;
    let batch = json!([call("s__look", json!({})), rpc(8, "tools/call", json!({"name": "s__delete"}))]);
    let (answer, ()) = tokio::join!(async { hub.send(Ask::post(&batch)).await.json().await }, async {
        let id = waiting(&hub).await[0].id;
        assert!(hub.gateway.decide_pending(id, false));
    });
    assert!(answer[0]["result"]["isError"] != true && answer[1]["result"]["isError"] == true, "{answer}");
    assert_eq!(hub.calls(), 1);
}
