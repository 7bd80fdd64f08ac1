//! Host and Origin (S1).

use serde_json::json;
use toolbay_gateway::GatewayOptions;

use crate::{
    http::Ask,
    hub::{Hub, call},
};

/// Every endpoint. The POSTs announce a body that never comes: whoever waits for it does not answer.
pub(crate) fn endpoints() -> Vec<Ask> {
    let post = |path| {
        Ask::new("POST", path).header("content-type", "application/json").header("content-length", "1000")
    };
    vec![
        post("/mcp"),
        post("/"),
        post("/messages?sessionId=00000000000000000000000000000000"),
        post("/nothing"),
        Ask::new("GET", "/sse"),
        crate::ws::upgrade(),
        Ask::new("GET", "/mcp"),
        Ask::new("DELETE", "/mcp"),
        Ask::new("OPTIONS", "/mcp"),
        Ask::new("GET", "/"),
        Ask::new("GET", "/health"),
        Ask::new("GET", "/metrics"),
    ]
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused_everywhere_before_a_body_is_read() {
    let hub = Hub::start().await;
    for endpoint in endpoints() {
        for host in [
            "evil.example.com",
            "evil.example.com:4100",
            "localhost.evil.com",
            "127.0.0.1.nip.io",
            "127.0.0.1@evil.com",
            "evil.com@127.0.0.1",
            "127.0.0.2",
            "localhost:80:80",
            "[::1]evil",
            "localhost.",
            "",
        ] {
            let answer = hub.send(endpoint.clone().header("host", host)).await;
            assert_eq!(answer.status, 403, "Host {host}: {endpoint:?}");
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
        for origin in [
            "http://evil.example.com",
            "null",
            "http://localhost.evil.com",
            "http://127.0.0.1.nip.io",
            "http://localhost@evil.com",
            "file://localhost",
            "chrome-extension://localhost",
            "localhost",
            "http://",
            "http://localhost/",
            "http://localhost http://evil.com",
        ] {
            let answer = hub.send(endpoint.clone().header("origin", origin)).await;
            assert_eq!(answer.status, 403, "Origin {origin}: {endpoint:?}");
        }
        let twice = endpoint.clone().also("origin", "http://localhost").also("origin", "http://localhost");
        assert_eq!(hub.send(twice).await.status, 403, "two Origins: {endpoint:?}");
        let twice = endpoint.clone().also("host", "localhost").also("host", "localhost");
        assert!([400, 403].contains(&hub.send(twice).await.status), "two Hosts: {endpoint:?}");
    }
    assert_eq!(hub.server.count("tools/call"), 0);
}

#[tokio::test]
async fn our_own_names_are_served_with_and_without_an_origin() {
    let hub =
        Hub::with(GatewayOptions { public_names: vec!["Hub.Example".into()], ..Default::default() }).await;
    let ask = Ask::post(&call(1, "echo", json!({})));
    assert_eq!(hub.send(ask.clone()).await.status, 200);
    for host in ["localhost", "LOCALHOST:4100", "127.0.0.1:1", "[::1]", "[::1]:4100", "hub.example"] {
        assert_eq!(hub.send(ask.clone().header("host", host)).await.status, 200, "{host}");
        for scheme in ["http", "https"] {
            let origin = format!("{scheme}://{host}");
            assert_eq!(hub.send(ask.clone().header("origin", &origin)).await.status, 200, "{origin}");
        }
    }
}

/// An absolute request target names a host as well.
#[tokio::test]
async fn an_absolute_target_must_name_us_too() {
    let hub = Hub::start().await;
    let foreign = Ask::new("GET", "http://evil.example.com/health");
    assert_eq!(hub.send(foreign).await.status, 403);
    let ours = Ask::new("GET", "http://localhost/health");
    assert_eq!(hub.send(ours).await.status, 200);
}
