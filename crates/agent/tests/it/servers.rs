//! Servers of a running agent: added, removed, ordered about, used one at a time.

use std::{path::PathBuf, time::Duration};

use serde_json::{Value, json};
use toolbay_agent::{Agent, Client, Error, Handlers, HttpConfig, Naming, ServerNotification, StdioConfig};
use toolbay_testkit::{SupportedRevisions, TestServer, ToolContext};

use crate::{agent, clients::test_server};

fn program() -> StdioConfig {
    StdioConfig::new(test_server().to_str().unwrap())
}

fn pid_of(agent: &Agent, server: &str) -> u32 {
    agent.status(server).unwrap().pid.unwrap()
}

#[tokio::test]
async fn a_server_comes_and_goes_and_the_others_are_not_touched() {
    let agent = Agent::builder().inherit_env().server("first", program()).build().await.unwrap();
    let first = pid_of(&agent, "first");
    let folder = tempfile::tempdir().unwrap();
    let info = agent.add_server("second", program().cwd(folder.path()).env("A", "b")).await.unwrap();
    assert!(!info.name.is_empty() && info.capabilities["tools"].is_object(), "{info:?}");
    let sum = agent.call_tool("second__add", json!({"a": 1, "b": 2})).await.unwrap();
    assert_eq!(sum.structured::<Value>().unwrap()["sum"], 3);
    let second = pid_of(&agent, "second");
    assert_eq!(
        std::fs::read_link(format!("/proc/{second}/cwd")).unwrap(),
        folder.path().canonicalize().unwrap()
    );
    let taken = agent.add_server("first", program()).await.unwrap_err();
    assert!(taken.to_string().contains("same name"), "{taken}");
    let colleague = Agent::new(agent.host().clone());
    colleague.add_server("third", program()).await.unwrap();
    assert_eq!(agent.server_names().len(), 3, "agents of one engine do not undo each other's changes");
    agent.remove_server("third").await.unwrap();
    agent.remove_server("second").await.unwrap();
    assert!(agent.all_tools().iter().all(|tool| !tool.name().starts_with("second")));
    assert!(
        matches!(agent.remove_server("second").await, Err(Error::ServerNotFound { known, .. }) if known == ["first"])
    );
    assert_eq!(pid_of(&agent, "first"), first, "it was not restarted");
    agent.shutdown(Duration::from_secs(10)).await;
    assert!(!PathBuf::from(format!("/proc/{second}")).exists());
}

#[tokio::test]
async fn a_server_that_does_not_come_up_is_not_added() {
    let agent = Agent::builder().build().await.unwrap();
    let error = agent.add_server("x", StdioConfig::new("no-such-mcp-server")).await.unwrap_err();
    let told = error.explained();
    assert!(matches!(error, Error::Init { .. }), "{error:?}");
    assert!(told.contains("`inherit_env()`"), "nothing was inherited, so PATH was not searched: {told}");
    assert!(agent.servers().is_empty());
    let bad = agent.add_server("x", HttpConfig::new("no url")).await.unwrap_err();
    assert!(matches!(bad, Error::Setup { .. }), "{bad:?}");
    let entry = json!({"command": test_server(), "args": ["--page-size", "3"]});
    agent.add_server("x", entry).await.unwrap();
    assert_eq!(agent.server_names().len(), 1);
    agent.shutdown(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn changes_at_the_same_time_lose_nothing() {
    let agent = Agent::builder().inherit_env().build().await.unwrap();
    let names = ["a", "b", "c", "d"];
    let added = futures_util::future::join_all(names.map(|name| agent.add_server(name, program()))).await;
    assert!(added.iter().all(Result::is_ok), "{added:?}");
    assert_eq!(agent.running().len(), 4);
    let removed = futures_util::future::join_all(names.map(|name| agent.remove_server(name))).await;
    assert!(removed.iter().all(Result::is_ok), "{removed:?}");
    assert!(agent.servers().is_empty() && agent.all_tools().is_empty());
    agent.shutdown(Duration::from_secs(10)).await;
}

/// An order returns when it took effect, so that whoever waits next waits for its outcome.
#[tokio::test]
async fn an_order_and_then_a_wait_is_no_race() {
    let agent = Agent::builder().inherit_env().server("s", program()).build().await.unwrap();
    for round in 0..10 {
        let before = agent.status("s").unwrap().starts;
        agent.restart_server("s").await.unwrap();
        assert!(agent.wait_for("s").await.unwrap().is_up(), "restart, round {round}");
        assert_eq!(agent.status("s").unwrap().starts, before + 1);
        agent.stop_server("s").await.unwrap();
        assert!(!agent.status("s").unwrap().state.is_up(), "stop, round {round}");
        agent.start_server("s").await.unwrap();
        assert!(agent.wait_for("s").await.unwrap().is_up(), "start, round {round}");
        agent.disable_server("s").await.unwrap();
        agent.enable_server("s").await.unwrap();
        assert!(agent.wait_for("s").await.unwrap().is_up(), "enable, round {round}");
        agent.call_tool("s__add", json!({"a": 1, "b": 2})).await.unwrap();
    }
    let unknown = agent.start_server("nobody").await.unwrap_err();
    assert_eq!(unknown.to_string(), "no server named `nobody`; there are s");
    agent.shutdown(Duration::from_secs(10)).await;
}

#[tokio::test(start_paused = true)]
async fn one_server_is_used_by_its_own_names() {
    for revisions in [SupportedRevisions::Legacy, SupportedRevisions::Modern] {
        let demo = TestServer::demo().revisions(revisions);
        let agent = agent(&[("demo", &demo), ("other", &TestServer::new("other"))], Naming::Prefix).await;
        let server = agent.server("demo").unwrap();
        assert_eq!(server.name().as_str(), "demo");
        assert!(server.state().unwrap().is_up());
        let info = server.info().unwrap();
        assert!(!info.version.is_empty() && info.revision.is_some(), "{info:?}");
        server.ping().await.unwrap();
        let listed = server.list_tools().await.unwrap();
        let known = server.tools();
        let names = |tools: &[toolbay_agent::model::ToolDefinition]| -> Vec<String> {
            tools.iter().map(|tool| tool.name().to_owned()).collect()
        };
        assert_eq!(names(&listed), names(&known));
        assert!(names(&known).contains(&"add".to_owned()), "not `demo__add`");
        let sum = server.call_tool("add", json!({"a": 2, "b": 3})).await.unwrap();
        assert_eq!(sum.structured::<Value>().unwrap()["sum"], 5);
        assert!(!server.read_resource("test://readme").await.unwrap().to_text().is_empty());
        let misfit = server.call_tool("add", json!({"a": "x"})).await.unwrap();
        assert!(misfit.is_error(), "its arguments are checked as those of all calls");
        assert!(agent.server("other").unwrap().tools().is_empty());
        assert!(matches!(agent.server("nobody"), Err(Error::ServerNotFound { .. })));
    }
}

#[tokio::test(start_paused = true)]
async fn all_notifications_of_a_server_arrive_at_those_who_follow_it() {
    let server = TestServer::new("s").revisions(SupportedRevisions::Legacy).with_async_tool(
        "t",
        |_, context: ToolContext| async move {
            context.notify("notifications/message", json!({"level": "debug", "data": "in the call"})).await;
            context.notify("notifications/acme/step", json!({"n": 1})).await;
            Ok(json!(1))
        },
    );
    let other = TestServer::new("other").revisions(SupportedRevisions::Legacy);
    let agent = agent(&[("s", &server), ("other", &other)], Naming::Prefix).await;
    let mut notifications = agent.server("s").unwrap().notifications().unwrap();
    other.handle().notify("acme/other", json!({}));
    agent.call_tool("s__t", json!({})).await.unwrap();
    server.handle().notify("acme/idle", json!({}));
    server.handle().notify("notifications/message", json!({"level": "info", "data": "idle"}));
    server.handle().add_tool("new", |_| Ok(json!(1)));
    let mut seen = Vec::new();
    while seen.len() < 5 {
        seen.push(match notifications.recv().await.unwrap() {
            ServerNotification::Log(message) => format!("log {}", message.string_param("data").unwrap()),
            ServerNotification::Custom(message) => message.method().to_owned(),
            ServerNotification::ListChanged(kind) => format!("{kind:?} changed"),
            other => format!("{other:?}"),
        });
    }
    seen.sort();
    assert_eq!(
        seen,
        ["Tools changed", "acme/idle", "log idle", "log in the call", "notifications/acme/step"],
        "and nothing of the other server"
    );
    agent.shutdown(Duration::from_secs(5)).await;
    while notifications.recv().await.is_some() {} // ends with the agent
}

/// The `params` of the first request with that method.
fn received(server: &TestServer, method: &str) -> Value {
    let messages = server.handle().received();
    let messages = messages.iter().map(|text| serde_json::from_str::<Value>(text).unwrap());
    messages.into_iter().find(|message| message["method"] == method).unwrap()["params"].take()
}

#[tokio::test(start_paused = true)]
async fn the_name_and_capabilities_of_the_program_reach_servers() {
    let handlers = || Handlers::new().roots(vec![toolbay_agent::handlers::Root::new("file:///srv")]);
    let capabilities = json!({"roots": {}, "experimental": {"acme": {}}});
    let more = || json!({"experimental": {"acme": {}}});
    let server = TestServer::demo().revisions(SupportedRevisions::Legacy);
    let client = Client::in_process(server.clone()).client_info("kode-rust", "1.2.3").handlers(handlers());
    client.capabilities(more()).connect().await.unwrap();
    let agents = TestServer::demo().revisions(SupportedRevisions::Legacy);
    let builder = Agent::builder().in_process("s", agents.clone()).client_info("kode-rust", "1.2.3");
    builder.handlers(handlers()).capabilities(more()).build().await.unwrap();
    for server in [server, agents] {
        let hello = received(&server, "initialize");
        assert_eq!(hello["clientInfo"], json!({"name": "kode-rust", "version": "1.2.3"}));
        assert_eq!(hello["capabilities"], capabilities);
    }
    let modern = TestServer::demo().revisions(SupportedRevisions::Modern);
    let client =
        Client::in_process(modern.clone()).client_info("kode-rust", "1.2.3").connect().await.unwrap();
    client.call_tool("add", json!({"a": 1, "b": 2})).await.unwrap();
    for method in ["server/discover", "tools/list", "tools/call"] {
        let told = &received(&modern, method)["_meta"]["io.modelcontextprotocol/clientInfo"];
        assert_eq!(told["name"], "kode-rust", "{method}");
    }
}

#[tokio::test]
async fn a_response_that_is_too_long_names_the_setting() {
    let agent =
        Agent::builder().inherit_env().server("s", program().max_message(60_000)).build().await.unwrap();
    let error = agent.call_tool("s__echo", json!({"text": "x".repeat(80_000)})).await.unwrap_err();
    assert!(matches!(error, Error::Protocol { .. }), "{error:?}");
    assert!(error.explained().contains("raise `max_message`"), "{}", error.explained());
    agent.shutdown(Duration::from_secs(10)).await;
}
