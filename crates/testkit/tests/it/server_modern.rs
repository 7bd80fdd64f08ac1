//! The test server and clients that do not shake hands.

use serde_json::json;
use tokio_util::task::TaskTracker;
use toolbay_testkit::{MemoryClient, SupportedRevisions, TestServer};

#[tokio::test]
async fn discover_tells_all() {
    let server = TestServer::new("new").revisions(SupportedRevisions::Modern).instructions("Be kind.");
    let mut client = MemoryClient::modern(server.in_memory(&TaskTracker::new()));
    let result = client.request("server/discover", json!({})).await["result"].take();
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(result["capabilities"]["tools"], json!({"listChanged": true}));
    assert_eq!(result["instructions"], "Be kind.");
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(0), &json!("private")));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "new");
}

#[tokio::test]
async fn unknown_versions_and_handshakes_are_refused() {
    let server = TestServer::new("new").revisions(SupportedRevisions::Modern);
    let mut client = MemoryClient::new(server.in_memory(&TaskTracker::new()));
    let params = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "1900-01-01"}});
    let refused = client.request("tools/list", params).await["error"].take();
    assert_eq!(refused["code"], -32022);
    assert_eq!(refused["data"], json!({"supported": ["2026-07-28"], "requested": "1900-01-01"}));
    let refused =
        client.request("initialize", json!({"protocolVersion": "2025-11-25"})).await["error"].take();
    assert_eq!((&refused["code"], &refused["data"]["supported"]), (&json!(-32022), &json!(["2026-07-28"])));
    assert_eq!(client.request("tools/list", json!({})).await["error"]["code"], -32602);
}

#[tokio::test]
async fn every_result_says_that_it_is_complete() {
    let mut client = MemoryClient::modern(TestServer::demo().in_memory(&TaskTracker::new()));
    let calls = [
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "add", "arguments": {"a": 1, "b": 2}})),
        ("tools/call", json!({"name": "mirror"})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "test://readme"})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "hello"})),
    ];
    for (method, params) in calls {
        let answer = client.request(method, params).await;
        assert_eq!(answer["result"]["resultType"], "complete", "{method}: {answer}");
        let cacheable = method.ends_with("/list") || method == "resources/read";
        assert_eq!(answer["result"].get("ttlMs").is_some(), cacheable, "{method}");
    }
    let missing = client.request("resources/read", json!({"uri": "test://none"})).await;
    assert_eq!(missing["error"]["code"], -32602);
    for gone in ["ping", "logging/setLevel", "resources/subscribe", "initialize"] {
        assert_eq!(client.request(gone, json!({})).await["error"]["code"], -32601, "{gone}");
    }
}

#[tokio::test]
async fn log_messages_only_on_request() {
    let mut client = MemoryClient::modern(TestServer::demo().in_memory(&TaskTracker::new()));
    client.call("log", json!({"count": 1})).await;
    let meta = json!({"io.modelcontextprotocol/logLevel": "info"});
    client.start("tools/call", json!({"name": "log", "_meta": meta})).await;
    assert_eq!(client.next().await["method"], "notifications/message");
    client.next().await;
    let meta = json!({"io.modelcontextprotocol/logLevel": "loud"});
    let refused = client.request("tools/call", json!({"name": "log", "_meta": meta})).await;
    assert_eq!(refused["error"]["code"], -32602);
}

#[tokio::test]
async fn a_subscription_is_acknowledged_and_tagged() {
    let server = TestServer::new("changing").with_resource("test://a", "1");
    let handle = server.handle();
    let mut client = MemoryClient::modern(server.in_memory(&TaskTracker::new()));
    let wanted = json!({"toolsListChanged": true, "promptsListChanged": true,
        "resourceSubscriptions": ["test://a"]});
    let id = client.start("subscriptions/listen", json!({"notifications": wanted})).await;
    let tag = json!({"io.modelcontextprotocol/subscriptionId": id});
    let acknowledged = client.next().await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    let agreed = json!({"toolsListChanged": true, "resourceSubscriptions": ["test://a"]});
    assert_eq!(acknowledged["params"], json!({"_meta": tag, "notifications": agreed}));
    handle.notify_updated("test://b");
    handle.notify_updated("test://a");
    assert_eq!(client.next().await["params"], json!({"_meta": tag, "uri": "test://a"}));
    handle.add_tool("new", |_| Ok(json!({})));
    let changed = client.next().await;
    assert_eq!(
        (&changed["method"], &changed["params"]["_meta"]),
        (&json!("notifications/tools/list_changed"), &tag)
    );
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}))
        .await;
    client.request("tools/list", json!({})).await;
    handle.remove_tool("new");
    client.request("tools/list", json!({})).await; // nothing came before this answer
}
