use std::{os::unix::fs::PermissionsExt as _, path::Path, time::Duration};

use futures_util::future::join_all;
use http::{HeaderMap, header};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolbay_access::{Authenticator as _, proxy::StoredLogin};

use super::world::{Browser, LOOPBACK, Login, VERIFIER, WEB, World, ada, basic, bob, form_request};

fn token<'a>(tokens: &'a Value, name: &str) -> &'a str {
    tokens[name].as_str().unwrap_or_else(|| panic!("{tokens}"))
}

#[tokio::test]
async fn a_code_becomes_tokens_that_the_hub_accepts() {
    let world = World::start().await;
    let (_, tokens) = world.tokens(LOOPBACK).await;
    assert_eq!(
        (&tokens["token_type"], &tokens["expires_in"], &tokens["scope"]),
        (&"Bearer".into(), &900.into(), &"mcp".into())
    );
    let access = world.proxy.known(token(&tokens, "access_token")).unwrap();
    assert_eq!(access.principal.as_str(), format!("user:{}#ada", world.provider.issuer));
    assert!(access.expires.is_some() && !access.revoked.is_cancelled());
    // No other text is a token, and the tokens of others are left to others.
    assert!(world.access(token(&tokens, "refresh_token")).await.is_none());
    assert!(world.proxy.authenticate("tbpa_guess").await.unwrap().is_err());
    assert!(world.proxy.authenticate("eyJhbGciOi.x.y").await.is_none());
    assert!(world.proxy.authenticate("").await.is_none());
}

#[tokio::test]
async fn token_responses_are_not_cached_and_errors_are_those_of_rfc_6749() {
    let world = World::start().await;
    let login = Login::new(world.register(LOOPBACK).await, LOOPBACK);
    let form = [("grant_type", "password"), ("client_id", login.client_id.as_str())];
    let response = world.proxy.respond(form_request("/oauth/token", &form, &HeaderMap::new())).await;
    assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store");
    for (form, expected) in [
        (vec![("grant_type", "password"), ("client_id", "c")], "unsupported_grant_type"),
        (vec![("client_id", "c")], "invalid_request"),
        (vec![("grant_type", "refresh_token"), ("client_id", "c")], "invalid_request"),
        (vec![("grant_type", "refresh_token")], "invalid_request"),
        (vec![("grant_type", "refresh_token"), ("client_id", "c"), ("refresh_token", "x")], "invalid_grant"),
        (vec![("grant_type", "refresh_token"), ("client_id", "c"), ("client_id", "d")], "invalid_request"),
        (vec![("grant_type", "authorization_code"), ("client_id", "c"), ("code", "x")], "invalid_grant"),
    ] {
        let (status, body) = world.post_form("/oauth/token", &form).await;
        assert_eq!((status, body["error"].as_str()), (400, Some(expected)), "{form:?}");
    }
    let headers = HeaderMap::from_iter([(header::AUTHORIZATION, basic("c", "p").parse().unwrap())]);
    let response = world.proxy.respond(form_request("/oauth/token", &form, &headers)).await;
    assert_eq!(response.status(), 401);
    assert_eq!(world.post_json("/oauth/token", "{}").await.1["error"], "invalid_request");
}

/// A code that was stolen on its way is of no use, and a code of another client cannot be injected.
#[tokio::test]
async fn a_code_is_bound_to_client_address_verifier_and_resource() {
    let world = World::start().await;
    let other = world.register(LOOPBACK).await;
    for changed in [
        ("client_id", other.as_str()),
        ("redirect_uri", "http://127.0.0.1:1/cb"),
        ("redirect_uri", ""),
        ("code_verifier", "another-verifier-of-at-least-forty-three-characters"),
        ("code_verifier", ""),
        ("code_verifier", "short"),
        ("resource", "https://hub.example/other"),
    ] {
        let login = Login::new(world.register(LOOPBACK).await, LOOPBACK);
        let code = Browser::default().log_in(&world, &login).await;
        let (status, body) = world.exchange(&login, &code, &[changed]).await;
        assert_eq!((status, body["error"].as_str()), (400, Some("invalid_grant")), "{changed:?} {body}");
        // It was used up.
        assert_eq!(world.exchange(&login, &code, &[]).await.0, 400, "{changed:?}");
    }
    let login = Login::new(world.register(LOOPBACK).await, LOOPBACK);
    let code = Browser::default().log_in(&world, &login).await;
    let (_, body) = world.exchange(&login, &code, &[("resource", "https://other.example/mcp")]).await;
    assert_eq!(body["error"], "invalid_target");
}

#[tokio::test]
async fn a_code_that_is_sent_twice_ends_the_login() {
    let world = World::start().await;
    let login = Login::new(world.register(LOOPBACK).await, LOOPBACK);
    let code = Browser::default().log_in(&world, &login).await;
    let (_, tokens) = world.exchange(&login, &code, &[]).await;
    let access = world.access(token(&tokens, "access_token")).await.unwrap();
    assert_eq!(world.exchange(&login, &code, &[]).await.1["error"], "invalid_grant");
    assert!(access.revoked.is_cancelled());
    assert!(world.access(token(&tokens, "access_token")).await.is_none());
    assert_eq!(world.refresh(&login, token(&tokens, "refresh_token")).await.0, 400);
    // At once: never two sets of tokens that count.
    let code = Browser::default().log_in(&world, &login).await;
    let answers = join_all((0..20).map(|_| world.exchange(&login, &code, &[]))).await;
    let good: Vec<_> = answers.iter().filter(|(status, _)| *status == 200).collect();
    assert_eq!(good.len(), 1);
    assert!(world.access(token(&good[0].1, "access_token")).await.is_none());
}

#[tokio::test]
async fn a_code_expires_after_a_minute() {
    let world = World::start().await;
    let login = Login::new(world.register(LOOPBACK).await, LOOPBACK);
    let code = Browser::default().log_in(&world, &login).await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(world.exchange(&login, &code, &[]).await.1["error"], "invalid_grant");
}

#[tokio::test]
async fn refresh_tokens_are_replaced_and_one_that_is_used_twice_ends_the_login() {
    let world = World::start().await;
    let (login, first) = world.tokens(LOOPBACK).await;
    let (status, second) = world.refresh(&login, token(&first, "refresh_token")).await;
    assert_eq!(status, 200);
    assert_ne!(first["refresh_token"], second["refresh_token"]);
    // Requests under way go on with the old access token.
    for tokens in [&first, &second] {
        assert!(world.access(token(tokens, "access_token")).await.is_some());
    }
    let (_, third) = world.refresh(&login, token(&second, "refresh_token")).await;
    assert!(world.access(token(&first, "access_token")).await.is_none(), "two are enough");
    let access = world.access(token(&third, "access_token")).await.unwrap();
    // A thief uses the first one.
    let (status, body) = world.refresh(&login, token(&first, "refresh_token")).await;
    assert_eq!((status, body["error"].as_str()), (400, Some("invalid_grant")));
    assert!(access.revoked.is_cancelled());
    for tokens in [&first, &second, &third] {
        assert!(world.access(token(tokens, "access_token")).await.is_none());
        assert_eq!(world.refresh(&login, token(tokens, "refresh_token")).await.0, 400);
    }
}

#[tokio::test]
async fn a_refresh_token_is_that_of_one_client_and_gives_no_more_scopes() {
    let world = World::start().await;
    let (login, tokens) = world.tokens(LOOPBACK).await;
    let other = Login::new(world.register(LOOPBACK).await, LOOPBACK);
    assert_eq!(world.refresh(&other, token(&tokens, "refresh_token")).await.1["error"], "invalid_grant");
    let mut form = vec![
        ("grant_type", "refresh_token"),
        ("refresh_token", token(&tokens, "refresh_token")),
        ("client_id", &login.client_id),
    ];
    form.push(("scope", "mcp admin"));
    assert_eq!(world.post_form("/oauth/token", &form).await.1["error"], "invalid_scope");
    form.pop();
    form.push(("resource", "https://other.example/mcp"));
    assert_eq!(world.post_form("/oauth/token", &form).await.1["error"], "invalid_target");
    assert_eq!(
        world.refresh(&login, token(&tokens, "refresh_token")).await.0,
        200,
        "none of this used it up"
    );
}

#[tokio::test]
async fn logins_survive_a_restart_and_are_stored_as_hashes_that_only_the_owner_reads() {
    let mut world = World::start().await;
    let (login, tokens) = world.tokens(LOOPBACK).await;
    world.restart();
    assert!(world.access(token(&tokens, "access_token")).await.is_some());
    let (status, new) = world.refresh(&login, token(&tokens, "refresh_token")).await;
    assert_eq!(status, 200);
    world.restart();
    assert_eq!(
        world.refresh(&login, token(&tokens, "refresh_token")).await.0,
        400,
        "the old one ends it, also now"
    );
    assert!(world.access(token(&new, "access_token")).await.is_none());
    let (_, tokens) = world.tokens(WEB).await;
    let secret = token(&tokens, "refresh_token").split('.').nth(1).unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let mut seen = 0;
    let mut folders = vec![world.directory.path().join("proxy")];
    while let Some(folder) = folders.pop() {
        assert_eq!(mode(&folder), 0o700);
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            assert_eq!(mode(&path), 0o600, "{}", path.display());
            let text = std::fs::read_to_string(&path).unwrap();
            for secret in [secret, token(&tokens, "access_token"), "hub-password", "provider-token", VERIFIER]
            {
                assert!(!text.contains(secret), "{}", path.display());
            }
            seen += 1;
        }
    }
    assert!(seen >= 3, "{seen}");
    assert!(!format!("{:?}", world.proxy).contains("hub-password"));
}

#[tokio::test]
async fn a_person_who_may_not_use_the_hub_any_more_loses_their_logins_with_a_restart() {
    let mut world = World::start().await;
    let (login, tokens) = world.tokens(LOOPBACK).await;
    let path = world.directory.path().join("proxy/logins");
    let file = path.read_dir().unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("ada@a.example", "ada@b.example")).unwrap();
    world.restart();
    assert!(world.access(token(&tokens, "access_token")).await.is_none());
    assert_eq!(world.refresh(&login, token(&tokens, "refresh_token")).await.0, 400);
    assert_eq!(path.read_dir().unwrap().count(), 0);
    // A file that cannot be read is left alone.
    std::fs::write(path.join("x.json"), "{").unwrap();
    world.restart();
    assert_eq!(path.read_dir().unwrap().count(), 1);
}

#[tokio::test]
async fn both_kinds_of_tokens_can_be_revoked_and_streams_are_closed() {
    let world = World::start().await;
    for kind in ["access_token", "refresh_token"] {
        let (login, tokens) = world.tokens(LOOPBACK).await;
        let access = world.access(token(&tokens, "access_token")).await.unwrap();
        let revoke = async |client_id: &str| {
            world
                .post_form("/oauth/revoke", &[("token", token(&tokens, kind)), ("client_id", client_id)])
                .await
                .0
        };
        assert_eq!(revoke("another").await, 200);
        assert!(!access.revoked.is_cancelled(), "a client revoked the token of another");
        assert_eq!(revoke(&login.client_id).await, 200);
        assert!(access.revoked.is_cancelled());
        assert!(world.access(token(&tokens, "access_token")).await.is_none());
        assert_eq!(world.refresh(&login, token(&tokens, "refresh_token")).await.0, 400);
        assert_eq!(revoke(&login.client_id).await, 200, "it is revoked already");
    }
    assert_eq!(world.post_form("/oauth/revoke", &[("token", "unknown"), ("client_id", "c")]).await.0, 200);
    assert_eq!(world.post_form("/oauth/revoke", &[("client_id", "c")]).await.0, 400);
    assert_eq!(world.directory.path().join("proxy/logins").read_dir().unwrap().count(), 0);
}

/// As `toolbay auth revoke` does it, beside the running hub.
#[tokio::test]
async fn a_login_that_is_ended_in_its_file_is_refused_within_a_second() {
    let world = World::start().await;
    let stop = CancellationToken::new();
    let (_, kept) = world.tokens(LOOPBACK).await;
    world.provider.rules().user = bob();
    let (login, tokens) = world.tokens(LOOPBACK).await;
    let directory = world.directory.path().join("proxy");
    let mut logins = StoredLogin::list(&directory).unwrap();
    assert!(!format!("{logins:?}").contains(token(&tokens, "refresh_token").split('.').next().unwrap()));
    assert_eq!(logins.len(), 2);
    logins.retain(|stored| stored.client_id == login.client_id);
    let access = world.access(token(&tokens, "access_token")).await.unwrap();
    let removed = async {
        tokio::time::sleep(Duration::from_millis(700)).await;
        assert!(!access.revoked.is_cancelled());
        logins[0].end(&directory).unwrap();
        tokio::time::timeout(Duration::from_secs(1), access.revoked.cancelled()).await.unwrap();
        stop.cancel();
    };
    tokio::join!(world.proxy.maintain(stop.clone()), removed);
    assert!(world.access(token(&tokens, "access_token")).await.is_none());
    assert!(world.access(token(&kept, "access_token")).await.is_some());
    assert_eq!(StoredLogin::list(&directory).unwrap().len(), 1);
    world.provider.rules().user = ada();
}

#[tokio::test]
async fn tokens_expire() {
    let world = World::with(|settings| settings.access_token_lifetime = Duration::from_secs(1)).await;
    let (login, tokens) = world.tokens(LOOPBACK).await;
    let access = world.access(token(&tokens, "access_token")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(2100)).await;
    assert!(access.expires.unwrap() < std::time::SystemTime::now());
    let refusal = world.proxy.authenticate(token(&tokens, "access_token")).await.unwrap().unwrap_err();
    assert!(refusal.to_string().contains("expired"));
    assert_eq!(world.refresh(&login, token(&tokens, "refresh_token")).await.0, 200);
    // However often it is used, a login ends.
    let world = World::with(|settings| settings.login_lifetime = Duration::from_secs(1)).await;
    let (login, tokens) = world.tokens(LOOPBACK).await;
    tokio::time::sleep(Duration::from_millis(2100)).await;
    assert_eq!(world.refresh(&login, token(&tokens, "refresh_token")).await.1["error"], "invalid_grant");
}

/// A refresh that cannot be saved must not cost the login.
#[tokio::test]
async fn a_refresh_that_cannot_be_saved_leaves_the_old_token_valid() {
    let world = World::start().await;
    let (login, tokens) = world.tokens(LOOPBACK).await;
    let (path, away) = (world.directory.path().join("proxy/logins"), world.directory.path().join("away"));
    let file = path.read_dir().unwrap().next().unwrap().unwrap().path();
    // A directory in place of the file: it can be neither replaced nor read. Then the file is back.
    std::fs::rename(&path, &away).unwrap();
    std::fs::write(&path, "").unwrap();
    assert_eq!(world.refresh(&login, token(&tokens, "refresh_token")).await.0, 503);
    std::fs::remove_file(&path).unwrap();
    std::fs::rename(&away, &path).unwrap();
    assert!(file.exists());
    let mut world = world;
    world.restart();
    assert_eq!(world.refresh(&login, token(&tokens, "refresh_token")).await.0, 200);
}

#[tokio::test]
async fn a_person_has_so_many_logins_and_the_oldest_makes_room() {
    let world = World::start().await;
    let login = Login::new(world.register(LOOPBACK).await, LOOPBACK);
    let mut all = Vec::new();
    let mut browser = Browser::default();
    for number in 0..102 {
        if number % 40 == 39 {
            // Logins are begun at a limited rate.
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(60)).await;
            tokio::time::resume();
        }
        let code = browser.log_in(&world, &login).await;
        all.push(world.exchange(&login, &code, &[]).await.1);
    }
    assert_eq!(world.directory.path().join("proxy/logins").read_dir().unwrap().count(), 100);
    assert!(world.access(token(&all[101], "access_token")).await.is_some());
}
