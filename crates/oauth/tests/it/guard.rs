use std::{os::unix::fs::PermissionsExt as _, time::Duration};

use bytes::Bytes;
use http::{Method, Request};
use tempfile::tempdir;
use tokio_util::task::TaskTracker;
use toolbay_oauth::{AddressRule, Challenge, Fetch as _, GuardedClient, discover};
use toolbay_transport::http::client::ConnectOptions;

use crate::world::{Rules, World};

#[tokio::test]
async fn only_addresses_that_the_rule_allows_are_requested() {
    let world = World::start(Rules::default()).await;
    let port = world.resource.rsplit(':').next().unwrap();
    for (rule, url, expected) in [
        (AddressRule::Public, format!("http://127.0.0.1:{port}/x"), "the server is not"),
        (AddressRule::Public, format!("https://localhost:{port}/x"), "the server is not"),
        (AddressRule::Public, format!("https://[::ffff:127.0.0.1]:{port}/x"), "the server is not"),
        (AddressRule::Public, "https://10.0.0.1/x".to_owned(), "not a public address"),
        (AddressRule::Loopback, "https://169.254.169.254/x".to_owned(), "not a public address"),
        (AddressRule::Loopback, "http://example.com/x".to_owned(), "only `https` is"),
        (AddressRule::Private, "http://10.0.0.1/x".to_owned(), "only `https` is"),
        (AddressRule::Loopback, format!("http://user:pass@127.0.0.1:{port}/x"), "password"),
        (AddressRule::Loopback, format!("http://127.0.0.1:{port}/x"), ""),
    ] {
        let client = GuardedClient::new(rule, &ConnectOptions::default(), &TaskTracker::new());
        let request = Request::get(&url).body(Bytes::new()).unwrap();
        let result = tokio::time::timeout(Duration::from_secs(10), client.fetch(request)).await.unwrap();
        let text = result.map_or_else(|error| error.to_string(), |_| String::new());
        assert!(text.contains(expected) && text.is_empty() == expected.is_empty(), "{rule:?} {url}: {text}");
    }
    assert_eq!(AddressRule::for_server("https://mcp.example.com/mcp"), AddressRule::Public);
    assert_eq!(AddressRule::for_server("http://localhost:1/mcp"), AddressRule::Loopback);
}

/// A server on the Internet names an address of this machine as its metadata.
#[tokio::test]
async fn a_server_cannot_send_us_to_this_machine() {
    let world = World::start(Rules::default()).await;
    let client = GuardedClient::new(AddressRule::Public, &ConnectOptions::default(), &TaskTracker::new());
    let challenge = Challenge {
        resource_metadata: Some(format!("{}/.well-known/oauth-protected-resource/mcp", world.resource)),
        ..Challenge::default()
    };
    let error = discover(&client, "https://mcp.example.com/mcp", &challenge).await.unwrap_err();
    assert!(error.to_string().contains("the server is not"), "{error}");
    assert!(world.state().log.is_empty());
}

#[tokio::test]
async fn no_secret_is_shown_and_files_are_private() {
    let (world, directory) = (
        World::start(Rules { authentication: "client_secret_post", ..Rules::default() }).await,
        tempdir().unwrap(),
    );
    let client = world.client(directory.path());
    assert_eq!(client.call("").await.unwrap(), 200);
    let login = client.store.login(&client.key).await.unwrap().unwrap();
    let tokens = client.store.tokens(&login).await.unwrap().unwrap();
    let headers = client.authorizer.headers(&Method::POST, &world.url()).await.unwrap();
    let registration = client.store.registration(&world.issuers[0], None).await.unwrap();
    // The authorization server repeats what it was sent in its error.
    world.state().tokens.clear();
    world.state().refresh.clear();
    world.rules().user_error = Some("access_denied");
    let error = client.call("").await.unwrap_err();
    let shown = format!(
        "{login:?} {tokens:?} {headers:?} {registration:?} {:?} {error} {error:?}",
        client.authorizer
    );
    for secret in ["that-is-secret", "client-secret-text"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(directory.path()), 0o700);
    for entry in directory.path().read_dir().unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        assert!(!path.to_string_lossy().ends_with(".tmp"));
    }
    // A token never goes to another origin.
    assert!(client.authorizer.headers(&Method::GET, "http://127.0.0.1:1/mcp").await.unwrap().is_empty());
}
