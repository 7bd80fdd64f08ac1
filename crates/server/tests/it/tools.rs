//! Tools that are declared: definitions, arguments, results, failures and cancellation.

use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolbay_server::{
    Annotations, Failures, NoArguments, Tool, ToolContext, ToolError, ToolOutput, ToolResult, ToolServer,
    Toolset,
};

use super::client::{Client, modern};

#[derive(Debug, Default)]
struct Notes {
    saved: Mutex<Vec<String>>,
    /// Reports what the tool `wait` does.
    events: Option<mpsc::Sender<&'static str>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Add {
    /// The note
    #[schemars(length(max = 20))]
    text: String,
    /// Where to insert it (default: at the end)
    #[schemars(range(max = 100))]
    at_index: Option<usize>,
    #[serde(default)]
    order: Order,
    #[serde(default)]
    edits: Vec<Edit>,
}

#[derive(Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    #[default]
    AsWritten,
    Sorted,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Edit {
    old: String,
}

#[derive(Serialize, JsonSchema)]
struct Added {
    /// How many notes there are
    total: usize,
}

async fn add(notes: Arc<Notes>, arguments: Add, context: ToolContext) -> ToolResult {
    let mut saved = notes.saved.lock();
    let at = arguments.at_index.unwrap_or(saved.len());
    if at > saved.len() {
        return Err(ToolError::argument(
            "atIndex",
            format!("is past the end: there are {} notes", saved.len()),
        ));
    }
    saved.insert(at, arguments.text);
    if let Order::Sorted = arguments.order {
        saved.sort();
    }
    saved.retain(|note| arguments.edits.iter().all(|edit| edit.old != *note));
    context.report_progress(1, Some(1), "saving");
    Ok(ToolOutput::json(&Added { total: saved.len() }))
}

fn wait(notes: &Notes, _: NoArguments, context: &ToolContext) -> ToolResult {
    let Some(events) = &notes.events else { return Err(ToolError::failed("there is nothing to wait for")) };
    events.send("started").unwrap();
    while !context.is_cancelled() {
        std::thread::sleep(Duration::from_millis(1));
    }
    events.send("cancelled").unwrap();
    Err(ToolError::failed("cancelled"))
}

fn panics(_: &Notes, _: NoArguments, _: &ToolContext) -> ToolResult {
    panic!("a tool must not do this")
}

fn tools() -> Toolset<Notes> {
    Toolset::new([
        Tool::new("add", add).title("Add a note").description("Adds a note.").output::<Added>(),
        Tool::blocking("wait", wait).description("Waits.").annotations(Annotations::READ_ONLY),
        Tool::blocking("panic", panics),
    ])
}

fn client(notes: Notes, tools: Toolset<Notes>) -> Client {
    Client::new(Arc::new(ToolServer::new("notes", notes, tools).instructions("Keeps notes.")))
}

async fn call(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let params = modern(json!({ "name": tool, "arguments": arguments }));
    client.request("tools/call", params).await["result"].take()
}

#[tokio::test]
async fn definitions_come_from_the_declaration() {
    let mut client = client(Notes::default(), tools());
    let found = client.request("server/discover", modern(json!({}))).await;
    assert_eq!(found["result"]["instructions"], "Keeps notes.");
    let listed = client.request("tools/list", modern(json!({}))).await;
    let [add, wait, _] = listed["result"]["tools"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    let expected = json!({
        "name": "add",
        "title": "Add a note",
        "description": "Adds a note.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "text": { "type": "string", "maxLength": 20, "description": "The note" },
                "atIndex": { "type": "integer", "minimum": 0, "maximum": 100, "description": "Where to insert it (default: at the end)" },
                "order": { "type": "string", "enum": ["as_written", "sorted"], "default": "as_written" },
                "edits": {
                    "type": "array",
                    "items": { "type": "object", "properties": { "old": { "type": "string" } }, "required": ["old"] },
                    "default": [],
                },
            },
            "required": ["text"],
            "additionalProperties": false,
        },
        "outputSchema": {
            "type": "object",
            "properties": { "total": { "type": "integer", "minimum": 0, "description": "How many notes there are" } },
            "required": ["total"],
        },
    });
    assert_eq!(*add, expected);
    assert_eq!(
        wait["annotations"],
        json!({ "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false })
    );
    assert_eq!(
        wait["inputSchema"],
        json!({ "type": "object", "properties": {}, "additionalProperties": false })
    );
}

#[tokio::test]
async fn arguments_are_checked_and_results_are_structured() {
    let mut client = client(Notes::default(), tools());
    let result = call(&mut client, "add", json!({ "text": "a", "atIndex": 0.0, "edits": null })).await;
    assert_eq!(result["structuredContent"], json!({ "total": 1 }));
    assert_eq!(result["content"], json!([{ "type": "text", "text": "{\"total\":1}" }]));
    for (arguments, expected) in [
        (json!({}), "/text is missing"),
        (json!({ "txt": "a" }), "/txt is unknown; expected one of: text, atIndex, order, edits"),
        (json!({ "text": 1 }), "/text must be a string of at most 20 characters"),
        (json!({ "text": "a".repeat(21) }), "/text must be a string of at most 20 characters"),
        (json!({ "text": "a", "atIndex": -1 }), "/atIndex must be an integer from 0 to 100"),
        (json!({ "text": "a", "atIndex": 0.5 }), "/atIndex must be an integer from 0 to 100"),
        (json!({ "text": "a", "atIndex": 7 }), "/atIndex is past the end: there are 1 notes"),
        (json!({ "text": "a", "order": "random" }), "/order must be one of as_written, sorted"),
        (json!({ "text": "a", "edits": {} }), "/edits must be a list of objects"),
        (json!({ "text": "a", "edits": [{ "old": "b" }, {}] }), "/edits/1/old is missing"),
    ] {
        let result = call(&mut client, "add", arguments.clone()).await;
        let text = format!("invalid arguments for `add`: {expected}");
        assert_eq!((&result["content"][0]["text"], &result["isError"]), (&json!(text), &json!(true)));
    }
    let result = call(&mut client, "wait", json!({ "x": 1 })).await;
    let expected = "invalid arguments for `wait`: /x is unknown; no arguments are expected";
    assert_eq!(result["content"][0]["text"], expected);
}

#[tokio::test]
async fn failures_are_results_unless_configured_otherwise() {
    let mut results = client(Notes::default(), tools());
    for (tool, text) in [("wait", "there is nothing to wait for"), ("panic", "it ended unexpectedly")] {
        let result = call(&mut results, tool, json!({})).await;
        assert_eq!((&result["content"][0]["text"], &result["isError"]), (&json!(text), &json!(true)));
    }
    let mut errors = client(Notes::default(), tools().failures(Failures::AsErrors));
    let response = errors.request("tools/call", modern(json!({ "name": "wait" }))).await;
    assert_eq!(response["error"], json!({ "code": -32603, "message": "there is nothing to wait for" }));
    let response = errors.request("tools/call", modern(json!({ "name": "rm" }))).await;
    assert_eq!(
        response["error"],
        json!({ "code": -32602, "message": "Unknown tool: rm; available: add, wait, panic" })
    );
}

#[tokio::test]
async fn a_cancelled_call_stops_its_thread() {
    let (events, reported) = mpsc::channel();
    let mut client = client(Notes { events: Some(events), ..Notes::default() }, tools());
    let id = client.send("tools/call", modern(json!({ "name": "wait" }))).await;
    let next = |reported: mpsc::Receiver<&'static str>| async move {
        let received =
            tokio::task::spawn_blocking(move || (reported.recv_timeout(Duration::from_secs(20)), reported));
        received.await.unwrap()
    };
    let (event, reported) = next(reported).await;
    assert_eq!(event, Ok("started"));
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    client.connection.outgoing.send(cancel.to_string().into()).await.unwrap();
    assert_eq!(next(reported).await.0, Ok("cancelled"));
    // It has no response, and the next request does not wait for it.
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
}
