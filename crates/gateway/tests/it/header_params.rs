//! Parameters that stand in headers, too.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use toolbay_gateway::GatewayOptions;
use toolbay_testkit::TestServer;

use crate::{
    http::Ask,
    test_gateway::{Hub, call, modern, rpc},
};

async fn hub() -> Hub {
    let good = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "deep": {"type": "object", "properties": {"flag": {"type": "boolean", "x-mcp-header": "Flag"}}},
    }});
    let bad = json!({"type": "object", "properties": {
        "a": {"type": "string", "x-mcp-header": "not a token", "description": "kept"},
        "b": {"type": "string", "x-mcp-header": "B"},
    }});
    let server = TestServer::new("s")
        .with_tool_schema("good", good, Ok)
        .with_tool_schema("bad", bad, Ok)
        .with_tool("plain", Ok);
    Hub::of(server, GatewayOptions::default()).await
}

fn ask(tool: &str, arguments: Value, headers: &[(&str, &str)]) -> Ask {
    let ask = modern(call(1, tool, arguments));
    headers.iter().fold(ask, |ask, (name, value)| ask.header(name, value))
}

#[tokio::test]
async fn headers_that_agree_with_the_arguments_are_accepted() {
    let hub = hub().await;
    let encoded = format!("=?base64?{}?=", STANDARD.encode("Zürich"));
    let literal = STANDARD.encode("Hello");
    for (arguments, headers) in [
        (json!({"region": "us-west1"}), vec![("mcp-param-region", "us-west1")]),
        (json!({"region": "us-west1"}), vec![("MCP-PARAM-REGION", "  us-west1  ")]),
        (json!({"region": "Zürich"}), vec![("mcp-param-region", encoded.as_str())]),
        (json!({"region": literal}), vec![("mcp-param-region", literal.as_str())]),
        (json!({"count": 42}), vec![("mcp-param-count", "42.0")]),
        (json!({"deep": {"flag": false}}), vec![("mcp-param-flag", "false")]),
        (json!({"other": "x"}), vec![]),
        (json!({}), vec![("mcp-param-unknown", "x")]),
    ] {
        let answer = hub.send(ask("good", arguments.clone(), &headers)).await;
        assert_eq!(answer.status, 200, "{arguments}");
        assert!(answer.json().await["result"]["isError"].is_null(), "{arguments}");
    }
    assert_eq!(hub.calls(), 8);
}

#[tokio::test]
async fn headers_that_lack_or_contradict_something_are_refused() {
    let hub = hub().await;
    for (arguments, headers) in [
        (json!({"region": "us-west1"}), vec![]),
        (json!({"region": "us-west1"}), vec![("mcp-param-region", "us-east1")]),
        (json!({"region": "us-west1"}), vec![("mcp-param-region", "US-WEST1")]),
        (json!({"region": "Hello"}), vec![("mcp-param-region", "=?base64?SGVsbG8?=")]),
        (json!({"region": "Hello"}), vec![("mcp-param-region", "=?base64?SGVs!!!bG8=?=")]),
        (json!({"region": "Zürich"}), vec![("mcp-param-region", "Zürich")]),
        (json!({"count": 42}), vec![("mcp-param-count", "43")]),
        (json!({"deep": {"flag": true}}), vec![]),
        (json!({"region": null}), vec![("mcp-param-region", "null")]),
        (json!({}), vec![("mcp-param-region", "us-west1")]),
    ] {
        let answer = hub.send(ask("good", arguments.clone(), &headers)).await;
        assert_eq!(answer.refusal().await, (400, -32020), "{arguments} {headers:?}");
    }
    let twice =
        ask("good", json!({"region": "a"}), &[]).also("mcp-param-region", "a").also("mcp-param-region", "a");
    assert_eq!(hub.send(twice).await.refusal().await, (400, -32020));
    assert_eq!(hub.calls(), 0);
    // Before 2026-07-28 there were no such headers.
    let legacy = Ask::post(&call(1, "good", json!({"region": "x"})));
    assert_eq!(hub.send(legacy).await.status, 200);
}

#[tokio::test]
async fn tools_with_bad_annotations_are_offered_on_http_without_them() {
    let hub = hub().await;
    let listed = hub.send(modern(rpc(1, "tools/list", json!({})))).await.json().await;
    let tool = |name: &str| {
        let tools = listed["result"]["tools"].as_array().unwrap();
        tools.iter().find(|tool| tool["name"] == format!("s__{name}")).unwrap().clone()
    };
    let a = json!({"type": "string", "description": "kept"});
    assert_eq!(tool("bad")["inputSchema"]["properties"], json!({"a": a, "b": {"type": "string"}}));
    assert_eq!(tool("good")["inputSchema"]["properties"]["region"]["x-mcp-header"], "Region");
    let answer = hub.send(ask("bad", json!({"a": "x", "b": "y"}), &[])).await;
    assert_eq!(answer.json().await["result"]["structuredContent"], json!({"a": "x", "b": "y"}));
    // Where headers mean nothing, nothing is changed.
    let session = hub.session("2025-11-25").await;
    let list = Ask::post(&rpc(1, "tools/list", json!({}))).header("mcp-session-id", &session);
    let listed = hub.send(list).await.json().await;
    assert_eq!(listed["result"]["tools"][1]["inputSchema"]["properties"]["b"]["x-mcp-header"], "B");
    let log = hub.host.server("s").unwrap().log().tail(100);
    assert_eq!(log.iter().filter(|line| line.text.contains("offered on HTTP without it")).count(), 1);
}

#[tokio::test]
async fn streams_and_sessions_of_older_revisions_do_not_exist_in_the_new_one() {
    let hub = hub().await;
    let session = hub.session("2025-11-25").await;
    for method in ["GET", "DELETE"] {
        let ask = Ask::new(method, "/mcp").header("mcp-protocol-version", "2026-07-28");
        assert_eq!(hub.send(ask.clone()).await.status, 405, "{method}");
        assert_eq!(hub.send(ask.header("mcp-session-id", &session)).await.status, 405, "{method}");
    }
    let ask = ask("plain", json!({}), &[("mcp-session-id", "nonsense")]);
    let answer = hub.send(ask).await;
    assert_eq!((answer.status, answer.header("mcp-session-id")), (200, None), "it is ignored");
}
