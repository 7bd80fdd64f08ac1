//! A server of the stateless era that works on tasks.
//!
//! `job` becomes a task that needs `looks` looks before it asks what `asks` says, and then ends with a result or with
//! `error`. It wants `interval` milliseconds between looks, and answers show after `late` more of them. Its memory
//! outlives its connections.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
};

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolbay_host::InProcess;
use toolbay_transport::{Connection, Incoming, Outgoing, memory};

pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A server, and what a test can see of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Worker {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    tasks: HashMap<String, Job>,
    heard: Vec<Value>,
    /// Who listens to tasks: the id of the request, and where to answer.
    listeners: Vec<(Value, mpsc::Sender<Outgoing>)>,
}

#[derive(Debug, Clone)]
struct Job {
    arguments: Value,
    looks: u64,
    answers: Value,
    /// How often it had been looked at when it got them.
    answered: u64,
    cancelled: bool,
}

impl Worker {
    pub(crate) fn connect(&self) -> InProcess {
        let worker = self.clone();
        Arc::new(move |tasks| {
            let (ours, theirs) = memory::pair(tasks);
            tasks.spawn(worker.clone().serve(theirs));
            ours
        })
    }

    /// Every request of that method that came.
    pub(crate) fn heard(&self, method: &str) -> Vec<Value> {
        self.lock().heard.iter().filter(|message| message["method"] == method).cloned().collect()
    }

    /// Tells everyone who listens how a task stands, whatever they listen to.
    pub(crate) async fn tell(&self, task: &str) {
        let listeners = self.lock().listeners.clone();
        for (id, outgoing) in listeners {
            let mut params = self.lock().look(task).unwrap();
            params["_meta"] = json!({ SUBSCRIPTION: id });
            send(&outgoing, json!({"jsonrpc": "2.0", "method": "notifications/tasks", "params": params}))
                .await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    async fn serve(self, wire: Connection) {
        let Connection { outgoing, mut incoming } = wire;
        while let Some(Incoming::Message(message)) = incoming.recv().await {
            let message: Value = serde_json::from_slice(message.text()).unwrap();
            self.lock().heard.push(message.clone());
            let id = message["id"].clone();
            if id.is_null() {
                continue;
            }
            let params = &message["params"];
            let outcome = match message["method"].as_str().unwrap() {
                "server/discover" => Ok(json!({"supportedVersions": ["2026-07-28"], "ttlMs": 0,
                    "cacheScope": "private", "capabilities":
                    {"tools": {}, "extensions": {EXTENSION: {}, "com.example/other": {"deep": [1]}}}})),
                "tools/list" => Ok(json!({"tools": [{"name": "job", "inputSchema": {"type": "object"}}]})),
                "subscriptions/listen" => {
                    self.listen(&id, params, &outgoing).await;
                    continue;
                }
                other => self.lock().answer(other, params),
            };
            let mut answer = json!({"jsonrpc": "2.0", "id": id});
            match outcome {
                Ok(mut result) => {
                    if result.get("resultType").is_none() {
                        result["resultType"] = json!("complete");
                    }
                    answer["result"] = result;
                }
                Err((code, message)) => answer["error"] = json!({"code": code, "message": message}),
            }
            send(&outgoing, answer).await;
        }
    }

    async fn listen(&self, id: &Value, params: &Value, outgoing: &mpsc::Sender<Outgoing>) {
        let wanted = params["notifications"]["taskIds"].as_array().cloned().unwrap_or_default();
        let wanted = wanted.iter().map(|id| id.as_str().unwrap().to_owned());
        let agreed: Vec<String> = {
            let mut state = self.lock();
            let agreed: Vec<String> = wanted.filter(|id| state.tasks.contains_key(id)).collect();
            if !agreed.is_empty() {
                state.listeners.push((id.clone(), outgoing.clone()));
            }
            agreed
        };
        let params = json!({"_meta": {SUBSCRIPTION: id}, "notifications": {"taskIds": agreed}});
        let method = "notifications/subscriptions/acknowledged";
        send(outgoing, json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }
}

type Outcome = Result<Value, (i64, &'static str)>;

impl State {
    fn answer(&mut self, method: &str, params: &Value) -> Outcome {
        let declares = params["_meta"][CAPABILITIES]["extensions"][EXTENSION].is_object();
        if method == "tools/call" {
            return match (declares, &params["arguments"]["required"]) {
                (true, _) => Ok(self.begin(&params["arguments"])),
                (false, Value::Null) => Ok(json!({"content": [], "structuredContent": {"at": "once"}})),
                (false, _) => Err((-32021, "it takes long")),
            };
        }
        let known = params["taskId"].as_str().and_then(|id| self.tasks.get_mut(id));
        let job = known.ok_or((-32602, "no such task"))?;
        match method {
            "tasks/get" => {
                job.looks += 1;
                self.look(params["taskId"].as_str().unwrap()).ok_or((-32603, "gone"))
            }
            "tasks/update" => {
                for (key, answer) in params["inputResponses"].as_object().unwrap() {
                    job.answers[key] = answer.clone();
                }
                job.answered = job.looks;
                Ok(json!({}))
            }
            "tasks/cancel" => {
                job.cancelled = true;
                Ok(json!({}))
            }
            _ => Err((-32601, "no such method")),
        }
    }

    fn begin(&mut self, arguments: &Value) -> Value {
        let id = format!("task-{}", self.tasks.len() + 1);
        let job =
            Job { arguments: arguments.clone(), looks: 0, answers: json!({}), answered: 0, cancelled: false };
        self.tasks.insert(id.clone(), job);
        let mut task = self.look(&id).unwrap();
        task["resultType"] = json!("task");
        task
    }

    /// The task as it stands.
    fn look(&self, id: &str) -> Option<Value> {
        let Job { arguments, looks, answers, answered, cancelled } = self.tasks.get(id)?;
        // It may take a while until answers show.
        let shows = *looks > answered + arguments["late"].as_u64().unwrap_or_default();
        let mut task = json!({"taskId": id, "createdAt": "2026-01-01T00:00:00Z", "ttlMs": 60000,
            "lastUpdatedAt": "2026-01-01T00:00:00Z", "pollIntervalMs": arguments["interval"].as_u64().unwrap_or(20)});
        let asks = arguments["asks"].as_object().cloned().unwrap_or_default();
        let open: serde_json::Map<_, _> =
            asks.into_iter().filter(|(key, _)| answers.get(key).is_none() || !shows).collect();
        task["status"] = json!("completed");
        if *cancelled {
            task["status"] = json!("cancelled");
        } else if *looks < arguments["looks"].as_u64().unwrap_or(1) {
            task["status"] = json!("working");
        } else if !open.is_empty() {
            task["status"] = json!("input_required");
            task["inputRequests"] = open.into();
        } else if arguments["error"].is_object() {
            task["status"] = json!("failed");
            task["error"] = arguments["error"].clone();
        } else {
            task["result"] = json!({"content": [], "structuredContent": {"answers": answers}});
        }
        Some(task)
    }
}

async fn send(outgoing: &mpsc::Sender<Outgoing>, message: Value) {
    let _ = outgoing.send(message.to_string().into()).await; // the hub may be gone
}
