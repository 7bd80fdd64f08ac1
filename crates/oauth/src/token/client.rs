//! Who we are at a token endpoint.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use serde_json::json;
use url::form_urlencoded::byte_serialize;

use crate::{
    credential::Credential,
    discovery::AuthorizationServer,
    error::OAuthError,
    token::{Form, SigningKey, unix_time},
};

/// How long an assertion is valid. It is used at once.
const ASSERTION_LIFETIME: u64 = 300;

/// A client id and the proof that it is ours.
#[derive(Debug, Clone)]
pub struct ClientCredentials {
    /// The client id at one authorization server.
    pub client_id: String,
    /// How the client proves it.
    pub authentication: ClientAuthentication,
}

/// How a client authenticates at a token endpoint.
#[derive(Debug, Clone)]
pub enum ClientAuthentication {
    /// Not at all: a public client.
    None,
    /// With a password in the `Authorization` header.
    SecretBasic(Credential),
    /// With a password in the form.
    SecretPost(Credential),
    /// With an assertion that it signs.
    PrivateKeyJwt(Arc<SigningKey>),
}

impl ClientAuthentication {
    /// The way that an authorization server supports for a client with or without a password. `registered` is what its
    /// registration says.
    pub(crate) fn choose(
        server: &AuthorizationServer,
        secret: Option<&Credential>,
        registered: Option<&str>,
    ) -> Self {
        let Some(secret) = secret else { return Self::None };
        let secret = || secret.clone();
        match registered {
            Some("none") => Self::None,
            Some("client_secret_post") => Self::SecretPost(secret()),
            Some("client_secret_basic") => Self::SecretBasic(secret()),
            _ if server.supports_authentication("client_secret_basic") => Self::SecretBasic(secret()),
            _ if server.supports_authentication("client_secret_post") => Self::SecretPost(secret()),
            _ if server.supports_authentication("none") => Self::None,
            _ => Self::SecretBasic(secret()),
        }
    }
}

impl ClientCredentials {
    /// Adds what the authentication needs to a request for `issuer`.
    pub(crate) fn authenticate(
        &self,
        issuer: &str,
        headers: &mut HeaderMap,
        form: &mut Form,
    ) -> Result<(), OAuthError> {
        match &self.authentication {
            ClientAuthentication::None if self.client_id.is_empty() => {}
            ClientAuthentication::None => form.set("client_id", &self.client_id),
            ClientAuthentication::SecretPost(secret) => {
                form.set("client_id", &self.client_id);
                form.set("client_secret", secret.expose());
            }
            ClientAuthentication::SecretBasic(secret) => {
                headers.insert(AUTHORIZATION, basic(&self.client_id, secret)?);
            }
            ClientAuthentication::PrivateKeyJwt(key) => {
                let now = unix_time();
                let claims = json!({
                    "iss": self.client_id,
                    "sub": self.client_id,
                    "aud": issuer,
                    "jti": Credential::random()?.expose(),
                    "iat": now,
                    "exp": now + ASSERTION_LIFETIME,
                });
                form.set("client_id", &self.client_id);
                form.set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
                form.set("client_assertion", &key.sign(json!({ "typ": "JWT" }), &claims)?);
            }
        }
        Ok(())
    }
}

/// Both parts are form-encoded first, as RFC 6749 says.
fn basic(client_id: &str, secret: &Credential) -> Result<HeaderValue, OAuthError> {
    let encode = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encode(client_id), encode(secret.expose()));
    let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair)))
        .map_err(|_| OAuthError::Key("the password is no header"))?;
    value.set_sensitive(true);
    Ok(value)
}
