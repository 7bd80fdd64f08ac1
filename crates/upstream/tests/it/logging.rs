//! Log levels towards legacy and modern servers.

use serde_json::{Value, json};
use toolbay_protocol::LogLevel;
use toolbay_testkit::{SupportedRevisions, TestServer};
use toolbay_upstream::{Call, CallEvent, Caller, LogFilter};

use crate::harness::{Harness, call_with_events};

/// Its tool logs once at each level.
fn server(era: SupportedRevisions) -> TestServer {
    let server = TestServer::new("s").with_async_tool("t", |_, context| async move {
        for level in LogLevel::ALL {
            context.log(level.as_str(), json!(level.as_str())).await;
        }
        Ok(json!(1))
    });
    server.revisions(era)
}

/// The levels that a caller with that wish gets.
async fn log_messages(harness: &Harness, logs: LogFilter) -> Vec<String> {
    let (call, mut events) = call_with_events("t");
    harness.server.call(Call { caller: Caller { logs, ..call.caller }, ..call }).await.unwrap();
    let mut received = Vec::new();
    while let Some(CallEvent::Log(message)) = events.recv().await {
        received.push(message.string_param("level").unwrap().into_owned());
    }
    received
}

#[tokio::test(start_paused = true)]
async fn each_caller_gets_the_log_level_it_set() {
    let server = server(SupportedRevisions::Legacy);
    let harness = Harness::ready(&server).await;
    assert_eq!(log_messages(&harness, LogFilter::Nothing).await, [""; 0]);
    assert_eq!(log_messages(&harness, LogFilter::Everything).await.len(), 8);
    let serious = ["critical", "alert", "emergency"];
    assert_eq!(log_messages(&harness, LogFilter::AtLeast(LogLevel::Critical)).await, serious);
    assert_eq!(log_messages(&harness, LogFilter::AtLeast(LogLevel::Debug)).await.len(), 8);
    assert_eq!(log_messages(&harness, LogFilter::AtLeast(LogLevel::Alert)).await, serious[1..]);
}

#[tokio::test(start_paused = true)]
async fn the_level_is_set_before_the_call_and_only_ever_made_more_verbose() {
    let server = server(SupportedRevisions::Legacy);
    let harness = Harness::ready(&server).await;
    for level in [LogLevel::Error, LogLevel::Info, LogLevel::Debug, LogLevel::Emergency, LogLevel::Debug] {
        log_messages(&harness, LogFilter::AtLeast(level)).await;
    }
    let received = server.handle().received();
    let told: Vec<String> = received
        .iter()
        .map(|text| serde_json::from_str::<Value>(text).unwrap())
        .filter(|message| message["method"] == "logging/setLevel" || message["method"] == "tools/call")
        .map(|message| message["params"]["level"].as_str().unwrap_or("call").to_owned())
        .collect();
    assert_eq!(told, ["info", "call", "call", "debug", "call", "call", "call"]);
    // A new life knows nothing of it.
    harness.server.restart().await;
    harness.until(|status| status.starts == 2).await;
    log_messages(&harness, LogFilter::AtLeast(LogLevel::Debug)).await;
    assert_eq!(server.handle().count("logging/setLevel"), 3);
}

#[tokio::test(start_paused = true)]
async fn a_modern_server_gets_the_log_level_with_each_call() {
    let server = server(SupportedRevisions::Modern);
    let harness = Harness::ready(&server).await;
    let (call, mut events) = call_with_events("t");
    let identity = call.caller.identity.at_level(Some(LogLevel::Error)).into();
    let logs = LogFilter::AtLeast(LogLevel::Error);
    let caller = Caller { identity, logs, ..call.caller };
    harness.server.call(Call { caller, ..call }).await.unwrap();
    let mut received = 0;
    while events.recv().await.is_some() {
        received += 1;
    }
    assert_eq!((received, server.handle().count("logging/setLevel")), (4, 0));
}
