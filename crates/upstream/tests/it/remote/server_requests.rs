//! What a server asks on the stream of a call.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tokio::{sync::oneshot, time::timeout};
use tokio_util::task::TaskTracker;
use toolbay_testkit::HttpScript;
use toolbay_upstream::{Call, CallEvent, Caller, ClientReply};

use super::{PATIENCE, at};
use crate::harness::{Harness, call_with_events, hello, tools, value};

/// A server whose tool asks its client for a name and answers with it.
async fn curious() -> HttpScript {
    let asked_back = Arc::<Mutex<HashMap<String, oneshot::Sender<Value>>>>::default();
    HttpScript::start(&TaskTracker::new(), move |asked, mut answering| {
        let asked_back = asked_back.clone();
        async move {
            match (asked.method.as_str(), asked.rpc()) {
                ("POST", "server/discover") | ("GET" | "DELETE", _) => {
                    answering.respond("400 Bad Request", &[], "").await;
                }
                ("POST", "initialize") => answering.result(&asked, hello()).await,
                ("POST", "tools/list") => answering.result(&asked, tools(&["t"])).await,
                ("POST", "tools/call") => {
                    let id = format!("q{}", asked.body["id"]);
                    let (told, answer) = oneshot::channel();
                    asked_back.lock().unwrap().insert(id.clone(), told);
                    answering.stream().await;
                    let params =
                        json!({"message": id, "requestedSchema": {"type": "object", "properties": {}}});
                    let question =
                        json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params});
                    answering.event(&question).await;
                    let answer = answer.await.unwrap();
                    let result = json!({"content": [{"type": "text", "text": answer.to_string()}]});
                    answering
                        .event(&json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": result}))
                        .await;
                }
                // A response to a server request, or a notification.
                _ => {
                    let told =
                        asked_back.lock().unwrap().remove(asked.body["id"].as_str().unwrap_or_default());
                    if let Some(told) = told {
                        told.send(asked.body["result"].clone()).unwrap();
                    }
                    answering.respond("202 Accepted", &[], "").await;
                }
            }
        }
    })
    .await
    .unwrap()
}

/// On a pipe nothing would name the call of a server request; here the stream does.
#[tokio::test]
async fn each_client_gets_the_server_requests_of_its_own_call() {
    let server = curious().await;
    let harness = Harness::new(at(&server.url), |_| {});
    timeout(PATIENCE, harness.until_ready()).await.unwrap();
    let mut clients = Vec::new();
    for _ in 0..8 {
        let (call, events) = call_with_events("t");
        let call = Call { caller: Caller { accepts_server_requests: true, ..call.caller }, ..call };
        clients.push((harness.server.call(call), events));
    }
    // The last is asked first.
    for (number, (call, mut events)) in clients.into_iter().enumerate().rev() {
        let event = timeout(PATIENCE, events.recv()).await.unwrap().unwrap();
        let CallEvent::ServerRequest(question) = event else { panic!("{event:?}") };
        assert_eq!(question.method(), "elicitation/create");
        question.respond(ClientReply::Result(format!(r#"{{"action":"accept","content":{{"n":{number}}}}}"#)));
        let answer = value(&timeout(PATIENCE, call).await.unwrap().unwrap());
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap()["content"]["n"], number, "{answer}");
    }
}
