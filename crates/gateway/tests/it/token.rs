//! A token that every request must carry.

use serde_json::json;
use toolbay_gateway::{GatewayOptions, Token};

use crate::{
    guard::endpoints,
    http::Ask,
    hub::{Hub, call},
};

async fn hub() -> Hub {
    Hub::with(GatewayOptions { token: Token::new("s3cret"), ..Default::default() }).await
}

#[tokio::test]
async fn without_it_nothing_is_served_anywhere_and_no_body_is_read() {
    let hub = hub().await;
    for endpoint in endpoints() {
        if endpoint.is("GET", "/health") {
            continue;
        }
        for wrong in [
            None,
            Some(""),
            Some("s3cret"),
            Some("Bearer"),
            Some("Bearer "),
            Some("Bearer s3cre"),
            Some("Bearer s3cret1"),
            Some("Bearer S3CRET"),
            Some("Basic s3cret"),
            Some("Bearer s3cret s3cret"),
        ] {
            let ask = wrong.iter().fold(endpoint.clone(), |ask, wrong| ask.header("authorization", wrong));
            let answer = hub.send(ask).await;
            assert_eq!(answer.status, 401, "{wrong:?}: {endpoint:?}");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
        let twice = endpoint.clone().also("authorization", "Bearer s3cret").also("authorization", "Bearer x");
        assert_eq!(hub.send(twice).await.status, 401, "{endpoint:?}");
        // The token opens no door to pages of other sites.
        let foreign =
            endpoint.header("authorization", "Bearer s3cret").header("origin", "http://evil.example.com");
        assert_eq!(hub.send(foreign).await.status, 403);
    }
    assert_eq!(hub.calls(), 0);
}

#[tokio::test]
async fn with_it_everything_is() {
    let hub = hub().await;
    for value in ["Bearer s3cret", "bearer s3cret", "BEARER  s3cret"] {
        let ask = Ask::post(&call(1, "echo", json!({}))).header("authorization", value);
        assert_eq!(hub.send(ask).await.status, 200, "{value}");
    }
    let stream = hub.send(Ask::new("GET", "/sse").header("authorization", "Bearer s3cret")).await;
    assert_eq!((stream.status, stream.is_stream()), (200, true));
    assert_eq!(hub.send(crate::ws::upgrade().header("authorization", "Bearer s3cret")).await.status, 101);
    // Pages in a browser cannot set headers.
    let protocols = |value| crate::ws::upgrade().header("sec-websocket-protocol", value);
    let page = hub.send(protocols("mcp, bearer.s3cret")).await;
    assert_eq!((page.status, page.header("sec-websocket-protocol")), (101, Some("mcp")));
    assert_eq!(hub.send(protocols("mcp, bearer.s3cre")).await.status, 401);
    // No token reaches a server.
    assert!(!hub.server.received().concat().contains("s3cret"));
}

#[tokio::test]
async fn strangers_learn_only_that_it_lives() {
    let hub = hub().await;
    let health = hub.send(Ask::new("GET", "/health")).await.json().await;
    assert_eq!(health, json!({"status": "ok", "service": "toolbay"}));
    let health =
        hub.send(Ask::new("GET", "/health").header("authorization", "Bearer s3cret")).await.json().await;
    assert_eq!(health["servers"][0]["name"], "s");
    assert_eq!(hub.send(Ask::new("POST", "/health")).await.status, 401);
}

#[test]
fn what_a_header_cannot_carry_is_no_token() {
    for text in ["", "a b", "ä", "a\n", " a"] {
        assert!(Token::new(text).is_none(), "{text:?}");
    }
    assert!(!format!("{:?}", Token::new("s3cret")).contains("s3cret"));
}
