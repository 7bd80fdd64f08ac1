//! Keys that rotate, keys that nobody knows, and outages.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use serde_json::json;
use toolbay_access::{Authenticator as _, Refusal};
use toolbay_testkit::TestAlgorithm;

use crate::world::{HUB, World};

/// Sixteen clients with ever new tokens, while the issuer rotates its key: none is refused, and it is asked once for each key.
#[tokio::test]
async fn keys_rotate_under_load_and_no_token_is_refused() {
    let world = Arc::new(World::start().await);
    let mut verified = 0;
    for round in 0..4 {
        let clients = (0..16).map(|client| {
            let world = world.clone();
            async move {
                for call in 0..25 {
                    let token = world.token(&format!("user-{client}-{call}"));
                    assert_eq!(world.refusal(&token).await, "accepted", "round {round}");
                    tokio::task::yield_now().await;
                }
                25
            }
        });
        verified += join_all(clients).await.into_iter().sum::<u32>();
        world.issuer.rotate(TestAlgorithm::Es256);
        world.issuer.withdraw_former_keys();
    }
    let requests = world.issuer.key_requests();
    println!("{verified} tokens verified with 4 keys; the keys were requested {requests} times");
    assert_eq!((verified, requests), (1600, 4));
}

#[tokio::test]
async fn a_flood_of_unknown_keys_is_bounded_and_good_tokens_stay_good() {
    let world = World::start().await;
    assert!(world.is_accepted(&world.token("alice")).await);
    let unknown = |name: String| {
        world.issuer.sign_with(|header| header["kid"] = json!(name), &world.issuer.claims("eve", HUB))
    };
    // The same one: one request, then it is remembered.
    for _ in 0..100 {
        assert!(world.refusal(&unknown("other".into())).await.contains("unknown key"));
    }
    assert_eq!(world.issuer.key_requests(), 2);
    for index in 0..2000 {
        assert!(world.refusal(&unknown(format!("other-{index}"))).await.contains("unknown key"));
    }
    let requests = world.issuer.key_requests();
    println!("2,100 tokens with unknown keys: the keys were requested {requests} times");
    assert!(requests <= 6, "{requests}");
    assert!(world.is_accepted(&world.token("bob")).await);
}

#[tokio::test]
async fn known_keys_keep_working_while_the_issuer_is_down() {
    let world = World::start().await;
    assert!(world.is_accepted(&world.token("alice")).await);
    world.issuer.set_down(true);
    assert!(world.is_accepted(&world.token("bob")).await);
    // An unknown key may be a new one: that cannot be found out now.
    let claims = world.issuer.claims("carol", HUB);
    let unknown = world.issuer.sign_with(|header| header["kid"] = json!("new"), &claims);
    assert!(matches!(world.access(&unknown).await, Err(Refusal::Unavailable(_))));
    let status = world.hub.status();
    assert_eq!((status.keys, status.failures), (Some(1), 1));
    assert!(status.error.unwrap().contains("503"));
    assert!(world.is_accepted(&world.token("dave")).await);
    // While it waits to try again, nothing is requested.
    let requests = world.issuer.key_requests();
    for _ in 0..50 {
        assert!(matches!(world.access(&unknown).await, Err(Refusal::Unavailable(_))));
    }
    assert_eq!(world.issuer.key_requests(), requests);
    world.issuer.set_down(false);
    world.issuer.rotate(TestAlgorithm::EdDsa);
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert!(world.is_accepted(&world.token("erin")).await);
    assert_eq!(world.hub.status().failures, 0);
}

#[tokio::test]
async fn an_issuer_that_was_never_reached_is_unavailable_and_then_works() {
    let world = World::start().await;
    world.issuer.set_down(true);
    assert!(matches!(world.access(&world.token("alice")).await, Err(Refusal::Unavailable(_))));
    world.issuer.set_down(false);
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert!(world.is_accepted(&world.token("alice")).await);
}

#[tokio::test]
async fn many_first_requests_read_the_keys_once() {
    let world = World::start().await;
    world.issuer.set_delay(Duration::from_millis(50));
    let tokens: Vec<String> = (0..100).map(|user| world.token(&format!("user-{user}"))).collect();
    let accepted = join_all(tokens.iter().map(|token| world.is_accepted(token))).await;
    assert!(accepted.into_iter().all(|is_accepted| is_accepted));
    assert_eq!(world.issuer.key_requests(), 1);
}

/// A client that disconnects while the keys are read must not end that for the others.
#[tokio::test]
async fn keys_are_read_to_the_end_when_the_request_is_dropped() {
    let world = World::start().await;
    world.issuer.set_delay(Duration::from_millis(50));
    let token = world.token("alice");
    let dropped = tokio::time::timeout(Duration::from_millis(10), world.hub.authenticate(&token)).await;
    assert!(dropped.is_err());
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!((world.hub.status().keys, world.issuer.key_requests()), (Some(1), 1));
}
