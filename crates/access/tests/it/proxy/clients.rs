use std::collections::BTreeSet;

use http::StatusCode;
use serde_json::json;
use tokio::net::TcpListener;

use super::world::{Browser, LOOPBACK, Login, WEB, World, text};

#[tokio::test]
async fn a_registration_tells_the_client_all_that_it_may_do() {
    let world = World::start().await;
    let body = json!({ "redirect_uris": [LOOPBACK], "client_name": "C", "application_type": "native",
        "token_endpoint_auth_method": "client_secret_post" });
    let (status, answer) = world.post_json("/oauth/register", &body.to_string()).await;
    assert_eq!(status, 201);
    assert_eq!(answer["grant_types"], json!(["authorization_code", "refresh_token"]));
    assert_eq!(answer["token_endpoint_auth_method"], "none");
    assert_eq!((&answer["redirect_uris"], &answer["client_secret"]), (&json!([LOOPBACK]), &json!(null)));
}

#[tokio::test]
async fn registrations_that_cannot_be_used_are_refused_with_the_codes_of_rfc_7591() {
    let world = World::start().await;
    for (body, expected) in [
        (json!({ "redirect_uris": ["http://app.example/cb"] }).to_string(), "invalid_redirect_uri"),
        (json!({ "redirect_uris": ["javascript:alert(1)"] }).to_string(), "invalid_redirect_uri"),
        (json!({ "redirect_uris": ["https://app.example/cb#f"] }).to_string(), "invalid_redirect_uri"),
        (json!({ "redirect_uris": [] }).to_string(), "invalid_redirect_uri"),
        (json!({ "redirect_uris": vec![WEB; 21] }).to_string(), "invalid_redirect_uri"),
        (
            json!({ "redirect_uris": [WEB], "grant_types": ["client_credentials"] }).to_string(),
            "invalid_client_metadata",
        ),
        (
            json!({ "redirect_uris": [WEB], "response_types": ["token"] }).to_string(),
            "invalid_client_metadata",
        ),
        ("[]".to_owned(), "invalid_client_metadata"),
        ("no json".to_owned(), "invalid_client_metadata"),
    ] {
        let (status, answer) = world.post_json("/oauth/register", &body).await;
        assert_eq!((status, answer["error"].as_str()), (400, Some(expected)), "{body}: {answer}");
    }
}

/// A flood is slowed down, and what it leaves behind makes room for others.
#[tokio::test]
async fn a_flood_of_registrations_is_slowed_down_and_bounded() {
    let mut world = World::start().await;
    let used = Login::new(world.register(LOOPBACK).await, LOOPBACK);
    let code = Browser::default().log_in(&world, &used).await;
    assert_eq!(world.exchange(&used, &code, &[]).await.0, 200);
    // As many as there may be, which nobody has used.
    let path = world.directory.path().join("proxy/clients.json");
    let stored =
        || serde_json::from_str::<Vec<serde_json::Value>>(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let mut all = stored();
    let mut unused = all[0].clone();
    unused["used_at"] = json!(null);
    all.extend((1..1000).map(|number| {
        unused["client_id"] = format!("unused-{number}").into();
        unused.clone()
    }));
    std::fs::write(&path, serde_json::to_string(&all).unwrap()).unwrap();
    world.restart();
    tokio::time::pause();
    let body = json!({ "redirect_uris": [LOOPBACK] }).to_string();
    let mut statuses = Vec::new();
    for _ in 0..100 {
        statuses.push(world.post_json("/oauth/register", &body).await.0);
    }
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 30);
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 70);
    assert_eq!(stored().len(), 1000);
    tokio::time::resume();
    // The client that a person uses is still known, also after a restart.
    world.restart();
    assert_eq!(Browser::default().get(&world, &used.url()).await.status(), 200);
}

#[tokio::test]
async fn nobody_is_sent_to_an_address_that_was_not_registered() {
    let world = World::start().await;
    let (web, local) = (world.register(WEB).await, world.register("http://127.0.0.1/cb").await);
    for (client_id, redirect_uri, is_allowed) in [
        (&web, WEB, true),
        (&web, "https://app.example/cb/", false),
        (&web, "https://app.example/cb?x=1", false),
        (&web, "https://app.example:444/cb", false),
        (&web, "https://evil.example/cb", false),
        (&web, "https://app.example/cb#", false),
        (&web, "", false),
        (&local, LOOPBACK, true),
        (&local, "http://127.0.0.1:1/other", false),
        (&local, "http://localhost:1/cb", false),
        (&local, "http://evil.example:1/cb", false),
        (&"unknown".to_owned(), WEB, false),
        (&String::new(), WEB, false),
    ] {
        // Also if there is something else to complain about.
        for login in [
            Login::new(client_id.clone(), redirect_uri),
            Login::new(client_id.clone(), redirect_uri).changed("response_type", "token"),
        ] {
            let response = Browser::default().get(&world, &login.url()).await;
            let is_refused = response.status() == 400
                && !text(&response).contains("href")
                && response.headers().get("location").is_none();
            assert_eq!(is_refused, !is_allowed, "{client_id} {redirect_uri}: {}", text(&response));
        }
    }
}

#[tokio::test]
async fn a_document_describes_a_client_and_is_kept() {
    let world = World::start().await;
    let url = "https://app.example/client.json";
    let document = json!({ "client_id": url, "client_name": "App", "redirect_uris": [WEB] });
    world.documents.documents.lock().unwrap().insert(url.to_owned(), (StatusCode::OK, document.to_string()));
    let login = Login::new(url.to_owned(), WEB);
    let code = Browser::default().log_in(&world, &login).await;
    assert_eq!(world.exchange(&login, &code, &[]).await.0, 200);
    let page = Browser::default().get(&world, &login.url()).await;
    assert!(text(&page).contains("Described at https://app.example/client.json"));
    assert_eq!(world.documents.count.lock().unwrap()[url], 1);
}

#[tokio::test]
async fn documents_that_lie_or_lead_elsewhere_are_refused() {
    let world = World::start().await;
    let url = |name: &str| format!("https://app.example/{name}");
    let good = |name: &str| json!({ "client_id": url(name), "client_name": "App", "redirect_uris": [WEB] });
    let mut padded = good("long");
    padded["padding"] = "x".repeat(20_000).into();
    let mut with_key = good("key");
    with_key["token_endpoint_auth_method"] = "private_key_jwt".into();
    let mut plain = good("plain");
    plain["redirect_uris"] = json!(["http://app.example/cb"]);
    for (name, status, body, expected) in [
        ("other", 200, good("another").to_string(), "another `client_id`"),
        ("long", 200, padded.to_string(), "more than 16384 bytes"),
        ("missing", 404, good("missing").to_string(), "status 404"),
        ("moved", 302, String::new(), "status 302"),
        ("page", 200, "<html>".to_owned(), "not a client ID metadata document"),
        ("key", 200, with_key.to_string(), "must be `none`"),
        ("plain", 200, plain.to_string(), "must use `https`"),
    ] {
        let answer = (StatusCode::from_u16(status).unwrap(), body);
        world.documents.documents.lock().unwrap().insert(url(name), answer);
        for _ in 0..3 {
            let response = Browser::default().get(&world, &Login::new(url(name), WEB).url()).await;
            assert!(
                response.status() == 400 && text(&response).contains(expected),
                "{name}: {}",
                text(&response)
            );
        }
        assert_eq!(world.documents.count.lock().unwrap()[&url(name)], 1, "a failure is remembered");
    }
}

/// Client ids are chosen by strangers; none makes the hub connect to this machine or a private network.
#[tokio::test]
async fn documents_are_never_fetched_from_private_addresses() {
    let world = World::start().await;
    let canary = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = canary.local_addr().unwrap().port();
    let hosts = [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("x.localhost:{port}"),
        format!("[::1]:{port}"),
        format!("[::ffff:7f00:1]:{port}"),
        "10.0.0.1".to_owned(),
        "192.168.1.1".to_owned(),
        "169.254.169.254".to_owned(),
        "100.64.0.1".to_owned(),
        "[fd00::1]".to_owned(),
        "[64:ff9b::7f00:1]".to_owned(),
        "0.0.0.0".to_owned(),
    ];
    for host in hosts {
        let client_id = format!("https://{host}/client.json");
        let response = Browser::default().get(&world, &Login::new(client_id.clone(), WEB).url()).await;
        assert_eq!(response.status(), 400, "{client_id}");
        assert!(text(&response).contains("cannot be read"), "{client_id}: {}", text(&response));
    }
    // Not even as a client id: other forms of the same addresses, and plain HTTP.
    for client_id in [
        format!("http://127.0.0.1:{port}/c"),
        format!("https://0x7f.1:{port}/c"),
        format!("https://2130706433:{port}/c"),
    ] {
        assert_eq!(Browser::default().get(&world, &Login::new(client_id, WEB).url()).await.status(), 400);
    }
    let accepted = tokio::time::timeout(std::time::Duration::from_millis(200), canary.accept()).await;
    assert!(accepted.is_err(), "the canary got a connection");
}

#[tokio::test]
async fn strangers_cannot_make_the_hub_fetch_without_end() {
    let world = World::start().await;
    tokio::time::pause();
    for number in 0..100 {
        let login = Login::new(format!("https://10.0.0.1/{number}"), WEB);
        Browser::default().get(&world, &login.url()).await;
    }
    let fetched: BTreeSet<String> = world.documents.count.lock().unwrap().keys().cloned().collect();
    assert!((20..=30).contains(&fetched.len()), "{}", fetched.len());
}
