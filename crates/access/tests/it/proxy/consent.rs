use bytes::Bytes;
use http::{HeaderMap, Request, header};
use serde_json::json;

use super::world::{
    Browser, HUB, LOOPBACK, Login, WEB, World, ada, bob, code, form_request, hidden, location, pairs,
    refresh_target, text,
};

#[tokio::test]
async fn the_page_names_client_scopes_and_address_and_cannot_be_framed() {
    let world = World::start().await;
    let body = json!({ "client_name": "<script>alert(1)</script>\u{202e}Evil", "redirect_uris": [WEB] });
    let (_, client) = world.post_json("/oauth/register", &body.to_string()).await;
    let login = Login::new(client["client_id"].as_str().unwrap().to_owned(), WEB);
    let page = Browser::default().get(&world, &login.url()).await;
    let shown = text(&page);
    for part in [
        "&lt;script&gt;alert(1)&lt;/script&gt;[U+202E]Evil",
        "app.example",
        "<li>mcp</li>",
        "not verified",
        "127.0.0.1",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(
        !shown.contains("<script") && !shown.contains("on your computer") && !shown.contains("src="),
        "{shown}"
    );
    let headers = page.headers();
    let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
    for part in [
        "default-src 'none'",
        "frame-ancestors 'none'",
        "form-action 'self'",
        "base-uri 'none'",
        "style-src 'sha256-",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"));
    assert_eq!(headers[header::X_FRAME_OPTIONS], "DENY");
    assert_eq!(headers[header::CACHE_CONTROL], "no-store");
    assert_eq!(headers[header::REFERRER_POLICY], "same-origin");
}

#[tokio::test]
async fn a_client_on_the_persons_machine_is_warned_about() {
    let world = World::start().await;
    let login = Login::new(world.register(LOOPBACK).await, LOOPBACK);
    let page = Browser::default().get(&world, &login.url()).await;
    assert!(text(&page).contains("Any program on your computer can pretend to be this one"));
    // Such a client is asked about each time, however often it was approved.
    let mut browser = Browser::default();
    browser.log_in(&world, &login).await;
    assert!(text(&browser.get(&world, &login.url()).await).contains("<form"));
}

/// Nothing is kept and nobody is sent to the provider before consent.
#[tokio::test]
async fn the_provider_hears_nothing_before_consent() {
    let world = World::start().await;
    let login = Login::new(world.register(WEB).await, WEB);
    let mut browser = Browser::default();
    let page = browser.get(&world, &login.url()).await;
    assert!(browser.cookies.keys().all(|name| name.starts_with("__Host-toolbay-consent-")), "{browser:?}");
    assert!(!text(&page).contains(&world.provider.issuer));
    let next = browser.decide(&world, &page, "allow").await;
    assert!(browser.cookies.keys().any(|name| name.starts_with("__Host-toolbay-login-")));
    assert!(refresh_target(&next).starts_with(&format!("{}/authorize?", world.provider.issuer)));
}

#[tokio::test]
async fn a_person_can_deny() {
    let world = World::start().await;
    let login = Login::new(world.register(WEB).await, WEB);
    let mut browser = Browser::default();
    let page = browser.get(&world, &login.url()).await;
    let next = browser.decide(&world, &page, "deny").await;
    let target = refresh_target(&next);
    let parameters = pairs(target.split_once('?').unwrap().1.as_bytes());
    assert!(target.starts_with("https://app.example/cb?"));
    assert_eq!(
        (&*parameters["error"], &*parameters["state"], &*parameters["iss"]),
        ("access_denied", "client-state", HUB)
    );
    assert!(world.provider.state().authorizations.is_empty());
}

#[tokio::test]
async fn no_other_site_and_no_other_browser_can_consent() {
    let world = World::start().await;
    let (login, other) =
        (Login::new(world.register(WEB).await, WEB), Login::new(world.register(WEB).await, WEB));
    let (mut victim, mut attacker) = (Browser::default(), Browser::default());
    let (page, page_of_attacker) =
        (victim.get(&world, &login.url()).await, attacker.get(&world, &login.url()).await);
    let page_of_other = victim.get(&world, &other.url()).await;
    let send = async |request: &str, decision: &str, headers: HeaderMap| {
        let form = [("request", request), ("decision", decision)];
        world.proxy.respond(form_request("/oauth/consent", &form, &headers)).await.status().as_u16()
    };
    let with = |name: &'static str, value: &'static str| {
        let mut headers = victim.headers();
        headers.insert(name, value.parse().unwrap());
        headers
    };
    // The form of the attacker with the cookies of the victim, no cookies, cookies of another page, another site.
    assert_eq!(send(&hidden(&page_of_attacker), "allow", victim.headers()).await, 403);
    assert_eq!(send(&hidden(&page), "allow", HeaderMap::new()).await, 403);
    assert_eq!(send(&hidden(&page), "allow", attacker.headers()).await, 403);
    assert_eq!(send(&hidden(&page), "allow", with("origin", "https://evil.example")).await, 403);
    assert_eq!(send(&hidden(&page), "allow", with("origin", "null")).await, 403);
    assert_eq!(send(&hidden(&page), "allow", with("sec-fetch-site", "cross-site")).await, 403);
    assert_eq!(send(&hidden(&page), "perhaps", victim.headers()).await, 403);
    assert_eq!(send("eyJ4IjoxfQ.AAAA", "allow", victim.headers()).await, 403);
    let (of_page, of_other) = (hidden(&page), hidden(&page_of_other));
    let mixed = format!("{}.{}", of_page.split('.').next().unwrap(), of_other.split('.').nth(1).unwrap());
    assert_eq!(send(&mixed, "allow", victim.headers()).await, 403);
    // The cookie of one client does not count for another.
    let mut swapped = victim.clone();
    let names: Vec<String> = swapped.cookies.keys().cloned().collect();
    let values: Vec<String> = swapped.cookies.values().cloned().rev().collect();
    swapped.cookies = names.into_iter().zip(values).collect();
    assert_eq!(send(&of_page, "allow", swapped.headers()).await, 403);
    assert_eq!(send(&of_page, "allow", with("origin", HUB)).await, 200);
}

/// A site that was approved is not asked about again, unless something is different.
#[tokio::test]
async fn what_was_approved_is_not_asked_again_unless_it_changes() {
    let mut world = World::with(|settings| {
        settings.policy.scope_includes.insert("mcp:all".to_owned(), vec!["mcp".to_owned()]);
        settings.policy.scope_tiers.insert("mcp:all".to_owned(), toolbay_access::Tier::Destructive);
        settings.policy.scope_tiers.insert("mcp".to_owned(), toolbay_access::Tier::Read);
    })
    .await;
    let login = Login::new(world.register(WEB).await, WEB);
    let other = Login::new(world.register(WEB).await, WEB);
    let mut browser = Browser::default();
    browser.log_in(&world, &login).await;
    let is_asked = |page: http::Response<Bytes>| page.status() == 200 && text(&page).contains("<form");
    let direct = browser.get(&world, &login.url()).await;
    assert!(location(&direct).as_str().starts_with(&world.provider.issuer), "{}", text(&direct));
    // The whole login without the page.
    let callback = Browser::at_provider(&world, location(&direct).as_str()).await;
    let back = browser.get(&world, &callback).await;
    assert_eq!(world.exchange(&login, &code(&back), &[]).await.0, 200);
    // Another client, more scopes, another browser, only the cookie of the provider: the page.
    assert!(is_asked(browser.get(&world, &other.url()).await));
    assert!(is_asked(browser.get(&world, &login.changed("scope", "mcp mcp:all").url()).await));
    assert!(is_asked(Browser::default().get(&world, &login.url()).await));
    // A forged cookie.
    let mut forged = Browser::default();
    forged.cookies.insert("__Host-toolbay-user".to_owned(), "WzQwMDAwMDAwMDAsInVzZXI6eCJd.AAAA".to_owned());
    assert!(is_asked(forged.get(&world, &login.url()).await));
    // What was approved survives a restart; that this browser is known does not.
    world.restart();
    assert!(is_asked(browser.get(&world, &login.url()).await));
    browser.log_in(&world, &other).await;
    assert_eq!(browser.get(&world, &login.url()).await.status(), 303);
}

/// One person approved a client. Another, who logs in with the same browser, did not.
#[tokio::test]
async fn what_one_person_approved_does_not_count_for_another() {
    let world = World::start().await;
    let login = Login::new(world.register(WEB).await, WEB);
    let mut browser = Browser::default();
    browser.log_in(&world, &login).await;
    world.provider.rules().user = bob();
    let direct = browser.get(&world, &login.url()).await;
    let callback = Browser::at_provider(&world, location(&direct).as_str()).await;
    let page = browser.get(&world, &callback).await;
    assert!(page.status() == 200 && text(&page).contains("<form"), "Bob got a code by the consent of Ada");
    // With his own consent he gets one.
    let back = browser.finish(&world, &page).await;
    let (_, tokens) = world.exchange(&login, &code(&back), &[]).await;
    let access = world.access(tokens["access_token"].as_str().unwrap()).await.unwrap();
    assert!(access.principal.as_str().ends_with("#bob"));
    world.provider.rules().user = ada();
}

#[tokio::test]
async fn an_expired_page_says_what_to_do() {
    let mut world = World::start().await;
    let login = Login::new(world.register(WEB).await, WEB);
    let mut browser = Browser::default();
    let page = browser.get(&world, &login.url()).await;
    world.restart();
    let response = browser.decide(&world, &page, "allow").await;
    assert!(
        response.status() == 403 && text(&response).contains("Start the login again"),
        "{}",
        text(&response)
    );
    let request = Request::post(format!("{HUB}/oauth/consent")).body(Bytes::new()).unwrap();
    assert_eq!(world.proxy.respond(request).await.status(), 403);
}
