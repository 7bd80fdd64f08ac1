//! Calls to servers that do not run.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use toolbay_agent::{Agent, Error, ServerState, ToolContext};
use toolbay_config::{Permission, Start};
use toolbay_host::Host;

use crate::{
    test_host::eventually,
    troupe::{Troupe, config},
};

async fn agent(servers: &[toolbay_config::ServerConfig]) -> (Agent, Arc<Troupe>) {
    let troupe = Arc::new(Troupe::default());
    let agent = Host::start(servers, Vec::new(), &troupe.options());
    agent.settled().await;
    (Agent::new(agent), troupe)
}

#[tokio::test(start_paused = true)]
async fn a_call_to_a_server_that_is_down_returns_its_state_and_a_hint() {
    let mut off = config("off", &["x"]);
    off.permission = Permission::Disabled;
    let mut new = config("new", &["x"]);
    new.permission = Permission::Pending;
    let (agent, _) = agent(&[off, new, config("up", &["x"])]).await;
    let tools = agent.as_tools();
    agent.stop_server("up").await.unwrap();
    eventually("its tools are gone", || agent.host().table().tool("up__x").is_none()).await;
    for (server, state, hint) in [
        ("off", "is disabled", "`enable_server(\"off\")`"),
        ("new", "needs approval", "`enable_server(\"new\")`"),
        ("up", "is stopp", "`start_server(\"up\")`"),
    ] {
        for error in [
            agent.call_tool(&format!("{server}__x"), Value::Null).await.unwrap_err(),
            agent.call_tool_on(server, "x", Value::Null).await.unwrap_err(),
        ] {
            assert!(matches!(error, Error::NotRunning { .. }), "{error:?}");
            let told = error.explained();
            assert!(told.contains(&format!("server `{server}` {state}")) && told.contains(hint), "{told}");
        }
    }
    let output = tools[0].execute(Value::Null, &ToolContext::new()).await;
    let refused = crate::test_host::text_of(agent.host(), "up__x", 0).await.unwrap_err();
    assert!(refused.contains("server `up` is stopped\nhint: start it with `toolbay start up`"), "{refused}");
    assert!(output.is_error && output.text.contains("server `up` is stopped"), "{}", output.text);
    agent.start_server("up").await.unwrap();
    eventually("it is back", || agent.host().table().tool("up__x").is_some()).await;
    let output = tools[0].execute(Value::Null, &ToolContext::new()).await;
    assert!(!output.is_error, "a tool comes back with its server: {}", output.text);
    let error = agent.start_server("off").await.unwrap_err();
    assert!(matches!(error, Error::NotRunning { state: ServerState::Disabled, .. }), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_waits_for_a_call_is_started_by_one() {
    let mut lazy = config("lazy", &["x"]);
    lazy.tuning.start = Start::OnDemand;
    lazy.tuning.idle_stop = Some(Duration::from_secs(60));
    let (agent, troupe) = agent(&[lazy]).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    let before = troupe.lives("lazy");
    assert_eq!(agent.status("lazy").unwrap().state.word(), "asleep");
    let result = agent.call_tool_on("lazy", "x", Value::Null).await.unwrap();
    assert!(!result.is_error());
    assert_eq!(troupe.lives("lazy"), before + 1);
}
