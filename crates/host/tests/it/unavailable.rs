//! Calls to servers that do not run, and the states of such servers.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use toolbay_host::{Host, ServerState};

use crate::troupe::{Troupe, config};

async fn host(servers: &[toolbay_config::ServerConfig]) -> (Host, Arc<Troupe>) {
    let troupe = Arc::new(Troupe::default());
    let host = Host::start(servers, Vec::new(), &troupe.options());
    host.settled().await;
    (host, troupe)
}

/// Through MCP: the message says what to do, and the data says it to programs.
#[tokio::test(start_paused = true)]
async fn a_call_that_cannot_be_served_names_the_server_and_its_state() {
    let unfit = "x".repeat(200);
    let (host, troupe) = host(&[config("up", &["x", &unfit]), config("bad", &["x"])]).await;
    let refused = async |tool: &str| {
        let answer =
            crate::test_host::ask(&host, "tools/call", serde_json::json!({"name": tool, "arguments": {}}));
        answer.await["error"].clone()
    };
    let set_aside = refused(&format!("up__{unfit}")).await;
    let told = set_aside["message"].as_str().unwrap();
    assert!(told.contains("of server `up` is not offered: "), "{told}");
    assert_eq!(host.status("up").unwrap().withheld_tools, 1);
    let unknown = refused("up__nothing").await;
    assert_eq!(unknown["message"], "no server offers the tool `up__nothing`");
    troupe.is_broken.store(true, Ordering::Relaxed);
    host.apply(&[config("bad", &["x", "y"])]).await;
    host.wait_for("bad").await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let failed = refused("bad__y").await;
    let told = failed["message"].as_str().unwrap();
    assert!(told.starts_with("server `bad` has failed: it closed the connection"), "{told}");
    assert!(told.ends_with("`toolbay restart bad`"), "{told}");
    assert_eq!(
        failed["data"],
        serde_json::json!({
            "reason": "not-ready", "server": "bad", "state": "failed",
            "hint": "see `toolbay logs bad`, then `toolbay restart bad`",
        })
    );
}

#[tokio::test(start_paused = true)]
async fn a_state_tells_up_from_down_and_down_from_failed() {
    let (host, troupe) = host(&[config("s", &["x"])]).await;
    let state = || host.status("s").unwrap().state;
    assert!(matches!(state(), ServerState::Running), "{}", state());
    host.stop_server("s").await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(matches!(state(), ServerState::Stopped { wakes: false }), "{}", state());
    assert!(state().failure().is_none(), "{}", state());
    troupe.is_broken.store(true, Ordering::Relaxed);
    host.start_server("s").await.unwrap();
    assert!(matches!(state(), ServerState::Starting { failure: None, .. }), "{}", state());
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(!state().is_up(), "{}", state());
    assert!(state().failure().is_some_and(|why| !why.to_string().is_empty()), "{}", state());
}
