use std::sync::Arc;

use bytes::Bytes;
use http::{Request, header};
use tempfile::tempdir;
use toolbay_oauth::{
    BoxFuture, ClientSettings, Fetch as _, Grant, GuardedClient, OAuthError, PreRegistered, RedirectInbox,
    Scopes, UserAgent,
};

use crate::world::{Rules, World};

#[tokio::test]
async fn a_login_survives_a_restart_and_asks_for_nothing_twice() {
    let (world, directory) = (World::start(Rules::default()).await, tempdir().unwrap());
    assert_eq!(world.client(directory.path()).call("").await.unwrap(), 200);
    assert_eq!(world.client(directory.path()).call("").await.unwrap(), 200);
    assert_eq!((world.requests("/authorize").len(), world.requests("/register").len()), (1, 1));
    let state = world.state();
    let metadata = state.clients.values().next().unwrap();
    assert_eq!(metadata["application_type"], "native");
    assert!(metadata["grant_types"].as_array().unwrap().iter().any(|grant| grant == "refresh_token"));
    let uris = metadata["redirect_uris"].as_array().unwrap();
    assert!(uris[0].as_str().unwrap().starts_with("http://127.0.0.1:"));
    assert!(uris[1].as_str().unwrap().starts_with("http://localhost:"));
}

#[tokio::test]
async fn the_user_can_paste_the_redirect() {
    let (world, directory) = (World::start(Rules::default()).await, tempdir().unwrap());
    let mut client = world.client(directory.path());
    client.user.pastes = true;
    assert_eq!(client.call("").await.unwrap(), 200);
}

#[tokio::test]
async fn the_issuer_of_the_response_is_checked() {
    for (announced, iss, expected) in [
        (true, Some("{issuer}"), ""),
        (true, None, "does not say where it comes from"),
        (true, Some("https://evil.example"), "another authorization server"),
        (false, None, ""),
        (false, Some("{issuer}"), ""),
        (false, Some("{issuer}/"), "another authorization server"),
    ] {
        let rules = Rules { is_iss_announced: announced, iss, ..Rules::default() };
        let (world, directory) = (World::start(rules).await, tempdir().unwrap());
        let result = world.client(directory.path()).call("").await;
        let text = result.map_or_else(|error| error.to_string(), |_| String::new());
        assert!(
            text.contains(expected) && text.is_empty() == expected.is_empty(),
            "{announced} {iss:?}: {text}"
        );
        assert_eq!(world.requests("/token").is_empty(), !expected.is_empty());
    }
}

#[tokio::test]
async fn an_error_of_the_user_is_shown_only_if_its_issuer_is_right() {
    for (iss, expected) in
        [("{issuer}", "access_denied"), ("https://evil.example", "another authorization server")]
    {
        let rules = Rules { user_error: Some("access_denied"), iss: Some(iss), ..Rules::default() };
        let (world, directory) = (World::start(rules).await, tempdir().unwrap());
        let error = world.client(directory.path()).call("").await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(iss == "{issuer}" || !error.contains("denied"), "{error}");
    }
}

#[tokio::test]
async fn scopes_come_from_the_challenge_then_from_the_metadata() {
    let all = Some(vec!["a", "b"]);
    for (challenge, supported, server, expected) in [
        (Some("c"), all.clone(), vec![], Some("c")),
        (None, all.clone(), vec![], Some("a b")),
        (None, None, vec![], None),
        (None, None, vec!["offline_access"], None),
        (None, all, vec!["a", "offline_access"], Some("a b offline_access")),
    ] {
        let rules = Rules {
            challenge_scope: challenge,
            scopes_supported: supported,
            server_scopes: server,
            ..Rules::default()
        };
        let (world, directory) = (World::start(rules).await, tempdir().unwrap());
        assert_eq!(world.client(directory.path()).call("").await.unwrap(), 200);
        let requested = world.requests("/authorize")[0].get("scope").map(|scope| Scopes::parse(scope));
        assert_eq!(requested, expected.map(Scopes::parse));
    }
}

#[tokio::test]
async fn each_kind_of_client_id_works() {
    let document = "https://toolbay.example/client.json";
    let documents = Rules { has_documents: true, ..Rules::default() };
    let one = Rules { one_redirect_uri: true, ..Rules::default() };
    for (rules, settings, client_id) in [
        (
            documents,
            ClientSettings { metadata_document: Some(document.to_owned()), ..Default::default() },
            document,
        ),
        (
            Rules::default(),
            ClientSettings { metadata_document: Some(document.to_owned()), ..Default::default() },
            "first-client-1",
        ),
        (one, ClientSettings::default(), "first-client-1"),
    ] {
        let (world, directory) = (World::start(rules).await, tempdir().unwrap());
        let client = world.client_with(directory.path(), Grant::Login, settings);
        assert_eq!(client.call("").await.unwrap(), 200);
        assert_eq!(world.requests("/authorize")[0]["client_id"], client_id);
    }
}

#[tokio::test]
async fn each_authentication_at_the_token_endpoint_works() {
    for method in ["none", "client_secret_basic", "client_secret_post"] {
        let rules = Rules { authentication: method, ..Rules::default() };
        let (world, directory) = (World::start(rules).await, tempdir().unwrap());
        assert_eq!(world.client(directory.path()).call("").await.unwrap(), 200, "{method}");
    }
}

#[tokio::test]
async fn parameters_of_the_authorization_endpoint_are_merged() {
    let rules = Rules {
        authorize_path: "/authorize?audience=api&scope=old",
        challenge_scope: Some("new"),
        ..Rules::default()
    };
    let (world, directory) = (World::start(rules).await, tempdir().unwrap());
    assert_eq!(world.client(directory.path()).call("").await.unwrap(), 200);
    let request = &world.requests("/authorize")[0];
    assert_eq!((request["audience"].as_str(), request["scope"].as_str()), ("api", "new"));
}

/// The authorization server forgot our client: users would see "invalid redirect URI" for ever.
#[tokio::test]
async fn a_stale_registration_is_renewed_once() {
    let (world, directory) = (World::start(Rules::default()).await, tempdir().unwrap());
    let client = world.client(directory.path());
    assert_eq!(client.call("").await.unwrap(), 200);
    let mut registration = client.store.registration(&world.issuers[0], None).await.unwrap().unwrap();
    let port = registration.redirect_uri.clone();
    registration.confirmed_at = 0; // long ago
    client.store.save_registration(&registration).await.unwrap();
    client.store.remove_login(&client.key).await.unwrap();
    world.state().clients.clear();
    assert_eq!(world.client(directory.path()).call("").await.unwrap(), 200);
    assert_eq!(world.requests("/register").len(), 2);
    // One that was used a moment ago is not tried first; the token endpoint refuses it.
    let registration = client.store.registration(&world.issuers[0], None).await.unwrap().unwrap();
    assert_ne!(registration.client_id, "first-client-1");
    assert_eq!(registration.redirect_uri, port, "the port stays");
}

#[tokio::test]
async fn another_port_is_registered_when_the_old_one_is_taken() {
    let (world, directory) = (World::start(Rules::default()).await, tempdir().unwrap());
    let client = world.client(directory.path());
    assert_eq!(client.call("").await.unwrap(), 200);
    let registration = client.store.registration(&world.issuers[0], None).await.unwrap().unwrap();
    let address =
        registration.redirect_uri.trim_start_matches("http://").trim_end_matches("/callback").to_owned();
    let taken = std::net::TcpListener::bind(address).unwrap();
    client.store.remove_login(&client.key).await.unwrap();
    assert_eq!(world.client(directory.path()).call("").await.unwrap(), 200);
    // The next login finds that one, and later ones the first again.
    client.store.remove_login(&client.key).await.unwrap();
    assert_eq!(world.client(directory.path()).call("").await.unwrap(), 200);
    drop(taken);
    client.store.remove_login(&client.key).await.unwrap();
    assert_eq!(world.client(directory.path()).call("").await.unwrap(), 200);
    assert_eq!(world.requests("/authorize").last().unwrap()["redirect_uri"], registration.redirect_uri);
    assert_eq!(world.requests("/register").len(), 2);
}

#[tokio::test]
async fn credentials_never_go_to_another_issuer() {
    let (world, directory) = (World::start(Rules::default()).await, tempdir().unwrap());
    let client = world.client(directory.path());
    assert_eq!(client.call("").await.unwrap(), 200);
    *world.current.lock().unwrap() = 1;
    world.state().tokens.clear();
    assert_eq!(client.call("").await.unwrap(), 200);
    let log = std::mem::take(&mut world.state().log);
    let second: Vec<_> = log.iter().filter(|(server, ..)| *server == "second").collect();
    assert!(second.iter().any(|(_, target, _)| target.ends_with("/register")));
    assert!(
        second
            .iter()
            .all(|(.., parameters)| parameters.values().all(|value| !value.contains("first-client")))
    );
    assert!(second.iter().all(|(.., parameters)| !parameters.contains_key("refresh_token")));
}

#[tokio::test]
async fn a_client_of_the_user_is_not_used_at_another_issuer() {
    let (world, directory) =
        (World::start(Rules { has_registration: false, ..Rules::default() }).await, tempdir().unwrap());
    world.state().clients.insert("pre-registered".to_owned(), serde_json::json!({ "redirect_uris": [] }));
    let pre_registered = PreRegistered {
        client_id: "pre-registered".to_owned(),
        client_secret: None,
        key: None,
        issuer: None,
    };
    let settings = ClientSettings { pre_registered: Some(pre_registered), ..Default::default() };
    let client = world.client_with(directory.path(), Grant::Login, settings);
    assert_eq!(client.call("").await.unwrap(), 200);
    *world.current.lock().unwrap() = 1;
    world.state().tokens.clear();
    let error = client.call("").await.unwrap_err().to_string();
    assert!(error.contains("is registered at") && error.contains(&world.issuers[1]), "{error}");
}

/// A user whose browser is elsewhere, and comes back to the URL of the program.
struct RemoteUser {
    fetch: Arc<GuardedClient>,
    inbox: Arc<RedirectInbox>,
}

impl UserAgent for RemoteUser {
    fn open<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Option<String>, OAuthError>> {
        Box::pin(async move {
            let response = self.fetch.fetch(Request::get(url).body(Bytes::new()).unwrap()).await?;
            let location = response.headers()[header::LOCATION].to_str().unwrap();
            let (uri, query) = location.split_once('?').unwrap();
            assert_eq!(uri, self.inbox.redirect_uri());
            assert!(!self.inbox.deliver("code=evil&state=guessed"));
            assert!(self.inbox.deliver(query));
            assert!(!self.inbox.deliver(query), "each login gets one response");
            Ok(None)
        })
    }
}

#[tokio::test]
async fn users_elsewhere_come_back_to_a_url_of_the_program() {
    let (world, directory) = (World::start(Rules::default()).await, tempdir().unwrap());
    let inbox = Arc::new(RedirectInbox::new("https://hub.example/oauth/callback"));
    let settings = || ClientSettings { redirect_inbox: Some(inbox.clone()), ..Default::default() };
    let user = RemoteUser { fetch: world.fetch(), inbox: inbox.clone() };
    for _ in 0..2 {
        let client = world.client_with(directory.path(), Grant::Login, settings());
        client.authorizer.login(&user).await.unwrap();
        assert_eq!(client.call("").await.unwrap(), 200);
    }
    assert_eq!(world.requests("/register").len(), 1);
    let metadata = world.state().clients.values().next().unwrap().clone();
    assert_eq!(metadata["application_type"], "web");
    assert_eq!(metadata["redirect_uris"][0], inbox.redirect_uri());
    // The registration of the machine's own user is another one.
    world.client(directory.path()).authorizer.login(&world.client(directory.path()).user).await.unwrap();
    assert_eq!(world.requests("/register").len(), 2);
    let saved = world.client(directory.path()).store;
    let saved = saved.registration(&world.issuers[0], Some(inbox.redirect_uri())).await.unwrap().unwrap();
    assert_eq!(saved.redirect_uri, inbox.redirect_uri());
}
