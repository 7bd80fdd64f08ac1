//! Declared resources, and subscriptions to what changes.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use toolbay_server::{
    ChangeNotifier, NoArguments, Resource, ResourceContents, ResourceError, Tool, ToolContext, ToolOutput,
    ToolResult, ToolServer, Toolset,
};

use super::client::{Client, modern};

const ALL: &str = "notes://all";

#[derive(Debug, Default)]
struct Notes {
    notes: Mutex<Vec<String>>,
    changes: ChangeNotifier,
}

fn add(notes: &Notes, _: NoArguments, _: &ToolContext) -> ToolResult {
    notes.notes.lock().push("milk".into());
    notes.changes.resource_updated(ALL);
    Ok(ToolOutput::text("added"))
}

fn rename(notes: &Notes, _: NoArguments, _: &ToolContext) -> ToolResult {
    notes.changes.tools_changed();
    Ok(ToolOutput::text("renamed"))
}

/// Runs in the task of the connection, which therefore sees all of it at once.
async fn flood(notes: Arc<Notes>, _: NoArguments, _: ToolContext) -> ToolResult {
    for _ in 0..10_000 {
        notes.changes.resource_updated("notes://other");
    }
    Ok(ToolOutput::text("flooded"))
}

fn read(notes: &Notes, uri: &str) -> Result<ResourceContents, ResourceError> {
    let notes = notes.notes.lock();
    match uri.strip_prefix("notes://") {
        Some("all") => Ok(ResourceContents::Text(notes.join(", "))),
        Some("broken") => Err(ResourceError::Failed("the disk is on fire".into())),
        Some(number) => {
            let note = number.parse().ok().and_then(|number: usize| notes.get(number));
            note.map(|note| ResourceContents::Blob(note.clone().into_bytes())).ok_or(ResourceError::NotFound)
        }
        None => Err(ResourceError::NotFound),
    }
}

fn client() -> Client {
    let notes = Notes::default();
    let changes = notes.changes.clone();
    let tools = [Tool::blocking("add", add), Tool::blocking("rename", rename), Tool::new("flood", flood)];
    let server = ToolServer::new("notes", notes, Toolset::new(tools))
        .resource(Resource::blocking(ALL, "all", read).title("All notes").mime_type("text/plain"))
        .resource(Resource::blocking("notes://{number}", "one", read).description("One note"))
        .changes(&changes);
    Client::new(Arc::new(server))
}

async fn legacy_client() -> (Client, Value) {
    let mut client = client();
    let hello = client.request("initialize", json!({ "protocolVersion": "2025-11-25" })).await;
    (client, hello)
}

/// Calls a tool and returns the notifications that came until its response and until that of the `ping` after it.
async fn notifications_of(client: &mut Client, tool: &str, is_modern: bool) -> Vec<Value> {
    let mut notifications = Vec::new();
    for (method, params) in [("tools/call", json!({ "name": tool })), ("ping", json!({}))] {
        let id = client.send(method, if is_modern { modern(params) } else { params }).await;
        loop {
            let message = client.next().await;
            match message["id"] == id {
                true => break,
                false => notifications.push(message),
            }
        }
        // What was announced during the call is sent before a later request is read, or with the next call.
        tokio::task::yield_now().await;
    }
    notifications
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    let (mut client, hello) = legacy_client().await;
    let capabilities = &hello["result"]["capabilities"];
    assert_eq!(capabilities["resources"], json!({ "listChanged": true, "subscribe": true }));
    let listed = client.request("resources/list", json!({})).await;
    let expected = json!([{ "uri": ALL, "name": "all", "title": "All notes", "mimeType": "text/plain" }]);
    assert_eq!(listed["result"]["resources"], expected);
    let listed = client.request("resources/templates/list", json!({})).await;
    let expected = json!([{ "uriTemplate": "notes://{number}", "name": "one", "description": "One note" }]);
    assert_eq!(listed["result"]["resourceTemplates"], expected);
    notifications_of(&mut client, "add", false).await;
    let mut read = async |uri: &str| client.request("resources/read", json!({ "uri": uri })).await;
    let expected = json!({ "contents": [{ "uri": ALL, "text": "milk", "mimeType": "text/plain" }] });
    assert_eq!(read(ALL).await["result"], expected);
    assert_eq!(read("notes://0").await["result"]["contents"][0]["blob"], "bWlsaw==");
    assert_eq!(read("notes://1").await["error"]["code"], -32002);
    assert_eq!(read("other://1").await["error"]["message"], "unknown resource `other://1`");
    let broken = "cannot read resource `notes://broken`: the disk is on fire";
    assert_eq!(read("notes://broken").await["error"]["message"], broken);
}

#[tokio::test]
async fn a_session_hears_of_lists_and_of_resources_that_it_subscribed_to() {
    let (mut client, _) = legacy_client().await;
    assert!(notifications_of(&mut client, "add", false).await.is_empty(), "not subscribed yet");
    assert_eq!(client.request("resources/subscribe", json!({ "uri": ALL })).await["result"], json!({}));
    client.send("tools/call", json!({ "name": "add" })).await;
    let (one, other) = (client.next().await, client.next().await);
    let updated = if one["method"].is_string() { one } else { other };
    let expected = json!({ "uri": ALL });
    assert_eq!(
        (&updated["method"], &updated["params"]),
        (&json!("notifications/resources/updated"), &expected)
    );
    assert_eq!(client.request("resources/unsubscribe", json!({ "uri": ALL })).await["result"], json!({}));
    assert!(notifications_of(&mut client, "add", false).await.is_empty(), "no longer subscribed");
    client.send("tools/call", json!({ "name": "rename" })).await;
    let messages = [client.next().await, client.next().await];
    assert!(messages.iter().any(|message| message["method"] == "notifications/tools/list_changed"));
    assert_eq!(client.request("resources/subscribe", json!({})).await["error"]["message"], "Missing uri");
    let refused = client.request("resources/subscribe", modern(json!({ "uri": ALL }))).await;
    assert_eq!(refused["error"]["code"], -32601, "of legacy revisions only");
}

#[tokio::test]
async fn a_modern_client_listens_until_it_cancels() {
    let mut client = client();
    let wanted = json!({ "resourceSubscriptions": [ALL], "promptsListChanged": true });
    let id = client.send("subscriptions/listen", modern(json!({ "notifications": wanted }))).await;
    let acknowledged = client.next().await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    let tag = json!({ "io.modelcontextprotocol/subscriptionId": id });
    let expected = json!({ "notifications": { "resourceSubscriptions": [ALL] }, "_meta": tag });
    assert_eq!(acknowledged["params"], expected, "only what there is");
    client.send("tools/call", modern(json!({ "name": "add" }))).await;
    let (one, other) = (client.next().await, client.next().await);
    let updated = if one["method"].is_string() { one } else { other };
    assert_eq!(updated["params"], json!({ "uri": ALL, "_meta": tag }));
    assert!(notifications_of(&mut client, "rename", true).await.is_empty(), "not asked for");
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    client.connection.outgoing.send(cancel.to_string().into()).await.unwrap();
    assert!(notifications_of(&mut client, "add", true).await.is_empty(), "canceled");
}

#[tokio::test]
async fn a_client_that_missed_changes_is_told_that_everything_may_have_changed() {
    let (mut client, _) = legacy_client().await;
    client.request("resources/subscribe", json!({ "uri": ALL })).await;
    client.send("tools/call", json!({ "name": "flood" })).await;
    let methods = [client.next().await, client.next().await, client.next().await, client.next().await];
    let mut methods: Vec<&str> = methods.iter().filter_map(|message| message["method"].as_str()).collect();
    methods.sort_unstable();
    let expected = ["resources/list_changed", "resources/updated", "tools/list_changed"];
    assert_eq!(methods, expected.map(|method| format!("notifications/{method}")));
}
