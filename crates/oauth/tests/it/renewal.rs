use std::{sync::Arc, time::Duration};

use tempfile::tempdir;
use toolbay_oauth::{OAuthError, Scopes};

use crate::world::{Rules, World};

fn refreshes(world: &World) -> usize {
    world.requests("/token").iter().filter(|form| form["grant_type"] == "refresh_token").count()
}

#[tokio::test]
async fn an_expired_token_is_refreshed_without_the_user() {
    let (world, directory) =
        (World::start(Rules { expires_in: 1, ..Rules::default() }).await, tempdir().unwrap());
    let client = world.client(directory.path());
    assert_eq!(client.call("").await.unwrap(), 200);
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    // Many callers, one renewal, which is finished though the first caller goes away.
    let client = Arc::new(client);
    drop(tokio::time::timeout(Duration::from_millis(1), client.call("")).await);
    world.rules().expires_in = 3600;
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let client = client.clone();
            world.tasks.spawn(async move { client.call("").await.unwrap() })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), 200);
    }
    assert!((1..=2).contains(&refreshes(&world)), "{}", refreshes(&world));
    assert_eq!((world.requests("/authorize").len(), world.state().reused), (1, 0));
    assert_eq!(world.requests("/token").last().unwrap()["resource"], world.url());
}

#[tokio::test]
async fn a_revoked_token_is_replaced_and_a_lost_login_repeated() {
    let (world, directory) = (World::start(Rules::default()).await, tempdir().unwrap());
    let client = world.client(directory.path());
    assert_eq!(client.call("").await.unwrap(), 200);
    world.state().tokens.clear();
    assert_eq!(client.call("").await.unwrap(), 200);
    assert_eq!((refreshes(&world), world.requests("/authorize").len()), (1, 1));
    world.state().tokens.clear();
    world.state().refresh.clear();
    assert_eq!(client.call("").await.unwrap(), 200);
    assert_eq!(world.requests("/authorize").len(), 2);
}

#[tokio::test]
async fn without_a_refresh_token_the_user_logs_in_again() {
    let rules = Rules { has_refresh: false, expires_in: 2, ..Rules::default() };
    let (world, directory) = (World::start(rules).await, tempdir().unwrap());
    let client = world.client(directory.path());
    assert_eq!(client.call("").await.unwrap(), 200);
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    assert_eq!(client.call("").await.unwrap(), 200);
    assert_eq!((refreshes(&world), world.requests("/authorize").len()), (0, 2));
}

#[tokio::test]
async fn a_step_up_keeps_the_scopes_of_before() {
    let rules = Rules { challenge_scope: Some("read"), ..Rules::default() };
    let (world, directory) = (World::start(rules).await, tempdir().unwrap());
    let client = world.client(directory.path());
    assert_eq!(client.call("read").await.unwrap(), 200);
    assert_eq!(client.call("write").await.unwrap(), 200);
    let scopes: Vec<_> =
        world.requests("/authorize").iter().map(|request| Scopes::parse(&request["scope"])).collect();
    assert_eq!(scopes, [Scopes::parse("read"), Scopes::parse("read write")]);
}

#[tokio::test]
async fn a_server_that_is_never_content_does_not_ask_for_ever() {
    let rules = Rules { challenge_scope: Some("a"), is_scope_never_enough: true, ..Rules::default() };
    let (world, directory) = (World::start(rules).await, tempdir().unwrap());
    let client = world.client(directory.path());
    for scope in ["a", "b", "c", "d", "e"] {
        let error = client.call(scope).await.unwrap_err();
        assert!(matches!(*error, OAuthError::InsufficientScope { .. }), "{error}");
    }
    assert!(world.requests("/authorize").len() <= 3, "{}", world.requests("/authorize").len());
}

#[tokio::test]
async fn tokens_are_bound_to_a_key_where_the_server_wants_it() {
    for nonces in [false, true] {
        let rules = Rules { dpop: true, nonces, ..Rules::default() };
        let (world, directory) = (World::start(rules).await, tempdir().unwrap());
        let client = world.client(directory.path());
        assert_eq!(client.call("").await.unwrap(), 200);
        assert_eq!(client.call("").await.unwrap(), 200);
        world.state().tokens.clear();
        // After a restart, the key is still that of the token.
        assert_eq!(world.client(directory.path()).call("").await.unwrap(), 200);
        // A new process does not know the nonce, so its first request is refused.
        let expected = if nonces { 2 } else { 1 };
        assert_eq!((refreshes(&world), world.requests("/authorize").len()), (expected, 1));
        let proofs = std::mem::take(&mut world.state().proofs);
        assert!(proofs.iter().all(|proof| proof["htu"] == world.url() && proof["ath"].is_string()
            || proof["htu"] == format!("{}/token", world.issuers[0]) && proof["ath"].is_null()));
        assert!(proofs.len() >= if nonces { 7 } else { 5 }, "{proofs:?}");
    }
}
