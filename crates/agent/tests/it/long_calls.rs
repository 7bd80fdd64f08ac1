//! Calls that a server of 2025-11-25 does only as a task.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::sleep;
use toolbay_agent::{Agent, Client, transport::InProcess};
use toolbay_protocol::Message;
use toolbay_transport::{Incoming, memory};

use crate::test_host::eventually;

/// A server whose one tool is a task of 30 s; notes what it was asked.
fn worker(asked: &Arc<Mutex<Vec<String>>>) -> InProcess {
    let asked = asked.clone();
    Arc::new(move |tasks| {
        let (mut inside, outside) = memory::pair(tasks);
        let (asked, answering) = (asked.clone(), tasks.clone());
        tasks.spawn(async move {
            while let Some(Incoming::Message(message)) = inside.incoming.recv().await {
                let Message::Request(request) = message else { continue };
                let message: Value = serde_json::from_slice(&request.call.text).unwrap();
                asked.lock().unwrap().push(request.call.method().to_owned());
                let outgoing = inside.outgoing.clone();
                answering.spawn(async move {
                    let text = match answer(&message).await {
                        Some(result) => toolbay_protocol::result(&request.id, &result.to_string()),
                        None => {
                            let unknown = toolbay_protocol::ErrorObject::new(
                                toolbay_protocol::ErrorCode::METHOD_NOT_FOUND,
                                "?",
                            );
                            toolbay_protocol::error(Some(&request.id), &unknown)
                        }
                    };
                    let _ = outgoing.send(text.into()).await;
                });
            }
        });
        outside
    })
}

async fn answer(asked: &Value) -> Option<Value> {
    let task = |status: &str| json!({"taskId": "t1", "status": status, "createdAt": "", "lastUpdatedAt": "", "ttl": null});
    Some(match asked["method"].as_str()? {
        "initialize" => {
            json!({"protocolVersion": "2025-11-25", "serverInfo": {"name": "worker", "version": "1"},
            "capabilities": {"tools": {}, "tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}}})
        }
        "tools/list" => json!({"tools": [{"name": "work", "inputSchema": {"type": "object"},
            "execution": {"taskSupport": "required"}}]}),
        "tools/call" if asked["params"]["task"].is_object() => {
            json!({"task": task("working")})
        }
        "tasks/result" => {
            assert_eq!(asked["params"]["taskId"], "t1");
            sleep(Duration::from_secs(30)).await;
            json!({"content": [{"type": "text", "text": "done"}]})
        }
        "tasks/cancel" => task("cancelled"),
        _ => return None,
    })
}

#[tokio::test(start_paused = true)]
async fn the_answer_is_the_end_of_the_task() {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let agent = Agent::builder().in_process("w", worker(&asked)).build().await.unwrap();
    assert_eq!(agent.call_tool("w__work", json!({})).await.unwrap().to_text(), "done");
    sleep(Duration::from_secs(1)).await;
    let cancelled = || asked.lock().unwrap().iter().filter(|method| *method == "tasks/cancel").count();
    assert_eq!(cancelled(), 0, "what has ended is not cancelled");
    let gone = tokio::time::timeout(Duration::from_secs(3), agent.call_tool("w__work", json!({}))).await;
    assert!(gone.is_err());
    eventually("the task is cancelled", || cancelled() == 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_asks_for_a_task_where_one_is_needed() {
    let asked = Arc::default();
    let client = Client::in_process(worker(&asked)).connect().await.unwrap();
    assert_eq!(client.call_tool("work", json!({})).await.unwrap().to_text(), "done");
}
