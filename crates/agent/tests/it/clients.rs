//! One connection without a host.

use std::{path::PathBuf, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_agent::{
    BoxError, BoxFuture, CallOptions, Client, CompletionReference, Error, Handlers, ServerNotification,
    handlers::{ElicitRequest, ElicitResult},
    model::CatalogKind,
    transport::{InProcess, MessageTransport, OpenedTransport, one_by_one},
};
use toolbay_protocol::{Revision, ServerName};
use toolbay_testkit::{SupportedRevisions, TestServer, TlsFront, ToolContext};

use crate::test_host::eventually;

fn in_memory(server: &TestServer) -> InProcess {
    let server = server.clone();
    Arc::new(move |tasks| server.in_memory(tasks))
}

/// The test server as a program, which the workspace builds beside its tests.
pub(crate) fn test_server() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().and_then(|deps| deps.parent()).unwrap().join("toolbay-test-server");
    assert!(program.exists(), "{} is missing; first: cargo build -p toolbay-testkit", program.display());
    program
}

#[tokio::test(start_paused = true)]
async fn a_client_supports_all_requests_in_all_revisions() {
    for (revisions, revision) in [
        (SupportedRevisions::Legacy, Revision::LATEST_LEGACY),
        (SupportedRevisions::Modern, Revision::LATEST),
    ] {
        let server = TestServer::demo().revisions(revisions).page_size(2);
        let client = Client::in_process(in_memory(&server)).name("demo").build();
        assert!(!client.is_connected() && client.server_info().is_none() && client.tools().is_empty());
        let info = client.initialize().await.unwrap();
        assert_eq!((info.name.as_str(), info.revision), ("toolbay-test-server", Some(revision)));
        assert_eq!(info.instructions.as_deref(), Some("For tests only."));
        assert_eq!(client.server_info(), Some(info));
        assert!(client.capabilities().unwrap()["tools"].is_object());
        client.ping().await.unwrap();

        let tools = client.list_tools().await.unwrap();
        assert!(tools.len() > 10, "over all pages");
        assert_eq!(client.tools().len(), tools.len());
        assert_eq!(client.list_prompts().await.unwrap().len(), client.prompts().len());
        assert_eq!(client.list_resources().await.unwrap().len(), client.resources().len());
        assert_eq!(client.list_resource_templates().await.unwrap()[0].uri_template(), "test://user/{id}");

        let sum = client.call_tool("add", json!({"a": 1, "b": 2})).await.unwrap();
        assert_eq!(sum.structured::<serde_json::Value>().unwrap()["sum"], 3);
        assert_eq!(client.read_resource("test://readme").await.unwrap().to_text(), "Read me.");
        let prompt = client.get_prompt("greet", json!({"name": "Ada"})).await.unwrap();
        assert_eq!(prompt.messages()[0].role, "user");
        let names = client.complete(&CompletionReference::Prompt("greet".into()), "name", "G").await.unwrap();
        assert_eq!(names.values(), ["Grace"]);
        let raw = client
            .request("tools/call", json!({"name": "echo", "arguments": {"text": "raw"}}))
            .await
            .unwrap();
        assert_eq!(raw["content"][0]["text"], "raw");
        let error = client.request("no/such", Value::Null).await.unwrap_err();
        assert!(matches!(error, Error::Server { .. }), "{error:?}");
        client.close().await;
        assert!(matches!(client.ping().await, Err(Error::NotInitialized { .. })));
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_is_initialized_once_and_again_after_it_was_closed() {
    let client = Client::in_process(in_memory(&TestServer::demo())).build();
    assert!(matches!(client.call_tool("add", Value::Null).await, Err(Error::NotInitialized { .. })));
    client.initialize().await.unwrap();
    assert!(matches!(client.initialize().await, Err(Error::AlreadyInitialized { .. })));
    client.close().await;
    client.initialize().await.unwrap();
    assert!(client.is_connected());
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_was_given_up_or_failed_can_be_repeated() {
    let never: InProcess = Arc::new(|tasks| {
        let (mut inside, outside) = toolbay_transport::memory::pair(tasks);
        tasks.spawn(async move {
            while inside.incoming.recv().await.is_some() {}
            drop(inside);
        });
        outside
    });
    let client = Client::in_process(never).name("mute").build();
    assert!(timeout(Duration::from_secs(1), client.initialize()).await.is_err());
    for _ in 0..2 {
        let error = client.initialize().await.unwrap_err();
        assert!(matches!(&error, Error::Init { server, .. } if server.as_str() == "mute"), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn notifications_are_a_stream() {
    let server = TestServer::demo();
    let client = Client::in_process(in_memory(&server)).connect().await.unwrap();
    let mut said = client.notifications();
    server.handle().add_tool("new", |_| Ok(json!(1)));
    assert!(matches!(said.recv().await, Some(ServerNotification::ListChanged(CatalogKind::Tools))));
    assert!(client.tools().iter().any(|tool| tool.name() == "new"), "the cache is the new list");
    let watched = client.subscribe("test://readme").await.unwrap();
    server.handle().notify_updated("test://readme");
    assert!(
        matches!(said.recv().await, Some(ServerNotification::ResourceUpdated { uri }) if uri == "test://readme")
    );
    // Whoever does not read is told how much was missed, and nobody waits.
    for _ in 0..400 {
        server.handle().notify_updated("test://readme");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(matches!(said.recv().await, Some(ServerNotification::Missed(missed)) if missed > 0));
    drop(watched);
    let handle = client.handle().unwrap();
    handle.restart().await;
    let mut seen = Vec::new();
    while seen.len() < 2 {
        match said.recv().await.unwrap() {
            ServerNotification::Disconnected => seen.push("gone"),
            ServerNotification::Connected => seen.push("back"),
            _ => {}
        }
    }
    assert_eq!(seen, ["gone", "back"]);
    drop((client, handle));
    while said.recv().await.is_some() {} // ends with the client
}

#[tokio::test(start_paused = true)]
async fn custom_notifications_and_log_messages_are_in_the_stream() {
    for revisions in [SupportedRevisions::Legacy, SupportedRevisions::Modern] {
        let server = TestServer::new("s").revisions(revisions).with_async_tool(
            "t",
            |_, context: ToolContext| async move {
                context.notify("notifications/acme/step", json!({"n": 1})).await;
                Ok(json!(1))
            },
        );
        let client = Client::in_process(in_memory(&server)).connect().await.unwrap();
        let mut said = client.notifications();
        client.call_tool("t", json!({})).await.unwrap();
        let Some(ServerNotification::Custom(step)) = said.recv().await else { panic!("{revisions:?}") };
        assert_eq!((step.method(), step.params_text()), ("notifications/acme/step", Some(r#"{"n":1}"#)));
        if revisions == SupportedRevisions::Modern {
            continue; // it says nothing outside of calls and subscriptions
        }
        server.handle().notify("acme/idle", json!({}));
        server.handle().notify("notifications/message", json!({"level": "info", "data": "idle"}));
        let Some(ServerNotification::Custom(idle)) = said.recv().await else { panic!() };
        assert_eq!(idle.method(), "acme/idle");
        let Some(ServerNotification::Log(idle)) = said.recv().await else { panic!() };
        assert_eq!(idle.string_param("data").as_deref(), Some("idle"));
    }
}

#[tokio::test(start_paused = true)]
async fn handlers_and_options_work_as_with_an_agent() {
    for revisions in [SupportedRevisions::Legacy, SupportedRevisions::Modern] {
        let handlers = Handlers::new()
            .elicitation(|_: ElicitRequest| async { ElicitResult::accept(json!({"name": "Ada"})) });
        let server = TestServer::demo().revisions(revisions);
        let client = Client::in_process(in_memory(&server)).handlers(handlers).connect().await.unwrap();
        assert_eq!(client.call_tool("elicit", Value::Null).await.unwrap().to_text(), "Ada", "{revisions:?}");
        let quick = client.with(CallOptions::new().timeout(Duration::from_secs(1)));
        let error = quick.call_tool("sleep", json!({"ms": 9000})).await.unwrap_err();
        assert!(matches!(error, Error::CallerTimeout { .. }), "{error:?}");
        eventually("the server is told", || server.handle().count("notifications/cancelled") == 1).await;
    }
}

#[tokio::test]
async fn a_client_runs_a_real_program_and_ends_it() {
    let client = Client::stdio(test_server().to_str().unwrap())
        .args(["--revisions", "legacy"])
        .inherit_env()
        .env("GREETING", "hello")
        .client_info("it", "1.2.3")
        .connect()
        .await
        .unwrap();
    let value = client.call_tool("env", json!({"name": "GREETING"})).await.unwrap();
    assert_eq!(value.structured::<serde_json::Value>().unwrap()["value"], "hello");
    let pid = |result: toolbay_agent::CallToolResult| {
        result.structured::<serde_json::Value>().unwrap()["pid"].as_u64().unwrap()
    };
    let first = pid(client.call_tool("pid", Value::Null).await.unwrap());
    let error = client.call_tool("crash", json!({"code": 3})).await.unwrap_err();
    assert!(error.to_string().contains("about to crash"), "its last words: {error}");
    let second = pid(client.call_tool("pid", Value::Null).await.unwrap());
    assert_ne!(first, second, "it was started again");
    client.close().await;
    assert!(!PathBuf::from(format!("/proc/{second}")).exists(), "it is gone");
}

#[tokio::test]
async fn a_client_detects_the_protocol_of_a_url() {
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let server = TestServer::demo();
    for url in [
        server.start_http(&tasks, stop.clone()).await.unwrap(),
        server.start_sse(&tasks, stop.clone()).await.unwrap(),
        server.start_ws(&tasks, stop.clone()).await.unwrap(),
    ] {
        let client = Client::http(&url).name("remote").header("X-Test", "yes").connect().await.unwrap();
        let sum = client.call_tool("add", json!({"a": 20, "b": 22})).await.unwrap();
        assert_eq!(sum.structured::<serde_json::Value>().unwrap()["sum"], 42, "{url}");
        client.close().await;
    }
    stop.cancel();
    let client = Client::http("http://127.0.0.1:9/mcp").connect_timeout(Duration::from_secs(2));
    let error = client.connect().await.unwrap_err();
    assert!(matches!(error, Error::Init { .. }) && error.is_retryable(), "{error:?}");
    let error = Client::http("no url").connect().await.unwrap_err();
    assert!(matches!(error, Error::Setup { .. }), "{error:?}");
    let error =
        Client::http("http://127.0.0.1:9/").header("bad name", "secret!").connect().await.unwrap_err();
    assert!(!error.explained().contains("secret!"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_stands_already_can_be_used() {
    let tasks = TaskTracker::new();
    let client =
        Client::connection(TestServer::demo().in_memory(&tasks)).name("once").connect().await.unwrap();
    assert_eq!(client.call_tool("echo", json!({"text": "hi"})).await.unwrap().to_text(), "hi");
    assert_eq!(client.handle().unwrap().name(), &ServerName::new("once"));
}

/// Most servers ask for their roots right after the handshake, when no call is there to ask through.
#[tokio::test(start_paused = true)]
async fn roots_can_be_requested_at_any_time() {
    let told = Arc::new(std::sync::Mutex::new(None));
    let curious: InProcess = {
        let told = told.clone();
        Arc::new(move |tasks| {
            let (mut inside, outside) = toolbay_transport::memory::pair(tasks);
            let told = told.clone();
            tasks.spawn(async move {
                while let Some(toolbay_transport::Incoming::Message(message)) = inside.incoming.recv().await {
                    let said: Value = serde_json::from_slice(message.text()).unwrap();
                    let answer = match said["method"].as_str() {
                        Some("initialize") => {
                            json!({"id": said["id"], "result": {"protocolVersion": "2025-06-18",
                            "capabilities": {}, "serverInfo": {"name": "curious", "version": "1"}}})
                        }
                        Some("notifications/initialized") => json!({"id": "r", "method": "roots/list"}),
                        None if said["id"] == "r" => {
                            *told.lock().unwrap() = Some(said["result"].clone());
                            continue;
                        }
                        _ if said.get("id").is_none() => continue,
                        _ => {
                            json!({"id": said["id"], "error": {"code": -32601, "message": "no such method"}})
                        }
                    };
                    let mut answer = answer;
                    answer["jsonrpc"] = json!("2.0");
                    inside.outgoing.send(answer.to_string().into()).await.unwrap();
                }
            });
            outside
        })
    };
    let roots = vec![toolbay_agent::handlers::Root::new("file:///home/ada").named("home")];
    let client = Client::in_process(curious).handlers(Handlers::new().roots(roots)).connect().await.unwrap();
    eventually("it was told", || told.lock().unwrap().is_some()).await;
    let expected = json!({"roots": [{"uri": "file:///home/ada", "name": "home"}]});
    assert_eq!(told.lock().unwrap().clone(), Some(expected));
    client.close().await;
}

/// One end of a wire, as a transport that does one thing at a time.
struct Turns(Option<toolbay_transport::Connection>);

impl MessageTransport for Turns {
    fn send(&mut self, message: String) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(async move {
            let wire = self.0.as_ref().ok_or("closed")?;
            wire.outgoing.send(message.into()).await.map_err(|_| "gone".into())
        })
    }

    fn receive(&mut self) -> BoxFuture<'_, Result<String, BoxError>> {
        Box::pin(async move {
            match self.0.as_mut().ok_or("closed")?.incoming.recv().await {
                Some(toolbay_transport::Incoming::Message(message)) => {
                    Ok(String::from_utf8(message.text().to_vec())?)
                }
                other => Err(format!("no message: {other:?}").into()),
            }
        })
    }

    fn close(&mut self) -> BoxFuture<'_, Result<(), BoxError>> {
        self.0 = None;
        Box::pin(async { Ok(()) })
    }

    fn is_connected(&self) -> bool {
        self.0.as_ref().is_some_and(|wire| !wire.outgoing.is_closed())
    }
}

/// The other shape of a transport is good enough.
#[tokio::test(start_paused = true)]
async fn a_sequential_transport_works() {
    let (tasks, server) = (TaskTracker::new(), TestServer::demo());
    let open = {
        let (tasks, server) = (tasks.clone(), server.clone());
        move || -> OpenedTransport {
            let wire = server.in_memory(&tasks);
            Box::pin(async { Ok(Box::new(Turns(Some(wire))) as Box<dyn MessageTransport>) })
        }
    };
    let client = Client::transport(one_by_one("turns", open)).connect().await.unwrap();
    assert_eq!(client.handle().unwrap().transport(), "turns");
    let calls = (0..20).map(|n| client.call_tool("add", json!({"a": n, "b": n})));
    for (n, sum) in futures_util::future::join_all(calls).await.into_iter().enumerate() {
        assert_eq!(sum.unwrap().structured::<serde_json::Value>().unwrap()["sum"], 2 * n);
    }
    let slow = client.call_tool("sleep", json!({"ms": 5000}));
    let (slow, quick) = tokio::join!(slow, client.call_tool("echo", json!({"text": "meanwhile"})));
    assert!(slow.is_ok() && quick.unwrap().to_text() == "meanwhile");
    client.close().await;
    let error = one_by_one("nowhere", || Box::pin(async { Err("no line".into()) }));
    let error = Client::transport(error).connect().await.unwrap_err();
    assert!(error.to_string().contains("no line"), "{error}");
}

/// The certificate of a server that no machine trusts.
#[tokio::test]
async fn a_client_trusts_the_certificates_that_it_is_given() {
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let url = TestServer::demo().start_http(&tasks, stop.clone()).await.unwrap();
    let address = url.trim_start_matches("http://").split('/').next().unwrap().parse().unwrap();
    let front = TlsFront::start(&tasks, address, &["http/1.1"]).await.unwrap();
    let url = front.url.clone();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, TlsFront::CERTIFICATE).unwrap();
    let client = Client::http(&url).ca(&file).connect().await.unwrap();
    let sum = client.call_tool("add", json!({"a": 1, "b": 2})).await.unwrap();
    assert_eq!(sum.structured::<Value>().unwrap()["sum"], 3);
    client.close().await;
    let error = Client::http(&url).connect().await.unwrap_err();
    assert!(matches!(error, Error::Init { .. }), "{error:?}");
    let missing = Client::http(&url).ca(folder.path().join("none.pem")).connect().await.unwrap_err();
    assert!(missing.to_string().contains("none.pem"), "{missing}");
    stop.cancel();
}
