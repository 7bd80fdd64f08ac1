//! Clients with tokens of their own: what belongs to one is unknown to the others, and ends with its token.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::future::{BoxFuture, ready};
use serde_json::{Value, json};
use tokio::{
    io::AsyncReadExt,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use toolbay_access::{Access, Authenticator, HubTokens, Principal, Refusal, Rights, Tier, TokenFile};
use toolbay_gateway::{ClientTransport, GatewayOptions, PrincipalLimits};
use toolbay_testkit::TestServer;

use crate::{
    http::{Answer, Ask, PATIENCE},
    server_requests::{
        across_revisions::{asking, elicit},
        server::{self, Seen},
    },
    tasks::worker::{EXTENSION, Worker},
    test_gateway::{Hub, call, eventually, initialize, modern, rpc, server as test_server},
    websocket::upgrade,
};

/// Revocations count within a second; the rest is for busy machines.
const CLOSED: Duration = Duration::from_secs(3);

/// A hub with tokens, which follows their file.
struct Shared {
    hub: Hub,
    file: TokenFile,
    _folder: tempfile::TempDir,
}

/// Tokens in a file, and what a gateway needs to follow it.
fn tokens() -> (tempfile::TempDir, TokenFile, Arc<HubTokens>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.json");
    let tokens = HubTokens::open(&path).unwrap();
    (folder, TokenFile::at(&path), tokens)
}

impl Shared {
    async fn start(options: GatewayOptions) -> Self {
        Self::around(options, async |options| Hub::of(test_server(), options).await).await
    }

    async fn around(options: GatewayOptions, open: impl AsyncFnOnce(GatewayOptions) -> Hub) -> Self {
        let (folder, file, tokens) = tokens();
        let options = GatewayOptions { authenticators: vec![tokens.clone()], ..options };
        let hub = open(options).await;
        hub.tasks.spawn(tokens.follow(hub.stop.clone()));
        Self { hub, file, _folder: folder }
    }

    /// Creates a token, and waits until the hub knows it.
    async fn token(&self, name: &str) -> String {
        self.create(name, Rights::default(), None).await
    }

    async fn token_with(&self, name: &str, rights: Rights) -> String {
        self.create(name, rights, None).await
    }

    async fn token_until(&self, name: &str, expires: SystemTime) -> String {
        self.create(name, Rights::default(), Some(expires)).await
    }

    async fn create(&self, name: &str, rights: Rights, expires: Option<SystemTime>) -> String {
        let secret = self.file.create(name.parse().unwrap(), rights, expires).unwrap();
        let token = secret.reveal().to_owned();
        let until = Instant::now() + PATIENCE;
        let look = || Ask::new("GET", "/mcp");
        while self.hub.send(look()).await.status != 401
            || self.hub.send(by(&token, look())).await.status == 401
        {
            assert!(Instant::now() < until, "the hub never knew the token");
            sleep(Duration::from_millis(20)).await;
        }
        token
    }

    fn revoke(&self, name: &str) {
        self.file.revoke(&name.parse().unwrap()).unwrap();
    }

    async fn session(&self, token: &str) -> String {
        let answer = self.hub.send(by(token, Ask::post(&initialize("2025-11-25")))).await;
        assert_eq!(answer.status, 200);
        answer.header("mcp-session-id").unwrap().to_owned()
    }
}

fn by(token: &str, ask: Ask) -> Ask {
    ask.header("authorization", &format!("Bearer {token}"))
}

fn in_session(session: &str, ask: Ask) -> Ask {
    ask.header("mcp-session-id", session).header("mcp-protocol-version", "2025-11-25")
}

#[tokio::test]
async fn from_the_first_token_on_clients_need_one() {
    let shared = Shared::start(GatewayOptions::default()).await;
    let echo = || Ask::post(&call(1, "echo", json!({})));
    assert_eq!(shared.hub.send(echo()).await.status, 200, "there are no tokens");
    assert_eq!(shared.hub.send(by("placeholder", echo())).await.status, 200, "a header that means nothing");
    let token = shared.token("one").await;
    for wrong in ["placeholder", &token[..20], &token.to_uppercase()] {
        assert_eq!(shared.hub.send(by(wrong, echo())).await.status, 401, "{wrong}");
    }
    let refused = shared.hub.send(echo()).await;
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(shared.hub.send(by(&token, echo())).await.status, 200);
    assert_eq!(shared.hub.send(by(&token, modern(call(1, "echo", json!({}))))).await.status, 200);
    shared.revoke("one");
    let until = Instant::now() + CLOSED;
    while shared.hub.send(by(&token, echo())).await.status != 401 {
        assert!(Instant::now() < until, "a revoked token is still accepted");
        sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(shared.hub.send(echo()).await.status, 401, "revoking the last token opens nothing");
}

#[tokio::test]
async fn sessions_and_streams_of_one_are_unknown_to_the_other() {
    let shared = Shared::start(GatewayOptions::default()).await;
    let (one, other) = (shared.token("one").await, shared.token("other").await);
    let session = shared.session(&one).await;
    for ask in [Ask::post(&call(1, "echo", json!({}))), Ask::new("GET", "/mcp"), Ask::new("DELETE", "/mcp")] {
        let ask = in_session(&session, ask);
        assert_eq!(shared.hub.send(by(&other, ask.clone())).await.status, 404, "{ask:?}");
    }
    let notification =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    let ask = in_session(&session, Ask::post(&notification));
    assert_eq!(shared.hub.send(by(&other, ask)).await.status, 404);
    assert_eq!(shared.hub.calls(), 0);
    let ask = in_session(&session, Ask::post(&call(1, "echo", json!({}))));
    assert_eq!(shared.hub.send(by(&one, ask)).await.status, 200, "it was not ended either");

    let mut stream = shared.hub.send(by(&one, Ask::new("GET", "/sse"))).await;
    let first = stream.raw_event().await.unwrap();
    let endpoint = first.strip_prefix("event: endpoint\ndata: ").unwrap().trim_end().to_owned();
    let message = || Ask::post(&initialize("2024-11-05")).to(&endpoint);
    assert_eq!(shared.hub.send(by(&other, message())).await.status, 404);
    assert_eq!(shared.hub.send(by(&one, message())).await.status, 202);
    assert_eq!(stream.event().await.unwrap()["result"]["protocolVersion"], "2024-11-05");
}

#[tokio::test]
async fn calls_that_wait_for_input_are_resumed_by_their_own_client_only() {
    for era in [server::legacy, server::modern] {
        let seen = Seen::default();
        let connect = era(&seen);
        let shared = Shared::around(GatewayOptions::default(), async |options| {
            Hub::around_with(connect, options).await
        })
        .await;
        let (one, other) = (shared.token("one").await, shared.token("other").await);
        let rounds = json!({"rounds": [[elicit("a")]]});
        let answer = shared.hub.send(by(&one, asking(1, json!({"arguments": rounds})))).await.json().await;
        let requests = answer["result"]["inputRequests"].as_object().unwrap();
        let said = json!({"action": "accept", "content": {"name": "x"}});
        let responses: Value = requests.keys().map(|key| (key.clone(), said.clone())).collect();
        let state = &answer["result"]["requestState"];
        let retry =
            || asking(2, json!({"arguments": rounds, "requestState": state, "inputResponses": responses}));
        let refused = shared.hub.send(by(&other, retry())).await.json().await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        let done = shared.hub.send(by(&one, retry())).await.json().await;
        assert_eq!(done["result"]["resultType"], "complete", "{done}");
    }
}

#[tokio::test]
async fn tasks_of_one_are_unknown_to_the_other() {
    let worker = Worker::default();
    let connect = worker.connect();
    let shared =
        Shared::around(GatewayOptions::default(), async |options| Hub::around_with(connect, options).await)
            .await;
    let (one, other) = (shared.token("one").await, shared.token("other").await);
    let knowing = |message: Value| {
        modern(message).with_body(|body| {
            body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
                json!({"extensions": {EXTENSION: {}}});
        })
    };
    let begun = shared.hub.send(by(&one, knowing(call(1, "job", json!({"looks": 2}))))).await.json().await;
    let look = |method| knowing(rpc(2, method, json!({"taskId": begun["result"]["taskId"]})));
    for method in ["tasks/get", "tasks/cancel"] {
        let refused = shared.hub.send(by(&other, look(method))).await.json().await;
        assert_eq!(refused["error"]["code"], -32602, "{method}: {refused}");
    }
    assert!(worker.heard("tasks/get").is_empty() && worker.heard("tasks/cancel").is_empty());
    let looked = shared.hub.send(by(&one, look("tasks/get"))).await.json().await;
    assert_eq!(looked["result"]["taskId"], begun["result"]["taskId"], "{looked}");
}

/// Streams of every kind that a client can open, each with what it is.
async fn streams(shared: &Shared, token: &str) -> Vec<(&'static str, Answer)> {
    let session = shared.session(token).await;
    let mut progress = call(7, "steps", json!({"steps": 100_000, "ms": 5}));
    progress["params"]["_meta"]["progressToken"] = json!("p");
    let listen = rpc(8, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let all = [
        ("GET", in_session(&session, Ask::new("GET", "/mcp"))),
        ("legacy call", in_session(&session, Ask::post(&progress))),
        ("modern call", modern(progress)),
        ("subscription", modern(listen)),
        ("HTTP+SSE", Ask::new("GET", "/sse")),
    ];
    let mut opened = Vec::new();
    for (what, ask) in all {
        let answer = shared.hub.send(by(token, ask)).await;
        assert_eq!((answer.status, answer.is_stream()), (200, true), "{what}");
        opened.push((what, answer));
    }
    let socket = shared.hub.send(by(token, upgrade())).await;
    assert_eq!(socket.status, 101);
    opened.push(("WebSocket", socket));
    opened
}

/// Waits until a stream ends; says how long it took.
async fn ended((what, answer): (&'static str, Answer)) -> (&'static str, Duration) {
    let (began, mut rest) = (Instant::now(), Vec::new());
    let mut connection = answer.into_connection();
    timeout(PATIENCE, async {
        // The body ends with an empty chunk; a WebSocket with a frame that closes it.
        let mut piece = [0; 4096];
        loop {
            let count = connection.read(&mut piece).await.unwrap_or(0);
            rest.extend_from_slice(&piece[..count]);
            let last =
                if what == "WebSocket" { rest.starts_with(&[0x88]) } else { rest.ends_with(b"0\r\n\r\n") };
            if count == 0 || last {
                return;
            }
        }
    })
    .await
    .unwrap_or_else(|_| panic!("{what} never ended"));
    (what, began.elapsed())
}

#[tokio::test]
async fn a_revoked_token_ends_every_stream_and_session_that_it_opened() {
    let shared = Shared::start(GatewayOptions::default()).await;
    let (one, other) = (shared.token("one").await, shared.token("other").await);
    let opened = streams(&shared, &one).await;
    let kept = streams(&shared, &other).await;
    let principals = |hub: &Hub| {
        let mut all: Vec<String> =
            hub.gateway.clients().iter().map(|client| client.principal.to_string()).collect();
        all.sort();
        all.dedup();
        all
    };
    assert_eq!(principals(&shared.hub), ["token:one", "token:other"]);
    shared.revoke("one");
    for (what, took) in futures_util::future::join_all(opened.into_iter().map(ended)).await {
        println!("{what} ended {took:?} after the revocation");
        assert!(took < CLOSED, "{what} took {took:?}");
    }
    eventually("its session and connections are gone", || principals(&shared.hub) == ["token:other"]).await;
    let mut kept: Vec<(&str, Answer)> = kept.into_iter().filter(|(what, _)| what.ends_with("call")).collect();
    for (what, stream) in &mut kept {
        assert_eq!(stream.event().await.unwrap()["method"], "notifications/progress", "{what} goes on");
    }
}

#[tokio::test]
async fn a_revoked_token_ends_calls_that_are_answered_at_once_or_not_at_all() {
    let shared = Shared::start(GatewayOptions::default()).await;
    let (one, other) = (shared.token("one").await, shared.token("other").await);
    let slow = |steps: u32| call(7, "steps", json!({"steps": steps, "ms": 5}));
    let (hub, before) = (&shared.hub, Duration::from_millis(700));
    let revoked = async {
        let began = Instant::now();
        let revoke = async {
            sleep(before).await;
            shared.revoke("one");
        };
        let (legacy, modern, ()) = tokio::join!(
            hub.send(by(&one, Ask::post(&slow(100_000)))),
            hub.send(by(&one, modern(slow(100_000)))),
            revoke,
        );
        (legacy.status, modern.status, began.elapsed())
    };
    let ((legacy, modern, took), kept) = tokio::join!(revoked, hub.send(by(&other, Ask::post(&slow(300)))));
    assert!(took < before + CLOSED, "{took:?}");
    assert_eq!((legacy, modern, kept.status), (401, 401, 200));
    eventually("the server is told", || hub.server.count("notifications/cancelled") == 2).await;
}

#[tokio::test]
async fn the_first_token_ends_what_was_opened_without_one() {
    let shared = Shared::start(GatewayOptions::default()).await;
    let opened = streams(&shared, "placeholder").await;
    shared.token("one").await;
    for (what, took) in futures_util::future::join_all(opened.into_iter().map(ended)).await {
        assert!(took < CLOSED, "{what} took {took:?}");
    }
}

#[tokio::test]
async fn a_token_that_expires_ends_what_it_opened() {
    let shared = Shared::start(GatewayOptions::default()).await;
    let lasts = Duration::from_secs(4);
    let token = shared.token_until("brief", SystemTime::now() + lasts).await;
    let opened = streams(&shared, &token).await;
    for (what, took) in futures_util::future::join_all(opened.into_iter().map(ended)).await {
        assert!(took < lasts + CLOSED, "{what} took {took:?}");
    }
    assert_eq!(shared.hub.send(by(&token, Ask::new("GET", "/sse"))).await.status, 401);
    eventually("its sessions are gone", || shared.hub.gateway.clients().is_empty()).await;
}

/// Two tokens of one user, as after a refresh, and one of another.
#[derive(Debug)]
struct Users {
    access: [(&'static str, Arc<Access>); 3],
}

impl Users {
    fn new() -> Self {
        let access = |subject| {
            let principal = Principal::user("https://issuer.example.com", subject);
            Arc::new(Access {
                principal,
                revoked: CancellationToken::new(),
                ..Access::clone(&Access::owner())
            })
        };
        Self { access: [("old", access("a")), ("new", access("a")), ("foreign", access("b"))] }
    }
}

impl Authenticator for Users {
    fn known(&self, token: &str) -> Option<Arc<Access>> {
        self.access.iter().find(|(known, access)| *known == token && !access.is_over()).map(|it| it.1.clone())
    }

    fn authenticate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<Result<Arc<Access>, Refusal>>> {
        Box::pin(ready(self.known(token).map(Ok)))
    }
}

#[tokio::test]
async fn a_refreshed_token_keeps_the_session_of_its_principal() {
    let users = Arc::new(Users::new());
    let options = GatewayOptions { authenticators: vec![users.clone()], ..GatewayOptions::default() };
    let hub = Hub::with(options).await;
    let answer = hub.send(by("old", Ask::post(&initialize("2025-11-25")))).await;
    let session = answer.header("mcp-session-id").unwrap().to_owned();
    let status = async |token: &str| {
        hub.send(by(token, in_session(&session, Ask::post(&call(1, "echo", json!({})))))).await.status
    };
    assert_eq!((status("old").await, status("new").await, status("foreign").await), (200, 200, 404));
    users.access[0].1.revoked.cancel(); // it was replaced by the new one
    sleep(Duration::from_millis(50)).await;
    assert_eq!((status("old").await, status("new").await, status("foreign").await), (401, 200, 404));
}

#[tokio::test]
async fn one_principal_cannot_take_all_of_the_hub() {
    let limits =
        PrincipalLimits { sessions: 2, connections: 2, calls: 2, subscriptions: 2, suspended_calls: 2 };
    let shared = Shared::start(GatewayOptions { principal_limits: limits, ..Default::default() }).await;
    let (one, other) = (shared.token("one").await, shared.token("other").await);
    let listen = rpc(8, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let mut progress = call(7, "steps", json!({"steps": 100_000, "ms": 5}));
    progress["params"]["_meta"]["progressToken"] = json!("p");
    for (what, ask) in [
        ("2 sessions", Ask::post(&initialize("2025-11-25"))),
        ("2 connections", Ask::new("GET", "/sse")),
        ("2 connections", upgrade()),
        ("2 running calls", modern(progress)),
        ("2 subscriptions", modern(listen)),
    ] {
        let mut open = Vec::new();
        let mut refused = None;
        for _ in 0..3 {
            let answer = shared.hub.send(by(&one, ask.clone())).await;
            match answer.header("content-length").is_some() && answer.header("mcp-session-id").is_none() {
                true => refused = Some(answer.json().await["error"]["message"].to_string()),
                false => open.push(answer),
            }
        }
        let refused = refused.unwrap_or_else(|| panic!("no limit of {what}"));
        assert!(refused.contains("`token:one` has ") && refused.contains(what), "{what}: {refused}");
        let answer = shared.hub.send(by(&other, ask)).await;
        assert!([200, 101].contains(&answer.status), "{what}: the other client is not affected");
        drop((open, answer));
        sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn clients_on_sockets_and_in_memory_are_the_owner() {
    let shared = Shared::start(GatewayOptions::default()).await;
    shared.token("one").await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hub.mcp");
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    let (gateway, stop) = (shared.hub.gateway.clone(), shared.hub.stop.clone());
    shared.hub.tasks.spawn(async move { gateway.serve_unix(&listener, stop.clone(), stop).await });
    let _client = tokio::net::UnixStream::connect(&path).await.unwrap();
    eventually("it is connected", || {
        let clients = shared.hub.gateway.clients();
        clients.iter().any(|client| client.transport == ClientTransport::Unix && client.principal.is_owner())
    })
    .await;
}

/// A server with a tool of each tier, a resource and a prompt.
fn tiered(name: &str) -> TestServer {
    TestServer::new(name)
        .with_tool("look", Ok)
        .with_tool("add", Ok)
        .with_tool("delete", Ok)
        .describe_tool("look", json!({"annotations": {"readOnlyHint": true}}))
        .describe_tool("add", json!({"annotations": {"readOnlyHint": false, "destructiveHint": false}}))
        .with_resource(format!("{name}://r"), "text")
        .with_prompt("p", |_| json!("Hello."))
}

/// Sends one request on some transport.
trait Transport {
    fn send<'a>(&'a mut self, message: Value) -> BoxFuture<'a, Value>;
}

/// Streamable HTTP, in a modern revision or a legacy one.
struct OnHttp<'a> {
    shared: &'a Shared,
    token: &'a str,
    is_modern: bool,
}

impl Transport for OnHttp<'_> {
    fn send<'a>(&'a mut self, message: Value) -> BoxFuture<'a, Value> {
        let ask = if self.is_modern { modern(message) } else { Ask::post(&message) };
        Box::pin(async move { self.shared.hub.send(by(self.token, ask)).await.json().await })
    }
}

/// HTTP+SSE, which is served as every connection.
struct OnSse<'a> {
    shared: &'a Shared,
    token: &'a str,
    stream: Answer,
    endpoint: String,
}

impl Transport for OnSse<'_> {
    fn send<'a>(&'a mut self, message: Value) -> BoxFuture<'a, Value> {
        Box::pin(async move {
            let ask = by(self.token, Ask::post(&message).to(&self.endpoint));
            assert_eq!(self.shared.hub.send(ask).await.status, 202);
            self.stream.event().await.unwrap()
        })
    }
}

async fn transports<'a>(shared: &'a Shared, token: &'a str) -> Vec<(&'static str, Box<dyn Transport + 'a>)> {
    let mut stream = shared.hub.send(by(token, Ask::new("GET", "/sse"))).await;
    let first = stream.raw_event().await.unwrap();
    let endpoint = first.strip_prefix("event: endpoint\ndata: ").unwrap().trim_end().to_owned();
    let mut on_sse = OnSse { shared, token, stream, endpoint };
    assert!(on_sse.send(initialize("2025-11-25")).await["result"].is_object());
    vec![
        ("modern HTTP", Box::new(OnHttp { shared, token, is_modern: true })),
        ("legacy HTTP", Box::new(OnHttp { shared, token, is_modern: false })),
        ("HTTP+SSE", Box::new(on_sse)),
    ]
}

#[tokio::test]
async fn the_rights_of_a_token_decide_what_it_sees_on_every_transport() {
    let servers = vec![("s", tiered("s")), ("t", tiered("t"))];
    let shared =
        Shared::around(GatewayOptions::default(), async |options| Hub::of_all(servers, options).await).await;
    let servers = Some(Arc::new(BTreeSet::from(["s".to_owned()])));
    let read = Rights { tier: Tier::Read, servers: servers.clone(), profile: None };
    let write = Rights { tier: Tier::Write, ..Rights::default() };
    let all = ["s__add", "s__delete", "s__look", "t__add", "t__delete", "t__look"];
    for (name, rights, tools, resources) in [
        ("read", read, &["s__look"][..], 1),
        ("write", write, &["s__add", "s__look", "t__add", "t__look"][..], 2),
        ("all", Rights::default(), &all[..], 2),
    ] {
        let token = shared.token_with(name, rights.clone()).await;
        for (what, mut transport) in transports(&shared, &token).await {
            let what = format!("{name} on {what}");
            let listed = transport.send(rpc(1, "tools/list", json!({}))).await;
            let listed = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{what}: {listed}"));
            let mut names: Vec<&str> = listed.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
            names.sort_unstable();
            assert_eq!(names, tools, "{what}");
            for (method, field) in [("resources/list", "resources"), ("prompts/list", "prompts")] {
                let listed = transport.send(rpc(2, method, json!({}))).await;
                assert_eq!(listed["result"][field].as_array().unwrap().len(), resources, "{what}: {listed}");
            }
            for tool in all {
                let called =
                    transport.send(rpc(3, "tools/call", json!({"name": tool, "arguments": {}}))).await;
                assert_eq!(called["result"].is_object(), tools.contains(&tool), "{what}, {tool}: {called}");
                let said = called["error"]["message"].as_str().unwrap_or_default();
                if !tools.contains(&tool) {
                    let is_seen = rights.allows_server(&tool[..1]);
                    let why = if is_seen { "whose tier is `" } else { "no server offers the tool" };
                    assert!(said.contains(why), "{what}, {tool}: {said}");
                }
            }
            let sees_t = rights.allows_server("t");
            let completion = json!({"ref": {"type": "ref/prompt", "name": "t__p"}, "argument": {"name": "a", "value": ""}});
            for (method, params) in [
                ("resources/read", json!({"uri": "t://r"})),
                ("resources/read", json!({"uri": "toolbay://t/t://r"})),
                ("prompts/get", json!({"name": "t__p"})),
                ("completion/complete", completion),
            ] {
                let answer = transport.send(rpc(4, method, params)).await;
                let said = answer["error"]["message"].as_str().unwrap_or_default();
                let is_unknown = said.starts_with("no server ");
                assert_eq!(is_unknown, !sees_t, "{what}, {method}: {answer}");
            }
        }
    }
    let token = shared.token_with("narrow", Rights { servers, ..Rights::default() }).await;
    let health = shared.hub.send(by(&token, Ask::new("GET", "/health"))).await.json().await;
    assert_eq!(health["servers"].as_array().unwrap().len(), 1, "{health}");
}
