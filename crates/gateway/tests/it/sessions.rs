//! Legacy sessions over HTTP.

use std::collections::HashSet;

use serde_json::json;
use toolbay_gateway::GatewayOptions;

use crate::{
    http::Ask,
    test_gateway::{Hub, call, eventually, initialize, rpc},
};

#[tokio::test]
async fn a_session_from_its_first_to_its_last_request() {
    let hub = Hub::start().await;
    let id = hub.session("2025-11-25").await;
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(hub.send(Ask::post(&told).header("mcp-session-id", &id)).await.status, 202);
    let list = Ask::post(&rpc(1, "tools/list", json!({}))).header("mcp-session-id", &id);
    let answer = hub.send(list.clone()).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json().await["result"]["tools"][0]["name"], "s__echo");
    let answer = hub.send(Ask::new("DELETE", "/mcp").header("mcp-session-id", &id)).await;
    assert_eq!(answer.status, 200);
    assert_eq!(hub.send(list).await.status, 404);
    let again = Ask::new("DELETE", "/mcp").header("mcp-session-id", &id);
    assert_eq!(hub.send(again).await.status, 404);
}

#[tokio::test]
async fn an_unknown_session_is_404_for_every_method() {
    let hub = Hub::start().await;
    for unknown in ["0", "nonsense", "ffffffffffffffffffffffffffffffff", "FFFF", ""] {
        for ask in
            [Ask::post(&rpc(1, "ping", json!({}))), Ask::new("GET", "/mcp"), Ask::new("DELETE", "/mcp")]
        {
            let answer = hub.send(ask.header("mcp-session-id", unknown)).await;
            assert_eq!(answer.status, 404, "{unknown}");
        }
    }
    let twice = Ask::post(&rpc(1, "ping", json!({}))).also("mcp-session-id", "a").also("mcp-session-id", "b");
    assert_eq!(hub.send(twice).await.status, 400);
}

#[tokio::test]
async fn requests_without_a_session_are_served() {
    let hub = Hub::start().await;
    let answer = hub.send(Ask::post(&call("x", "echo", json!({"a": 1})))).await;
    assert_eq!(answer.status, 200);
    let answer = answer.json().await;
    assert_eq!(answer["id"], "x");
    assert_eq!(answer["result"]["content"][0]["text"], r#"{"a":1}"#);
}

#[tokio::test]
async fn session_ids_are_long_and_random() {
    let hub = Hub::start().await;
    let mut ids = HashSet::new();
    for _ in 0..50 {
        ids.insert(hub.session("2025-06-18").await);
    }
    assert_eq!(ids.len(), 50);
    assert!(ids.iter().all(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())));
    let heads: HashSet<&str> = ids.iter().map(|id| &id[..8]).collect();
    assert_eq!(heads.len(), 50, "no shared beginning");
}

#[tokio::test]
async fn each_legacy_revision_is_agreed_to_and_an_unknown_one_gets_the_newest() {
    let hub = Hub::start().await;
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        hub.session(revision).await;
    }
    for odd in ["2026-07-28", "1999-01-01", ""] {
        let answer = hub.send(Ask::post(&initialize(odd))).await.json().await;
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{odd}");
    }
    let missing = hub.send(Ask::post(&rpc(1, "initialize", json!({})))).await;
    assert_eq!(missing.refusal().await, (400, -32602));
}

#[tokio::test]
async fn beyond_the_limit_of_sessions_there_is_429_until_one_ends() {
    let hub = Hub::with(GatewayOptions { max_sessions: 2, ..GatewayOptions::default() }).await;
    let (first, second) = (hub.session("2025-11-25").await, hub.session("2025-11-25").await);
    for used in [&first, &second] {
        hub.send(Ask::post(&rpc(1, "ping", json!({}))).header("mcp-session-id", used)).await;
    }
    let answer = hub.send(Ask::post(&initialize("2025-11-25"))).await;
    assert_eq!(answer.status, 429);
    assert!(answer.header("retry-after").is_some());
    hub.send(Ask::new("DELETE", "/mcp").header("mcp-session-id", &first)).await;
    hub.session("2025-11-25").await;
}

#[tokio::test]
async fn beyond_the_limit_sessions_end_that_were_never_used() {
    let hub = Hub::with(GatewayOptions { max_sessions: 4, ..GatewayOptions::default() }).await;
    let (used, streaming) = (hub.session("2025-11-25").await, hub.session("2025-11-25").await);
    let ping = |id: &str| Ask::post(&rpc(1, "ping", json!({}))).header("mcp-session-id", id);
    assert_eq!(hub.send(ping(&used)).await.status, 200);
    let stream = hub.send(stream_of(&streaming)).await;
    let (oldest, newest) = (hub.session("2025-11-25").await, hub.session("2025-11-25").await);
    let next = hub.session("2025-11-25").await;
    assert_eq!(hub.send(ping(&oldest)).await.status, 404, "it waited longest and was never used");
    for kept in [&used, &streaming, &newest, &next] {
        assert_eq!(hub.send(ping(kept)).await.status, 200);
    }
    drop(stream);
    // A client that shakes hands for each call never locks anybody out.
    let hub = Hub::with(GatewayOptions { max_sessions: 50, ..GatewayOptions::default() }).await;
    for _ in 0..200 {
        hub.session("2025-11-25").await;
    }
}

fn stream_of(session: &str) -> Ask {
    Ask::new("GET", "/mcp").header("mcp-session-id", session)
}

#[tokio::test]
async fn the_stream_of_a_session_tells_of_changes() {
    let hub = Hub::start().await;
    let id = hub.session("2025-11-25").await;
    let mut stream = hub.send(stream_of(&id)).await;
    assert!(stream.status == 200 && stream.is_stream());
    hub.server.add_tool("new", |_| Ok(json!(1)));
    let told = stream.event().await.unwrap();
    assert_eq!(told, json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    let list = Ask::post(&rpc(1, "tools/list", json!({}))).header("mcp-session-id", &id);
    let tools = hub.send(list).await.json().await;
    assert!(tools.to_string().contains("s__new"));
}

#[tokio::test]
async fn a_change_between_list_and_stream_is_sent_when_the_stream_opens() {
    let hub = Hub::start().await;
    let (saw, never_asked) = (hub.session("2025-11-25").await, hub.session("2025-11-25").await);
    let list = Ask::post(&rpc(1, "tools/list", json!({}))).header("mcp-session-id", &saw);
    hub.send(list).await;
    hub.server.add_tool("new", |_| Ok(json!(1)));
    eventually("the hub knows it", || hub.host.table().tool("s__new").is_some()).await;
    let mut stream = hub.send(stream_of(&saw)).await;
    assert_eq!(stream.event().await.unwrap()["method"], "notifications/tools/list_changed");
    // One that never saw the list missed nothing: the next thing it hears is the next change.
    let mut stream = hub.send(stream_of(&never_asked)).await;
    hub.server.remove_tool("new");
    stream.event().await.unwrap();
    assert!(hub.host.table().tool("s__new").is_none());
}

#[tokio::test]
async fn a_second_stream_replaces_the_first() {
    let hub = Hub::start().await;
    let id = hub.session("2025-11-25").await;
    let mut first = hub.send(stream_of(&id)).await;
    let mut second = hub.send(stream_of(&id)).await;
    assert_eq!(first.event().await, None);
    hub.server.add_tool("new", |_| Ok(json!(1)));
    assert!(second.event().await.is_some());
    hub.send(Ask::new("DELETE", "/mcp").header("mcp-session-id", &id)).await;
    assert_eq!(second.event().await, None, "the session ended");
}

#[tokio::test]
async fn a_stream_needs_a_session_and_a_client_that_reads_streams() {
    let hub = Hub::start().await;
    assert_eq!(hub.send(Ask::new("GET", "/mcp")).await.status, 405);
    let id = hub.session("2025-11-25").await;
    assert_eq!(hub.send(stream_of(&id).header("accept", "application/json")).await.status, 406);
}

#[tokio::test]
async fn paths_and_methods() {
    let hub = Hub::start().await;
    for (method, path, status) in [
        ("GET", "/health", 200),
        ("POST", "/health", 405),
        ("PUT", "/mcp", 405),
        ("GET", "/", 405),
        ("GET", "/nothing", 404),
        ("POST", "/mcp/", 404),
    ] {
        assert_eq!(hub.send(Ask::new(method, path)).await.status, status, "{method} {path}");
    }
    let health = hub.send(Ask::new("GET", "/health")).await.json().await;
    assert_eq!((&health["status"], &health["servers"][0]["state"]), (&json!("ok"), &json!("ready")));
}
