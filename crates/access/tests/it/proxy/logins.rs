use std::time::Duration;

use serde_json::json;
use toolbay_access::Tier;

use super::world::{
    Browser, HUB, LOOPBACK, Login, WEB, World, basic, hidden, location, pairs, refresh_target, text,
};

/// A login until the person comes back; what the client is told.
async fn told(world: &World) -> std::collections::BTreeMap<String, String> {
    let login = Login::new(world.register(WEB).await, WEB);
    let mut browser = Browser::default();
    let page = browser.get(world, &login.url()).await;
    let back = browser.finish(world, &page).await;
    assert_eq!(back.status(), 303, "{}", text(&back));
    assert!(location(&back).as_str().starts_with("https://app.example/cb?"));
    pairs(location(&back).query().unwrap().as_bytes())
}

#[tokio::test]
async fn the_hub_is_one_client_of_the_provider() {
    let world = World::start().await;
    let parameters = told(&world).await;
    assert!(!parameters["code"].starts_with("provider"));
    assert_eq!((&*parameters["iss"], &*parameters["state"]), (HUB, "client-state"));
    let state = world.provider.state();
    let asked = &state.authorizations[0];
    assert_eq!(asked["client_id"], "hub-at-provider");
    assert_eq!(asked["redirect_uri"], format!("{HUB}/oauth/callback"));
    assert_eq!(asked["scope"], "email openid profile");
    assert_eq!(asked["code_challenge_method"], "S256");
    assert_ne!(asked["state"], "client-state");
    assert!(!asked.contains_key("resource"));
    assert_eq!(state.exchanges[0].1, basic("hub-at-provider", "hub-password"));
}

#[tokio::test]
async fn requests_that_are_not_safe_are_refused_at_the_client() {
    let world = World::start().await;
    let login = Login::new(world.register(LOOPBACK).await, LOOPBACK);
    let unsafe_requests = [
        (login.changed("code_challenge", ""), "invalid_request"),
        (login.changed("code_challenge_method", "plain"), "invalid_request"),
        (login.changed("code_challenge_method", ""), "invalid_request"),
        (login.changed("code_challenge", "short"), "invalid_request"),
        (login.changed("response_type", "token"), "unsupported_response_type"),
        (login.changed("response_type", ""), "invalid_request"),
        (login.changed("response_mode", "fragment"), "invalid_request"),
        (login.changed("resource", "https://other.example/mcp"), "invalid_target"),
        (login.changed("resource", "https://hub.example.evil.example/mcp"), "invalid_target"),
        (login.changed("resource", "http://hub.example/mcp"), "invalid_target"),
        (login.changed("resource", "https://hub.example/mcp#x"), "invalid_target"),
        (login.changed("request", "x.y.z"), "request_not_supported"),
        (login.changed("request_uri", "https://evil.example"), "request_uri_not_supported"),
        (login.changed("prompt", "none"), "interaction_required"),
    ];
    for (login, expected) in unsafe_requests {
        let response = Browser::default().get(&world, &login.url()).await;
        assert_eq!(response.status(), 303, "{login:?} {}", text(&response));
        let parameters = pairs(location(&response).query().unwrap().as_bytes());
        assert_eq!(parameters["error"], expected, "{login:?}");
        assert_eq!((&*parameters["state"], &*parameters["iss"]), ("client-state", HUB));
    }
    for (twice, status) in
        [("state=x", 303), ("scope=x", 303), ("client_id=x", 400), ("redirect_uri=https://evil.example", 400)]
    {
        let response = Browser::default().get(&world, &format!("{}&{twice}", login.url())).await;
        assert_eq!(response.status(), status, "{twice}");
    }
    assert!(world.provider.state().authorizations.is_empty());
    // A site is gone to only by a click: anyone can register one.
    let site = Login::new(world.register(WEB).await, WEB).changed("response_type", "token");
    let response = Browser::default().get(&world, &site.url()).await;
    assert!(
        response.status() == 400 && text(&response).contains("href=\"https://app.example/cb?error="),
        "{}",
        text(&response)
    );
}

#[tokio::test]
async fn a_login_belongs_to_the_browser_that_began_it_and_is_used_once() {
    let world = World::start().await;
    let login = Login::new(world.register(WEB).await, WEB);
    // An attacker begins a login and sends the rest to a victim: the victim's account would be the attacker's client's.
    let mut attacker = Browser::default();
    let page = attacker.get(&world, &login.url()).await;
    let next = attacker.decide(&world, &page, "allow").await;
    let callback = Browser::at_provider(&world, &refresh_target(&next)).await;
    let response = Browser::default().get(&world, &callback).await;
    assert_eq!(response.status(), 400, "{}", text(&response));
    assert_eq!(attacker.get(&world, &callback).await.status(), 400, "it was used");
    // A cookie of another login does not count.
    let mut browser = Browser::default();
    browser.get(&world, &login.url()).await;
    let begin = async |browser: &mut Browser| {
        let page = browser.get(&world, &login.url()).await;
        let next = browser.decide(&world, &page, "allow").await;
        Browser::at_provider(&world, &refresh_target(&next)).await
    };
    let (first, second) = (begin(&mut browser).await, begin(&mut browser).await);
    assert_eq!(browser.get(&world, &second).await.status(), 303, "two logins at once");
    let names: Vec<String> = browser.cookies.keys().filter(|name| name.contains("login-")).cloned().collect();
    assert_eq!(names.len(), 1, "that of the finished login is removed");
    assert_eq!(browser.get(&world, &first).await.status(), 303);
    for replay in [first, second] {
        assert_eq!(browser.get(&world, &replay).await.status(), 400);
    }
    for query in ["", "?code=x", "?code=x&state=guess", "?error=access_denied"] {
        assert_eq!(
            browser.get(&world, &format!("{HUB}/oauth/callback{query}")).await.status(),
            400,
            "{query}"
        );
    }
}

#[tokio::test]
async fn a_login_is_not_finished_after_ten_minutes() {
    let world = World::start().await;
    let login = Login::new(world.register(WEB).await, WEB);
    let mut browser = Browser::default();
    let page = browser.get(&world, &login.url()).await;
    let next = browser.decide(&world, &page, "allow").await;
    let callback = Browser::at_provider(&world, &refresh_target(&next)).await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(601)).await;
    assert_eq!(browser.get(&world, &callback).await.status(), 400);
}

#[tokio::test]
async fn responses_of_the_provider_are_checked() {
    let world = World::start().await;
    for (claims, expected) in [
        (json!({ "nonce": "other" }), "nonce"),
        (json!({ "aud": "other" }), "aud"),
        (json!({ "aud": ["hub-at-provider", "other"] }), "azp"),
        (json!({ "azp": "other" }), "azp"),
        (json!({ "iss": "https://evil.example" }), "iss"),
        (json!({ "exp": 1_600_000_000 }), "expired"),
        (json!({ "sub": "" }), "sub"),
    ] {
        world.provider.rules().id_token = claims;
        let parameters = told(&world).await;
        assert!(
            parameters["error"] == "server_error" && parameters["error_description"].contains(expected),
            "{parameters:?}"
        );
    }
    world.provider.rules().id_token = json!({});
    // Mix-up: the response of another provider.
    for (iss, expected) in
        [(Some("https://evil.example"), "another authorization server"), (None, "where it comes from")]
    {
        world.provider.rules().iss = iss.map(str::to_owned);
        let before = world.provider.state().exchanges.len();
        assert!(told(&world).await["error_description"].contains(expected));
        assert_eq!(world.provider.state().exchanges.len(), before, "the code was sent to the provider");
    }
    world.provider.rules().iss = Some("{issuer}".to_owned());
    world.provider.rules().user_info = json!({ "sub": "mallory" });
    assert!(told(&world).await["error_description"].contains("another person"));
    world.provider.rules().user_info = json!({});
    world.provider.rules().error = Some("access_denied");
    assert_eq!(told(&world).await["error"], "access_denied");
}

#[tokio::test]
async fn a_provider_that_is_down_is_told_to_the_client() {
    let world = World::start().await;
    world.provider.rules().is_down = true;
    let login = Login::new(world.register(WEB).await, WEB);
    let mut browser = Browser::default();
    let page = browser.get(&world, &login.url()).await;
    let next = browser.decide(&world, &page, "allow").await;
    let target = refresh_target(&next);
    assert!(target.starts_with("https://app.example/cb?error="), "{target}");
    world.provider.rules().is_down = false;
    browser.log_in(&world, &login).await;
}

#[tokio::test]
async fn only_those_who_may_use_the_hub_get_a_code() {
    let world = World::start().await;
    for (user, expected) in [
        (
            json!({ "sub": "eve", "email": "eve@evil.example", "email_verified": true }),
            "eve@evil.example may not use this hub",
        ),
        (json!({ "sub": "eve", "email": "eve@a.example", "email_verified": false }), "has not verified"),
        (json!({ "sub": "eve" }), "may not use this hub"),
    ] {
        world.provider.rules().user = user;
        let parameters = told(&world).await;
        assert_eq!(parameters["error"], "access_denied");
        assert!(parameters["error_description"].contains(expected), "{parameters:?}");
        assert!(!parameters.contains_key("code"));
    }
    // The address may come from the user info alone.
    world.provider.rules().user = json!({ "sub": "eve" });
    world.provider.rules().user_info = json!({ "email": "eve@a.example", "email_verified": true });
    assert!(told(&world).await.contains_key("code"));
}

#[tokio::test]
async fn claims_and_scopes_say_what_a_person_may_do() {
    let world = World::with(|settings| {
        settings.policy.required_scopes.clear();
        settings.policy.scope_tiers =
            [("mcp".to_owned(), Tier::Read), ("mcp:all".to_owned(), Tier::Destructive)].into();
        settings.allowed =
            toolbay_access::proxy::AllowedUsers { groups: vec!["tools".to_owned()], ..Default::default() };
    })
    .await;
    // A scope of the provider is not one of the hub.
    world.provider.rules().user = json!({ "sub": "ada", "groups": ["tools"], "scope": "mcp:all" });
    for (scope, tier) in [
        ("mcp", Tier::Read),
        ("mcp:all", Tier::Destructive),
        ("mcp unknown", Tier::Read),
        ("", Tier::Destructive),
    ] {
        let login = Login::new(world.register(WEB).await, WEB).changed("scope", scope);
        let code = Browser::default().log_in(&world, &login).await;
        let (_, tokens) = world.exchange(&login, &code, &[]).await;
        let access = world.access(tokens["access_token"].as_str().unwrap()).await.unwrap();
        assert_eq!(access.rights.tier, tier, "{scope}");
        assert_eq!(access.principal.as_str(), format!("user:{}#ada", world.provider.issuer));
    }
    let login = Login::new(world.register(WEB).await, WEB).changed("scope", "unknown");
    let mut browser = Browser::default();
    let page = browser.get(&world, &login.url()).await;
    let back = browser.finish(&world, &page).await;
    assert_eq!(pairs(location(&back).query().unwrap().as_bytes())["error"], "invalid_scope");
}

#[tokio::test]
async fn no_more_logins_are_begun_than_there_is_room_for() {
    let world = World::start().await;
    let login = Login::new(world.register(WEB).await, WEB);
    let mut browser = Browser::default();
    let page = browser.get(&world, &login.url()).await;
    assert!(!hidden(&page).is_empty());
    browser.decide(&world, &page, "allow").await;
    tokio::time::pause();
    let mut statuses = Vec::new();
    for _ in 0..80 {
        statuses.push(browser.decide(&world, &page, "allow").await.status().as_u16());
    }
    let begun = statuses.iter().filter(|status| **status == 200).count();
    assert!((58..=62).contains(&begun) && statuses.contains(&503), "{begun}");
}
