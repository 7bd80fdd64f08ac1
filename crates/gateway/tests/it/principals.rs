//! What principals see and get: rights, connections of their own, and nothing of each other.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex},
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_access::{Access, Authenticator, Principal, Refusal, Rights, Tier};
use toolbay_config::{Permission, ServerConfig, ServerEndpoint};
use toolbay_gateway::{Gateway, GatewayOptions, PrincipalServers, ServerIdentity};
use toolbay_host::{Connector, Endpoint, Host, HostOptions, OwnConnections, ServerName};
use toolbay_testkit::{TestServer, TestServerHandle, ToolContext};

use crate::{
    http::Ask,
    test_gateway::{initialize, modern, rpc},
};

/// Tokens and what they give.
#[derive(Debug)]
pub(crate) struct Tokens(pub(crate) HashMap<String, Arc<Access>>);

impl Authenticator for Tokens {
    fn known(&self, token: &str) -> Option<Arc<Access>> {
        self.0.get(token).cloned()
    }

    fn authenticate<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<Result<Arc<Access>, Refusal>>> {
        async { None }.boxed()
    }
}

fn access(principal: Principal, rights: Rights) -> Arc<Access> {
    Arc::new(Access { principal, rights, expires: None, revoked: CancellationToken::new() })
}

/// A server that tells whose connection it is, in everything that it says.
fn server_of(user: &str) -> TestServer {
    let name = user.to_owned();
    let (told, listed) = (name.clone(), format!("tool_of_{user}"));
    TestServer::new("mail")
        .with_async_tool("work", move |args, context: ToolContext| {
            let user = told.clone();
            async move {
                context.log("info", json!({ "user": user })).await;
                context.progress(1.0, args["total"].as_f64().unwrap_or(2.0)).await;
                Ok(json!({ "user": user, "n": args["n"] }))
            }
        })
        .with_tool(listed, Ok)
        .with_resource("mail://inbox", format!("inbox of {name}"))
        .describe_tool("work", json!({ "annotations": { "readOnlyHint": true } }))
}

#[derive(Debug, Default)]
struct Servers {
    handles: Mutex<HashMap<String, TestServerHandle>>,
}

impl PrincipalServers for Servers {
    fn identity(&self, config: &ServerConfig) -> ServerIdentity {
        match config.name.as_str() {
            "mail" => ServerIdentity::OfPrincipal,
            "vault" => ServerIdentity::OfOwner,
            _ => ServerIdentity::Shared,
        }
    }

    fn connections(&self, principal: &Principal) -> OwnConnections {
        let user = principal.as_str().rsplit(['#', ':']).next().unwrap().to_owned();
        let server = server_of(&user);
        self.handles.lock().unwrap().insert(user, server.handle());
        OwnConnections { connector: Some(through(server)), authorizers: None }
    }
}

fn through(server: TestServer) -> Connector {
    let connection = server.in_process();
    Connector::new(move |_| Some(Endpoint::InProcess(connection.clone())))
}

/// A hub with the servers `mail`, `vault` and `wiki`, and the tokens `ann`, `ben`, `reader` and `owner`.
struct SharedHub {
    address: String,
    servers: Arc<Servers>,
    host: Host,
    _tasks: TaskTracker,
}

pub(crate) fn config(name: &str) -> ServerConfig {
    let command = toolbay_config::Command {
        command: "in-process".to_owned(),
        args: Vec::new(),
        env: Default::default(),
        cwd: None,
    };
    ServerConfig {
        name: ServerName::new(name),
        endpoint: ServerEndpoint::Command(command),
        permission: Permission::Enabled,
        tuning: Default::default(),
        secrets: Vec::new(),
    }
}

impl SharedHub {
    async fn start() -> Self {
        let of_owner = server_of("owner").with_tool("delete", Ok).in_process();
        let connector = Connector::new(move |_| Some(Endpoint::InProcess(of_owner.clone())));
        let options = HostOptions { connector: Some(connector), ..HostOptions::default() };
        let host = Host::start(&["mail", "vault", "wiki"].map(config), Vec::new(), &options);
        host.settled().await;
        let servers: Arc<Servers> = Arc::default();
        let user = |name: &str| access(Principal::user("https://idp", name), Rights::default());
        let reader = Rights {
            tier: Tier::Read,
            servers: Some(Arc::new(BTreeSet::from(["wiki".to_owned()]))),
            profile: None,
        };
        let tokens = Tokens(HashMap::from([
            ("ann".to_owned(), user("ann")),
            ("ann-renewed".to_owned(), user("ann")),
            ("ben".to_owned(), user("ben")),
            ("reader".to_owned(), access(Principal::hub_token("reader"), reader)),
            ("owner".to_owned(), access(Principal::OWNER, Rights::default())),
        ]));
        let options = GatewayOptions {
            authenticators: vec![Arc::new(tokens)],
            principal_servers: Some(servers.clone()),
            ..GatewayOptions::default()
        };
        let gateway = Gateway::new(host.clone(), options);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let tasks = TaskTracker::new();
        tasks.spawn(async move { gateway.serve_http(listener, CancellationToken::new()).await });
        Self { address, servers, host, _tasks: tasks }
    }

    async fn ask(&self, token: &str, message: Value) -> Value {
        let ask = modern(message).header("authorization", &format!("Bearer {token}"));
        ask.send(&self.address).await.json().await
    }

    async fn tools(&self, token: &str) -> Vec<String> {
        let list = self.ask(token, rpc(1, "tools/list", json!({}))).await;
        let tools = list["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until the principal's own servers have been listed.
    async fn tools_when_ready(&self, token: &str, name: &str) -> Vec<String> {
        for _ in 0..500 {
            let tools = self.tools(token).await;
            if tools.iter().any(|tool| tool == name) {
                return tools;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("{token} never saw {name}");
    }
}

#[tokio::test]
async fn rights_decide_what_is_listed_and_called() {
    let hub = SharedHub::start().await;
    assert_eq!(hub.tools("reader").await, ["wiki__work"]);
    let mine = hub.ask("reader", rpc(1, "tools/call", json!({ "name": "wiki__work" }))).await;
    assert_eq!(mine["result"]["structuredContent"]["user"], "owner");
    for hidden in ["wiki__delete", "mail__work", "vault__work"] {
        let refused = hub.ask("reader", rpc(1, "tools/call", json!({ "name": hidden }))).await;
        let message = refused["error"]["message"].as_str().unwrap();
        // A server that the token may use is no secret.
        let why = if hidden == "wiki__delete" { "whose tier is `read`" } else { "no server offers the tool" };
        assert!(message.contains(why), "{message}");
        assert!(!message.contains("vault__") || hidden.contains("vault"), "{message}");
        let allowed = hub.ask("owner", rpc(1, "tools/call", json!({ "name": hidden }))).await;
        assert!(allowed["error"].is_null(), "{allowed}");
    }
    for uri in ["toolbay://mail/mail://inbox", "toolbay://vault/mail://inbox"] {
        let refused = hub.ask("reader", rpc(1, "resources/read", json!({ "uri": uri }))).await;
        assert!(refused["error"].is_object(), "{refused}");
    }
}

#[tokio::test]
async fn each_principal_has_its_own_connection_and_the_owners_stay_the_owners() {
    let hub = SharedHub::start().await;
    for user in ["ann", "ben"] {
        let tools = hub.tools_when_ready(user, &format!("mail__tool_of_{user}")).await;
        assert!(tools.iter().all(|tool| !tool.starts_with("vault__")), "{tools:?}");
        assert!(!tools.iter().any(|tool| tool == "mail__tool_of_owner"), "{tools:?}");
        let called = hub.ask(user, rpc(1, "tools/call", json!({ "name": "mail__work" }))).await;
        assert_eq!(called["result"]["structuredContent"]["user"], user);
        let shared = hub.ask(user, rpc(1, "tools/call", json!({ "name": "wiki__work" }))).await;
        assert_eq!(shared["result"]["structuredContent"]["user"], "owner");
    }
    // Another token of the same principal means the same connection.
    let renewed = hub.ask("ann-renewed", rpc(1, "tools/call", json!({ "name": "mail__work" }))).await;
    assert_eq!(renewed["result"]["structuredContent"]["user"], "ann");
    assert_eq!(hub.servers.handles.lock().unwrap().len(), 2);
    let owner = hub.ask("owner", rpc(1, "tools/call", json!({ "name": "mail__work" }))).await;
    assert_eq!(owner["result"]["structuredContent"]["user"], "owner");
    assert!(hub.host.server("mail").is_some());
}

/// How many calls: `cargo xtask verify isolation` does twenty thousand.
#[expect(clippy::disallowed_methods, reason = "a longer run is asked for by a variable")]
fn calls() -> usize {
    std::env::var("TOOLBAY_ISOLATION_CALLS").ok().and_then(|count| count.parse().ok()).unwrap_or(1200)
}

/// Two principals call at once, over both kinds of revisions, with progress and logs. Nothing of one reaches the other.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_one_principal_reaches_another() {
    let (calls, tasks) = (calls(), TaskTracker::new());
    let hub = Arc::new(SharedHub::start().await);
    for user in ["ann", "ben"] {
        hub.tools_when_ready(user, &format!("mail__tool_of_{user}")).await;
    }
    let worker = |user: &'static str, other: &'static str, total: f64, share: usize| {
        let hub = hub.clone();
        tasks.spawn(async move {
            let authorization = format!("Bearer {user}");
            let open = Ask::post(&initialize("2025-11-25")).header("authorization", &authorization);
            let opened = open.send(&hub.address).await;
            let session = opened.header("mcp-session-id").unwrap().to_owned();
            for n in 0..share {
                let params = json!({
                    "name": "mail__work",
                    "arguments": { "n": n, "total": total },
                    "_meta": { "progressToken": format!("{user}-{n}"), "io.modelcontextprotocol/logLevel": "debug" },
                });
                let message = rpc(n, "tools/call", params);
                let ask = match n % 2 {
                    0 => modern(message),
                    _ => Ask::post(&message)
                        .header("mcp-session-id", &session)
                        .header("mcp-protocol-version", "2025-11-25"),
                };
                let mut answer = ask.header("authorization", &authorization).send(&hub.address).await;
                assert_eq!(answer.status, 200);
                let (mut events, mut result) = (Vec::new(), None);
                while let Some(event) = answer.event().await {
                    if event["id"] == json!(n) {
                        result = Some(event);
                        break;
                    }
                    events.push(event);
                }
                let result = result.expect("a response");
                assert_eq!(
                    result["result"]["structuredContent"],
                    json!({ "user": user, "n": n }),
                    "{result}"
                );
                let text = format!("{events:?}");
                assert!(!text.contains(other), "{text}");
                for event in events.iter().filter(|event| event["method"] == "notifications/progress") {
                    assert_eq!(event["params"]["progressToken"], format!("{user}-{n}"));
                    assert_eq!(event["params"]["total"].as_f64(), Some(total));
                }
                assert!(events.iter().any(|event| event["method"] == "notifications/progress"), "{text}");
                if n % 50 == 0 {
                    assert!(!format!("{:?}", hub.tools(user).await).contains(other));
                    // The session of one is unknown to the other.
                    let foreign = Ask::post(&rpc(1, "ping", json!({})))
                        .header("mcp-session-id", &session)
                        .header("authorization", &format!("Bearer {other}"));
                    assert_eq!(foreign.send(&hub.address).await.status, 404);
                }
            }
        })
    };
    let share = calls / 4;
    let workers =
        [("ann", "ben", 1000.0), ("ben", "ann", 2000.0), ("ann", "ben", 3000.0), ("ben", "ann", 4000.0)]
            .map(|(user, other, total)| worker(user, other, total, share));
    for finished in join_all(workers).await {
        finished.unwrap();
    }
    let handles = hub.servers.handles.lock().unwrap();
    let counts: Vec<usize> = ["ann", "ben"].map(|user| handles[user].count("tools/call")).into();
    assert_eq!(counts, [share * 2, share * 2]);
    println!("{} calls of two principals, none mixed up", share * 4);
}
