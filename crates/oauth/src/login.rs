//! The login of a user, from the discovery to the stored tokens.

mod authorize;
mod callback;
mod redirect_inbox;
mod registration;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, Request, StatusCode, header::LOCATION};
use tokio::time::timeout;

pub(crate) use authorize::{AuthorizationResponse, PendingLogin, scopes_to_request, with_query};
pub use redirect_inbox::RedirectInbox;
pub use registration::{ClientSettings, PreRegistered, Registration, RegistrationKind};

use crate::{
    challenge::Challenge,
    discovery::{Discovery, discover},
    error::{OAuthError, RefusedBy},
    http_client::{BoxFuture, Fetch},
    scope::Scopes,
    store::{CredentialStore, LoginKey, LoginRecord},
    token::{ProofKey, TokenEndpoint, Tokens, unix_time},
};
use callback::Callback;
use registration::{register, without_registering};

/// Shows a page to the user: a browser, a terminal, a panel, or a program that plays the user.
pub trait UserAgent: Send + Sync {
    /// Opens a URL. It is `http` or `https`, and must be passed to a browser without a shell.
    ///
    /// Returns the redirect URL if the user pasted it, and nothing if the browser will open it.
    fn open<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Option<String>, OAuthError>>;
}

/// What a login needs to know.
#[derive(Debug)]
pub struct LoginRequest<'a> {
    /// Sends the requests.
    pub fetch: &'a dyn Fetch,
    /// Keeps registrations and tokens.
    pub store: &'a CredentialStore,
    /// Who we are.
    pub settings: &'a ClientSettings,
    /// For which server, and who the user is.
    pub key: &'a LoginKey,
    /// What the server said when it refused; empty if it was not tried.
    pub challenge: &'a Challenge,
    /// The scopes of the token that did not suffice; empty if it is no step-up.
    pub scopes_before: &'a Scopes,
    /// How long the user may take.
    pub timeout: Duration,
}

/// Logs a user in and stores the tokens.
///
/// A client that the authorization server does not know any more is registered again, once.
///
/// # Errors
/// If a step fails; nothing is stored then but a new registration.
pub async fn login(
    request: &LoginRequest<'_>,
    agent: &dyn UserAgent,
) -> Result<(LoginRecord, Tokens), OAuthError> {
    let LoginRequest { fetch, store, settings, key, challenge, .. } = *request;
    let discovery = discover(fetch, &key.server, challenge).await?;
    let scopes = authorize::scopes_to_request(settings, challenge, &discovery, request.scopes_before);
    let (client, callback) = find_client(request, &discovery).await?;
    let result = authorize_client(request, &discovery, &scopes, &client, &callback, agent).await;
    let (client, tokens) = match result {
        Err(error) if error.is_stale_client() && client.kind == RegistrationKind::Dynamic => {
            tracing::info!(
                issuer = client.issuer,
                "the authorization server refused our client; registering again"
            );
            store.remove_registration(&client).await?;
            let client = register_client(request, &discovery, &callback).await?;
            let tokens = authorize_client(request, &discovery, &scopes, &client, &callback, agent).await?;
            (client, tokens)
        }
        result => (client, result?),
    };
    save(request, discovery.resource, client, tokens).await
}

/// Where the user comes back to.
enum Return {
    /// To a port of this machine.
    Port(Callback),
    /// To a URL that the program serves.
    Inbox(Arc<RedirectInbox>),
}

impl Return {
    /// The URIs to register, the preferred one first.
    fn redirect_uris(&self) -> Vec<String> {
        match self {
            Self::Port(callback) => callback.redirect_uris().into(),
            Self::Inbox(inbox) => vec![inbox.redirect_uri().to_owned()],
        }
    }

    async fn wait(&self, pending: &PendingLogin) -> Result<AuthorizationResponse, OAuthError> {
        match self {
            Self::Port(callback) => callback.wait(pending).await,
            Self::Inbox(inbox) => inbox.wait(pending).await,
        }
    }
}

/// Finds a client id and opens the port that belongs to it.
async fn find_client(
    request: &LoginRequest<'_>,
    discovery: &Discovery,
) -> Result<(Registration, Return), OAuthError> {
    let LoginRequest { store, settings, key, .. } = *request;
    let redirect_uri = settings.redirect_inbox.as_ref().map(|inbox| inbox.redirect_uri());
    let saved = store.registration(&discovery.server.issuer, redirect_uri).await?;
    let saved = saved.filter(|_| settings.pre_registered.is_none());
    let callback = match &settings.redirect_inbox {
        Some(inbox) => match saved {
            Some(saved) => return Ok((saved, Return::Inbox(inbox.clone()))),
            None => Return::Inbox(inbox.clone()),
        },
        None => {
            let is_usable =
                |saved: &Registration| settings.callback_port.is_none_or(|port| saved.port() == Some(port));
            let spare = match &saved {
                Some(_) => store.spare_registration(&discovery.server.issuer).await?,
                None => None,
            };
            for saved in saved.into_iter().chain(spare).filter(is_usable) {
                if let Ok(callback) = Callback::bind(saved.port()).await {
                    return Ok((saved, Return::Port(callback)));
                }
            }
            Return::Port(Callback::bind(settings.callback_port).await?)
        }
    };
    let redirect_uri = callback.redirect_uris().swap_remove(0);
    let before = store.login(key).await?.map(|login| login.client);
    let used_at = before.as_ref().filter(|before| {
        settings.pre_registered.as_ref().is_some_and(|client| client.client_id == before.client_id)
    });
    let used_at = used_at.map(|client| client.issuer.as_str());
    match without_registering(settings, &discovery.server, &redirect_uri, used_at)? {
        Some(client) => Ok((client, callback)),
        None => Ok((register_client(request, discovery, &callback).await?, callback)),
    }
}

async fn register_client(
    request: &LoginRequest<'_>,
    discovery: &Discovery,
    callback: &Return,
) -> Result<Registration, OAuthError> {
    let LoginRequest { fetch, store, settings, .. } = *request;
    let client = register(fetch, settings, &discovery.server, &callback.redirect_uris()).await?;
    store.save_registration(&client).await?;
    Ok(client)
}

/// Sends the user to the authorization server and exchanges the code that comes back.
async fn authorize_client(
    request: &LoginRequest<'_>,
    discovery: &Discovery,
    scopes: &Scopes,
    client: &Registration,
    callback: &Return,
    agent: &dyn UserAgent,
) -> Result<Tokens, OAuthError> {
    let (url, pending) = authorize::begin(discovery, client, scopes)?;
    if !client.is_trusted() {
        check_client(request.fetch, &url, client).await?;
    }
    let response = match timeout(request.timeout, follow(&url, &pending, callback, agent)).await {
        Ok(response) => response?,
        Err(_) => return Err(OAuthError::LoginTimeout { seconds: request.timeout.as_secs() }),
    };
    let code = pending.accept(response)?;
    let proof_key = proof_key(request.settings, discovery, request.challenge)?;
    let endpoint = TokenEndpoint {
        fetch: request.fetch,
        url: &discovery.server.token_endpoint,
        issuer: &discovery.server.issuer,
        client: &client.credentials(request.settings, &discovery.server),
        proof_key: proof_key.as_ref(),
        by: RefusedBy::Token,
    };
    endpoint.tokens(pending.exchange(&code, &discovery.resource), scopes).await
}

/// Waits for the response, from the browser or as text that the user pastes.
async fn follow(
    url: &str,
    pending: &PendingLogin,
    callback: &Return,
    agent: &dyn UserAgent,
) -> Result<AuthorizationResponse, OAuthError> {
    let pasted = async {
        match agent.open(url).await {
            Ok(Some(text)) => Ok(AuthorizationResponse::parse(&text)),
            Ok(None) => std::future::pending().await,
            Err(error) => Err(error),
        }
    };
    tokio::select! {
        response = callback.wait(pending) => response,
        response = pasted => response,
    }
}

/// Finds out whether the authorization server still knows a client. If it does not, it shows an error page and never sends
/// the user back, so the login would only time out.
async fn check_client(fetch: &dyn Fetch, url: &str, client: &Registration) -> Result<(), OAuthError> {
    let invalid =
        |_| OAuthError::InvalidUrl { what: "the authorization endpoint", url: client.issuer.clone() };
    let mut request = Request::new(Bytes::new());
    *request.method_mut() = Method::GET;
    *request.uri_mut() = url.parse().map_err(invalid)?;
    let Ok(response) = fetch.fetch(request).await else { return Ok(()) }; // the browser may have more luck
    let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
    let is_refused = matches!(response.status(), StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED)
        || location.is_some_and(|location| {
            ["invalid_client", "unauthorized_client", "invalid_redirect_uri"]
                .iter()
                .any(|error| location.contains(&format!("error={error}")))
        });
    match is_refused {
        true => Err(OAuthError::Refused {
            by: RefusedBy::Authorization,
            code: "invalid_client".to_owned(),
            description: format!(" (status {})", response.status()),
        }),
        false => Ok(()),
    }
}

/// The key that new tokens are bound to, if the server or the user wants it.
pub(crate) fn proof_key(
    settings: &ClientSettings,
    discovery: &Discovery,
    challenge: &Challenge,
) -> Result<Option<ProofKey>, OAuthError> {
    let supported = &discovery.server.dpop_signing_alg_values_supported;
    let is_supported = supported.iter().any(|algorithm| algorithm == "ES256");
    match discovery.requires_dpop {
        true if is_supported || (supported.is_empty() && !challenge.wants_bearer) => {
            ProofKey::generate().map(Some)
        }
        true if !challenge.wants_bearer => Err(OAuthError::Unsupported {
            issuer: discovery.server.issuer.clone(),
            what: "proofs of possession with ES256, which the server requires",
        }),
        false if settings.dpop && is_supported => ProofKey::generate().map(Some),
        _ => Ok(None),
    }
}

async fn save(
    request: &LoginRequest<'_>,
    resource: String,
    mut client: Registration,
    tokens: Tokens,
) -> Result<(LoginRecord, Tokens), OAuthError> {
    let LoginRequest { store, key, .. } = *request;
    client.confirmed_at = unix_time();
    if client.kind == RegistrationKind::Dynamic {
        store.save_registration(&client).await?;
    }
    let login = LoginRecord { key: key.clone(), resource, client, wanted: tokens.requested.clone() };
    if let Some(before) = store.login(key).await?
        && (before.client.issuer != login.client.issuer
            || before.client.client_id != login.client.client_id
            || before.resource != login.resource)
    {
        store.remove_tokens(&before).await?;
    }
    store.save_login(&login, &tokens).await?;
    Ok((login, tokens))
}
