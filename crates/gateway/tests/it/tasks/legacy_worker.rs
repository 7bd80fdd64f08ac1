//! A server of 2025-11-25 that works on tasks.
//!
//! `job` is done only as a task, `maybe` also at once. What a task asks (`asks`) it asks while someone waits for its
//! result; `hang` never ends.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;
use toolbay_host::InProcess;
use toolbay_transport::{Connection, Incoming, Outgoing, memory};

pub(crate) const RELATED: &str = "io.modelcontextprotocol/related-task";

/// A server, and what a test can see of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct OldWorker {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    tasks: HashMap<String, Value>,
    heard: Vec<Value>,
    asked: HashMap<u64, oneshot::Sender<Value>>,
    outgoing: Option<mpsc::Sender<Outgoing>>,
}

impl OldWorker {
    pub(crate) fn connect(&self) -> InProcess {
        let worker = self.clone();
        Arc::new(move |tasks| {
            let (ours, theirs) = memory::pair(tasks);
            tasks.spawn(worker.clone().serve(theirs, tasks.clone()));
            ours
        })
    }

    /// Every message of that method that came.
    pub(crate) fn heard(&self, method: &str) -> Vec<Value> {
        self.lock().heard.iter().filter(|message| message["method"] == method).cloned().collect()
    }

    /// Tells how a task stands.
    pub(crate) async fn tell(&self, task: &str) {
        let outgoing = self.lock().outgoing.clone().unwrap();
        let message =
            json!({"jsonrpc": "2.0", "method": "notifications/tasks/status", "params": state_of(task)});
        send(&outgoing, message).await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    async fn serve(self, wire: Connection, tasks: TaskTracker) {
        let Connection { outgoing, mut incoming } = wire;
        self.lock().outgoing = Some(outgoing.clone());
        while let Some(Incoming::Message(message)) = incoming.recv().await {
            let message: Value = serde_json::from_slice(message.text()).unwrap();
            let id = message["id"].clone();
            if message["method"].is_null() {
                let asked = self.lock().asked.remove(&id.as_u64().unwrap());
                let _ = asked.unwrap().send(message);
                continue;
            }
            self.lock().heard.push(message.clone());
            let (worker, outgoing) = (self.clone(), outgoing.clone());
            if id.is_null() {
                continue;
            }
            tasks.spawn(async move {
                let mut answer = json!({"jsonrpc": "2.0", "id": id});
                match worker.answer(&message, &outgoing).await {
                    Ok(result) => answer["result"] = result,
                    Err((code, message)) => answer["error"] = json!({"code": code, "message": message}),
                }
                send(&outgoing, answer).await;
            });
        }
    }

    async fn answer(
        &self,
        message: &Value,
        outgoing: &mpsc::Sender<Outgoing>,
    ) -> Result<Value, (i64, &'static str)> {
        let params = &message["params"];
        let task = params["taskId"].as_str().unwrap_or_default();
        let known = self.lock().tasks.get(task).cloned();
        match message["method"].as_str().unwrap() {
            "initialize" => {
                Ok(json!({"protocolVersion": "2025-11-25", "serverInfo": {"name": "w", "version": "0"},
                "capabilities": {"tools": {}, "tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}}}))
            }
            "tools/list" => {
                let tool = |name: &str, support: &str| json!({"name": name, "inputSchema": {"type": "object"}, "execution": {"taskSupport": support}});
                Ok(json!({"tools": [tool("job", "required"), tool("maybe", "optional")]}))
            }
            "tools/call" if params["task"].is_object() => {
                let mut state = self.lock();
                let id = format!("job-{}", state.tasks.len() + 1);
                state.tasks.insert(id.clone(), params["arguments"].clone());
                Ok(json!({"task": state_of(&id)}))
            }
            "tools/call" if params["name"] == "maybe" => {
                Ok(json!({"content": [], "structuredContent": {"at": "once"}}))
            }
            "tools/call" => Err((-32601, "only as a task")),
            "tasks/get" | "tasks/cancel" if known.is_some() => Ok(state_of(task)),
            "tasks/result" if known.is_some() => {
                let arguments = known.unwrap_or_default();
                if arguments["hang"].is_boolean() {
                    std::future::pending::<()>().await;
                }
                let mut answers = Vec::new();
                for question in arguments["asks"].as_array().into_iter().flatten() {
                    answers.push(self.ask(question.clone(), task, outgoing).await);
                }
                if arguments["error"].is_string() {
                    return Err((-32050, "as ordered"));
                }
                Ok(json!({"content": [], "structuredContent": {"answers": answers},
                    "_meta": {RELATED: {"taskId": task}, "kept": 1}}))
            }
            "tasks/get" | "tasks/cancel" | "tasks/result" => Err((-32602, "no such task")),
            _ => Err((-32601, "no such method")),
        }
    }

    /// Asks the client, and gives its whole answer.
    async fn ask(&self, mut question: Value, task: &str, outgoing: &mpsc::Sender<Outgoing>) -> Value {
        let (sender, answer) = oneshot::channel();
        let id = {
            let mut state = self.lock();
            let id = 100 + state.heard.len() as u64 + state.asked.len() as u64;
            state.asked.insert(id, sender);
            id
        };
        question["jsonrpc"] = json!("2.0");
        question["id"] = json!(id);
        question["params"]["_meta"] = json!({ RELATED: {"taskId": task} });
        send(outgoing, question).await;
        answer.await.unwrap()["result"].take()
    }
}

fn state_of(task: &str) -> Value {
    json!({"taskId": task, "status": "working", "statusMessage": task, "createdAt": "2026-01-01T00:00:00Z",
        "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": 60000, "pollInterval": 20})
}

async fn send(outgoing: &mpsc::Sender<Outgoing>, message: Value) {
    let _ = outgoing.send(message.to_string().into()).await; // the hub may be gone
}
