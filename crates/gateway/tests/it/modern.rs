//! The rules of the stateless era.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use toolbay_gateway::GatewayOptions;

use crate::{
    http::Ask,
    test_gateway::{Hub, SUBSCRIPTION_KEY, VERSION_KEY, call, modern, rpc, with_meta},
};

#[tokio::test]
async fn a_complete_modern_request_is_served() {
    let hub = Hub::start().await;
    let answer = hub.send(modern(call("a", "echo", json!({"x": 1})))).await;
    assert_eq!((answer.status, answer.header("mcp-session-id")), (200, None));
    let answer = answer.json().await;
    assert_eq!((&answer["id"], &answer["result"]["resultType"]), (&json!("a"), &json!("complete")));
    assert_eq!(answer["result"]["structuredContent"], json!({"x": 1}));
    for method in
        ["tools/list", "resources/list", "resources/templates/list", "prompts/list", "server/discover"]
    {
        let result = hub.send(modern(rpc(1, method, json!({})))).await.json().await["result"].take();
        assert_eq!(result["resultType"], "complete", "{method}");
        assert!(result["ttlMs"].is_u64() && result["cacheScope"].is_string(), "{method}: {result}");
    }
}

/// What each request is refused with; none may reach the server.
#[tokio::test]
async fn requests_that_lack_or_contradict_something_are_refused() {
    let hub = Hub::start().await;
    let good = modern(call(1, "echo", json!({})));
    let without_key = |key: &str| {
        let mut message = with_meta(call(1, "echo", json!({})));
        message["params"]["_meta"].as_object_mut().unwrap().remove(key);
        Ask::post(&message)
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", "s__echo")
    };
    let version = |version: Value| {
        let mut message = with_meta(call(1, "echo", json!({})));
        message["params"]["_meta"][VERSION_KEY] = version.clone();
        Ask::post(&message)
            .header("mcp-protocol-version", version.as_str().unwrap_or("2026-07-28"))
            .header("mcp-method", "tools/call")
            .header("mcp-name", "s__echo")
    };
    let bare = Ask::post(&call(1, "echo", json!({}))).header("mcp-protocol-version", "2026-07-28");
    let cases = [
        ("no _meta", bare, (400, -32602)),
        ("no version in _meta", without_key(VERSION_KEY), (400, -32602)),
        ("no capabilities", without_key("io.modelcontextprotocol/clientCapabilities"), (400, -32602)),
        ("version is no string", version(json!(1)), (400, -32602)),
        ("unknown version", version(json!("2099-01-01")), (400, -32022)),
        ("legacy version in _meta", version(json!("2025-11-25")), (400, -32022)),
        (
            "unknown version in _meta only",
            version(json!("2099-01-01")).header("mcp-protocol-version", "2026-07-28"),
            (400, -32020),
        ),
        ("no version header", good.clone().without("mcp-protocol-version"), (400, -32020)),
        ("another version header", good.clone().header("mcp-protocol-version", "2025-11-25"), (400, -32020)),
        ("unknown version header", good.clone().header("mcp-protocol-version", "x"), (400, -32020)),
        ("no method header", good.clone().without("mcp-method"), (400, -32020)),
        ("another method header", good.clone().header("mcp-method", "tools/list"), (400, -32020)),
        ("no name header", good.clone().without("mcp-name"), (400, -32020)),
        ("another name header", good.clone().header("mcp-name", "s__safe"), (400, -32020)),
        ("two name headers", good.clone().also("mcp-name", "s__echo"), (400, -32020)),
        ("bad base64", good.clone().header("mcp-name", "=?base64?***?="), (400, -32020)),
    ];
    for (what, ask, expected) in cases {
        assert_eq!(hub.send(ask).await.refusal().await, expected, "{what}");
    }
    assert_eq!(hub.calls(), 0);
    assert_eq!(hub.send(good).await.status, 200);
}

#[tokio::test]
async fn an_unknown_version_gets_the_same_list_as_discover() {
    let hub = Hub::start().await;
    let discovered = hub.send(modern(rpc(1, "server/discover", json!({})))).await.json().await;
    let mut message = with_meta(rpc(1, "tools/list", json!({})));
    message["params"]["_meta"][VERSION_KEY] = json!("2099-01-01");
    let ask =
        Ask::post(&message).header("mcp-protocol-version", "2099-01-01").header("mcp-method", "tools/list");
    let refused = hub.send(ask).await.json().await;
    assert_eq!(refused["error"]["data"]["supported"], discovered["result"]["supportedVersions"]);
    assert_eq!(refused["error"]["data"]["requested"], "2099-01-01");
    // A header alone, with a version that nobody knows, is told the same.
    let header_only =
        Ask::post(&rpc(1, "tools/list", json!({}))).header("mcp-protocol-version", "2099-01-01");
    assert_eq!(hub.send(header_only).await.refusal().await, (400, -32022));
}

#[tokio::test]
async fn names_that_a_header_cannot_carry_come_as_base64() {
    let hub = Hub::start().await;
    let encode = |text: &str| format!("=?base64?{}?=", STANDARD.encode(text));
    let ask = modern(call(1, "echo", json!({}))).header("mcp-name", &encode("s__echo"));
    assert_eq!(hub.send(ask).await.status, 200);
    let uri = "test://ünïcode";
    let read = modern(rpc(1, "resources/read", json!({"uri": uri}))).header("mcp-name", &encode(uri));
    let (status, code) = hub.send(read).await.refusal().await;
    assert_ne!((status, code), (400, -32020), "the header matches");
}

#[tokio::test]
async fn unknown_and_removed_methods_are_404() {
    let hub = Hub::start().await;
    for method in
        ["no/such", "ping", "initialize", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"]
    {
        let params = json!({"uri": "test://r", "level": "info", "protocolVersion": "2025-11-25"});
        assert_eq!(hub.send(modern(rpc(1, method, params))).await.refusal().await, (404, -32601), "{method}");
    }
    // And the other way round: what is new does not exist for a client with a handshake.
    let session = hub.session("2025-11-25").await;
    for method in ["server/discover", "subscriptions/listen"] {
        let ask = Ask::post(&rpc(1, method, json!({}))).header("mcp-session-id", &session);
        assert_eq!(hub.send(ask).await.refusal().await, (200, -32601), "{method}");
    }
}

fn listen(id: &str, filter: Value) -> Ask {
    modern(rpc(id, "subscriptions/listen", json!({"notifications": filter})))
}

#[tokio::test]
async fn a_subscription_is_acknowledged_tagged_filtered_and_ended_gracefully() {
    let hub = Hub::start().await;
    let filter = json!({"toolsListChanged": true});
    let mut tools = hub.send(listen("sub-1", filter.clone())).await;
    let mut prompts = hub.send(listen("sub-2", json!({"promptsListChanged": true}))).await;
    let acknowledged = tools.event().await.unwrap();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        acknowledged["params"],
        json!({"_meta": {SUBSCRIPTION_KEY: "sub-1"}, "notifications": filter})
    );
    prompts.event().await.unwrap();
    hub.server.add_tool("new", |_| Ok(json!(1)));
    let told = tools.event().await.unwrap();
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(told["params"]["_meta"][SUBSCRIPTION_KEY], "sub-1");
    hub.stop.cancel();
    let farewell = tools.event().await.unwrap();
    assert_eq!((&farewell["id"], &farewell["result"]["resultType"]), (&json!("sub-1"), &json!("complete")));
    assert_eq!(tools.event().await, None);
    let farewell = prompts.event().await.unwrap();
    assert_eq!(farewell["id"], "sub-2", "it was never told of tools");
}

#[tokio::test]
async fn a_subscription_without_a_filter_is_refused() {
    let hub = Hub::start().await;
    for params in
        [json!({}), json!({"notifications": 1}), json!({"notifications": {"toolsListChanged": "yes"}})]
    {
        let answer = hub.send(modern(rpc(1, "subscriptions/listen", params.clone()))).await;
        assert!(!answer.is_stream(), "{params}");
        assert_eq!(answer.refusal().await.1, -32602, "{params}");
    }
}

#[tokio::test]
async fn beyond_the_limit_of_subscriptions_there_is_429_until_one_ends() {
    let hub = Hub::with(GatewayOptions { max_sessions: 1, ..GatewayOptions::default() }).await;
    let filter = json!({"toolsListChanged": true});
    let mut first = hub.send(listen("sub-1", filter.clone())).await;
    first.event().await.unwrap();
    let refused = hub.send(listen("sub-2", filter.clone())).await;
    assert_eq!(refused.status, 429);
    assert!(refused.header("retry-after").is_some());
    drop(first);
    while hub.send(listen("sub-3", filter.clone())).await.status == 429 {
        tokio::task::yield_now().await; // the end of the first is on its way
    }
}
