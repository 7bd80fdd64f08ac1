//! Servers that ask what the arguments of a call tell them to ask.
//!
//! `{"rounds": [[{"method": …, "params": …}, …], …]}` is answered with all the answers they got, round by round. A
//! server with a handshake waits `ms` before it asks, and refuses its very first call if there is a page to `visit`.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;
use toolbay_host::InProcess;
use toolbay_transport::{Connection, Incoming, Outgoing, memory};

/// What a test can see of a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    calls: Arc<AtomicUsize>,
    cancelled: Arc<AtomicUsize>,
    errors: Arc<Mutex<Vec<Value>>>,
}

impl Seen {
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    pub(crate) fn cancelled(&self) -> usize {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Errors with which its questions were answered.
    pub(crate) fn errors(&self) -> Vec<Value> {
        self.errors.lock().unwrap().clone()
    }
}

pub(crate) fn legacy(seen: &Seen) -> InProcess {
    let seen = seen.clone();
    Arc::new(move |tasks| {
        let (ours, theirs) = memory::pair(tasks);
        tasks.spawn(serve_legacy(theirs, seen.clone(), tasks.clone()));
        ours
    })
}

pub(crate) fn modern(seen: &Seen) -> InProcess {
    let seen = seen.clone();
    Arc::new(move |tasks| {
        let (ours, theirs) = memory::pair(tasks);
        tasks.spawn(serve_modern(theirs, seen.clone()));
        ours
    })
}

type Open = Arc<Mutex<HashMap<u64, oneshot::Sender<Value>>>>;

async fn serve_legacy(wire: Connection, seen: Seen, tasks: TaskTracker) {
    let Connection { outgoing, mut incoming } = wire;
    let open = Open::default();
    while let Some(Incoming::Message(message)) = incoming.recv().await {
        let message: Value = serde_json::from_slice(message.text()).unwrap();
        let id = message["id"].clone();
        match message["method"].as_str() {
            None => {
                if let Some(waiting) = open.lock().unwrap().remove(&id.as_u64().unwrap()) {
                    let _ = waiting.send(message);
                }
            }
            Some("initialize") => {
                let result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "asker", "version": "0"}});
                send(&outgoing, json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
            }
            Some("tools/list") => send(&outgoing, tools(&id)).await,
            Some("tools/call") => {
                seen.calls.fetch_add(1, Ordering::Relaxed);
                let call = Legacy { outgoing: outgoing.clone(), open: open.clone(), seen: seen.clone() };
                tasks.spawn(call.run(id, message["params"]["arguments"].clone()));
            }
            Some("notifications/cancelled") => drop(seen.cancelled.fetch_add(1, Ordering::Relaxed)),
            Some(_) if id.is_null() => {}
            Some(_) => {
                let error = json!({"code": -32601, "message": "no"});
                send(&outgoing, json!({"jsonrpc": "2.0", "id": id, "error": error})).await;
            }
        }
    }
}

/// One call of a server with a handshake.
struct Legacy {
    outgoing: mpsc::Sender<Outgoing>,
    open: Open,
    seen: Seen,
}

impl Legacy {
    async fn run(self, id: Value, arguments: Value) {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        if let Some(url) = arguments["visit"].as_str().filter(|_| self.seen.calls() == 1) {
            let page = json!({"mode": "url", "message": "go", "url": url, "elicitationId": "e"});
            let error = json!({"code": -32042, "message": "visit", "data": {"elicitations": [page]}});
            return send(&self.outgoing, json!({"jsonrpc": "2.0", "id": id, "error": error})).await;
        }
        if let Some(ms) = arguments["ms"].as_u64() {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        let mut all = Vec::new();
        for round in arguments["rounds"].as_array().unwrap() {
            let mut waits = Vec::new();
            for question in round.as_array().unwrap() {
                let (sender, answer) = oneshot::channel();
                let asked = NEXT.fetch_add(1, Ordering::Relaxed) as u64;
                self.open.lock().unwrap().insert(asked, sender);
                let mut message = question.clone();
                message["jsonrpc"] = json!("2.0");
                message["id"] = json!(asked);
                send(&self.outgoing, message).await;
                waits.push(answer);
            }
            let mut answers = Vec::new();
            for wait in waits {
                let Ok(mut answer) = wait.await else { return };
                if answer.get("error").is_some() {
                    self.seen.errors.lock().unwrap().push(answer["error"].clone());
                }
                answers.push(answer["result"].take());
            }
            all.push(Value::from(answers));
        }
        let result = json!({"content": [], "structuredContent": {"answers": all}});
        send(&self.outgoing, json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
    }
}

async fn serve_modern(wire: Connection, seen: Seen) {
    let Connection { outgoing, mut incoming } = wire;
    while let Some(Incoming::Message(message)) = incoming.recv().await {
        let message: Value = serde_json::from_slice(message.text()).unwrap();
        let id = message["id"].clone();
        let params = &message["params"];
        let result = match message["method"].as_str().unwrap() {
            "server/discover" => json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}),
            "tools/list" => {
                send(&outgoing, tools(&id)).await;
                continue;
            }
            "tools/call" => {
                seen.calls.fetch_add(1, Ordering::Relaxed);
                modern_call(params)
            }
            _ => continue,
        };
        send(&outgoing, json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
    }
}

/// All that happened so far is in the state, as the specification wants it.
fn modern_call(params: &Value) -> Value {
    let mut so_far: Vec<Value> = match params["requestState"].as_str() {
        Some(state) => serde_json::from_str(state).unwrap(),
        None => Vec::new(),
    };
    let rounds = params["arguments"]["rounds"].as_array().unwrap();
    if let Some(responses) = params["inputResponses"].as_object() {
        let asked = rounds[so_far.len()].as_array().unwrap().len();
        so_far.push((0..asked).map(|index| responses[&format!("key{index}")].clone()).collect());
    }
    match rounds.get(so_far.len()) {
        None => json!({"resultType": "complete", "content": [], "structuredContent": {"answers": so_far}}),
        Some(round) => {
            let questions = round.as_array().unwrap().iter().enumerate();
            let requests: Map<String, Value> =
                questions.map(|(index, question)| (format!("key{index}"), question.clone())).collect();
            let mut result = json!({"resultType": "input_required", "inputRequests": requests});
            if params["arguments"]["stateless"].is_null() {
                result["requestState"] = json!(Value::from(so_far).to_string());
            }
            result
        }
    }
}

fn tools(id: &Value) -> Value {
    let tools = json!([{"name": "ask", "inputSchema": {"type": "object"}},
        {"name": "other", "inputSchema": {"type": "object"}}]);
    json!({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", "tools": tools}})
}

async fn send(outgoing: &mpsc::Sender<Outgoing>, message: Value) {
    let _ = outgoing.send(message.to_string().into()).await; // the hub may be gone
}
