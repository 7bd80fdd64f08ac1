//! A host in a few lines.

use std::{
    fs,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::json;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_agent::{Agent, Error, Naming, StdioConfig, tool_fn};
use toolbay_testkit::TestServer;

use crate::clients::test_server;

#[tokio::test]
async fn servers_of_all_kinds_are_one_host() {
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let url = TestServer::demo().start_http(&tasks, stop.clone()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mcp.json");
    let program = test_server();
    let servers = json!({"mcpServers": {"filed": {"command": "${SERVER_PROGRAM}"}, "bad": {"command": 5}}});
    fs::write(&file, servers.to_string()).unwrap();
    let problems = Arc::new(Mutex::new(Vec::new()));
    let told = problems.clone();
    let hello =
        tool_fn("hello", "Says hello.", json!({"type": "object"}), |_| async { Ok("hello".to_owned()) });
    let agent = Agent::builder()
        .environment(std::env::vars_os().chain([("SERVER_PROGRAM".into(), program.clone().into())]))
        .stdio_server("run", program.to_str().unwrap(), ["--page-size", "3"])
        .server(
            "varied",
            StdioConfig::new(program.to_str().unwrap())
                .args(["--revisions", "legacy"])
                .env("GREETING", "hello ${HOME}"),
        )
        .roots(["file:///srv"])
        .stdio_server("missing", "no-such-mcp-server", Vec::<String>::new())
        .http_server("remote", &url)
        .in_process("memory", TestServer::demo())
        .tools("own", vec![hello])
        .config_file(&file)
        .on_problem(move |problem| told.lock().unwrap().push(problem.server.clone()))
        .build()
        .await
        .unwrap();
    for server in ["run", "remote", "memory", "filed"] {
        let sum = agent.call_tool(&format!("{server}__add"), json!({"a": 1, "b": 2})).await.unwrap();
        assert_eq!(sum.structured::<serde_json::Value>().unwrap()["sum"], 3, "{server}");
    }
    assert_eq!(agent.call_tool("own__hello", json!({})).await.unwrap().to_text(), "hello");
    let greeting = agent.call_tool("varied__env", json!({"name": "GREETING"})).await.unwrap();
    assert_eq!(
        greeting.structured::<serde_json::Value>().unwrap()["value"],
        "hello ${HOME}",
        "what a program says is meant as it is"
    );
    assert_eq!(agent.call_tool("varied__list_roots", json!({})).await.unwrap().to_text(), "file:///srv");
    assert_eq!(*problems.lock().unwrap(), [Some("bad".to_owned())]);
    // A server that does not come up takes nothing from the others, and says why when it is called.
    for error in [
        agent.call_tool_on("missing", "x", json!({})).await.unwrap_err(),
        agent.call_tool("missing__x", json!({})).await.unwrap_err(),
    ] {
        assert!(
            matches!(error, Error::Init { .. }) && error.to_string().contains("no-such-mcp-server"),
            "{error:?}"
        );
    }
    agent.shutdown(Duration::from_secs(10)).await;
    stop.cancel();
}

#[tokio::test]
async fn a_bad_description_is_an_error_of_build() {
    let build = |builder: toolbay_agent::AgentBuilder| async { builder.build().await.unwrap_err() };
    let error = build(Agent::builder().http_server("x", "no url")).await;
    assert!(matches!(&error, Error::Setup { server, .. } if server == "x"), "{error:?}");
    let error = build(Agent::builder().config_file("/no/such/file.json")).await;
    assert!(matches!(error, Error::Config(_)), "{error:?}");
    let twice = Agent::builder().stdio_server("x", "true", [""; 0]).stdio_server("x", "true", [""; 0]);
    let error = build(twice).await;
    assert!(error.to_string().contains("same name"), "{error}");
}

#[tokio::test]
async fn build_waits_no_longer_than_its_timeout() {
    let started = Instant::now();
    let agent = Agent::builder()
        .inherit_env()
        .stdio_server("mute", "sleep", ["60"])
        .naming(Naming::None)
        .wait_timeout(Duration::from_millis(100))
        .build()
        .await
        .unwrap();
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert!(agent.is_starting() && agent.as_tools().is_empty());
    agent.shutdown(Duration::from_secs(10)).await;
}
