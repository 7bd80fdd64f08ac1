//! Configuration files that are followed.

use std::{fs, path::Path, time::Duration};

use serde_json::{Value, json};
use toolbay_agent::Agent;

use crate::{clients::test_server, test_host::eventually};

const EXTENSION: &str = "mcp-server-demo";

fn manifest() -> String {
    let server = json!({
        "command": { "path": test_server(), "args": ["--page-size", "5"] },
        "settings_schema": { "type": "object", "properties": { "root": { "type": "string" } } },
    });
    json!({ "context_servers": { EXTENSION: server } }).to_string()
}

fn write(file: &Path, servers: &Value) {
    fs::write(file, json!({ "context_servers": servers }).to_string()).unwrap();
}

fn pid(agent: &Agent, server: &str) -> Option<u32> {
    agent.status(server).ok()?.pid
}

#[tokio::test]
async fn a_saved_file_is_applied_with_its_extension_servers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.json");
    let plain = json!({ "command": test_server() });
    let extension = json!({ "enabled": true, "settings": { "root": "/srv" } });
    write(&file, &json!({ "plain": plain, EXTENSION: extension }));
    let agent = Agent::builder()
        .inherit_env()
        .extension_manifest(manifest())
        .follow_config_file(&file)
        .build()
        .await
        .unwrap();
    agent.add_server("own", json!({ "command": test_server() })).await.unwrap();
    for server in ["plain", EXTENSION, "own"] {
        let sum = agent.call_tool_on(server, "add", json!({"a": 1, "b": 2})).await.unwrap();
        assert_eq!(sum.structured::<Value>().unwrap()["sum"], 3, "{server}");
    }
    let before = (pid(&agent, "plain"), pid(&agent, "own"));

    write(&file, &json!({ "plain": plain, "new": { "command": test_server() } }));
    within("the new one is up", || agent.status("new").is_ok_and(|status| status.state.is_up())).await;
    within("the extension is gone", || agent.status(EXTENSION).is_err()).await;
    assert_eq!((pid(&agent, "plain"), pid(&agent, "own")), before, "they were not touched");
    let kept = agent.remove_server("plain").await.unwrap_err();
    assert!(kept.to_string().contains("remove it there"), "{kept}");

    fs::write(&file, "{ broken").unwrap();
    within("it is told", || !agent.host().config_problems().is_empty()).await;
    assert_eq!(pid(&agent, "plain"), before.0, "what was right before stays");
    write(&file, &json!({ "plain": plain }));
    within("it is right again", || agent.host().config_problems().is_empty()).await;
    within("the new one is gone", || agent.status("new").is_err()).await;
    assert_eq!(pid(&agent, "own"), before.1, "a server of the program outlives changes of files");
    agent.shutdown(Duration::from_secs(10)).await;
}

/// As [`eventually`], on a busy machine: files are looked at when nothing has happened for half a second.
async fn within(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..20 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    eventually(what, holds).await;
}
