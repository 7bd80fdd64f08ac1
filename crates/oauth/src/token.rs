//! Requests to token endpoints, and the tokens that they return.

mod client;
mod dpop;
mod signing;

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use serde::{Deserialize, Serialize};
use url::form_urlencoded::Serializer;

pub use client::{ClientAuthentication, ClientCredentials};
pub(crate) use dpop::{PROOF, ProofKey};
pub use signing::SigningKey;

use crate::{
    credential::Credential,
    error::{OAuthError, RefusedBy},
    http_client::Fetch,
    scope::Scopes,
};

/// Tokens for one resource, as they are stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// What is sent to the server.
    pub access_token: Credential,
    /// How it is sent.
    pub scheme: TokenScheme,
    /// What renews it; not every authorization server gives one.
    pub refresh_token: Option<Credential>,
    /// When it expires, in seconds since 1970.
    pub expires_at: Option<u64>,
    /// When it was issued, in seconds since 1970.
    pub issued_at: u64,
    /// The scopes that were requested so far. Step-up adds to them.
    pub requested: Scopes,
    /// The scopes that were granted, if the response names them.
    pub granted: Option<Scopes>,
    /// The key that the token is bound to.
    pub proof_key: Option<Credential>,
}

/// The scheme of the `Authorization` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenScheme {
    /// Those who have the token may use it.
    Bearer,
    /// The token is bound to a key.
    DPoP,
}

/// A token is renewed this long before it expires, so that it does not expire on its way.
const EARLY: u64 = 30;

impl Tokens {
    /// Whether the token must be renewed before it is used.
    pub fn is_expired(&self) -> bool {
        self.expires_at.is_some_and(|at| {
            // Of a short life, most is to be used.
            let early = EARLY.min(at.saturating_sub(self.issued_at) / 4);
            unix_time() + early >= at
        })
    }

    /// The `Authorization` header.
    pub(crate) fn authorization(&self) -> Result<HeaderValue, OAuthError> {
        let scheme = match self.scheme {
            TokenScheme::Bearer => "Bearer",
            TokenScheme::DPoP => "DPoP",
        };
        let mut value =
            HeaderValue::from_str(&format!("{scheme} {}", self.access_token.expose())).map_err(|_| {
                OAuthError::InvalidResponse("the access token has characters that no header may have")
            })?;
        value.set_sensitive(true);
        Ok(value)
    }
}

/// The parameters of a request.
#[derive(Default)]
pub(crate) struct Form(Vec<(&'static str, String)>);

impl Form {
    pub(crate) fn of_grant(grant_type: &str) -> Self {
        Self(vec![("grant_type", grant_type.to_owned())])
    }

    pub(crate) fn set(&mut self, name: &'static str, value: &str) {
        self.0.retain(|(present, _)| *present != name);
        self.0.push((name, value.to_owned()));
    }

    pub(crate) fn set_scope(&mut self, scopes: &Scopes) {
        if !scopes.is_empty() {
            self.set("scope", &scopes.to_string());
        }
    }

    fn encode(&self) -> String {
        Serializer::new(String::new()).extend_pairs(&self.0).finish()
    }

    /// Takes the values of this form out of a text that the other side wrote.
    fn redact(&self, text: &str) -> String {
        let long = self.0.iter().filter(|(name, value)| value.len() >= 8 && !is_public(name));
        long.fold(text.to_owned(), |text, (_, value)| text.replace(value.as_str(), "…"))
    }
}

fn is_public(name: &str) -> bool {
    matches!(name, "grant_type" | "scope" | "resource" | "client_id" | "redirect_uri" | "audience")
}

/// A token endpoint, and who asks there.
pub(crate) struct TokenEndpoint<'a> {
    pub(crate) fetch: &'a dyn Fetch,
    pub(crate) url: &'a str,
    pub(crate) issuer: &'a str,
    pub(crate) client: &'a ClientCredentials,
    pub(crate) proof_key: Option<&'a ProofKey>,
    pub(crate) by: RefusedBy,
}

#[derive(Deserialize)]
pub(crate) struct TokenResponse {
    pub(crate) access_token: Credential,
    #[serde(default)]
    pub(crate) token_type: String,
    pub(crate) issued_token_type: Option<String>,
    pub(crate) id_token: Option<Credential>,
    refresh_token: Option<Credential>,
    expires_in: Option<serde_json::Value>,
    scope: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct ErrorResponse {
    pub(crate) error: String,
    #[serde(default)]
    pub(crate) error_description: String,
}

impl TokenEndpoint<'_> {
    /// Requests tokens for `resource` with `requested` scopes.
    pub(crate) async fn tokens(&self, form: Form, requested: &Scopes) -> Result<Tokens, OAuthError> {
        let response = self.request(form).await?;
        let scheme = match response.token_type.to_ascii_lowercase().as_str() {
            "bearer" | "" => TokenScheme::Bearer,
            "dpop" if self.proof_key.is_some() => TokenScheme::DPoP,
            _ => return Err(self.invalid("a token of an unknown type")),
        };
        let issued_at = unix_time();
        // Some servers write the number as text.
        let expires_in = response.expires_in.and_then(|value| match value {
            serde_json::Value::String(text) => text.parse().ok(),
            value => value.as_u64(),
        });
        Ok(Tokens {
            access_token: response.access_token,
            scheme,
            refresh_token: response.refresh_token,
            expires_at: expires_in.map(|seconds: u64| issued_at.saturating_add(seconds)),
            issued_at,
            requested: requested.clone(),
            granted: response.scope.as_deref().map(Scopes::parse),
            proof_key: (scheme == TokenScheme::DPoP)
                .then(|| self.proof_key.map(|key| key.saved().clone()))
                .flatten(),
        })
    }

    /// Renews tokens. What the response leaves out stays as it was.
    pub(crate) async fn refresh(&self, old: &Tokens, resource: &str) -> Result<Tokens, OAuthError> {
        let Some(refresh_token) = &old.refresh_token else { return Err(OAuthError::LoginRequired) };
        let mut form = Form::of_grant("refresh_token");
        form.set("refresh_token", refresh_token.expose());
        form.set("resource", resource);
        let mut tokens = self.tokens(form, &old.requested).await?;
        tokens.refresh_token = tokens.refresh_token.or_else(|| old.refresh_token.clone());
        tokens.granted = tokens.granted.or_else(|| old.granted.clone());
        Ok(tokens)
    }

    /// Sends a form, and once more if a nonce is required.
    pub(crate) async fn request(&self, mut form: Form) -> Result<TokenResponse, OAuthError> {
        let mut is_nonce_known = false;
        loop {
            let mut headers = HeaderMap::new();
            self.client.authenticate(self.issuer, &mut headers, &mut form)?;
            if let Some(key) = self.proof_key {
                headers.insert(PROOF, key.proof(&Method::POST, self.url, None)?);
            }
            let response = post_form(self.fetch, self.url, headers, form.encode()).await?;
            let got_nonce =
                self.proof_key.is_some_and(|key| key.remember_nonce(self.url, response.headers()));
            if response.status() == StatusCode::OK {
                return serde_json::from_slice(response.body())
                    .map_err(|_| self.invalid("something else than a token response"));
            }
            let refusal = serde_json::from_slice::<ErrorResponse>(response.body());
            if let Ok(refusal) = &refusal
                && refusal.error == "use_dpop_nonce"
                && got_nonce
                && !is_nonce_known
            {
                is_nonce_known = true;
                continue;
            }
            return Err(match refusal {
                Ok(refusal) => refused(self.by, &refusal, |text| form.redact(text)),
                Err(_) => self.invalid(&format!("status {}", response.status())),
            });
        }
    }

    /// Sends a form to an endpoint that says nothing but whether it succeeded.
    pub(crate) async fn revoke(&self, mut form: Form) -> Result<(), OAuthError> {
        let mut headers = HeaderMap::new();
        self.client.authenticate(self.issuer, &mut headers, &mut form)?;
        let response = post_form(self.fetch, self.url, headers, form.encode()).await?;
        if response.status().is_success() {
            return Ok(());
        }
        Err(match serde_json::from_slice::<ErrorResponse>(response.body()) {
            Ok(refusal) => refused(self.by, &refusal, |text| form.redact(text)),
            Err(_) => self.invalid(&format!("status {}", response.status())),
        })
    }

    fn invalid(&self, problem: &str) -> OAuthError {
        OAuthError::InvalidDocument { url: self.url.to_owned(), problem: problem.to_owned() }
    }
}

/// An error response as an error, with a description that is short, printable and without our secrets.
pub(crate) fn refused(
    by: RefusedBy,
    response: &ErrorResponse,
    redact: impl Fn(&str) -> String,
) -> OAuthError {
    let clean = |text: &str, most: usize| -> String {
        redact(text).chars().filter(|character| !character.is_control()).take(most).collect()
    };
    let description = clean(&response.error_description, 200);
    OAuthError::Refused {
        by,
        code: clean(&response.error, 60),
        description: if description.is_empty() { description } else { format!(" ({description})") },
    }
}

async fn post_form(
    fetch: &dyn Fetch,
    url: &str,
    headers: HeaderMap,
    form: String,
) -> Result<http::Response<Bytes>, OAuthError> {
    let mut request = Request::new(Bytes::from(form));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = url
        .parse()
        .map_err(|_| OAuthError::InvalidUrl { what: "the token endpoint", url: url.to_owned() })?;
    *request.headers_mut() = headers;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    debug_assert!(headers.get(AUTHORIZATION).is_none_or(HeaderValue::is_sensitive));
    Ok(fetch.fetch(request).await?)
}

pub(crate) fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
