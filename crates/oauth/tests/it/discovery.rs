use tempfile::tempdir;

use crate::world::{Rules, World};

const ROOT: &str = "/.well-known/oauth-protected-resource";
const OIDC: &str = "/.well-known/openid-configuration";

#[tokio::test]
async fn metadata_is_found_in_all_its_places() {
    let base = Rules::default;
    for rules in [
        base(),
        Rules { is_in_challenge: false, issuer_metadata: Some(OIDC), ..base() },
        Rules {
            resource_metadata: Some(ROOT),
            is_in_challenge: false,
            tenant: "/tenant",
            issuer_metadata: Some("/.well-known/oauth-authorization-server/tenant"),
            ..base()
        },
        Rules { tenant: "/t", issuer_metadata: Some("/.well-known/openid-configuration/t"), ..base() },
        Rules {
            resource_metadata: Some("/custom/metadata.json"),
            tenant: "/a/b",
            issuer_metadata: Some("/a/b/.well-known/openid-configuration"),
            ..base()
        },
        // Servers of 2025-03-26: no metadata of the resource, and none at all.
        Rules { resource_metadata: None, ..base() },
        Rules {
            resource_metadata: None,
            issuer_metadata: None,
            is_iss_announced: false,
            authentication: "client_secret_basic",
            ..base()
        },
    ] {
        let (world, directory) = (World::start(rules.clone()).await, tempdir().unwrap());
        let status = world.client(directory.path()).call("").await;
        assert_eq!(status.unwrap_or_else(|error| panic!("{rules:?}: {error}")), 200, "{rules:?}");
        assert_eq!(world.requests("/authorize")[0]["resource"], world.url());
    }
}

#[tokio::test]
async fn the_resource_is_sent_byte_for_byte() {
    let directory = tempdir().unwrap();
    let world = World::start(Rules::default()).await;
    let resource = format!("{}/", world.resource);
    world.rules().resource = Some(resource.clone());
    assert_eq!(world.client(directory.path()).call("").await.unwrap(), 200);
    assert_eq!(world.requests("/authorize")[0]["resource"], resource);
    assert_eq!(world.requests("/token")[0]["resource"], resource);
}

#[tokio::test]
async fn metadata_of_others_is_refused_before_anything_is_sent_there() {
    let base = Rules::default;
    for (rules, expected) in [
        (
            Rules { resource: Some("https://evil.example/mcp".to_owned()), ..base() },
            "does not include the server",
        ),
        (
            Rules { issuer: Some("https://evil.example".to_owned()), ..base() },
            "has the metadata of `https://evil",
        ),
        (Rules { issuer_metadata: None, ..base() }, "has no metadata"),
        (Rules { has_pkce: false, ..base() }, "does not support PKCE"),
        (Rules { has_registration: false, ..base() }, "set its `client_id`"),
    ] {
        let (world, directory) = (World::start(rules).await, tempdir().unwrap());
        let error = world.client(directory.path()).call("").await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        for path in ["/authorize", "/token"] {
            assert!(world.requests(path).is_empty(), "{path}");
        }
    }
}

#[tokio::test]
async fn an_issuer_with_a_slash_more_is_another_one() {
    let directory = tempdir().unwrap();
    let world = World::start(Rules::default()).await;
    world.rules().issuer = Some(format!("{}/", world.issuers[0]));
    let error = world.client(directory.path()).call("").await.unwrap_err().to_string();
    assert!(error.contains("has the metadata of"), "{error}");
}
