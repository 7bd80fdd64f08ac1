//! Logins at protected servers: where their tokens are, and an authorizer per server.

use std::{collections::BTreeMap, ffi::OsString, sync::Arc, time::Duration};

use http::{HeaderMap, Method, Uri};
use tokio::sync::OnceCell;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_access::Principal;
use toolbay_config::{Remote, ServerConfig, ServerEndpoint};
use toolbay_host::{Authorizers, connect_options};
use toolbay_oauth::{
    AddressRule, Authorizer, AuthorizerConfig, ClientSettings, CredentialStore, GuardedClient, LoginKey,
    RedirectInbox, store::LockDirectory,
};
use toolbay_secrets::KeyringPrompts;
use toolbay_transport::http::client::{
    AfterRefusal, AuthorizationFailure, AuthorizerFuture, RefusedRequest, RequestAuthorizer,
};

use crate::app::{
    context::Context,
    error::CliError,
    login_settings::{BrokenAuthorizer, grant, settings},
    login_store::LoginStorage,
    user_secrets::{UserSecrets, in_full},
};

/// How long a login waits that was begun for a client, or by a command without a limit of its own.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(600);

/// What authorizers of servers share.
#[derive(Debug, Clone)]
pub(crate) struct Logins {
    pub(crate) store: CredentialStore,
    /// Whose logins they are; empty for the user who runs Toolbay.
    principal: String,
    /// Where users come back to whose browsers are elsewhere.
    redirect_inbox: Option<Arc<RedirectInbox>>,
    /// Names proxies.
    variables: BTreeMap<OsString, OsString>,
    /// Where connections run.
    tasks: TaskTracker,
    /// Where renewals run.
    renewals: TaskTracker,
    /// Where secrets of entries come from.
    secrets: UserSecrets,
    stop: CancellationToken,
}

impl Logins {
    /// Opens the store of tokens. There is none without a home or a directory for locks: then there are no logins.
    pub(crate) fn open(context: &Context) -> Option<Self> {
        Self::open_with(context, KeyringPrompts::Never)
            .inspect_err(|error| tracing::warn!("no logins at servers: {error}"))
            .ok()
    }

    /// As [`Logins::open`], for a command that is about logins.
    pub(crate) fn open_with(context: &Context, prompts: KeyringPrompts) -> Result<Self, CliError> {
        let no_home = || CliError::usage("set HOME, or XDG_CONFIG_HOME and XDG_STATE_HOME");
        let store = context.env.secret_store(prompts).ok_or_else(no_home)?;
        let directory = context.env.logins().ok_or_else(no_home)?;
        let locks = LockDirectory::at(directory);
        Ok(Self {
            store: CredentialStore::new(LoginStorage { store, locks }),
            principal: String::new(),
            redirect_inbox: None,
            variables: context.env.variables.clone(),
            tasks: context.tasks.clone(),
            renewals: context.renewals.clone(),
            secrets: UserSecrets::new(context),
            stop: context.stop.clone(),
        })
    }

    /// The logins of another principal of the hub, whose browser comes back to `redirect_inbox`.
    pub(crate) fn of_principal(
        &self,
        principal: &Principal,
        redirect_inbox: Option<Arc<RedirectInbox>>,
    ) -> Self {
        Self { principal: principal.to_string(), redirect_inbox, ..self.clone() }
    }

    /// The same with the secrets of a configuration, those of its commands included.
    pub(crate) fn with_secrets(self, secrets: UserSecrets) -> Self {
        Self { secrets, ..self }
    }

    /// The authorizers of all servers of a host.
    pub(crate) fn authorizers(self) -> Authorizers {
        Authorizers::new(move |config| {
            let ServerEndpoint::Url(remote) = &config.endpoint else { return None };
            if remote.oauth.is_configured && !config.secrets.is_empty() {
                return Some(Arc::new(LateAuthorizer::new(self.clone(), config.clone())));
            }
            Some(match self.authorizer(config, remote, LOGIN_TIMEOUT) {
                Ok(authorizer) => Arc::new(authorizer?),
                Err(why) => Arc::new(BrokenAuthorizer(why)) as Arc<dyn RequestAuthorizer>,
            })
        })
    }

    /// The authorizer of a server; none for one to which tokens would be sent in clear text, or that has none by its entry.
    ///
    /// # Errors
    /// If a file that the entry names cannot be used.
    pub(crate) fn authorizer(
        &self,
        config: &ServerConfig,
        remote: &Remote,
        login_timeout: Duration,
    ) -> Result<Option<Authorizer>, String> {
        let server = over_http(&remote.url);
        let rule = match AddressRule::for_server(&server) {
            AddressRule::Public if remote.oauth.allow_private_addresses => AddressRule::Private,
            rule => rule,
        };
        let is_clear_text = !server.starts_with("https:") && rule != AddressRule::Loopback;
        if is_clear_text || !remote.oauth.is_enabled {
            return Ok(None);
        }
        let route = connect_options(config, remote, &self.variables);
        Ok(Some(Authorizer::new(AuthorizerConfig {
            key: LoginKey { server, principal: self.principal.clone() },
            settings: ClientSettings {
                redirect_inbox: self.redirect_inbox.clone(),
                ..settings(&remote.oauth)?
            },
            grant: grant(&remote.oauth)?,
            fetch: Arc::new(GuardedClient::new(rule, &route, &self.tasks)),
            store: self.store.clone(),
            tasks: self.renewals.clone(),
            login_timeout,
            is_login_expected: remote.oauth.is_configured,
            stop: self.stop.clone(),
        })))
    }
}

/// A server with its secrets.
///
/// # Errors
/// If one cannot be found, or not be used where it is referred to.
pub(crate) async fn complete(config: &ServerConfig, secrets: &UserSecrets) -> Result<ServerConfig, String> {
    let mut values = BTreeMap::new();
    for name in config.secret_names() {
        let secret = secrets.find(name).await.map_err(|error| in_full(&error))?;
        values.insert(name.clone(), secret.expose().to_owned());
    }
    config.with_secrets(|name| values.get(name).map_or("", String::as_str))
}

/// The authorizer of a server whose entry has secrets, which are looked up when they are needed first.
#[derive(Debug)]
struct LateAuthorizer {
    logins: Logins,
    config: ServerConfig,
    authorizer: OnceCell<Arc<dyn RequestAuthorizer>>,
}

impl LateAuthorizer {
    fn new(logins: Logins, config: ServerConfig) -> Self {
        Self { logins, config, authorizer: OnceCell::new() }
    }

    /// A secret that is not there may be set later, so only what succeeds is kept.
    async fn get(&self) -> Result<&Arc<dyn RequestAuthorizer>, String> {
        let make = || async {
            let config = complete(&self.config, &self.logins.secrets).await?;
            let ServerEndpoint::Url(remote) = &config.endpoint else {
                return Err("it is not at a URL".to_owned());
            };
            let authorizer = self.logins.authorizer(&config, remote, LOGIN_TIMEOUT)?;
            let authorizer = authorizer.ok_or("tokens would be sent in clear text, or `oauth` is off")?;
            Ok(Arc::new(authorizer) as Arc<dyn RequestAuthorizer>)
        };
        self.authorizer.get_or_try_init(make).await
    }
}

fn failed(reason: String) -> AuthorizationFailure {
    AuthorizationFailure::Failed { reason, is_transient: false }
}

impl RequestAuthorizer for LateAuthorizer {
    fn is_active(&self) -> bool {
        self.authorizer.get().is_none_or(|authorizer| authorizer.is_active())
    }

    fn headers<'a>(
        &'a self,
        method: &'a Method,
        url: &'a Uri,
    ) -> AuthorizerFuture<'a, Result<HeaderMap, AuthorizationFailure>> {
        Box::pin(async move { self.get().await.map_err(failed)?.headers(method, url).await })
    }

    fn accepted(&self, url: &Uri, received: &HeaderMap) {
        if let Some(authorizer) = self.authorizer.get() {
            authorizer.accepted(url, received);
        }
    }

    fn refused<'a>(
        &'a self,
        request: RefusedRequest<'a>,
    ) -> AuthorizerFuture<'a, Result<AfterRefusal, AuthorizationFailure>> {
        Box::pin(async move { self.get().await.map_err(failed)?.refused(request).await })
    }

    fn changed(&self) -> AuthorizerFuture<'_, ()> {
        Box::pin(async move {
            match self.get().await {
                Ok(authorizer) => authorizer.changed().await,
                Err(_) => std::future::pending().await,
            }
        })
    }

    fn login_page(&self) -> AuthorizerFuture<'_, Result<String, String>> {
        Box::pin(async move { self.get().await?.login_page().await })
    }
}

/// The URL under which a server is known to its authorization server: a WebSocket begins as HTTP.
pub(crate) fn over_http(url: &Uri) -> String {
    let text = url.to_string();
    match text.split_once(':') {
        Some(("ws", rest)) => format!("http:{rest}"),
        Some(("wss", rest)) => format!("https:{rest}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_web_socket_is_known_by_the_url_of_its_handshake() {
        for (url, expected) in [
            ("wss://h/mcp", "https://h/mcp"),
            ("ws://127.0.0.1:1/mcp?q", "http://127.0.0.1:1/mcp?q"),
            ("https://h/mcp/", "https://h/mcp/"),
        ] {
            assert_eq!(over_http(&url.parse().unwrap()), expected);
        }
    }
}
