//! Host and Origin (S1).

use std::sync::Arc;

use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_gateway::{Gateway, GatewayOptions, Origin};
use toolbay_host::{Host, HostOptions, HubChain};

use crate::{
    http::Ask,
    test_gateway::{Hub, call, initialize},
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
        crate::websocket::upgrade(),
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
            // Pages on other ports of this machine are pages of others.
            "http://localhost",
            "https://localhost",
            "http://localhost:9999",
            "http://127.0.0.1:9999",
            "http://[::1]:9999",
            &format!("chrome-extension://{}", hub.address),
            &format!("http://{}.", hub.address),
            &format!("http://127.0.0.2:{}", hub.port()),
        ] {
            let answer = hub.send(endpoint.clone().header("origin", origin)).await;
            assert_eq!(answer.status, 403, "Origin {origin}: {endpoint:?}");
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
        let ours = format!("http://{}", hub.address);
        let twice = endpoint.clone().also("origin", &ours).also("origin", &ours);
        assert_eq!(hub.send(twice).await.status, 403, "two Origins: {endpoint:?}");
        let twice = endpoint.clone().also("host", "localhost").also("host", "localhost");
        assert!([400, 403].contains(&hub.send(twice).await.status), "two Hosts: {endpoint:?}");
    }
    assert_eq!(hub.server.count("tools/call"), 0);
}

#[tokio::test]
async fn our_own_names_are_served_with_and_without_an_origin() {
    let hub = Hub::with(GatewayOptions {
        public_names: vec!["Hub.Example".into(), "other.example:8443".into()],
        ..Default::default()
    })
    .await;
    let ask = Ask::post(&call(1, "echo", json!({})));
    assert_eq!(hub.send(ask.clone()).await.status, 200);
    for host in [
        "localhost",
        "LOCALHOST:4100",
        "127.0.0.1:1",
        "[::1]",
        "[::1]:4100",
        "hub.example",
        "other.example:1",
    ] {
        assert_eq!(hub.send(ask.clone().header("host", host)).await.status, 200, "{host}");
    }
    let port = hub.port();
    for (host, status) in [
        (format!("localhost:{port}"), 200),
        (format!("LOCALHOST:{port}"), 200),
        (format!("127.0.0.1:{port}"), 200),
        (format!("[::1]:{port}"), 200),
        ("hub.example".to_owned(), 200), // behind a proxy
        (format!("hub.example:{port}"), 200),
        ("hub.example:9999".to_owned(), 403),
        ("other.example:8443".to_owned(), 200),
        ("other.example".to_owned(), 403),
        (format!("other.example:{port}"), 403),
    ] {
        for scheme in ["http", "https"] {
            let origin = format!("{scheme}://{host}");
            let answer = hub.send(ask.clone().header("origin", &origin)).await;
            assert_eq!(answer.status, status, "{origin}");
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
}

const PAGE: &str = "https://app.example.com";

/// A hub that lets pages of one site in, and wants a token.
async fn hub_for_a_page() -> Hub {
    let allowed_origins: Vec<Origin> = vec![PAGE.parse().unwrap()];
    let token = toolbay_access::OwnerToken::new("0123456789abcdef").unwrap();
    let authenticators = vec![Arc::new(token) as _];
    Hub::with(GatewayOptions { allowed_origins, authenticators, ..Default::default() }).await
}

#[tokio::test]
async fn pages_of_an_allowed_origin_are_served_and_may_read_the_answer() {
    let hub = hub_for_a_page().await;
    let ask = |origin: &str| Ask::post(&initialize("2025-11-25")).header("origin", origin);
    let shown = ask(PAGE).header("authorization", "Bearer 0123456789abcdef");
    let answer = hub.send(shown).await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some(PAGE)));
    assert_eq!(answer.header("vary"), Some("origin"));
    assert!(answer.header("access-control-expose-headers").unwrap().contains("mcp-session-id"));
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    // It may know that the token is missing; the origin alone opens nothing.
    let answer = hub.send(ask(PAGE)).await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (401, Some(PAGE)));
    for origin in [
        "http://app.example.com",
        "https://app.example.com:444",
        "https://x.app.example.com",
        "https://example.com",
    ] {
        let answer = hub.send(ask(origin)).await;
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (403, None), "{origin}");
    }
    let socket = crate::websocket::upgrade().header("sec-websocket-protocol", "mcp, bearer.0123456789abcdef");
    assert_eq!(hub.send(socket.clone().header("origin", PAGE)).await.status, 101);
    assert_eq!(hub.send(socket.header("origin", "https://example.com")).await.status, 403);
}

#[tokio::test]
async fn browsers_learn_what_pages_of_an_allowed_origin_may_send() {
    let hub = hub_for_a_page().await;
    let preflight = |origin| {
        Ask::new("OPTIONS", "/mcp")
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header(
                "access-control-request-headers",
                "authorization,content-type,Mcp-Param-Region,x-secret,cookie",
            )
            .header("access-control-request-private-network", "true")
    };
    let answer = hub.send(preflight(PAGE)).await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (204, Some(PAGE)));
    assert_eq!(
        answer.header("access-control-allow-headers"),
        Some("authorization, content-type, Mcp-Param-Region")
    );
    assert_eq!(answer.header("access-control-allow-methods"), Some("GET, POST, DELETE"));
    assert_eq!(answer.header("access-control-allow-private-network"), Some("true"));
    let answer = hub.send(preflight("https://example.com")).await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (403, None));
    // Without a page there is nothing to ask for.
    let plain = Ask::new("OPTIONS", "/mcp").header("authorization", "Bearer 0123456789abcdef");
    assert_eq!(hub.send(plain).await.status, 405);
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

/// Whatever comes back to the hub that sent it would go round for ever.
#[tokio::test]
async fn requests_that_passed_this_hub_are_refused() {
    let options = HostOptions { chain: Some(HubChain::new("", "this-hub")), ..HostOptions::default() };
    let gateway = Gateway::new(Host::start(&[], Vec::new(), &options), GatewayOptions::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    let ending = stop.clone();
    tasks.spawn(async move { gateway.serve_http(listener, ending).await });
    for (via, status) in
        [("this-hub", 508), ("another,this-hub,third", 508), ("another", 200), ("this-hub2", 200)]
    {
        let answer = Ask::post(&initialize("2025-11-25")).header(HubChain::HEADER, via).send(&address).await;
        assert_eq!(answer.status, status, "{via}");
    }
    stop.cancel();
}
