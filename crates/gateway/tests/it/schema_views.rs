//! Schemas for clients that reject more than the specification does.

use serde_json::{Value, json};
use toolbay_gateway::{GatewayOptions, SchemaViewSetting};
use toolbay_testkit::TestServer;

use crate::{
    http::Ask,
    test_gateway::{Hub, initialize, modern, rpc, with_meta},
};

fn server() -> TestServer {
    let odd = json!({"type": "object", "required": ["StartTime<"], "properties": {
        "StartTime<": {"type": "string", "maxLength": 3}, "filter[name]": {"type": "string"}}});
    let union = json!({"type": "object", "oneOf": [
        {"properties": {"url": {"type": "string"}}, "required": ["url"]},
        {"properties": {"data": {"type": "string"}}, "required": ["data"]}]});
    let referring = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "string"}}});
    TestServer::new("s")
        .with_tool_schema("odd", odd, Ok)
        .with_tool_schema("union", union, Ok)
        .with_tool_schema("referring", referring, Ok)
        .with_tool_schema(
            "plain",
            json!({"type": "object", "properties": {"a.b": {"anyOf": [{"type": "string"}]}}}),
            Ok,
        )
}

/// A client with a session of its own.
struct Client<'a> {
    hub: &'a Hub,
    session: String,
}

impl<'a> Client<'a> {
    async fn open(hub: &'a Hub, name: &str) -> Self {
        let mut message = initialize("2025-11-25");
        message["params"]["clientInfo"]["name"] = name.into();
        let session = hub.send(Ask::post(&message)).await.header("mcp-session-id").unwrap().to_owned();
        Self { hub, session }
    }

    async fn ask(&self, message: Value) -> Value {
        let ask = Ask::post(&message).header("mcp-session-id", &self.session);
        self.hub.send(ask).await.json().await
    }

    async fn schemas(&self) -> Value {
        schemas(&self.ask(rpc(1, "tools/list", json!({}))).await)
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let message = rpc(2, "tools/call", json!({"name": tool, "arguments": arguments}));
        self.ask(message).await["result"].clone()
    }
}

fn schemas(list: &Value) -> Value {
    let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("{list}"));
    tools
        .iter()
        .map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool["inputSchema"].clone()))
        .collect()
}

#[tokio::test]
async fn a_client_sees_what_it_accepts_and_the_server_gets_its_own() {
    let hub = Hub::of(server(), GatewayOptions::default()).await;
    let someone = Client::open(&hub, "someone").await;
    let claude_code = Client::open(&hub, "claude-code").await;
    let (plain, claude) = (someone.schemas().await, claude_code.schemas().await);
    let gemini = Client::open(&hub, "gemini-cli-mcp-client").await.schemas().await;
    assert!(
        plain["s__odd"]["properties"].get("StartTime<").is_some() && plain["s__union"]["oneOf"].is_array()
    );
    assert_eq!(plain["s__plain"], claude["s__plain"]);
    assert_eq!(plain["s__referring"], claude["s__referring"], "it accepts references");
    assert_eq!(claude["s__odd"]["required"], json!(["StartTime_"]));
    assert!(
        claude["s__union"].get("oneOf").is_none() && claude["s__union"]["properties"].get("data").is_some()
    );
    assert_eq!(gemini["s__referring"]["properties"]["a"]["type"], "string");
    assert!(!gemini["s__referring"].to_string().contains("$"));

    let done = claude_code
        .call("s__odd", json!({"StartTime_": "now", "filter_name_": "x", "more": {"StartTime_": 1}}))
        .await;
    assert_eq!(
        done["structuredContent"],
        json!({"StartTime<": "now", "filter[name]": "x", "more": {"StartTime_": 1}})
    );
    // It is checked as the server declares it, after it was mapped back.
    let refused = claude_code.call("s__odd", json!({"StartTime_": "too long"})).await;
    assert!(refused["isError"] == true && refused.to_string().contains("/StartTime<"), "{refused}");
    // To others the name means what it says.
    let refused = someone.call("s__odd", json!({"StartTime_": "now"})).await;
    assert_eq!(refused["isError"], true, "{refused}");
    let done = claude_code.call("s__union", json!({"data": "x"})).await;
    assert_eq!(done["structuredContent"], json!({"data": "x"}));
    assert_eq!(hub.calls(), 2);
}

#[tokio::test]
async fn a_view_can_be_chosen_and_switched_off() {
    let options = GatewayOptions { schema_view: SchemaViewSetting::Off, ..GatewayOptions::default() };
    let hub = Hub::of(server(), options).await;
    let plain = Client::open(&hub, "someone").await.schemas().await;
    assert_eq!(Client::open(&hub, "claude-code").await.schemas().await, plain);
    let options = GatewayOptions { schema_view: "openai".parse().unwrap(), ..GatewayOptions::default() };
    let hub = Hub::of(server(), options).await;
    let list = hub.send(modern(rpc(1, "tools/list", json!({})))).await.json().await;
    assert!(!list.to_string().contains("StartTime<\":"), "{list}");
}

/// The list of a modern client must not depend on who it is.
#[tokio::test]
async fn modern_clients_are_not_told_apart_by_their_names() {
    let hub = Hub::of(server(), GatewayOptions::default()).await;
    let plain = Client::open(&hub, "someone").await.schemas().await;
    let mut message = with_meta(rpc(1, "tools/list", json!({})));
    message["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = "claude-code".into();
    let ask =
        Ask::post(&message).header("mcp-protocol-version", "2026-07-28").header("mcp-method", "tools/list");
    assert_eq!(schemas(&hub.send(ask).await.json().await), plain);
}
