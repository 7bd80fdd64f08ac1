//! The endpoints that clients call themselves: tokens, registration and revocation.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, header};
use serde_json::json;
use sha2::{Digest, Sha256};
use toolbay_oauth::Scopes;

use super::{
    AuthorizationProxy,
    authorize::Parameters,
    clients::{InvalidClient, RegistrationError, RegistrationRequest},
    codes::Code,
    grants::{GrantError, GrantId, IssuedTokens},
    response,
};

/// The response to a request that is refused.
type Refused = Box<Response<Bytes>>;
type TokenResult = Result<Response<Bytes>, Refused>;

fn bad(code: &str, description: &str) -> Refused {
    Box::new(response::error(StatusCode::BAD_REQUEST, code, description))
}

impl AuthorizationProxy {
    /// The token endpoint.
    pub(super) async fn token(&self, headers: &HeaderMap, body: &[u8]) -> Response<Bytes> {
        let answer = self.token_result(headers, body).await;
        answer.unwrap_or_else(|error| match self.failures.allows() {
            true => *error,
            false => response::too_many("too many requests were refused of late; try again in a minute"),
        })
    }

    async fn token_result(&self, headers: &HeaderMap, body: &[u8]) -> TokenResult {
        let form = read_form(headers, body)?;
        let client_id = client_id(headers, &form)?;
        if !form.resources().iter().all(|resource| self.settings.is_ours(resource)) {
            return Err(bad("invalid_target", "the resource is not this hub"));
        }
        match form.get("grant_type") {
            Some("authorization_code") => self.exchange(client_id, &form).await,
            Some("refresh_token") => self.refresh(client_id, &form).await,
            Some(_) => Err(bad(
                "unsupported_grant_type",
                "grant_type must be `authorization_code` or `refresh_token`",
            )),
            None => Err(bad("invalid_request", "grant_type is missing")),
        }
    }

    /// Exchanges a code. Whatever is wrong with the request, the code is used up.
    async fn exchange(&self, client_id: &str, form: &Parameters) -> TokenResult {
        let missing = |name: &str| bad("invalid_request", &format!("{name} is missing"));
        let code = form.get("code").ok_or_else(|| missing("code"))?;
        let exchanged = self.codes.exchange(code, |code| {
            check_code(&code, client_id, form)
                .map(|()| (code.grant.id.clone(), self.grants.create(code.grant)))
        });
        let (id, created) = match exchanged {
            Ok(Ok(created)) => created,
            Ok(Err(problem)) => return Err(bad("invalid_grant", problem)),
            Err(None) => return Err(bad("invalid_grant", "the code is not valid or has expired")),
            Err(Some(grant)) => {
                tracing::warn!(client_id, "a code was sent twice; the login ends");
                self.end(&grant).await?;
                return Err(bad("invalid_grant", "the code was used before; its tokens are revoked"));
            }
        };
        let (tokens, removed) = created.map_err(|error| refused(&error))?;
        for id in removed {
            self.save(&id).await?;
        }
        self.save(&id).await?;
        if let Err(error) = self.clients.registered.mark_used(client_id).await {
            tracing::warn!(%error, "cannot save that a client is in use");
        }
        Ok(issued(&tokens))
    }

    async fn refresh(&self, client_id: &str, form: &Parameters) -> TokenResult {
        let token =
            form.get("refresh_token").ok_or_else(|| bad("invalid_request", "refresh_token is missing"))?;
        let scopes = form.get("scope").map(Scopes::parse);
        let (id, tokens) = self.grants.refresh(token, client_id, scopes.as_ref());
        if let Some(id) = id {
            self.save(&id).await?;
        }
        tokens.map(|tokens| issued(&tokens)).map_err(|error| refused(&error))
    }

    /// The revocation endpoint (RFC 7009). A token that is not known is as good as revoked.
    pub(super) async fn revoke(&self, headers: &HeaderMap, body: &[u8]) -> Response<Bytes> {
        let revoked = async {
            let form = read_form(headers, body)?;
            let client_id = client_id(headers, &form)?;
            let token = form.get("token").ok_or_else(|| bad("invalid_request", "token is missing"))?;
            match self.grants.find(token, client_id) {
                Some(id) => self.end(&id).await,
                None => Ok(()),
            }
        };
        match revoked.await {
            Ok(()) => response::json(StatusCode::OK, &json!({})),
            Err(refused) => *refused,
        }
    }

    /// The registration endpoint (RFC 7591).
    pub(super) async fn register(&self, headers: &HeaderMap, body: &[u8]) -> Response<Bytes> {
        if !is_content(headers, "application/json") {
            return *bad("invalid_client_metadata", "Content-Type must be application/json");
        }
        let (schemes, scopes) = (&self.settings.redirect_schemes, &self.settings.scopes());
        let request = RegistrationRequest { body, schemes, scopes };
        match self.clients.registered.register(request).await {
            Ok(registration) => response::json(StatusCode::CREATED, &registration),
            Err(RegistrationError::TooMany) => {
                response::too_many("too many registrations; try again in a minute")
            }
            Err(RegistrationError::Invalid(problem)) => {
                let code = match problem {
                    InvalidClient::RedirectUri(_) => "invalid_redirect_uri",
                    _ => "invalid_client_metadata",
                };
                *bad(code, &problem.to_string())
            }
            Err(RegistrationError::Storage(error)) => {
                tracing::error!(%error, "cannot save the registration of a client");
                *unavailable()
            }
        }
    }

    /// Ends a grant, in memory and on disk.
    async fn end(&self, id: &GrantId) -> Result<(), Refused> {
        self.grants.revoke(id);
        self.save(id).await
    }

    async fn save(&self, id: &GrantId) -> Result<(), Refused> {
        self.grants.save(id).await.map_err(|error| {
            tracing::error!(%error, directory = %self.settings.directory.display(), "cannot save a login");
            unavailable()
        })
    }
}

/// Whether a code may be exchanged by this request.
fn check_code(code: &Code, client_id: &str, form: &Parameters) -> Result<(), &'static str> {
    let request = &code.request;
    if request.client_id != client_id {
        return Err("the code was issued to another client");
    }
    if form.get("redirect_uri") != Some(&request.redirect_uri) {
        return Err("redirect_uri is not the one of the authorization request");
    }
    if form.resources().iter().any(|resource| *resource != request.resource) {
        return Err("resource is not the one of the authorization request");
    }
    let verifier = form.get("code_verifier").ok_or("code_verifier is missing")?;
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if !(43..=128).contains(&verifier.len()) || !verifier.bytes().all(is_unreserved) {
        return Err("code_verifier must have 43 to 128 unreserved characters");
    }
    match URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)) == request.code_challenge {
        true => Ok(()),
        false => Err("code_verifier does not belong to code_challenge"),
    }
}

fn read_form(headers: &HeaderMap, body: &[u8]) -> Result<Parameters, Refused> {
    if !is_content(headers, "application/x-www-form-urlencoded") {
        return Err(bad("invalid_request", "Content-Type must be application/x-www-form-urlencoded"));
    }
    let form = Parameters::parse(body);
    match form.ambiguous() {
        Some(_) => Err(bad("invalid_request", "a parameter is there twice, or too long")),
        None => Ok(form),
    }
}

/// All clients are public: they say who they are and prove nothing but PKCE and their tokens.
fn client_id<'a>(headers: &HeaderMap, form: &'a Parameters) -> Result<&'a str, Refused> {
    if headers.contains_key(header::AUTHORIZATION) || form.get("client_secret").is_some() {
        let mut response = response::error(
            StatusCode::UNAUTHORIZED,
            "invalid_client",
            "clients of this hub have no password",
        );
        let scheme = http::HeaderValue::from_static("Basic realm=\"toolbay\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        return Err(Box::new(response));
    }
    form.get("client_id").ok_or_else(|| bad("invalid_request", "client_id is missing"))
}

fn is_content(headers: &HeaderMap, kind: &str) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(kind)
}

fn issued(tokens: &IssuedTokens) -> Response<Bytes> {
    let mut body = json!({
        "access_token": tokens.access_token.expose(),
        "token_type": "Bearer",
        "expires_in": tokens.expires_in,
        "refresh_token": tokens.refresh_token.expose(),
    });
    if !tokens.scopes.is_empty() {
        body["scope"] = tokens.scopes.to_string().into();
    }
    response::json(StatusCode::OK, &body)
}

fn refused(error: &GrantError) -> Refused {
    match error {
        GrantError::Invalid | GrantError::Reused | GrantError::Expired => {
            bad("invalid_grant", &error.to_string())
        }
        GrantError::Scope => bad("invalid_scope", &error.to_string()),
        GrantError::Full | GrantError::Random(_) => {
            tracing::error!(%error, "no tokens were issued");
            unavailable()
        }
    }
}

fn unavailable() -> Refused {
    let description = "the hub cannot do that now; its log says why";
    Box::new(response::error(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", description))
}
