//! The client id at an authorization server: pre-registered, a metadata document, or registered by ourselves.

use std::sync::Arc;

use bytes::Bytes;
use http::{
    HeaderValue, Method, Request,
    header::{ACCEPT, CONTENT_TYPE},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    credential::Credential,
    discovery::AuthorizationServer,
    error::{OAuthError, RefusedBy},
    http_client::Fetch,
    login::{RedirectInbox, callback::is_login_port},
    scope::Scopes,
    token::{ClientAuthentication, ClientCredentials, ErrorResponse, SigningKey, refused, unix_time},
};

/// How we present ourselves to authorization servers.
#[derive(Debug, Clone, Default)]
pub struct ClientSettings {
    /// What users read on the page where they consent.
    pub client_name: String,
    /// The URL of our client ID metadata document, which is our client id where that is supported.
    pub metadata_document: Option<String>,
    /// A client id that the user registered.
    pub pre_registered: Option<PreRegistered>,
    /// Scopes to request in any case. Without them, those that the server's metadata lists.
    pub scopes: Option<Scopes>,
    /// The port for the end of a login; any free one unless given.
    pub callback_port: Option<u16>,
    /// Whether tokens are bound to a key wherever the authorization server supports it, even if the server does not ask for it.
    pub dpop: bool,
    /// Where users come back to if their browsers are elsewhere; without it, a port of this machine.
    pub redirect_inbox: Option<Arc<RedirectInbox>>,
}

/// A client id that was registered by other means.
#[derive(Debug, Clone)]
pub struct PreRegistered {
    /// The client id.
    pub client_id: String,
    /// Its password.
    pub client_secret: Option<Credential>,
    /// Its key, used instead of a password.
    pub key: Option<Arc<SigningKey>>,
    /// Where it is registered. Unless given, where it was used first.
    pub issuer: Option<String>,
}

/// A client id at one issuer, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// Where it is valid.
    pub issuer: String,
    /// The client id.
    pub client_id: String,
    /// How it came about.
    pub kind: RegistrationKind,
    /// Its password, if the authorization server gave one.
    pub client_secret: Option<Credential>,
    /// How it authenticates at the token endpoint, if the registration says so.
    pub token_endpoint_auth_method: Option<String>,
    /// Where the authorization server sends users back to. The port belongs to the registration, because some
    /// authorization servers compare it.
    pub redirect_uri: String,
    /// When it was registered or last used with success, in seconds since 1970.
    pub confirmed_at: u64,
}

/// How a client id came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegistrationKind {
    /// By the user.
    PreRegistered,
    /// It is the URL of a document, and valid everywhere.
    MetadataDocument,
    /// By ourselves (RFC 7591).
    Dynamic,
}

/// A registration that was not used for this long is tried before users are sent to a page that may refuse it.
const TRUSTED_FOR: u64 = 60;

impl Registration {
    /// Whether the authorization server accepted it a moment ago.
    pub(crate) fn is_trusted(&self) -> bool {
        self.kind != RegistrationKind::Dynamic || unix_time() < self.confirmed_at.saturating_add(TRUSTED_FOR)
    }

    /// Its redirect URI, if that is not a port of this machine which we open for a login.
    pub(crate) fn public_redirect_uri(&self) -> Option<&str> {
        Some(self.redirect_uri.as_str()).filter(|uri| !is_login_port(uri))
    }

    /// The port of its redirect URI.
    pub(crate) fn port(&self) -> Option<u16> {
        url::Url::parse(&self.redirect_uri).ok()?.port()
    }

    /// What it takes to authenticate. Passwords and keys of pre-registered clients are never stored, so they come from the
    /// settings.
    pub(crate) fn credentials(
        &self,
        settings: &ClientSettings,
        server: &AuthorizationServer,
    ) -> ClientCredentials {
        let given = settings.pre_registered.as_ref().filter(|client| client.client_id == self.client_id);
        let secret = given.map_or(self.client_secret.as_ref(), |client| client.client_secret.as_ref());
        let authentication = match given.and_then(|client| client.key.as_ref()) {
            Some(key) => ClientAuthentication::PrivateKeyJwt(key.clone()),
            None => ClientAuthentication::choose(server, secret, self.token_endpoint_auth_method.as_deref()),
        };
        ClientCredentials { client_id: self.client_id.clone(), authentication }
    }
}

/// The client id that needs no registration now: pre-registered, or a metadata document where that is supported.
///
/// # Errors
/// If the pre-registered client belongs to another issuer; `used_at` is where it was used before.
pub(crate) fn without_registering(
    settings: &ClientSettings,
    server: &AuthorizationServer,
    redirect_uri: &str,
    used_at: Option<&str>,
) -> Result<Option<Registration>, OAuthError> {
    let registration = |client_id: &str, kind| Registration {
        issuer: server.issuer.clone(),
        client_id: client_id.to_owned(),
        kind,
        client_secret: None,
        token_endpoint_auth_method: None,
        redirect_uri: redirect_uri.to_owned(),
        confirmed_at: unix_time(),
    };
    if let Some(PreRegistered { client_id, issuer, .. }) = &settings.pre_registered {
        return match issuer.as_deref().or(used_at) {
            Some(registered_at) if registered_at != server.issuer => Err(OAuthError::IssuerChanged {
                client_id: client_id.clone(),
                registered_at: registered_at.to_owned(),
                issuer: server.issuer.clone(),
            }),
            _ => Ok(Some(registration(client_id, RegistrationKind::PreRegistered))),
        };
    }
    let document = settings.metadata_document.as_deref();
    let document = document.filter(|_| server.client_id_metadata_document_supported);
    Ok(document.map(|url| registration(url, RegistrationKind::MetadataDocument)))
}

#[derive(Deserialize)]
struct RegistrationResponse {
    client_id: String,
    client_secret: Option<Credential>,
    token_endpoint_auth_method: Option<String>,
}

/// Registers a client (RFC 7591) for the first of `redirect_uris`.
///
/// All of them are registered at once. An authorization server that refuses this gets one after the other.
pub(crate) async fn register(
    fetch: &dyn Fetch,
    settings: &ClientSettings,
    server: &AuthorizationServer,
    redirect_uris: &[String],
) -> Result<Registration, OAuthError> {
    let Some(endpoint) = &server.registration_endpoint else {
        return Err(OAuthError::NoClientId { issuer: server.issuer.clone() });
    };
    let mut failure = None;
    for uris in std::iter::once(redirect_uris).chain(redirect_uris.chunks(1)) {
        match register_for(fetch, settings, server, endpoint, uris).await {
            Err(error) if is_about_redirects(&error) => drop(failure.get_or_insert(error)),
            other => return other,
        }
    }
    Err(failure.unwrap_or(OAuthError::NoClientId { issuer: server.issuer.clone() }))
}

/// Only native applications may have redirect URIs of loopback addresses, and only web applications others.
fn application_type(redirect_uris: &[String]) -> &'static str {
    match redirect_uris.iter().any(|uri| uri.starts_with("https://")) {
        true => "web",
        false => "native",
    }
}

fn is_about_redirects(error: &OAuthError) -> bool {
    let OAuthError::Refused { code, description, .. } = error else { return false };
    code == "invalid_redirect_uri" || description.to_ascii_lowercase().contains("redirect")
}

async fn register_for(
    fetch: &dyn Fetch,
    settings: &ClientSettings,
    server: &AuthorizationServer,
    endpoint: &str,
    redirect_uris: &[String],
) -> Result<Registration, OAuthError> {
    let methods = ["none", "client_secret_basic", "client_secret_post"];
    let method = methods.into_iter().find(|method| server.supports_authentication(method)).unwrap_or("none");
    let metadata = json!({
        "client_name": settings.client_name,
        "redirect_uris": redirect_uris,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "application_type": application_type(redirect_uris),
    });
    let mut request = Request::new(Bytes::from(metadata.to_string()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = endpoint.parse().map_err(|_| OAuthError::InvalidUrl {
        what: "the registration endpoint",
        url: endpoint.to_owned(),
    })?;
    let json = HeaderValue::from_static("application/json");
    request.headers_mut().extend([(CONTENT_TYPE, json.clone()), (ACCEPT, json)]);
    let response = fetch.fetch(request).await?;
    let invalid = |problem: String| OAuthError::InvalidDocument { url: endpoint.to_owned(), problem };
    if !response.status().is_success() {
        return Err(match serde_json::from_slice::<ErrorResponse>(response.body()) {
            Ok(error) => refused(RefusedBy::Registration, &error, str::to_owned),
            Err(_) => invalid(format!("status {}", response.status())),
        });
    }
    let client: RegistrationResponse = serde_json::from_slice(response.body())
        .map_err(|_| invalid("something else than a registration".to_owned()))?;
    Ok(Registration {
        issuer: server.issuer.clone(),
        client_id: client.client_id,
        kind: RegistrationKind::Dynamic,
        client_secret: client.client_secret,
        token_endpoint_auth_method: client.token_endpoint_auth_method,
        redirect_uri: redirect_uris.first().cloned().unwrap_or_default(),
        confirmed_at: unix_time(),
    })
}
