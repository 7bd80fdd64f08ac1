//! Resources that clients of both eras watch, at servers of both.

use std::time::Duration;

use serde_json::{Value, json};
use toolbay_gateway::GatewayOptions;
use toolbay_testkit::{SupportedRevisions, TestServer};

use crate::{
    http::{Answer, Ask},
    test_gateway::{Hub, SUBSCRIPTION_KEY, eventually, modern, rpc, server},
};

const URI: &str = "test://r";

async fn subscribe(hub: &Hub, session: &str, method: &str, uri: &str) -> Value {
    let ask = Ask::post(&rpc(7, method, json!({"uri": uri}))).header("mcp-session-id", session);
    hub.send(ask).await.json().await
}

async fn stream_of(hub: &Hub, session: &str) -> Answer {
    hub.send(Ask::new("GET", "/mcp").header("mcp-session-id", session)).await
}

/// A subscription of the stateless era, acknowledged: its stream and what was acknowledged.
async fn listen(hub: &Hub, id: &str, uris: &[&str]) -> (Answer, Value) {
    let params = json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": uris}});
    let mut stream = hub.send(modern(rpc(id, "subscriptions/listen", params))).await;
    let acknowledged = stream.event().await.unwrap();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    (stream, acknowledged["params"]["notifications"].clone())
}

fn updated(uri: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}})
}

#[tokio::test]
async fn updates_reach_exactly_the_subscribers_in_every_combination_of_revisions() {
    for era in [SupportedRevisions::Legacy, SupportedRevisions::Modern] {
        let hub = Hub::of(server().revisions(era), GatewayOptions::default()).await;
        let (asks, other) = (hub.session("2025-11-25").await, hub.session("2025-11-25").await);
        assert_eq!(subscribe(&hub, &asks, "resources/subscribe", URI).await["result"], json!({}));
        let (mut asking, mut not_asking) = (stream_of(&hub, &asks).await, stream_of(&hub, &other).await);
        let (mut listening, agreed) = listen(&hub, "yes", &[URI]).await;
        assert_eq!(agreed, json!({"toolsListChanged": true, "resourceSubscriptions": [URI]}));
        let (mut not_listening, agreed) = listen(&hub, "no", &[]).await;
        assert_eq!(agreed, json!({"toolsListChanged": true}));
        hub.server.set_resource(URI, "new");
        assert_eq!(asking.event().await.unwrap(), updated(URI), "{era:?}");
        let told = listening.event().await.unwrap();
        assert_eq!(told["params"], json!({"uri": URI, "_meta": {SUBSCRIPTION_KEY: "yes"}}), "{era:?}");
        // The others hear of the next thing first.
        hub.server.add_tool("new", |_| Ok(json!(1)));
        for stream in [&mut asking, &mut not_asking, &mut listening, &mut not_listening] {
            assert_eq!(
                stream.event().await.unwrap()["method"],
                "notifications/tools/list_changed",
                "{era:?}"
            );
        }
    }
}

/// How often the server was asked to begin and to end, in its own way.
fn asked(hub: &Hub) -> (usize, usize) {
    (hub.server.count("resources/subscribe"), hub.server.count("resources/unsubscribe"))
}

#[tokio::test]
async fn a_client_that_unsubscribes_ends_no_other_subscription() {
    let hub = Hub::of(server().revisions(SupportedRevisions::Legacy), GatewayOptions::default()).await;
    let (first, second) = (hub.session("2025-11-25").await, hub.session("2025-06-18").await);
    subscribe(&hub, &first, "resources/subscribe", URI).await;
    subscribe(&hub, &second, "resources/subscribe", URI).await;
    subscribe(&hub, &second, "resources/subscribe", URI).await; // twice is once
    let (mut listening, _) = listen(&hub, "l", &[URI]).await;
    assert_eq!(asked(&hub), (1, 0));
    let mut quiet = stream_of(&hub, &first).await;
    let mut told = stream_of(&hub, &second).await;
    assert_eq!(subscribe(&hub, &first, "resources/unsubscribe", URI).await["result"], json!({}));
    hub.server.set_resource(URI, "new");
    assert_eq!(told.event().await.unwrap(), updated(URI));
    assert_eq!(listening.event().await.unwrap()["params"]["uri"], URI);
    hub.server.add_tool("new", |_| Ok(json!(1)));
    assert_eq!(quiet.event().await.unwrap()["method"], "notifications/tools/list_changed");
    assert_eq!(asked(&hub), (1, 0));
    // A stream that is cut and a session that ends let go of what they had.
    drop(listening);
    hub.send(Ask::new("DELETE", "/mcp").header("mcp-session-id", &second)).await;
    eventually("the server is told", || asked(&hub) == (1, 1)).await;
}

#[tokio::test]
async fn what_cannot_be_watched_is_refused_or_left_out() {
    for era in [SupportedRevisions::Legacy, SupportedRevisions::Modern] {
        let mute = TestServer::new("mute").with_tool("t", |_| Ok(json!(1))).revisions(era);
        let servers = vec![("s", server().revisions(era)), ("mute", mute)];
        let hub = Hub::of_all(servers, GatewayOptions::default()).await;
        let session = hub.session("2025-11-25").await;
        let nobody = subscribe(&hub, &session, "resources/subscribe", "nowhere://x").await;
        assert_eq!(nobody["error"]["code"], -32602, "{nobody}");
        let mute = subscribe(&hub, &session, "resources/subscribe", "toolbay://mute/test://r").await;
        assert_eq!(mute["error"]["code"], -32601, "{mute}");
        let missing = Ask::post(&rpc(1, "resources/subscribe", json!({}))).header("mcp-session-id", &session);
        assert_eq!(hub.send(missing).await.refusal().await, (200, -32602));
        let alone = Ask::post(&rpc(1, "resources/subscribe", json!({"uri": URI})));
        assert_eq!(hub.send(alone).await.refusal().await, (200, -32600));
        let (_stream, agreed) = listen(&hub, "l", &["nowhere://x", URI, "toolbay://mute/test://r"]).await;
        assert_eq!(agreed["resourceSubscriptions"], json!([URI]), "{era:?}");
    }
}

#[tokio::test]
async fn each_client_is_notified_of_a_resource_under_the_uri_it_used() {
    let (first, second) = (server(), server());
    let other = second.handle();
    let hub = Hub::of_all(vec![("a", first), ("b", second)], GatewayOptions::default()).await;
    let qualified = "toolbay://b/test://r";
    let session = hub.session("2025-11-25").await;
    subscribe(&hub, &session, "resources/subscribe", qualified).await;
    let mut of_b = stream_of(&hub, &session).await;
    let (mut of_a, _) = listen(&hub, "a", &[URI]).await;
    let (mut of_both, agreed) = listen(&hub, "both", &[URI, qualified]).await;
    assert_eq!(agreed["resourceSubscriptions"], json!([URI, qualified]));
    other.set_resource(URI, "new");
    assert_eq!(of_b.event().await.unwrap(), updated(qualified));
    assert_eq!(of_both.event().await.unwrap()["params"]["uri"], qualified);
    hub.server.set_resource(URI, "new");
    assert_eq!(of_both.event().await.unwrap()["params"]["uri"], URI);
    assert_eq!(of_a.event().await.unwrap()["params"]["uri"], URI, "it never heard of the other one");
}

#[tokio::test]
async fn updates_of_parts_are_sent_and_those_of_similar_uris_are_not() {
    let folder = server()
        .with_resource("test://folder", "")
        .with_resource("test://folders", "")
        .revisions(SupportedRevisions::Legacy);
    // The server of the test tells only what was subscribed to, so it is asked for the parts as well.
    let hub = Hub::of(folder, GatewayOptions::default()).await;
    let (session, other) = (hub.session("2025-11-25").await, hub.session("2025-11-25").await);
    subscribe(&hub, &session, "resources/subscribe", "test://folder").await;
    for uri in ["test://folder/part", "test://folders"] {
        let subscribed = subscribe(&hub, &other, "resources/subscribe", uri).await;
        assert_eq!(subscribed["result"], json!({}), "{subscribed}");
    }
    let mut stream = stream_of(&hub, &session).await;
    hub.server.notify_updated("test://folders");
    hub.server.notify_updated("test://folder/part");
    assert_eq!(stream.event().await.unwrap(), updated("test://folder/part"));
}

#[tokio::test]
async fn a_restart_of_the_server_is_not_noticed() {
    for era in [SupportedRevisions::Legacy, SupportedRevisions::Modern] {
        let hub = Hub::of(server().revisions(era), GatewayOptions::default()).await;
        let session = hub.session("2025-11-25").await;
        subscribe(&hub, &session, "resources/subscribe", URI).await;
        let mut stream = stream_of(&hub, &session).await;
        let (mut listening, _) = listen(&hub, "l", &[URI]).await;
        let before = (hub.server.count("resources/subscribe"), hub.server.count("subscriptions/listen"));
        let upstream = hub.host.server("s").unwrap();
        upstream.restart().await;
        eventually("it is asked again", || match era {
            SupportedRevisions::Legacy => hub.server.count("resources/subscribe") > before.0,
            _ => hub.server.count("subscriptions/listen") > before.1,
        })
        .await;
        tokio::time::sleep(Duration::from_millis(50)).await; // for what it was asked to take effect there
        hub.server.set_resource(URI, "new");
        assert_eq!(stream.event().await.unwrap(), updated(URI), "{era:?}");
        assert_eq!(listening.event().await.unwrap()["params"]["uri"], URI, "{era:?}");
    }
}
