//! A gateway to test with.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{net::TcpListener, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_gateway::{Gateway, GatewayOptions};
use toolbay_host::{CatalogKind, Host, HostOptions, InProcess};
use toolbay_protocol::ServerName;
use toolbay_testkit::{TestServer, TestServerHandle, ToolContext};

use crate::http::{Answer, Ask, PATIENCE};

pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// Sooner than whatever is waited for in vain, with slack for busy machines.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(4);
pub(crate) const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// A running gateway with one server, `s`.
pub(crate) struct Hub {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) host: Host,
    pub(crate) server: TestServerHandle,
    pub(crate) address: String,
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

impl Hub {
    pub(crate) async fn start() -> Self {
        Self::of(server(), GatewayOptions::default()).await
    }

    pub(crate) async fn with(options: GatewayOptions) -> Self {
        Self::of(server(), options).await
    }

    pub(crate) async fn of(server: TestServer, options: GatewayOptions) -> Self {
        Self::of_all(vec![("s", server)], options).await
    }

    /// With several servers; `server` is the first of them.
    pub(crate) async fn of_all(servers: Vec<(&str, TestServer)>, options: GatewayOptions) -> Self {
        let handle = servers[0].1.handle();
        let connect = |(name, server): (&str, TestServer)| -> (ServerName, InProcess) {
            (ServerName::new(name), Arc::new(move |tasks| server.in_memory(tasks)))
        };
        Self::open(servers.into_iter().map(connect).collect(), handle, options).await
    }

    /// With a server of the test's own in the place of `s`.
    pub(crate) async fn around(connect: InProcess) -> Self {
        Self::open(vec![(ServerName::new("s"), connect)], server().handle(), GatewayOptions::default()).await
    }

    /// As [`Hub::around`], told more.
    pub(crate) async fn around_with(connect: InProcess, options: GatewayOptions) -> Self {
        Self::open(vec![(ServerName::new("s"), connect)], server().handle(), options).await
    }

    async fn open(
        servers: Vec<(ServerName, InProcess)>,
        handle: TestServerHandle,
        options: GatewayOptions,
    ) -> Self {
        let host_options = HostOptions::default();
        let host = Host::start(&[], servers, &host_options);
        host.settled().await;
        assert!(host.table().count(CatalogKind::Tools) > 0);
        let gateway = Gateway::new(host.clone(), options);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let (serving, ending) = (gateway.clone(), stop.clone());
        tasks.spawn(async move { serving.serve_http(listener, ending).await });
        Self { gateway, host, server: handle, address, stop, tasks }
    }

    pub(crate) async fn send(&self, ask: Ask) -> Answer {
        ask.send(&self.address).await
    }

    pub(crate) fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap()
    }

    /// Starts a legacy session and gives its id.
    pub(crate) async fn session(&self, revision: &str) -> String {
        let answer = self.send(Ask::post(&initialize(revision))).await;
        assert_eq!(answer.status, 200);
        let id = answer.header("mcp-session-id").unwrap().to_owned();
        assert_eq!(answer.json().await["result"]["protocolVersion"], revision);
        id
    }

    /// Calls that reached the server.
    pub(crate) fn calls(&self) -> usize {
        self.server.count("tools/call")
    }
}

/// A server with a quick, a slow, a hanging and a telling tool.
pub(crate) fn server() -> TestServer {
    TestServer::new("s")
        .with_tool("echo", Ok)
        .with_tool_schema(
            "strict",
            json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}),
            Ok,
        )
        .with_async_tool("hang", |_, _| async { std::future::pending().await })
        .with_async_tool("steps", |args, context: ToolContext| async move {
            for step in 1..=args["steps"].as_u64().unwrap_or(3) {
                tokio::time::sleep(Duration::from_millis(args["ms"].as_u64().unwrap_or(1))).await;
                context.progress(step as f64, 3.0).await;
            }
            Ok(args)
        })
        .with_resource("test://r", "text")
        .with_prompt("p", |_| json!("Hello."))
}

pub(crate) fn rpc(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

pub(crate) fn initialize(revision: &str) -> Value {
    rpc(
        0,
        "initialize",
        json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}),
    )
}

pub(crate) fn call(id: impl Into<Value>, tool: &str, arguments: Value) -> Value {
    rpc(id, "tools/call", json!({"name": format!("s__{tool}"), "arguments": arguments}))
}

/// `message` with what the stateless era wants in `_meta`.
pub(crate) fn with_meta(mut message: Value) -> Value {
    let meta = &mut message["params"]["_meta"];
    meta[VERSION_KEY] = json!("2026-07-28");
    meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "0"});
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    message
}

/// A request of the stateless era, with all it needs.
pub(crate) fn modern(message: Value) -> Ask {
    let message = with_meta(message);
    let mut ask = Ask::post(&message)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", message["method"].as_str().unwrap());
    let name = ["name", "uri", "taskId"].into_iter().find_map(|key| message["params"][key].as_str());
    if let Some(name) = name {
        ask = ask.header("mcp-name", name);
    }
    ask
}

/// Waits until something holds; nobody sleeps longer than it takes.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "it never came about that {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
