//! Log messages, to those who want them and as severe as they want them.

use serde_json::{Value, json};
use toolbay_gateway::GatewayOptions;
use toolbay_testkit::{SupportedRevisions, TestServer, ToolContext};

use crate::{
    http::{Answer, Ask},
    test_gateway::{Hub, call, modern, rpc},
};

const LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";

/// Its tool logs `debug`, `info` and `error`, and reports progress.
async fn hub(era: SupportedRevisions) -> Hub {
    let server = TestServer::new("s").with_async_tool("t", |_, context: ToolContext| async move {
        for level in ["debug", "info", "error"] {
            context.log(level, json!(level)).await;
        }
        context.progress(1.0, 1.0).await;
        Ok(json!(1))
    });
    Hub::of(server.revisions(era), GatewayOptions::default()).await
}

/// The levels of the log messages before the answer; a plain answer has none.
async fn levels(mut answer: Answer) -> Vec<String> {
    assert_eq!(answer.status, 200);
    let mut levels = Vec::new();
    if answer.is_stream() {
        while let Some(event) = answer.event().await {
            if event["method"] == "notifications/message" {
                levels.push(event["params"]["level"].as_str().unwrap().to_owned());
            }
        }
    }
    levels
}

async fn call_of(hub: &Hub, session: &str) -> Vec<String> {
    let ask = Ask::post(&call(1, "t", json!({}))).header("mcp-session-id", session);
    levels(hub.send(ask).await).await
}

async fn set_level(hub: &Hub, session: &str, level: Value) -> Value {
    let ask =
        Ask::post(&rpc(2, "logging/setLevel", json!({"level": level}))).header("mcp-session-id", session);
    hub.send(ask).await.json().await
}

/// A call of the stateless era, with a progress token, so that there is a stream in any case.
fn ask_modern(level: Option<&str>) -> Ask {
    let mut message = call(1, "t", json!({}));
    message["params"]["_meta"]["progressToken"] = json!("p");
    if let Some(level) = level {
        message["params"]["_meta"][LEVEL_KEY] = json!(level);
    }
    modern(message)
}

#[tokio::test]
async fn a_session_has_a_level_of_its_own() {
    for (era, without) in [
        (SupportedRevisions::Legacy, &["debug", "info", "error"][..]),
        (SupportedRevisions::Modern, &["info", "error"]),
    ] {
        let hub = hub(era).await;
        let (first, second) = (hub.session("2025-11-25").await, hub.session("2025-03-26").await);
        assert_eq!(call_of(&hub, &first).await, without, "{era:?}: what the server sends by itself");
        assert_eq!(set_level(&hub, &first, json!("error")).await["result"], json!({}));
        assert_eq!(call_of(&hub, &first).await, ["error"], "{era:?}");
        assert_eq!(call_of(&hub, &second).await, ["info", "error"], "{era:?}: not the level of another");
        set_level(&hub, &second, json!("debug")).await;
        assert_eq!(call_of(&hub, &second).await, ["debug", "info", "error"], "{era:?}");
        assert_eq!(call_of(&hub, &first).await, ["error"], "{era:?}");
    }
}

#[tokio::test]
async fn a_modern_request_names_its_log_level() {
    for era in [SupportedRevisions::Legacy, SupportedRevisions::Modern] {
        let hub = hub(era).await;
        assert_eq!(levels(hub.send(ask_modern(None)).await).await, [""; 0], "{era:?}");
        assert_eq!(levels(hub.send(ask_modern(Some("warning"))).await).await, ["error"], "{era:?}");
        assert_eq!(
            levels(hub.send(ask_modern(Some("debug"))).await).await,
            ["debug", "info", "error"],
            "{era:?}"
        );
        assert_eq!(levels(hub.send(ask_modern(None)).await).await, [""; 0], "{era:?}: asked of others");
    }
}

#[tokio::test]
async fn levels_that_there_are_not_are_refused() {
    let hub = hub(SupportedRevisions::Both).await;
    let session = hub.session("2025-11-25").await;
    for level in [json!("verbose"), json!("INFO"), json!(1), Value::Null] {
        assert_eq!(set_level(&hub, &session, level.clone()).await["error"]["code"], -32602, "{level}");
    }
    assert_eq!(hub.send(ask_modern(Some("verbose"))).await.refusal().await, (400, -32602));
    assert_eq!(hub.calls(), 0);
}

/// It goes to the client of the only call that runs, and to no client if there are several: whose it is cannot be told.
#[tokio::test]
async fn what_the_protocol_does_not_know_goes_to_the_client_whose_call_it_is_about() {
    let server = TestServer::new("s")
        .with_async_tool("t", |_, context: ToolContext| async move {
            // Relays take this as a word of the hub itself.
            context.notify("notifications/toolbay/goodbye", json!({})).await;
            context.notify("notifications/acme/step", json!({"n": 1})).await;
            Ok(json!(1))
        })
        .with_async_tool("hang", |_, _| async { std::future::pending().await });
    let handle = server.handle();
    let hub = Hub::of(server.revisions(SupportedRevisions::Legacy), GatewayOptions::default()).await;
    let (first, second) = (hub.session("2025-11-25").await, hub.session("2025-11-25").await);
    let methods = async |id| {
        let mut answer =
            hub.send(Ask::post(&call(id, "t", json!({}))).header("mcp-session-id", &first)).await;
        let mut methods = Vec::new();
        while answer.is_stream()
            && let Some(event) = answer.event().await
        {
            methods.extend(event["method"].as_str().map(str::to_owned));
        }
        methods
    };
    assert_eq!(methods(1).await, ["notifications/acme/step"]);
    let hanging = hub.send(Ask::post(&call(2, "hang", json!({}))).header("mcp-session-id", &second));
    let alone = async {
        while handle.count("tools/call") < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        methods(3).await
    };
    tokio::select! {
        _ = hanging => panic!("it hangs"),
        methods = alone => assert_eq!(methods, [""; 0]),
    }
}
