//! Issuers that are asked about tokens.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use toolbay_access::{Authenticator as _, Principal, Refusal};

use crate::world::{HUB, World};

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn an_active_token_is_accepted_and_the_issuer_is_asked_once() {
    let world = World::introspecting(LONG).await;
    world.issuer.introspects("opaque", Some(world.issuer.claims("alice", HUB)));
    let all = join_all((0..50).map(|_| world.access("opaque"))).await;
    let requests = world.issuer.requests("/introspect");
    for access in all {
        assert_eq!(access.unwrap().principal, Principal::user(world.issuer.url(), "alice"));
    }
    assert!(requests <= 16, "{requests}: those that began at the same time, at most");
    assert!(world.is_accepted("opaque").await && world.hub.known("opaque").is_some());
    assert_eq!(world.issuer.requests("/introspect"), requests);
}

#[tokio::test]
async fn tokens_that_are_inactive_or_for_others_are_refused() {
    let world = World::introspecting(LONG).await;
    let with = |name: &str, value| {
        let mut claims = world.issuer.claims("alice", HUB);
        claims[name] = value;
        Some(claims)
    };
    world.issuer.introspects("elsewhere", with("aud", json!("https://other")));
    world.issuer.introspects("nowhere", with("aud", json!(null)));
    world.issuer.introspects("foreign", with("iss", json!("https://other")));
    world.issuer.introspects("expired", with("exp", json!(1)));
    world.issuer.introspects("bound", with("cnf", json!({"jkt": "x"})));
    for (token, expected) in [
        ("unknown", "not valid"),
        ("elsewhere", "another audience"),
        ("nowhere", "another audience"),
        ("foreign", "another issuer"),
        ("expired", "expired"),
        ("bound", "bound to a key"),
    ] {
        let found = world.refusal(token).await;
        assert!(found.contains(expected), "{token}: {found}");
    }
    // That a token is not active is remembered, too.
    let requests = world.issuer.requests("/introspect");
    for _ in 0..100 {
        assert!(world.refusal("unknown").await.contains("not valid"));
    }
    assert_eq!(world.issuer.requests("/introspect"), requests);
}

#[tokio::test]
async fn a_revoked_token_is_refused_shortly_after_and_what_it_opened_ends() {
    let world = World::introspecting(Duration::from_millis(50)).await;
    world.issuer.introspects("opaque", Some(world.issuer.claims("alice", HUB)));
    let access = world.access("opaque").await.unwrap();
    world.issuer.introspects("opaque", None);
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert!(!access.revoked.is_cancelled());
    assert!(world.refusal("opaque").await.contains("not valid"));
    assert!(access.revoked.is_cancelled());
}

#[tokio::test]
async fn an_outage_is_no_refusal_and_no_acceptance() {
    let world = World::introspecting(LONG).await;
    world.issuer.introspects("known", Some(world.issuer.claims("alice", HUB)));
    assert!(world.is_accepted("known").await);
    world.issuer.set_down(true);
    assert!(world.is_accepted("known").await);
    assert!(matches!(world.access("new").await, Err(Refusal::Unavailable(_))));
    assert_eq!(world.hub.status().failures, 1);
    world.issuer.set_down(false);
    world.issuer.require_authorization("Basic x");
    assert!(matches!(world.access("new").await, Err(Refusal::Unavailable(_))));
    let error = world.hub.status().error.unwrap();
    assert!(error.contains("credentials") && !error.contains("s3cret"), "{error}");
    assert!(!format!("{:?}", world.hub).contains("s3cret"));
}
