//! A server to test with, and calls to it.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use toolbay_protocol::{Message, Notification, Revision, ServerName};
use toolbay_testkit::TestServer;
use toolbay_transport::{Connection, Incoming, memory};
use toolbay_upstream::{
    Call, CallError, CallEvents, CallResponse, Caller, CallerId, ClientIdentity, Endpoint, LogFilter,
    ServerHandle, ServerSettings, UpstreamState, UpstreamStatus, events, start,
};

/// A running upstream.
pub(crate) struct Harness {
    pub(crate) server: ServerHandle,
    pub(crate) tasks: TaskTracker,
    /// What belongs to no call; kept, so that it has somewhere to go.
    pub(crate) updates: mpsc::Receiver<(ServerName, Box<Notification>)>,
}

impl Harness {
    pub(crate) fn new(source: Endpoint, change: impl FnOnce(&mut ServerSettings)) -> Self {
        let mut settings = ServerSettings::new(ServerName::new("s"));
        change(&mut settings);
        let tasks = TaskTracker::new();
        let (sender, updates) = mpsc::channel(16);
        Self { server: start(settings, source, sender, &tasks), tasks, updates }
    }

    /// A test server, started.
    pub(crate) fn of(server: &TestServer) -> Self {
        Self::new(in_memory(server), |_| {})
    }

    /// A test server that is up.
    pub(crate) async fn ready(server: &TestServer) -> Self {
        let harness = Self::of(server);
        harness.until_ready().await;
        harness
    }

    pub(crate) async fn until_ready(&self) -> UpstreamStatus {
        self.until(|status| matches!(status.state, UpstreamState::Running)).await
    }

    pub(crate) async fn until(&self, mut is_it: impl FnMut(&UpstreamStatus) -> bool) -> UpstreamStatus {
        self.server.status().wait_for(|status| is_it(status)).await.unwrap().clone()
    }

    /// Calls a tool and waits for the text of the response.
    pub(crate) async fn call(&self, tool: &str) -> Result<Value, CallError> {
        self.server.call(call(tool)).await.map(|answer| value(&answer))
    }
}

pub(crate) fn in_memory(server: &TestServer) -> Endpoint {
    let server = server.clone();
    Endpoint::InProcess(Arc::new(move |tasks| server.in_memory(tasks)))
}

/// A server that follows a script; it is told which of its lives this is, from 0, and dies when the script ends.
pub(crate) fn scripted<F, R>(script: F) -> Endpoint
where
    F: Fn(usize, Script) -> R + Send + Sync + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let lives = AtomicUsize::new(0);
    Endpoint::InProcess(Arc::new(move |tasks| {
        let (ours, theirs) = memory::pair(tasks);
        tasks.spawn(script(lives.fetch_add(1, Ordering::Relaxed), Script { wire: ours }));
        theirs
    }))
}

/// The server's end of a connection.
pub(crate) struct Script {
    wire: Connection,
}

impl Script {
    /// The next message; waits for ever when the hub is gone.
    pub(crate) async fn next(&mut self) -> Value {
        match self.wire.incoming.recv().await {
            Some(Incoming::Message(message)) => serde_json::from_slice(message.text()).unwrap(),
            Some(other) => panic!("{other:?}"),
            None => std::future::pending().await,
        }
    }

    pub(crate) async fn send(&self, message: Value) {
        self.send_text(message.to_string()).await;
    }

    pub(crate) async fn send_text(&self, text: String) {
        let _ = self.wire.outgoing.send(text.into()).await; // the hub may be gone
    }

    pub(crate) async fn answer(&self, asked: &Value, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})).await;
    }

    pub(crate) async fn refuse(&self, asked: &Value, code: i64) {
        let error = json!({"code": code, "message": "refused"});
        self.send(json!({"jsonrpc": "2.0", "id": asked["id"], "error": error})).await;
    }

    /// Behaves like a legacy server with the tool `t` until `method` arrives.
    pub(crate) async fn until(&mut self, method: &str) -> Value {
        loop {
            let asked = self.next().await;
            if asked["method"] == method {
                return asked;
            }
            match asked["method"].as_str() {
                Some("initialize") => self.answer(&asked, hello()).await,
                Some("tools/list") => self.answer(&asked, tools(&["t"])).await,
                _ if asked.get("id").is_some() => self.refuse(&asked, -32601).await,
                _ => {}
            }
        }
    }
}

/// What a legacy server with tools says to `initialize`.
pub(crate) fn hello() -> Value {
    json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "script", "version": "0"}})
}

/// What a modern server with tools says to `server/discover`.
pub(crate) fn discovery() -> Value {
    json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
        "ttlMs": 0, "cacheScope": "private"})
}

pub(crate) fn tools(names: &[&str]) -> Value {
    let tool = |name: &&str| json!({"name": name, "inputSchema": {"type": "object"}});
    json!({"tools": names.iter().map(tool).collect::<Vec<_>>()})
}

/// A call to a tool without arguments.
pub(crate) fn call(tool: &str) -> Call {
    call_with(tool, &json!({}))
}

pub(crate) fn call_with(tool: &str, arguments: &Value) -> Call {
    let text = json!({"jsonrpc": "2.0", "id": "theirs", "method": "tools/call",
        "params": {"name": tool, "arguments": arguments}});
    let Ok(Message::Request(request)) = Message::parse(text.to_string().into()) else { panic!("{text}") };
    let info = r#"{"name":"test","version":"0"}"#;
    let identity = ClientIdentity::new(Revision::LATEST_LEGACY, info, "{}");
    Call {
        request: request.into(),
        caller: Caller {
            id: CallerId::new(),
            revision: Revision::LATEST_LEGACY,
            identity: Arc::new(identity),
            logs: LogFilter::Everything,
            accepts_server_requests: false,
            awaits_tasks: false,
            root: None,
        },
        renamed: Default::default(),
        events: None,
        only_as_task: false,
        timeouts: None,
    }
}

/// A call, and the events that belong to it.
pub(crate) fn call_with_events(tool: &str) -> (Call, CallEvents) {
    let (sender, events) = events();
    (Call { events: Some(sender), ..call(tool) }, events)
}

pub(crate) fn value(answer: &CallResponse) -> Value {
    serde_json::from_slice(&answer.response.text).unwrap()
}

/// A server whose tool `hang` never answers and whose tool `quick` does.
pub(crate) fn hanging() -> TestServer {
    TestServer::new("hanging")
        .with_tool("quick", |_| Ok(json!("done")))
        .with_async_tool("hang", |_, _| async { std::future::pending().await })
}

/// Waits, in virtual time, until something holds.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("it never came about that {what}");
}
