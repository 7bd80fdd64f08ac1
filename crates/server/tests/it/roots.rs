//! The roots of clients with a session.

use std::{path::Path, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::Instant;
use toolbay_server::{NoArguments, Tool, ToolContext, ToolOutput, ToolResult, ToolServer, Toolset};

use super::client::{Client, modern};

#[derive(Debug)]
struct Nothing;

/// Returns the paths of the roots.
fn roots(_: &Nothing, _: NoArguments, context: &ToolContext) -> ToolResult {
    let Some(roots) = context.roots() else { return Ok(ToolOutput::text("unknown")) };
    let paths = roots.iter().filter_map(|root| root.path()).map(|path| path.display().to_string());
    Ok(ToolOutput::text(paths.collect::<Vec<_>>().join(" ")))
}

fn client() -> Client {
    let tools = Toolset::new([Tool::blocking("roots", roots)]);
    Client::new(Arc::new(ToolServer::new("roots", Nothing, tools).with_roots()))
}

async fn legacy_client(capabilities: Value) -> Client {
    let mut client = client();
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities });
    client.request("initialize", params).await;
    client
}

async fn send(client: &Client, message: Value) {
    client.connection.outgoing.send(message.to_string().into()).await.unwrap();
}

async fn notify(client: &Client, method: &str) {
    send(client, json!({ "jsonrpc": "2.0", "method": method })).await;
}

/// Answers the request for the roots that comes next.
async fn answer(client: &mut Client, uris: &[&str]) {
    let request = client.next().await;
    assert_eq!(request["method"], "roots/list", "{request}");
    let roots: Vec<Value> = uris.iter().map(|uri| json!({ "uri": uri })).collect();
    send(client, json!({ "jsonrpc": "2.0", "id": request["id"], "result": { "roots": roots } })).await;
}

async fn text(client: &mut Client) -> String {
    let message = client.next().await;
    message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{message}")).to_owned()
}

async fn seen(client: &mut Client) -> String {
    client.send("tools/call", json!({ "name": "roots" })).await;
    text(client).await
}

#[tokio::test]
async fn they_are_requested_once_and_again_when_they_changed() {
    let mut client = legacy_client(json!({ "roots": { "listChanged": true } })).await;
    notify(&client, "notifications/initialized").await;
    answer(&mut client, &["file:///a%20b", "https://example.com"]).await;
    assert_eq!(seen(&mut client).await, "/a b");
    assert_eq!(seen(&mut client).await, "/a b", "from memory");
    notify(&client, "notifications/roots/list_changed").await;
    // A call that comes meanwhile waits for the new ones.
    client.send("tools/call", json!({ "name": "roots" })).await;
    answer(&mut client, &["file:///c"]).await;
    assert_eq!(text(&mut client).await, "/c");
    assert!(Path::new(&seen(&mut client).await).is_absolute());
}

#[tokio::test]
async fn the_first_call_requests_them_if_the_client_never_says_that_it_is_ready() {
    let mut client = legacy_client(json!({ "roots": {} })).await;
    client.send("tools/call", json!({ "name": "roots" })).await;
    answer(&mut client, &["file:///a"]).await;
    assert_eq!(text(&mut client).await, "/a");
}

#[tokio::test]
async fn clients_without_roots_and_modern_ones_are_not_asked() {
    let mut client = legacy_client(json!({})).await;
    notify(&client, "notifications/initialized").await;
    notify(&client, "notifications/roots/list_changed").await;
    assert_eq!(seen(&mut client).await, "unknown");
    let mut client = self::client();
    client.send("tools/call", modern(json!({ "name": "roots" }))).await;
    assert_eq!(text(&mut client).await, "unknown");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_answer_delays_calls_only_once() {
    let mut client = legacy_client(json!({ "roots": {} })).await;
    notify(&client, "notifications/initialized").await;
    let request = client.next().await;
    assert_eq!(request["method"], "roots/list");
    let begin = Instant::now();
    assert_eq!(seen(&mut client).await, "unknown");
    assert_eq!(begin.elapsed().as_secs(), 5);
    assert_eq!(seen(&mut client).await, "unknown");
    assert!(begin.elapsed() < Duration::from_secs(6), "{:?}", begin.elapsed());
    // An error is an answer, too, and so is one that comes late.
    let roots = json!([{ "uri": "file:///late" }]);
    send(&client, json!({ "jsonrpc": "2.0", "id": request["id"], "result": { "roots": roots } })).await;
    assert_eq!(seen(&mut client).await, "/late");
}
