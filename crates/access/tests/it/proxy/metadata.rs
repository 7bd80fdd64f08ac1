use bytes::Bytes;
use http::Request;

use super::world::{HUB, World, json_of};

#[tokio::test]
async fn the_metadata_is_found_at_both_names_and_names_every_endpoint() {
    let world = World::start().await;
    for path in ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"] {
        assert!(world.proxy.serves(path));
        let request = Request::get(format!("{HUB}{path}")).body(Bytes::new()).unwrap();
        let (status, document) = json_of(world.proxy.respond(request).await);
        assert_eq!((status, document["issuer"].as_str()), (200, Some(HUB)));
        assert_eq!(document["code_challenge_methods_supported"], serde_json::json!(["S256"]));
        assert_eq!(document["authorization_response_iss_parameter_supported"], true);
        assert_eq!(document["client_id_metadata_document_supported"], true);
        assert_eq!(document["scopes_supported"], serde_json::json!(["mcp"]));
        for endpoint in ["authorization", "token", "registration", "revocation"] {
            let url = document[format!("{endpoint}_endpoint")].as_str().unwrap();
            assert!(world.proxy.serves(url.strip_prefix(HUB).unwrap()), "{url}");
        }
    }
    for other in [
        "/mcp",
        "/",
        "/oauth",
        "/oauth/tokens",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-authorization-server/x",
    ] {
        assert!(!world.proxy.serves(other), "{other}");
    }
}

/// The hub behind a proxy, below a path.
#[tokio::test]
async fn the_metadata_of_a_hub_below_a_path_has_the_suffixed_forms() {
    let world = World::with(|settings| settings.public_url = format!("{HUB}/tools")).await;
    for path in [
        "/.well-known/oauth-authorization-server/tools",
        "/.well-known/openid-configuration/tools",
        "/tools/.well-known/openid-configuration",
        "/tools/oauth/token",
        "/oauth/token",
    ] {
        assert!(world.proxy.serves(path), "{path}");
    }
    assert!(!world.proxy.serves("/.well-known/oauth-authorization-server/other"));
    let request = Request::get(format!("{HUB}/.well-known/oauth-authorization-server/tools"))
        .body(Bytes::new())
        .unwrap();
    let (_, document) = json_of(world.proxy.respond(request).await);
    assert_eq!(document["issuer"], format!("{HUB}/tools"));
    assert_eq!(document["token_endpoint"], format!("{HUB}/tools/oauth/token"));
}

#[tokio::test]
async fn methods_and_sizes_are_limited() {
    let world = World::start().await;
    for (method, path, expected) in [
        ("GET", "/oauth/token", 405),
        ("POST", "/oauth/authorize", 405),
        ("DELETE", "/oauth/register", 405),
        ("GET", "/elsewhere", 404),
    ] {
        let request =
            Request::builder().method(method).uri(format!("{HUB}{path}")).body(Bytes::new()).unwrap();
        assert_eq!(world.proxy.respond(request).await.status(), expected, "{method} {path}");
    }
    let (status, _) = world.post_json("/oauth/register", &" ".repeat(65 * 1024)).await;
    assert_eq!(status, 413);
}
