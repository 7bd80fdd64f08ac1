//! Tokens of an issuer: challenges, metadata, and which tokens are served, on every endpoint and in all revisions.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use toolbay_access::{
    PublicUrl,
    issuer::{AccessPolicy, Issuer, IssuerConfig, Verification},
};
use toolbay_gateway::{GatewayOptions, ProtectedResource};
use toolbay_oauth::{AddressRule, GuardedClient};
use toolbay_policy::{Policy, PolicySet, Profile, ToolSelection};
use toolbay_testkit::{TestAlgorithm, TestIssuer};
use toolbay_transport::http::client::ConnectOptions;

use crate::{
    http::{Answer, Ask},
    origin::endpoints,
    test_gateway::{Hub, call, initialize, modern, rpc},
    websocket::upgrade,
};

const PUBLIC: &str = "https://hub.example.com";
const METADATA: &str = "https://hub.example.com/.well-known/oauth-protected-resource";
const ENDPOINT: &str = "https://hub.example.com/mcp";

/// The endpoint of the profile `work`, which has one tool.
fn of_profile() -> String {
    format!("{ENDPOINT}/p/work")
}

fn profile() -> Profile {
    let allow = Some(vec!["echo".parse().unwrap()]);
    let tools = ToolSelection { allow, ..ToolSelection::default() };
    Profile { tools, ..Profile::new("work".parse().unwrap()) }
}

/// A hub that is protected by an issuer.
struct Protected {
    hub: Hub,
    issuer: TestIssuer,
}

impl Protected {
    async fn start() -> Self {
        Self::with(Some(PUBLIC), &["mcp"]).await
    }

    async fn with(public_url: Option<&str>, scopes: &[&str]) -> Self {
        let tasks = TaskTracker::new();
        let issuer = TestIssuer::start(&tasks).await.unwrap();
        let public_url: Option<PublicUrl> = public_url.map(|url| url.parse().unwrap());
        let policy = AccessPolicy {
            required_scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            scope_includes: [("mcp:all".to_owned(), vec!["mcp".to_owned()])].into(),
            ..AccessPolicy::default()
        };
        let resource = ProtectedResource {
            authorization_servers: vec![issuer.url().to_owned()],
            scopes: policy.scopes(),
        };
        let config = IssuerConfig {
            issuer: issuer.url().to_owned(),
            audiences: public_url.iter().flat_map(PublicUrl::endpoints).chain([of_profile()]).collect(),
            verification: Verification::Keys { url: None },
            policy,
        };
        let fetch = GuardedClient::new(AddressRule::Private, &ConnectOptions::default(), &tasks);
        let options = GatewayOptions {
            authenticators: vec![Arc::new(Issuer::new(config, Arc::new(fetch), tasks))],
            protected_resource: Some(resource),
            public_url,
            wrong_token_delay: Duration::ZERO,
            policy: PolicySet::new(vec![profile()], Policy::default()),
            ..GatewayOptions::default()
        };
        Self { hub: Hub::with(options).await, issuer }
    }

    fn token(&self, user: &str) -> String {
        self.issuer.token(user, ENDPOINT)
    }

    /// A request of a user.
    fn of(&self, ask: Ask, user: &str) -> Ask {
        ask.header("authorization", &format!("Bearer {}", self.token(user)))
    }

    /// Sends a request with this token.
    async fn send(&self, ask: &Ask, token: &str) -> Answer {
        self.hub.send(ask.clone().header("authorization", &format!("Bearer {token}"))).await
    }
}

/// A request on each endpoint, in legacy and modern revisions, that is served with a token.
fn requests() -> Vec<(&'static str, Ask, u16)> {
    vec![
        ("/mcp", Ask::post(&initialize("2025-11-25")), 200),
        ("/mcp", Ask::post(&initialize("2024-11-05")), 200),
        ("/mcp", Ask::post(&rpc(1, "tools/list", json!({}))), 200),
        ("/mcp", modern(rpc(1, "server/discover", json!({}))), 200),
        ("/mcp", modern(call(1, "echo", json!({}))), 200),
        ("/mcp", Ask::post(&initialize("2025-06-18")).to("/"), 200),
        // Without a session there is no stream.
        ("/mcp", Ask::new("GET", "/mcp"), 405),
        ("/mcp", Ask::new("DELETE", "/mcp"), 405),
        ("/sse", Ask::new("GET", "/sse"), 200),
        ("/ws", upgrade(), 101),
    ]
}

#[tokio::test]
async fn without_a_token_every_endpoint_says_where_to_get_one() {
    let protected = Protected::start().await;
    for (endpoint, ask, _) in requests() {
        for ask in [
            ask.clone(),
            ask.clone().header("authorization", ""),
            ask.clone().header("authorization", "Bearer"),
            ask.clone().header("authorization", "Bearer "),
            ask.clone().header("authorization", "Basic dTpw"),
        ] {
            let answer = protected.hub.send(ask).await;
            assert_eq!(answer.status, 401, "{endpoint}");
            let expected = format!(r#"Bearer resource_metadata="{METADATA}{endpoint}", scope="mcp""#);
            assert_eq!(answer.header("www-authenticate"), Some(expected.as_str()));
        }
    }
    for endpoint in endpoints().into_iter().filter(|endpoint| !endpoint.is("GET", "/health")) {
        assert_eq!(protected.hub.send(endpoint.clone()).await.status, 401, "{endpoint:?}");
    }
    assert_eq!(protected.hub.calls(), 0);
}

#[tokio::test]
async fn a_token_for_the_endpoint_of_a_profile_is_bound_to_it() {
    let protected = Protected::start().await;
    let list = modern(rpc(1, "tools/list", json!({})));
    for (audience, path, is_whole) in [
        (of_profile(), "/mcp", false),
        (of_profile(), "/mcp/p/work", false),
        (ENDPOINT.to_owned(), "/mcp", true),
        (ENDPOINT.to_owned(), "/mcp/p/work", false),
    ] {
        let token = protected.issuer.token("alice", &audience);
        let listed = protected.send(&list.clone().to(path), &token).await.json().await;
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
        assert_eq!(tools.len() > 1, is_whole, "{audience} {path}");
    }
}

#[tokio::test]
async fn a_token_in_the_query_is_never_honored() {
    let protected = Protected::start().await;
    let token = protected.token("alice");
    for path in ["/mcp", "/sse", "/ws"] {
        for name in ["access_token", "token", "authorization"] {
            let ask = if path == "/ws" { upgrade() } else { Ask::new("GET", path) };
            let answer = protected.hub.send(ask.to(&format!("{path}?{name}={token}"))).await;
            assert_eq!(answer.status, 401);
            assert!(answer.header("www-authenticate").unwrap().contains("resource_metadata="));
        }
    }
}

#[tokio::test]
async fn two_tokens_or_half_of_one_are_a_malformed_request() {
    let protected = Protected::start().await;
    let token = protected.token("alice");
    for (endpoint, ask, _) in requests() {
        for ask in [
            ask.clone()
                .also("authorization", &format!("Bearer {token}"))
                .also("authorization", &format!("Bearer {token}")),
            ask.clone().header("authorization", &format!("Bearer Bearer {token}")),
            ask.clone().header("authorization", &format!("Bearer {token} {token}")),
        ] {
            let answer = protected.hub.send(ask).await;
            assert_eq!(answer.status, 400, "{endpoint}");
            let expected = format!(
                r#"Bearer error="invalid_request", resource_metadata="{METADATA}{endpoint}", scope="mcp""#
            );
            assert_eq!(answer.header("www-authenticate"), Some(expected.as_str()));
        }
    }
    let twice = upgrade().header("sec-websocket-protocol", &format!("mcp, bearer.{token}, bearer.{token}"));
    assert_eq!(protected.hub.send(twice).await.status, 400);
}

#[tokio::test]
async fn metadata_is_readable_without_a_token_at_all_well_known_paths() {
    let protected = Protected::start().await;
    for (suffix, endpoint) in [("", "/mcp"), ("/mcp", "/mcp"), ("/sse", "/sse"), ("/ws", "/ws")] {
        let path = format!("/.well-known/oauth-protected-resource{suffix}");
        let answer = protected.hub.send(Ask::new("GET", &path)).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
        assert_eq!(
            answer.json().await,
            json!({
                "resource": format!("{PUBLIC}{endpoint}"),
                "authorization_servers": [protected.issuer.url()],
                "scopes_supported": ["mcp"],
                "bearer_methods_supported": ["header"],
                "resource_name": "Toolbay",
            })
        );
        assert_eq!(protected.hub.send(Ask::new("POST", &path)).await.status, 405);
    }
    for other in ["/.well-known/oauth-protected-resource/other", "/.well-known/openid-configuration"] {
        assert_eq!(protected.hub.send(Ask::new("GET", other)).await.status, 401, "{other}");
    }
}

#[tokio::test]
async fn pages_of_any_site_may_read_the_metadata_and_nothing_else() {
    let protected = Protected::start().await;
    let path = "/.well-known/oauth-protected-resource/mcp";
    let page = |method| Ask::new(method, path).header("origin", "https://page.example");
    let answer = protected.hub.send(page("GET")).await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some("*")));
    let preflight = page("OPTIONS")
        .header("access-control-request-method", "GET")
        .header("access-control-request-headers", "mcp-protocol-version");
    let answer = protected.hub.send(preflight).await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (204, Some("*")));
    assert_eq!(answer.header("access-control-allow-headers"), Some("mcp-protocol-version"));
    // Another name for this machine may be an attack, whatever is read.
    let rebound = page("GET").header("host", "evil.example.com");
    assert_eq!(protected.hub.send(rebound).await.status, 403);
    let tools = protected.of(Ask::post(&call(1, "echo", json!({}))), "alice");
    assert_eq!(protected.hub.send(tools.header("origin", "https://page.example")).await.status, 403);
    // The public name is ours.
    let named = Ask::new("GET", path).header("host", "hub.example.com");
    assert_eq!(protected.hub.send(named).await.status, 200);
}

/// A hub on this machine needs no public URL: it is what the client calls it.
#[tokio::test]
async fn on_this_machine_the_resource_is_what_the_client_calls_it() {
    let protected = Protected::with(None, &[]).await;
    let port = protected.hub.port().to_owned();
    for host in ["127.0.0.1", "localhost", "[::1]"] {
        let named = |ask: Ask| ask.header("host", &format!("{host}:{port}"));
        let challenge = protected.hub.send(named(Ask::new("GET", "/mcp"))).await;
        let url = format!("http://{host}:{port}/.well-known/oauth-protected-resource/mcp");
        let expected = format!(r#"Bearer resource_metadata="{url}""#);
        assert_eq!(challenge.header("www-authenticate"), Some(expected.as_str()));
        let path = "/.well-known/oauth-protected-resource/mcp";
        let metadata = protected.hub.send(named(Ask::new("GET", path))).await.json().await;
        assert_eq!(metadata["resource"], format!("http://{host}:{port}/mcp"));
        assert_eq!(metadata.get("scopes_supported"), None);
    }
}

#[tokio::test]
async fn a_good_token_is_served_on_every_endpoint_and_never_goes_upstream() {
    let protected = Protected::start().await;
    for (endpoint, ask, expected) in requests() {
        let answer = protected.hub.send(protected.of(ask, "alice")).await;
        assert_eq!(answer.status, expected, "{endpoint}");
    }
    let token = protected.token("alice");
    // Pages in a browser cannot set headers for a WebSocket.
    let page = upgrade().header("sec-websocket-protocol", &format!("mcp, bearer.{token}"));
    assert_eq!(protected.hub.send(page).await.status, 101);
    let received = protected.hub.server.received().concat();
    let signature = token.rsplit('.').next().unwrap();
    assert!(!received.is_empty() && !received.contains(signature) && !received.contains("eyJ"), "{received}");
}

#[tokio::test]
async fn a_wrong_token_is_refused_on_every_endpoint() {
    let protected = Protected::start().await;
    let other = Protected::start().await;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let sign = |change: &dyn Fn(&mut Value)| {
        let mut claims = protected.issuer.claims("alice", ENDPOINT);
        change(&mut claims);
        protected.issuer.sign(&claims)
    };
    let claims = protected.issuer.claims("alice", ENDPOINT);
    let wrong = [
        ("opaque", "0123456789abcdef".to_owned()),
        ("expired", sign(&|it| it["exp"] = json!(now - 100))),
        ("not yet", sign(&|it| it["nbf"] = json!(now + 100))),
        ("audience", sign(&|it| it["aud"] = json!("https://hub.example.com/"))),
        ("audiences", sign(&|it| it["aud"] = json!(["https://a", "https://b"]))),
        ("issuer", sign(&|it| it["iss"] = json!("https://other"))),
        ("foreign", other.token("alice")),
        ("none", protected.issuer.unsigned(&claims)),
        ("shared key", protected.issuer.signed_with_public_key(&claims)),
        ("unknown key", protected.issuer.sign_with(|it| it["kid"] = json!("other"), &claims)),
    ];
    for (endpoint, ask, _) in requests() {
        for (what, token) in &wrong {
            let answer = protected.send(&ask, token).await;
            assert_eq!(answer.status, 401, "{what}: {endpoint}");
            let expected = format!(
                r#"Bearer error="invalid_token", resource_metadata="{METADATA}{endpoint}", scope="mcp""#
            );
            assert_eq!(answer.header("www-authenticate"), Some(expected.as_str()), "{what}");
        }
    }
    let skewed = [sign(&|it| it["exp"] = json!(now - 30)), sign(&|it| it["nbf"] = json!(now + 30))];
    for token in skewed {
        assert_eq!(protected.send(&modern(call(1, "echo", json!({}))), &token).await.status, 200);
    }
    assert_eq!(protected.hub.calls(), 2);
}

#[tokio::test]
async fn a_missing_scope_is_named_with_all_others_and_a_broader_one_suffices() {
    let protected = Protected::with(Some(PUBLIC), &["mcp", "tools"]).await;
    let with = |scope: &str| {
        let mut claims = protected.issuer.claims("alice", ENDPOINT);
        claims["scope"] = json!(scope);
        protected.issuer.sign(&claims)
    };
    for (endpoint, ask, expected) in requests() {
        for lacking in ["", "mcp", "other"] {
            let answer = protected.send(&ask, &with(lacking)).await;
            assert_eq!(answer.status, 403, "{endpoint}: {lacking}");
            let challenge = format!(
                r#"Bearer error="insufficient_scope", resource_metadata="{METADATA}{endpoint}", scope="mcp tools""#
            );
            assert_eq!(answer.header("www-authenticate"), Some(challenge.as_str()));
        }
        assert_eq!(protected.send(&ask, &with("tools mcp:all")).await.status, expected);
    }
}

#[tokio::test]
async fn a_token_of_a_megabyte_is_refused_fast() {
    let protected = Protected::start().await;
    for (length, statuses) in [(20_000, &[401][..]), (1_000_000, &[401, 413, 431][..])] {
        let mut claims = protected.issuer.claims("alice", ENDPOINT);
        claims["padding"] = json!("x".repeat(length));
        let token = protected.issuer.sign(&claims);
        let began = Instant::now();
        let ask = Ask::new("GET", "/mcp").header("authorization", &format!("Bearer {token}"));
        let stream = tokio::time::timeout(Duration::from_secs(10), ask.open(&protected.hub.address));
        let answer = match stream.await {
            Ok(stream) => Answer::try_read(stream).await,
            Err(_) => None,
        };
        let status = answer.map(|answer| answer.status);
        assert!(status.is_none_or(|status| statuses.contains(&status)), "{length}: {status:?}");
        println!("a token of {length} bytes: {status:?} after {:?}", began.elapsed());
        assert!(began.elapsed() < Duration::from_secs(5));
    }
    assert_eq!(protected.issuer.key_requests(), 0);
}

/// A session belongs to a user, not to a token.
#[tokio::test]
async fn a_new_token_keeps_the_session_and_another_user_does_not_get_it() {
    let protected = Protected::start().await;
    let answer = protected.hub.send(protected.of(Ask::post(&initialize("2025-11-25")), "alice")).await;
    let session = answer.header("mcp-session-id").unwrap().to_owned();
    let list = Ask::post(&rpc(1, "tools/list", json!({}))).header("mcp-session-id", &session);
    protected.issuer.rotate(TestAlgorithm::Rs256);
    let renewed = protected.token("alice");
    assert_eq!(protected.send(&list, &renewed).await.status, 200);
    let stream = Ask::new("GET", "/mcp").header("mcp-session-id", &session);
    let end = Ask::new("DELETE", "/mcp").header("mcp-session-id", &session);
    for ask in [&list, &stream, &end] {
        assert_eq!(protected.send(ask, &protected.token("bob")).await.status, 404);
    }
    assert_eq!(protected.send(&end, &renewed).await.status, 200);
}

#[tokio::test]
async fn keys_rotate_under_load_without_a_refused_call() {
    let protected = Arc::new(Protected::start().await);
    let mut calls = 0;
    for _ in 0..3 {
        let clients = (0..8).map(|client| {
            let protected = protected.clone();
            async move {
                for index in 0..10 {
                    let ask = modern(call(1, "echo", json!({"n": index})));
                    let answer = protected.hub.send(protected.of(ask, &format!("user-{client}"))).await;
                    assert_eq!(answer.status, 200);
                }
            }
        });
        calls += join_all(clients).await.len() * 10;
        protected.issuer.rotate(TestAlgorithm::Es256);
        protected.issuer.withdraw_former_keys();
    }
    println!("{calls} calls over 3 keys, which were requested {} times", protected.issuer.key_requests());
    assert_eq!((protected.hub.calls(), protected.issuer.key_requests()), (240, 3));
}

#[tokio::test]
async fn an_issuer_that_is_down_is_no_refusal_of_a_token() {
    let protected = Protected::start().await;
    let ask = modern(call(1, "echo", json!({})));
    protected.issuer.set_down(true);
    assert_eq!(protected.send(&ask, &protected.token("alice")).await.status, 503);
    protected.issuer.set_down(false);
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(protected.send(&ask, &protected.token("alice")).await.status, 200);
    protected.issuer.set_down(true);
    assert_eq!(protected.send(&ask, &protected.token("bob")).await.status, 200, "its key is known");
}
