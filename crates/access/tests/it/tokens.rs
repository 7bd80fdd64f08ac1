//! Which tokens are accepted.

use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use toolbay_access::{Authenticator as _, Principal, Rights};
use toolbay_testkit::TestAlgorithm;

use crate::world::{HUB, World};

#[tokio::test]
async fn a_good_token_says_who_calls_and_is_known_from_then_on() {
    let world = World::start().await;
    let token = world.token("alice");
    assert!(world.hub.known(&token).is_none());
    let access = world.access(&token).await.unwrap();
    assert_eq!(access.principal, Principal::user(world.issuer.url(), "alice"));
    assert_eq!(access.rights, Rights::default());
    let left = access.expires.unwrap().duration_since(SystemTime::now()).unwrap();
    assert!(left > Duration::from_secs(3600) && left <= Duration::from_secs(3660), "{left:?}");
    let requests = world.issuer.key_requests();
    assert!(std::sync::Arc::ptr_eq(&access, &world.hub.known(&token).unwrap()));
    assert_eq!((requests, world.issuer.key_requests()), (1, 1));
}

#[tokio::test]
async fn every_accepted_algorithm_works() {
    let mut accepted = 0;
    for algorithm in TestAlgorithm::ALL {
        let world = World::start().await;
        world.issuer.rotate(algorithm);
        let found = world.access(&world.token("alice")).await;
        assert!(found.is_ok(), "{algorithm:?}: {found:?}");
        // Without a name, all keys of that kind are tried.
        let unnamed =
            world.issuer.sign_with(|header| header["kid"] = json!(null), &world.issuer.claims("bob", HUB));
        assert!(world.is_accepted(&unnamed).await, "{algorithm:?}");
        accepted += 1;
    }
    assert_eq!(accepted, 9);
}

#[tokio::test]
async fn whatever_is_wrong_about_a_token_is_found_and_said() {
    let world = World::start().await;
    let claims = |change: &dyn Fn(&mut Value)| {
        let mut claims = world.issuer.claims("alice", HUB);
        change(&mut claims);
        claims
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let sign = |change: &dyn Fn(&mut Value)| world.issuer.sign(&claims(change));
    for good in [
        sign(&|_| {}),
        sign(&|it| it["exp"] = json!(now - 50)),
        sign(&|it| it["nbf"] = json!(now + 50)),
        sign(&|it| it["aud"] = json!(["https://other", HUB])),
        world.issuer.sign_with(|header| header["typ"] = json!("JWT"), &claims(&|_| {})),
    ] {
        assert_eq!(world.refusal(&good).await, "accepted");
    }
    let other = World::start().await;
    // What one issuer signed, with the signature of another.
    let (good, foreign) = (sign(&|_| {}), other.token("alice"));
    let forged = format!("{}.{}", good.rsplit_once('.').unwrap().0, foreign.rsplit_once('.').unwrap().1);
    for (expected, token) in [
        ("expired", sign(&|it| it["exp"] = json!(now - 61))),
        ("not valid yet", sign(&|it| it["nbf"] = json!(now + 90))),
        ("another audience", sign(&|it| it["aud"] = json!("https://hub.example.com/mcp/"))),
        ("another audience", sign(&|it| it["aud"] = json!(["https://other"]))),
        ("another issuer", sign(&|it| it["iss"] = json!("https://other"))),
        ("another issuer", other.token("alice")),
        ("who calls", sign(&|it| it["sub"] = json!(null))),
        ("algorithm", world.issuer.unsigned(&claims(&|_| {}))),
        ("algorithm", world.issuer.signed_with_public_key(&claims(&|_| {}))),
        ("signature", forged),
        ("not an access token", world.issuer.sign_with(|it| it["typ"] = json!("dpop+jwt"), &claims(&|_| {}))),
        ("extensions", world.issuer.sign_with(|it| it["crit"] = json!(["x"]), &claims(&|_| {}))),
        ("unknown key", world.issuer.sign_with(|it| it["kid"] = json!("other"), &claims(&|_| {}))),
        // The key is there, but for another algorithm.
        ("unknown key", world.issuer.sign_with(|it| it["alg"] = json!("RS256"), &claims(&|_| {}))),
        ("bound to a key", sign(&|it| it["cnf"] = json!({"jkt": "x"}))),
    ] {
        let found = world.refusal(&token).await;
        assert!(found.contains(expected), "{expected}: {found}");
        assert!(!found.contains(&token), "a refusal must not contain the token");
        assert!(world.hub.known(&token).is_none());
    }
}

/// The RSA public key is known to all; it must not count as a shared key.
#[tokio::test]
async fn a_public_rsa_key_is_no_shared_key() {
    let world = World::start().await;
    world.issuer.rotate(TestAlgorithm::Rs256);
    let claims = world.issuer.claims("alice", HUB);
    assert!(world.is_accepted(&world.issuer.sign(&claims)).await);
    assert!(world.refusal(&world.issuer.signed_with_public_key(&claims)).await.contains("algorithm"));
}

#[tokio::test]
async fn a_huge_token_is_refused_before_any_work() {
    let world = World::start().await;
    let mut claims = world.issuer.claims("alice", HUB);
    claims["padding"] = json!("x".repeat(1024 * 1024));
    let token = world.issuer.sign(&claims);
    let began = Instant::now();
    for _ in 0..1000 {
        assert!(world.refusal(&token).await.contains("more than"));
    }
    assert!(began.elapsed() < Duration::from_secs(1), "{:?} for 1,000", began.elapsed());
    assert_eq!(world.issuer.key_requests(), 0);
}

#[tokio::test]
async fn tokens_of_other_kinds_are_left_to_others() {
    let world = World::start().await;
    for token in ["", "opaque", "a.b", "a.b.c", "tb_0123456789"] {
        assert!(world.hub.known(token).is_none());
        assert!(world.hub.authenticate(token).await.is_none(), "{token}");
    }
    assert_eq!(world.issuer.key_requests(), 0);
}
