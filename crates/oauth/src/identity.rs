//! The login of a person at an OpenID provider, to find out who it is.
//!
//! The hub is the provider's client here, with a client id that was registered there by hand. Tokens of the provider are used
//! for this alone and not kept.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{
    HeaderValue, Method, Request, StatusCode,
    header::{ACCEPT, AUTHORIZATION},
};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::{
    credential::Credential,
    discovery::AuthorizationServer,
    error::{OAuthError, RefusedBy},
    http_client::Fetch,
    login::{AuthorizationResponse, PendingLogin, with_query},
    scope::Scopes,
    token::{ClientAuthentication, ClientCredentials, TokenEndpoint, unix_time},
};

/// What a provider says about a person.
pub type Claims = Map<String, Value>;

/// How long the provider's metadata is used before it is read again.
const METADATA_AGE: Duration = Duration::from_secs(3600);
/// How far the clocks of the provider and of this machine may differ, in seconds.
const CLOCK_SKEW: u64 = 60;

/// How we are registered at a provider.
#[derive(Debug, Clone)]
pub struct IdentityProviderSettings {
    /// The provider's issuer.
    pub issuer: String,
    /// Our client id there.
    pub client_id: String,
    /// Its password; none for a public client.
    pub client_secret: Option<Credential>,
    /// Where the provider sends people back to, as registered there.
    pub redirect_uri: String,
    /// What is requested. `openid` is, in any case.
    pub scopes: Scopes,
}

/// An OpenID provider where people log in.
#[derive(Debug)]
pub struct IdentityProvider {
    settings: IdentityProviderSettings,
    fetch: Arc<dyn Fetch>,
    metadata: Mutex<Option<(Instant, Arc<AuthorizationServer>)>>,
}

/// A login that was begun.
#[derive(Debug)]
pub struct PendingIdentity {
    login: PendingLogin,
    nonce: Credential,
    server: Arc<AuthorizationServer>,
}

impl PendingIdentity {
    /// What the response must bring back.
    pub fn state(&self) -> &Credential {
        self.login.state()
    }
}

impl IdentityProvider {
    /// A provider that is reached by `fetch`.
    pub fn new(settings: IdentityProviderSettings, fetch: Arc<dyn Fetch>) -> Self {
        Self { settings, fetch, metadata: Mutex::default() }
    }

    /// The provider's issuer.
    pub fn issuer(&self) -> &str {
        &self.settings.issuer
    }

    /// Begins a login: the URL that a person is sent to, and what to keep until they come back.
    ///
    /// # Errors
    /// If the provider cannot be reached or has no authorization endpoint.
    pub async fn begin(&self) -> Result<(String, PendingIdentity), OAuthError> {
        let server = self.metadata().await?;
        let Some(endpoint) = &server.authorization_endpoint else {
            return Err(OAuthError::Unsupported { issuer: server.issuer.clone(), what: "logins of users" });
        };
        let login = PendingLogin::new(&server, &self.settings.redirect_uri)?;
        let nonce = Credential::random()?;
        let url = with_query(
            endpoint,
            &[
                ("response_type", "code"),
                ("client_id", &self.settings.client_id),
                ("redirect_uri", &self.settings.redirect_uri),
                ("scope", &self.settings.scopes.union(&Scopes::parse("openid")).to_string()),
                ("state", login.state().expose()),
                ("nonce", nonce.expose()),
                // Providers that do not know PKCE ignore it, and some that do say nothing about it.
                ("code_challenge", &login.code_challenge()),
                ("code_challenge_method", "S256"),
            ],
        )?;
        Ok((url, PendingIdentity { login, nonce, server }))
    }

    /// Ends a login: checks the query with which the person came back, and returns what the provider says about them.
    ///
    /// # Errors
    /// If the response is not that of this login, or the provider refuses.
    pub async fn finish(&self, pending: &PendingIdentity, query: &str) -> Result<Claims, OAuthError> {
        let code = pending.login.accept(AuthorizationResponse::parse(query))?;
        let server = &pending.server;
        let secret = self.settings.client_secret.as_ref();
        let client = ClientCredentials {
            client_id: self.settings.client_id.clone(),
            authentication: ClientAuthentication::choose(server, secret, None),
        };
        let endpoint = TokenEndpoint {
            fetch: &*self.fetch,
            url: &server.token_endpoint,
            issuer: &server.issuer,
            client: &client,
            proof_key: None,
            by: RefusedBy::IdentityProvider,
        };
        let response = endpoint.request(pending.login.exchange_code(&code)).await?;
        let Some(id_token) = &response.id_token else {
            return Err(OAuthError::InvalidResponse("the provider gave no ID token"));
        };
        let mut claims = self.check_id_token(id_token, &pending.nonce)?;
        if let Some(url) = &server.userinfo_endpoint {
            self.add_user_info(url, &response.access_token, &mut claims).await?;
        }
        Ok(claims)
    }

    async fn metadata(&self) -> Result<Arc<AuthorizationServer>, OAuthError> {
        let known = self.metadata.lock().clone();
        if let Some((at, server)) = known
            && at.elapsed() < METADATA_AGE
        {
            return Ok(server);
        }
        let found = Arc::new(AuthorizationServer::of_issuer(&*self.fetch, &self.settings.issuer).await?);
        *self.metadata.lock() = Some((Instant::now(), found.clone()));
        Ok(found)
    }

    /// Reads an ID token that the token endpoint itself returned. The connection shows whose it is (OpenID Connect Core
    /// 3.1.3.7, 6), so its signature adds nothing.
    fn check_id_token(&self, token: &Credential, nonce: &Credential) -> Result<Claims, OAuthError> {
        let invalid = OAuthError::InvalidResponse;
        let payload = token.expose().split('.').nth(1).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
        let claims: Option<Claims> = payload.and_then(|payload| serde_json::from_slice(&payload).ok());
        let Some(claims) = claims else { return Err(invalid("the ID token is not readable")) };
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        let client_id = self.settings.client_id.as_str();
        if text("iss") != Some(&self.settings.issuer) {
            return Err(invalid("the ID token is of another issuer (`iss`)"));
        }
        let (is_for_us, is_for_others) = match claims.get("aud") {
            Some(Value::String(audience)) => (audience == client_id, false),
            Some(Value::Array(all)) => (all.iter().any(|one| one == client_id), all.len() > 1),
            _ => (false, false),
        };
        if !is_for_us {
            return Err(invalid("the ID token is for another client (`aud`)"));
        }
        match text("azp") {
            Some(party) if party != client_id => {
                return Err(invalid("the ID token was issued to another client (`azp`)"));
            }
            None if is_for_others => {
                return Err(invalid(
                    "the ID token does not say which of its clients it was issued to (`azp`)",
                ));
            }
            _ => {}
        }
        if claims
            .get("exp")
            .and_then(Value::as_f64)
            .is_none_or(|at| at + CLOCK_SKEW as f64 <= unix_time() as f64)
        {
            return Err(invalid("the ID token has expired (`exp`)"));
        }
        if text("nonce") != Some(nonce.expose()) {
            return Err(invalid("the ID token belongs to another login (`nonce`)"));
        }
        if text("sub").is_none_or(str::is_empty) {
            return Err(invalid("the ID token does not say who it is (`sub`)"));
        }
        Ok(claims)
    }

    /// Adds what the ID token leaves out. Many providers keep it short.
    async fn add_user_info(
        &self,
        url: &str,
        token: &Credential,
        claims: &mut Claims,
    ) -> Result<(), OAuthError> {
        let mut request = Request::new(Bytes::new());
        *request.method_mut() = Method::GET;
        *request.uri_mut() = url
            .parse()
            .map_err(|_| OAuthError::InvalidUrl { what: "the userinfo endpoint", url: url.to_owned() })?;
        let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose()))
            .map_err(|_| OAuthError::InvalidResponse("the access token is no header"))?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        let response = self.fetch.fetch(request).await?;
        let found = serde_json::from_slice::<Claims>(response.body()).ok();
        let Some(found) = found.filter(|_| response.status() == StatusCode::OK) else {
            tracing::info!(issuer = self.settings.issuer, status = %response.status(), "the provider gave no user info");
            return Ok(());
        };
        if found.get("sub") != claims.get("sub") {
            return Err(OAuthError::InvalidResponse("the user info is about another person (`sub`)"));
        }
        for (name, value) in found {
            claims.entry(name).or_insert(value);
        }
        Ok(())
    }
}
