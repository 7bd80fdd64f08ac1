//! How long clients may keep what is listed.

use serde_json::{Value, json};
use toolbay_gateway::GatewayOptions;
use toolbay_testkit::{SupportedRevisions, TestServer};

use crate::{
    http::Ask,
    test_gateway::{Hub, eventually, modern, rpc},
};

fn server(era: SupportedRevisions) -> TestServer {
    let server = TestServer::new("s").with_tool("t", |_| Ok(json!(1))).with_resource("test://r", "text");
    server.with_tool_changes_only().revisions(era)
}

async fn hub(servers: Vec<(&str, TestServer)>) -> Hub {
    Hub::of_all(servers, GatewayOptions::default()).await
}

async fn result(hub: &Hub, method: &str) -> Value {
    hub.send(modern(rpc(1, method, json!({})))).await.json().await["result"].take()
}

async fn hints(hub: &Hub, method: &str) -> (u64, String) {
    let result = result(hub, method).await;
    (result["ttlMs"].as_u64().unwrap(), result["cacheScope"].as_str().unwrap().to_owned())
}

/// Tools are announced by the servers of these tests, so what they say holds once the hub listens.
async fn tool_hints(hub: &Hub, expected: (u64, &str)) {
    let deadline = tokio::time::Instant::now() + crate::http::PATIENCE;
    loop {
        let found = hints(hub, "tools/list").await;
        if found == (expected.0, expected.1.to_owned()) {
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "{found:?} instead of {expected:?}");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_merged_list_lasts_as_long_as_its_shortest_part() {
    let modern = |ttl, is_public| server(SupportedRevisions::Modern).caching(ttl, is_public);
    tool_hints(&hub(vec![("a", modern(20_000, true)), ("b", modern(9000, true))]).await, (9000, "public"))
        .await;
    tool_hints(&hub(vec![("a", modern(20_000, true)), ("b", modern(9000, false))]).await, (9000, "private"))
        .await;
    tool_hints(&hub(vec![("a", modern(9_000_000, true))]).await, (60_000, "public")).await;
    let with_legacy = hub(vec![("a", modern(9000, true)), ("b", server(SupportedRevisions::Legacy))]).await;
    tool_hints(&with_legacy, (9000, "private")).await;
    let legacy = hub(vec![("a", server(SupportedRevisions::Legacy))]).await;
    assert_eq!(hints(&legacy, "tools/list").await, (60_000, "private".to_owned()), "it announces changes");
    assert_eq!(hints(&legacy, "resources/list").await, (5000, "private".to_owned()), "it does not");
    assert_eq!(hints(&legacy, "prompts/list").await, (60_000, "private".to_owned()), "it has none");
    assert_eq!(hints(&legacy, "server/discover").await, (60_000, "private".to_owned()));
    let (ttl, scope) = hints(&hub(vec![("a", modern(9000, true))]).await, "server/discover").await;
    assert!((1..=9000).contains(&ttl) && scope == "public", "{ttl} {scope}");
}

#[tokio::test]
async fn a_list_that_ran_out_is_listed_again_for_the_next_one_who_looks() {
    let hub = hub(vec![("a", server(SupportedRevisions::Modern).caching(0, false))]).await;
    let count = |result: &Value| result["resources"].as_array().unwrap().len();
    let listed = || hub.server.count("resources/list");
    eventually("it is listed once more when the hub listens", || listed() == 2).await;
    assert_eq!(count(&result(&hub, "resources/list").await), 1);
    eventually("it is listed again", || listed() == 3).await;
    hub.server.set_resource("test://new", "text"); // which this server announces to nobody
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await; // lists are asked for once a second at most
    let before = listed();
    let stale = result(&hub, "resources/list").await;
    assert_eq!((count(&stale), &stale["ttlMs"]), (1, &json!(0)), "answered from memory");
    eventually("it is listed again", || listed() > before).await;
    eventually("the hub knows", || hub.host.table().count(toolbay_host::CatalogKind::Resources) == 2).await;
    assert_eq!(count(&result(&hub, "resources/list").await), 2);
}

#[tokio::test]
async fn lists_are_refreshed_for_clients_without_cache_hints_too() {
    let hub = hub(vec![("a", server(SupportedRevisions::Modern).caching(0, false))]).await;
    let listed = || hub.server.count("resources/list");
    eventually("it is listed once more when the hub listens", || listed() == 2).await;
    let session = hub.session("2025-11-25").await;
    let list = Ask::post(&rpc(1, "resources/list", json!({}))).header("mcp-session-id", &session);
    let result = hub.send(list).await.json().await["result"].take();
    assert_eq!((result["resources"].as_array().unwrap().len(), &result["ttlMs"]), (1, &Value::Null));
    eventually("it is listed again", || listed() == 3).await;
}
