//! Telling a server at a URL who we are.
//!
//! How a person proves that is not known here: whoever calls brings a future that ends with what the server wants to see,
//! after a page in a browser or a look into a vault. While it runs the server is `Authenticating`; then it is connected to
//! anew. What was obtained is kept for as long as the host lives, over changes of the configuration too, and never shown.

use std::{future::Future, sync::Arc};

use http::{HeaderValue, header::AUTHORIZATION};
use toolbay_protocol::ServerName;
use toolbay_upstream::Endpoint;

use crate::{
    Host, ServerError,
    host::HostInner,
    servers::registry::{RegisteredServer, ServerRegistry},
};

/// Why a server could not be told who we are.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticationError<E> {
    /// It cannot be done with that server.
    #[error(transparent)]
    Store(#[from] ServerError),
    /// Nobody needs to say who they are to a server of one's own.
    #[error("server `{0}` is not at a URL")]
    NotRemote(ServerName),
    /// What it wants to see was not obtained.
    #[error("cannot authenticate to server `{server}`: {why}")]
    NotObtained {
        /// The server.
        server: ServerName,
        /// Why not.
        why: E,
    },
}

/// Marks a server as one with which somebody logs in, until it is dropped.
struct LoginAttempt<'a> {
    shared: &'a HostInner,
    member: Arc<RegisteredServer>,
}

impl Host {
    /// Obtains what a server wants in `Authorization`, such as `Bearer …`, and connects to it anew with that.
    ///
    /// # Errors
    ///
    /// When there is no such server at a URL, or `obtain` fails; then all is as before.
    pub async fn authenticate<E>(
        &self,
        name: &str,
        obtain: impl Future<Output = Result<HeaderValue, E>>,
    ) -> Result<(), AuthenticationError<E>> {
        let member = self.member(name)?;
        if !matches!(member.config.as_deref(), Some(config) if matches!(config.endpoint, toolbay_config::ServerEndpoint::Url(_)))
        {
            return Err(AuthenticationError::NotRemote(member.name.clone()));
        }
        let attempt = LoginAttempt::begin(&self.shared, member);
        let obtained = obtain.await;
        let server = attempt.member.name.clone();
        drop(attempt);
        let mut value =
            obtained.map_err(|why| AuthenticationError::NotObtained { server: server.clone(), why })?;
        value.set_sensitive(true);
        self.shared.credentials.lock().insert(server, value);
        // It may have been replaced or removed meanwhile.
        self.replace(name).await?;
        Ok(())
    }

    /// Puts a successor with the same configuration in the place of a server.
    async fn replace(&self, name: &str) -> Result<(), ServerError> {
        let order = {
            let _one_at_a_time = self.shared.applying.lock();
            let roster = self.shared.servers.load_full();
            let old = roster.get(name).ok_or_else(|| ServerError::Unknown(name.to_owned()))?.clone();
            let (successor, order) = self.shared.succeed(&old);
            let exchanged = |member: &Arc<RegisteredServer>| match Arc::ptr_eq(member, &old) {
                true => successor.clone(),
                false => member.clone(),
            };
            self.shared
                .servers
                .store(Arc::new(ServerRegistry::new(roster.servers.iter().map(exchanged).collect())));
            order
        };
        self.shared.stirred.notify_one();
        self.execute(vec![order]).await;
        Ok(())
    }
}

impl HostInner {
    /// The way to a server, with what it wants to see of us.
    pub(crate) fn with_credentials(&self, name: &ServerName, mut source: Endpoint) -> Endpoint {
        if let Endpoint::Auto(target)
        | Endpoint::Http(target)
        | Endpoint::Sse(target)
        | Endpoint::WebSocket(target) = &mut source
            && let Some(value) = self.credentials.lock().get(name)
        {
            target.headers.insert(AUTHORIZATION, value.clone());
        }
        source
    }
}

impl<'a> LoginAttempt<'a> {
    fn begin(shared: &'a HostInner, member: Arc<RegisteredServer>) -> Self {
        let attempt = Self { shared, member };
        attempt.mark(true);
        attempt
    }

    fn mark(&self, is_on: bool) {
        self.member.runner.status_context.set_authenticating(is_on);
        if !self.member.runner.status_context.is_draining() {
            self.shared.events.state(&self.member.name, self.member.state());
        }
    }
}

impl Drop for LoginAttempt<'_> {
    fn drop(&mut self) {
        self.mark(false);
    }
}
