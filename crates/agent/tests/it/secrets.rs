//! Secrets of configurations come from the program.

use std::time::Duration;

use serde_json::json;
use toolbay_agent::Agent;

const SCRIPT: &str = "read -r line; echo \"$WORD\" >&2; exit 3";

#[tokio::test]
async fn the_program_brings_the_values_and_they_are_not_shown() {
    let agent = Agent::builder()
        .inherit_env()
        .secrets(|name| async move {
            match name.as_str() {
                "KNOWN" => Ok("willow marble 42".to_owned()),
                _ => Err("there is no such secret".into()),
            }
        })
        .server("a", json!({"command": "sh", "args": ["-c", SCRIPT], "env": {"WORD": "got ${secret:KNOWN}"}, "toolbay": {"restart": "never"}}))
        .server("b", json!({"command": "sh", "env": {"WORD": "${secret:OTHER}"}}))
        .wait_timeout(Duration::from_secs(20))
        .build()
        .await
        .unwrap();
    let failure = |name: &str| agent.status(name).unwrap().state.failure().map(|it| it.to_string());
    let shown = failure("a").unwrap();
    assert!(shown.contains("got ***") && !shown.contains("marble"), "{shown}");
    assert_eq!(failure("b").unwrap(), "cannot read secret OTHER: there is no such secret");
    agent.shutdown(Duration::from_secs(10)).await;
}
