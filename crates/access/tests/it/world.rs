//! An issuer, and the hub's view of it.

use std::{sync::Arc, time::Duration};

use tokio_util::task::TaskTracker;
use toolbay_access::{
    Access, Authenticator as _, Refusal,
    issuer::{AccessPolicy, IntrospectionConfig, Issuer, IssuerConfig, Verification},
};
use toolbay_oauth::{AddressRule, Credential, GuardedClient};
use toolbay_testkit::TestIssuer;
use toolbay_transport::http::client::ConnectOptions;

pub(crate) const HUB: &str = "https://hub.example.com/mcp";

pub(crate) struct World {
    pub(crate) issuer: TestIssuer,
    pub(crate) hub: Arc<Issuer>,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::with(Verification::Keys { url: None }, AccessPolicy::default()).await
    }

    /// With introspection, whose responses count for so long.
    pub(crate) async fn introspecting(counts_for: Duration) -> Self {
        let settings = IntrospectionConfig {
            url: None,
            client_id: "the hub".into(),
            client_secret: Credential::new("s3cret:%"),
            counts_for,
        };
        let world = Self::with(Verification::Introspection(settings), AccessPolicy::default()).await;
        // `the+hub:s3cret%3A%25`
        world.issuer.require_authorization("Basic dGhlK2h1YjpzM2NyZXQlM0ElMjU=");
        world
    }

    pub(crate) async fn with(verification: Verification, policy: AccessPolicy) -> Self {
        let tasks = TaskTracker::new();
        let issuer = TestIssuer::start(&tasks).await.unwrap();
        let config = IssuerConfig {
            issuer: issuer.url().to_owned(),
            audiences: vec![HUB.to_owned()],
            verification,
            policy,
        };
        let fetch = GuardedClient::new(AddressRule::Private, &ConnectOptions::default(), &tasks);
        let hub = Arc::new(Issuer::new(config, Arc::new(fetch), tasks));
        Self { issuer, hub }
    }

    /// A good token of a user.
    pub(crate) fn token(&self, user: &str) -> String {
        self.issuer.token(user, HUB)
    }

    /// What a token gives: from memory, else by asking.
    pub(crate) async fn access(&self, token: &str) -> Result<Arc<Access>, Refusal> {
        match self.hub.known(token) {
            Some(access) => Ok(access),
            None => self.hub.authenticate(token).await.expect("it is a token of an issuer"),
        }
    }

    pub(crate) async fn is_accepted(&self, token: &str) -> bool {
        self.access(token).await.is_ok()
    }

    /// Why a token is refused.
    pub(crate) async fn refusal(&self, token: &str) -> String {
        match self.access(token).await {
            Ok(_) => "accepted".to_owned(),
            Err(Refusal::InvalidToken(why)) => why,
            Err(other) => panic!("{other:?}"),
        }
    }
}
