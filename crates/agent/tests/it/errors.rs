//! What went wrong, whose fault it is, and what to do.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use toolbay_agent::{Agent, Client, Error, Fault, Naming};
use toolbay_testkit::TestServer;

use crate::agent;

/// A program that writes something to stderr and ends, or never answers.
fn script(text: &str) -> toolbay_agent::client::ClientBuilder<toolbay_agent::StdioConfig> {
    Client::stdio("sh").args(["-c", text]).inherit_env()
}

#[tokio::test]
async fn a_missing_program_has_a_hint() {
    let client = Client::stdio("no-such-mcp-server").inherit_env();
    let error = client.connect().await.unwrap_err();
    assert!(matches!(error, Error::Init { .. }), "{error:?}");
    assert_eq!((error.whose_fault(), error.is_retryable()), (Fault::Setup, false));
    let told = error.explained();
    assert!(told.contains("`no-such-mcp-server` not found") && told.contains("\nhint: install it"), "{told}");
}

#[tokio::test]
async fn an_address_in_use_has_a_hint() {
    let client = script("echo 'Error: listen EADDRINUSE: address already in use :::3000' >&2; exit 1");
    let error = client.connect().await.unwrap_err();
    assert_eq!(error.whose_fault(), Fault::Setup);
    let told = error.explained();
    assert!(
        told.contains("address already in use") && told.contains("\nhint: another process uses"),
        "{told}"
    );
}

#[tokio::test]
async fn an_initialize_timeout_has_a_hint() {
    let client = script("exec sleep 60").startup_timeout(Duration::from_millis(300));
    let error = client.connect().await.unwrap_err();
    assert_eq!(error.whose_fault(), Fault::Server);
    let told = error.explained();
    assert!(told.contains("not ready within 0.3 s") && told.contains("`startup_timeout`"), "{told}");
}

#[test]
fn settings_that_do_not_match_their_schema_have_a_hint() {
    use toolbay_bundle::{DescriptorError, SettingProblem};
    let message = "\"x\" is not of type \"integer\"".to_owned();
    let problems = vec![SettingProblem { path: "/port".to_owned(), message }];
    let error = Error::from(DescriptorError::Settings { id: "db".to_owned(), problems });
    let told = error.explained();
    assert!(told.contains("JSON schema validation failed") && told.contains("`/port`"), "{told}");
    assert!(told.contains("\nhint: change the settings"), "{told}");
    assert_eq!(error.whose_fault(), Fault::Setup);
}

#[tokio::test(start_paused = true)]
async fn errors_of_servers_keep_code_and_data() {
    let server = TestServer::new("s").with_raw_tool("t", |_| Ok(r#"{"content":7}"#.to_owned()));
    let agent = agent(&[("s", &server)], Naming::Prefix).await;
    let error = agent.call_tool("s__t", Value::Null).await.unwrap_err();
    assert!(matches!(error, Error::Protocol { .. }), "{error:?}");
    assert_eq!(error.whose_fault(), Fault::Server);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_server_is_a_connection_error() {
    let agent: Agent = agent(&[("demo", &TestServer::demo())], Naming::Prefix).await;
    let call = agent.call_tool("demo__sleep", json!({"ms": 60_000}));
    let (ended, ()) = tokio::join!(call, async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        agent.shutdown(Duration::from_secs(5)).await;
    });
    let error = ended.unwrap_err();
    assert!(matches!(error, Error::Connection(_)), "{error:?}");
    assert_eq!(error.server(), Some("demo"));
    let again = agent.call_tool("demo__add", json!({"a": 1, "b": 1})).await.unwrap_err();
    assert!(again.is_retryable(), "{again:?}: it never reached the server");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_not_offered_is_an_error_with_the_reason() {
    let name = "x".repeat(200);
    let server =
        TestServer::new("s").with_tool(name.as_str(), |_| Ok(json!(1))).with_tool("y", |_| Ok(json!(1)));
    let agent = agent(&[("s", &server)], Naming::Prefix).await;
    let error = agent.call_tool(&format!("s__{name}"), Value::Null).await.unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    assert!(error.to_string().contains("of server `s` is not offered: "), "{error}");
    let unknown = agent.call_tool("s__z", Value::Null).await.unwrap_err();
    assert!(matches!(unknown, Error::ToolNotFound { .. }), "{unknown:?}");
}

#[test]
fn errors_can_be_passed_around() {
    fn shared<T: Clone + Send + Sync + std::error::Error + 'static>() {}
    shared::<Error>();
    let _: Arc<dyn std::error::Error + Send + Sync> =
        Arc::new(Error::ServerNotFound { server: "x".into(), known: vec![] });
}
