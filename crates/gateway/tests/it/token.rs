//! A token that every request must carry.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use serde_json::json;
use tokio::time::Instant;
use toolbay_access::{Authenticator, OwnerToken};
use toolbay_gateway::GatewayOptions;

use crate::{
    http::Ask,
    origin::endpoints,
    test_gateway::{Hub, call},
};

const TOKEN: &str = "s3cret-0123456789";

fn token() -> Arc<dyn Authenticator> {
    Arc::new(OwnerToken::new(TOKEN).unwrap())
}

async fn hub() -> Hub {
    let authenticators = vec![token()];
    Hub::with(GatewayOptions { authenticators, wrong_token_delay: Duration::ZERO, ..Default::default() })
        .await
}

#[tokio::test]
async fn without_it_nothing_is_served_anywhere_and_no_body_is_read() {
    let hub = hub().await;
    for endpoint in endpoints() {
        if endpoint.is("GET", "/health") {
            continue;
        }
        for (challenge, wrong) in [
            ("Bearer", None),
            ("Bearer", Some("")),
            ("Bearer", Some("s3cret-0123456789")),
            ("Bearer", Some("Bearer")),
            ("Bearer", Some("Bearer ")),
            ("Bearer", Some("Basic s3cret-0123456789")),
            (r#"Bearer error="invalid_token""#, Some("Bearer s3cret-012345678")),
            (r#"Bearer error="invalid_token""#, Some("Bearer s3cret-01234567891")),
            (r#"Bearer error="invalid_token""#, Some("Bearer S3CRET-0123456789")),
        ] {
            let ask = wrong.iter().fold(endpoint.clone(), |ask, wrong| ask.header("authorization", wrong));
            let answer = hub.send(ask).await;
            assert_eq!(answer.status, 401, "{wrong:?}: {endpoint:?}");
            assert_eq!(answer.header("www-authenticate"), Some(challenge));
        }
        let two = endpoint.clone().header("authorization", "Bearer s3cret-0123456789 s3cret-0123456789");
        assert_eq!(hub.send(two).await.status, 400, "{endpoint:?}");
        let twice = endpoint
            .clone()
            .also("authorization", "Bearer s3cret-0123456789")
            .also("authorization", "Bearer x");
        assert_eq!(hub.send(twice).await.status, 400, "{endpoint:?}");
        // The token opens no door to pages of other sites.
        let foreign = endpoint
            .header("authorization", "Bearer s3cret-0123456789")
            .header("origin", "http://evil.example.com");
        assert_eq!(hub.send(foreign).await.status, 403);
    }
    assert_eq!(hub.calls(), 0);
}

#[tokio::test]
async fn with_it_everything_is() {
    let hub = hub().await;
    for value in ["Bearer s3cret-0123456789", "bearer s3cret-0123456789", "BEARER  s3cret-0123456789"] {
        let ask = Ask::post(&call(1, "echo", json!({}))).header("authorization", value);
        assert_eq!(hub.send(ask).await.status, 200, "{value}");
    }
    let stream = hub.send(Ask::new("GET", "/sse").header("authorization", "Bearer s3cret-0123456789")).await;
    assert_eq!((stream.status, stream.is_stream()), (200, true));
    assert_eq!(
        hub.send(crate::websocket::upgrade().header("authorization", "Bearer s3cret-0123456789"))
            .await
            .status,
        101
    );
    // Pages in a browser cannot set headers.
    let protocols = |value| crate::websocket::upgrade().header("sec-websocket-protocol", value);
    let page = hub.send(protocols("mcp, bearer.s3cret-0123456789")).await;
    assert_eq!((page.status, page.header("sec-websocket-protocol")), (101, Some("mcp")));
    assert_eq!(hub.send(protocols("mcp, bearer.s3cret-012345678")).await.status, 401);
    // No token reaches a server.
    assert!(!hub.server.received().concat().contains("s3cret-0123456789"));
}

#[tokio::test]
async fn health_without_the_token_says_only_that_the_hub_runs() {
    let hub = hub().await;
    let health = hub.send(Ask::new("GET", "/health")).await.json().await;
    assert_eq!(health, json!({"status": "ok", "service": "toolbay"}));
    let health = hub
        .send(Ask::new("GET", "/health").header("authorization", "Bearer s3cret-0123456789"))
        .await
        .json()
        .await;
    assert_eq!(health["servers"][0]["name"], "s");
    assert_eq!(hub.send(Ask::new("POST", "/health")).await.status, 401);
}

/// Whoever guesses is slowed, and nobody else.
#[tokio::test]
async fn after_several_wrong_tokens_further_ones_are_answered_slowly_and_the_right_one_is_not() {
    const DELAY: Duration = Duration::from_secs(3);
    let authenticators = vec![token()];
    let options = GatewayOptions { authenticators, wrong_token_delay: DELAY, ..Default::default() };
    let hub = Hub::with(options).await;
    let ask = |token: &str| {
        Ask::post(&call(1, "echo", json!({}))).header("authorization", &format!("Bearer {token}"))
    };
    let began = Instant::now();
    for _ in 0..10 {
        assert_eq!(hub.send(ask("wrong")).await.status, 401);
    }
    assert!(began.elapsed() < DELAY, "the first are answered at once");
    let began = Instant::now();
    let guesses = join_all((0..100).map(|_| hub.send(ask("wrong"))));
    let meanwhile = async {
        // The guesses wait by now, or are turned away.
        tokio::time::sleep(DELAY / 10).await;
        for _ in 0..5 {
            assert_eq!(hub.send(ask(TOKEN)).await.status, 200);
        }
        began.elapsed()
    };
    let (guesses, served) = tokio::join!(guesses, meanwhile);
    assert!(served < DELAY, "the right token waited: {served:?}");
    assert!(began.elapsed() >= DELAY, "nobody who guesses is slowed");
    let (slowed, refused): (Vec<_>, Vec<_>) =
        guesses.iter().map(|answer| answer.status).partition(|status| *status == 401);
    assert_eq!((slowed.len(), refused.len()), (64, 36));
    assert!(refused.iter().all(|status| *status == 429), "{refused:?}");
}
