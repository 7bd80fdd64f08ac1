//! Authorization of servers at a URL.
//!
//! How a credential is obtained is not known here. [`Authorizers`] bring one per server that obtains, renews and replaces tokens by
//! itself. Or the caller brings a future that ends with the value of `Authorization`, from a login in a browser or a vault. While it runs the server is `Authenticating`; then it is connected again.
//! The value is kept as long as the host, over changes of the configuration too, and never shown.

use std::{fmt, future::Future, sync::Arc};

use http::{HeaderValue, header::AUTHORIZATION};
use toolbay_config::ServerConfig;
use toolbay_protocol::ServerName;
use toolbay_transport::http::client::RequestAuthorizer;
use toolbay_upstream::Endpoint;

use crate::{
    Host, ServerError,
    host::HostInner,
    servers::registry::{RegisteredServer, ServerRegistry},
};

/// Why authentication failed.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticationError<E> {
    /// The server does not exist, or may not run.
    #[error(transparent)]
    Store(#[from] ServerError),
    /// Only servers at a URL can be authenticated to.
    #[error("server `{0}` is not at a URL")]
    NotRemote(ServerName),
    /// The credential was not obtained.
    #[error("cannot authenticate to server `{server}`: {why}")]
    NotObtained {
        /// The server.
        server: ServerName,
        /// Why not.
        why: E,
    },
}

/// Marks a server as authenticating until it is dropped.
struct LoginAttempt<'a> {
    shared: &'a HostInner,
    entry: Arc<RegisteredServer>,
}

impl Host {
    /// Obtains the value of `Authorization`, such as `Bearer …`, and connects to the server again with it.
    ///
    /// # Errors
    ///
    /// When there is no such server at a URL, or `obtain` fails; then all is as before.
    pub async fn authenticate<E>(
        &self,
        name: &str,
        obtain: impl Future<Output = Result<HeaderValue, E>>,
    ) -> Result<(), AuthenticationError<E>> {
        let entry = self.entry(name)?;
        if !matches!(entry.config.as_deref(), Some(config) if matches!(config.endpoint, toolbay_config::ServerEndpoint::Url(_)))
        {
            return Err(AuthenticationError::NotRemote(entry.name.clone()));
        }
        let attempt = LoginAttempt::begin(&self.shared, entry);
        let obtained = obtain.await;
        let server = attempt.entry.name.clone();
        drop(attempt);
        let mut value =
            obtained.map_err(|why| AuthenticationError::NotObtained { server: server.clone(), why })?;
        value.set_sensitive(true);
        self.shared.credentials.lock().insert(server, value);
        // It may have been replaced or removed meanwhile.
        self.replace(name).await?;
        Ok(())
    }

    /// Replaces a server by a successor with the same configuration.
    async fn replace(&self, name: &str) -> Result<(), ServerError> {
        let command = {
            let _one_at_a_time = self.shared.applying.lock();
            let registry = self.shared.servers.load_full();
            let old = registry.get(name).ok_or_else(|| ServerError::Unknown(name.to_owned()))?.clone();
            let (successor, command) = self.shared.succeed(&old);
            let exchanged = |entry: &Arc<RegisteredServer>| match Arc::ptr_eq(entry, &old) {
                true => successor.clone(),
                false => entry.clone(),
            };
            self.shared
                .servers
                .store(Arc::new(ServerRegistry::new(registry.servers.iter().map(exchanged).collect())));
            command
        };
        self.shared.servers_changed.notify_one();
        self.execute(vec![command]).await;
        Ok(())
    }
}

impl HostInner {
    /// The endpoint of a server, with its credential, or else with what obtains one.
    pub(crate) fn with_credentials(&self, config: &ServerConfig, mut endpoint: Endpoint) -> Endpoint {
        if let Endpoint::Auto(target)
        | Endpoint::Http(target)
        | Endpoint::Sse(target)
        | Endpoint::WebSocket(target) = &mut endpoint
        {
            if let Some(value) = self.credentials.lock().get(&config.name) {
                target.headers.insert(AUTHORIZATION, value.clone());
            }
            if !target.headers.contains_key(AUTHORIZATION) && target.authorizer.is_none() {
                target.authorizer = self.authorizers.as_ref().and_then(|authorizers| authorizers.of(config));
            }
        }
        endpoint
    }
}

/// Brings what authorizes requests to configured servers at a URL, for those without an `Authorization` header of their own.
#[derive(Clone)]
pub struct Authorizers(Arc<AuthorizerOf>);

type AuthorizerOf = dyn Fn(&ServerConfig) -> Option<Arc<dyn RequestAuthorizer>> + Send + Sync;

impl Authorizers {
    /// Calls a function for each server; those for which it returns none are not authorized.
    pub fn new(
        authorizer: impl Fn(&ServerConfig) -> Option<Arc<dyn RequestAuthorizer>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(authorizer))
    }

    /// What authorizes requests to a server, if anything does.
    pub fn of(&self, config: &ServerConfig) -> Option<Arc<dyn RequestAuthorizer>> {
        (self.0)(config)
    }
}

impl fmt::Debug for Authorizers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorizers")
    }
}

impl<'a> LoginAttempt<'a> {
    fn begin(shared: &'a HostInner, entry: Arc<RegisteredServer>) -> Self {
        let attempt = Self { shared, entry };
        attempt.mark(true);
        attempt
    }

    fn mark(&self, is_on: bool) {
        self.entry.runner.status_context.set_authenticating(is_on);
        if !self.entry.runner.status_context.is_draining() {
            self.shared.events.state(&self.entry.name, self.entry.state());
        }
    }
}

impl Drop for LoginAttempt<'_> {
    fn drop(&mut self) {
        self.mark(false);
    }
}
