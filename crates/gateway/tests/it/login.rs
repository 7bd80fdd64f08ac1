//! A host that must say who it is to a server at a URL: a gateway with a token is one.

use std::{convert::Infallible, sync::Arc, time::Duration};

use http::HeaderValue;
use toolbay_access::OwnerToken;
use toolbay_gateway::GatewayOptions;
use toolbay_host::{AuthenticationError, CatalogKind, Host, HostEventKind, HostOptions, ServerState};

use crate::test_gateway::{Hub, eventually};

async fn stage() -> (Hub, Host) {
    let token = OwnerToken::new("s3cret-0123456789").unwrap();
    let hub = Hub::with(GatewayOptions { authenticators: vec![Arc::new(token)], ..Default::default() }).await;
    let url = format!("http://{}/mcp", hub.address);
    let entry = serde_json::json!({ "mcpServers": { "far": { "url": url } } }).to_string();
    let servers = toolbay_config::parse(&entry, std::path::Path::new("")).unwrap().servers;
    let host = Host::start(&servers, Vec::new(), &HostOptions::default());
    tokio::time::timeout(Duration::from_secs(30), host.settled()).await.unwrap();
    let state = host.status("far").unwrap().state;
    assert!(matches!(state, ServerState::AuthRequired { .. }), "{state}");
    (hub, host)
}

#[tokio::test]
async fn what_a_server_wants_to_see_is_obtained_and_shown_to_it() {
    let (_hub, host) = stage().await;
    let mut events = host.events();
    let seen = host.clone();
    let obtained = async {
        assert!(matches!(seen.status("far").unwrap().state, ServerState::Authenticating));
        Ok::<_, Infallible>(HeaderValue::from_static("Bearer s3cret-0123456789"))
    };
    host.authenticate("far", obtained).await.unwrap();
    eventually("it is up", || host.status("far").unwrap().state.is_up()).await;
    assert!(host.table().count(CatalogKind::Tools) > 0);
    let first = events.next().await.unwrap();
    assert!(
        matches!(first.kind, HostEventKind::State { state: ServerState::Authenticating, .. }),
        "{first:?}"
    );
    host.stop(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn what_was_not_obtained_or_is_not_right_changes_nothing() {
    let (_hub, host) = stage().await;
    let failed = host.authenticate("far", async { Err("no browser") }).await;
    assert!(matches!(failed, Err(AuthenticationError::NotObtained { why: "no browser", .. })), "{failed:?}");
    assert!(matches!(host.status("far").unwrap().state, ServerState::AuthRequired { .. }));
    // Whoever gives up in the middle leaves nothing behind.
    let never = host.authenticate("far", std::future::pending::<Result<HeaderValue, Infallible>>());
    assert!(tokio::time::timeout(Duration::from_millis(50), never).await.is_err());
    assert!(matches!(host.status("far").unwrap().state, ServerState::AuthRequired { .. }));
    let wrong = async { Ok::<_, Infallible>(HeaderValue::from_static("Bearer wrong")) };
    host.authenticate("far", wrong).await.unwrap();
    host.settled().await;
    assert!(matches!(host.status("far").unwrap().state, ServerState::AuthRequired { .. }));
    let unknown = host.authenticate("nobody", async { Err("never asked") }).await;
    assert!(matches!(unknown, Err(AuthenticationError::Store(_))));
    host.stop(Duration::from_secs(10)).await;
}
