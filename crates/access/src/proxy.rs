//! The authorization proxy: an authorization server for MCP clients, in front of a provider that registers none.
//!
//! # Theory of operation
//!
//! A client finds the [`AuthorizationProxy`] by its metadata, registers or names its document, and sends the person to
//! `/oauth/authorize`. The person consents on a page of ours, logs in at the provider, where the hub has a client id of its own,
//! and comes back to `/oauth/callback`. The claims of the provider say who it is. The client gets a code of ours, exchanges it for
//! tokens of ours, and calls the hub with them. Tokens of the provider never leave this module, and none of ours reaches a server.
//!
//! # Invariants
//!
//! - To the provider all clients are one, so its own consent says nothing about which client a person approved. Nobody gets there
//!   without having consented here: to this client, to be answered at this address.
//! - Nothing is kept of a request before consent. A login that was begun belongs to the browser that began it and is used once.
//! - A browser is sent to no address that the client did not register.
//! - What one person approved counts for that person alone, as the provider names them after the login.
//! - Whatever strangers can cause is bounded in number, size and rate.

mod approvals;
mod authorize;
mod clients;
mod codes;
mod consent;
mod endpoints;
mod files;
mod grants;
mod rate;
pub(crate) mod response;
mod settings;
pub(crate) mod signature;
mod stored_logins;
mod tokens;

use std::{
    io,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use tokio_util::sync::CancellationToken;
use toolbay_oauth::{Claims, Credential, IdentityProvider, NoRandomNumbers, OAuthError};

pub use settings::{AllowedUsers, ProviderSettings, ProxySettings};
pub use stored_logins::StoredLogin;

use crate::{
    authenticator::{Access, Authenticator, Refusal},
    principal::Principal,
    rights::Rights,
};
use approvals::Approvals;
use authorize::{AuthorizationRequest, Parameters};
use clients::{ProxyClient, ProxyClients, RedirectKind, Registrations};
use codes::{CODE_TIME, Code, CodeEntry, LOGIN_TIME, PendingLogin, Waiting};
use consent::{Consent, Decision};
use endpoints::Endpoint;
use grants::{GrantId, Grants, Lifetimes, NewGrant};
use rate::RateLimit;
use signature::{BrowserKey, Cookies, SignaturePurpose};

/// For how long a browser is known to be that of a person, in seconds.
const KNOWN_USER: u64 = 8 * 3600;
/// The cookie that says so.
const USER_COOKIE: &str = "user";
/// The directory of logins in that of the proxy.
const LOGINS: &str = "logins";
/// How often files and expired tokens are looked for.
const MAINTENANCE: Duration = Duration::from_millis(500);

/// Why the proxy cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// Its files cannot be used.
    #[error("cannot use {} for the authorization proxy", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Nothing unguessable can be made.
    #[error(transparent)]
    Random(#[from] NoRandomNumbers),
}

/// An authorization server that sends people to a provider to log in.
#[derive(Debug)]
pub struct AuthorizationProxy {
    settings: ProxySettings,
    /// The path of the public URL.
    base: String,
    provider: IdentityProvider,
    clients: ProxyClients,
    approvals: Arc<Approvals>,
    logins: Waiting<PendingLogin>,
    codes: Waiting<CodeEntry>,
    grants: Arc<Grants>,
    key: BrowserKey,
    cookies: Cookies,
    /// How often logins are begun.
    begun: RateLimit,
    /// How often requests for tokens are refused.
    failures: RateLimit,
}

impl AuthorizationProxy {
    /// The longest body of a request, in bytes.
    pub const MAX_BODY: usize = 64 * 1024;

    /// Starts a proxy with what its directory holds.
    ///
    /// # Errors
    /// If files cannot be read or made.
    pub fn open(settings: ProxySettings) -> Result<Self, ProxyError> {
        let path = |name: &str| settings.directory.join(name);
        let failed = |path: PathBuf| move |source| ProxyError::File { path, source };
        files::prepare(&settings.directory).map_err(failed(settings.directory.clone()))?;
        let registered = Registrations::open(path("clients.json")).map_err(failed(path("clients.json")))?;
        let approvals = Approvals::open(path("approvals.json")).map_err(failed(path("approvals.json")))?;
        let lifetimes = Lifetimes {
            access_token: settings.access_token_lifetime,
            refresh_token: settings.refresh_token_lifetime,
            login: settings.login_lifetime,
        };
        let grants = Grants::open(path(LOGINS), lifetimes, |claims, scopes| settings.who(claims, scopes))
            .map_err(failed(path("logins")))?;
        let schemes = settings.redirect_schemes.clone();
        Ok(Self {
            provider: IdentityProvider::new(settings.identity_provider(), settings.provider_fetch.clone()),
            clients: ProxyClients::new(registered, settings.document_fetch.clone(), schemes),
            approvals: Arc::new(approvals),
            logins: Waiting::new(LOGIN_TIME),
            codes: Waiting::new(CODE_TIME),
            grants: Arc::new(grants),
            key: BrowserKey::new()?,
            base: endpoints::base(&settings),
            cookies: Cookies::new(&settings.public_url),
            begun: RateLimit::new(60, Duration::from_millis(500)),
            failures: RateLimit::new(200, Duration::from_millis(100)),
            settings,
        })
    }

    /// The name of the proxy, for protected resource metadata.
    pub fn issuer(&self) -> &str {
        &self.settings.public_url
    }

    /// Whether a path is one of the proxy. Such requests need no token.
    pub fn serves(&self, path: &str) -> bool {
        Endpoint::find(&self.base, path).is_some()
    }

    /// Answers a request to one of its paths.
    pub async fn respond(&self, request: Request<Bytes>) -> Response<Bytes> {
        let (head, body) = request.into_parts();
        let Some(endpoint) = Endpoint::find(&self.base, head.uri.path()) else {
            return response::error(StatusCode::NOT_FOUND, "invalid_request", "there is no such endpoint");
        };
        let method = if head.method == Method::HEAD { Method::GET } else { head.method };
        if method != endpoint.method() {
            let mut response = response::error(
                StatusCode::METHOD_NOT_ALLOWED,
                "invalid_request",
                "this method is not allowed here",
            );
            let allow = if endpoint.method() == Method::GET { "GET" } else { "POST" };
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
            return response;
        }
        if body.len() > Self::MAX_BODY {
            return response::error(
                StatusCode::PAYLOAD_TOO_LARGE,
                "invalid_request",
                "the request is too long",
            );
        }
        let query = head.uri.query().unwrap_or_default();
        match endpoint {
            Endpoint::Metadata => endpoints::metadata(&self.settings),
            Endpoint::Authorize => self.authorize(&head.headers, query).await,
            Endpoint::Consent => self.consent(&head.headers, &body).await,
            Endpoint::Callback => self.callback(&head.headers, query).await,
            Endpoint::Token => self.token(&head.headers, &body).await,
            Endpoint::Register => self.register(&head.headers, &body).await,
            Endpoint::Revoke => self.revoke(&head.headers, &body).await,
        }
    }

    /// Ends logins whose files were removed, and forgets what has expired, until `stop`.
    pub async fn maintain(&self, stop: CancellationToken) {
        let mut failed = false;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(MAINTENANCE) => {}
            }
            let done = self.grants.maintain().await;
            if let Err(error) = &done
                && !failed
            {
                tracing::warn!(%error, directory = %self.settings.directory.display(), "cannot look after logins");
            }
            failed = done.is_err();
        }
    }

    /// A client sends a person: they are asked, unless they approved this client before.
    async fn authorize(&self, headers: &HeaderMap, query: &str) -> Response<Bytes> {
        let parameters = Parameters::parse(query.as_bytes());
        let (request, client) =
            match AuthorizationRequest::check(&self.settings, &self.clients, &parameters).await {
                Ok(checked) => checked,
                Err(refused) => return refused.response(&self.settings),
            };
        match self.approved_by(headers, &request) {
            Some(person) => match self.begin_login(request, Some(person)).await {
                Ok((url, cookie)) => cookie.on(response::see_other(&url)),
                Err(response) => response,
            },
            None => self.ask(headers, &request, &client),
        }
    }

    /// The person of this browser, if they approved this request before.
    ///
    /// Only for sites: on the machine of the person, any program can use the id of another (RFC 8252 8.6).
    fn approved_by(&self, headers: &HeaderMap, request: &AuthorizationRequest) -> Option<String> {
        let kind = RedirectKind::of(&request.redirect_uri, &self.settings.redirect_schemes);
        let cookie = self.cookies.get(headers, USER_COOKIE).filter(|_| kind == Ok(RedirectKind::Web))?;
        let person: String = self.key.open(SignaturePurpose::User, &cookie)?;
        let AuthorizationRequest { client_id, redirect_uri, scopes, .. } = request;
        self.approvals.contains(&person, client_id, redirect_uri, scopes).then_some(person)
    }

    fn ask(
        &self,
        headers: &HeaderMap,
        request: &AuthorizationRequest,
        client: &ProxyClient,
    ) -> Response<Bytes> {
        self.consent_form().page(headers, request, client).unwrap_or_else(|error| {
            tracing::error!(%error, "cannot show the consent page");
            failed_page("The hub cannot log anyone in now.")
        })
    }

    fn consent_form(&self) -> Consent<'_> {
        Consent { settings: &self.settings, key: &self.key, cookies: self.cookies }
    }

    /// A person decided.
    async fn consent(&self, headers: &HeaderMap, body: &[u8]) -> Response<Bytes> {
        let Some((request, decision)) = self.consent_form().decision(headers, &Parameters::parse(body))
        else {
            let text = "<p>This page has expired, or it was not opened in this browser. Start the login again in your program.</p>";
            return response::page(StatusCode::FORBIDDEN, "Login not possible", text);
        };
        if decision == Decision::Deny {
            let url = request.error_url(self.issuer(), "access_denied", "the person did not allow it");
            return response::go_on(&url, "Not allowed");
        }
        match self.begin_login(request, None).await {
            Ok((url, cookie)) => cookie.on(response::go_on(&url, "Continue to the login")),
            Err(response) => response,
        }
    }

    /// Begins the login at the provider of a person who consented.
    async fn begin_login(
        &self,
        request: AuthorizationRequest,
        approved_by: Option<String>,
    ) -> Result<(String, LoginCookie), Response<Bytes>> {
        if !self.begun.allows() {
            return Err(failed_page("Too many people log in just now. Try again in a minute."));
        }
        let (url, identity) = match self.provider.begin().await {
            Ok(begun) => begun,
            Err(error) => {
                tracing::error!(%error, issuer = self.provider.issuer(), "cannot begin a login at the identity provider");
                let url = request.error_url(
                    self.issuer(),
                    error_code(&error),
                    "the identity provider cannot be used now",
                );
                return Err(response::go_on(&url, "Login not possible"));
            }
        };
        let state = identity.state().clone();
        let value = self.key.sign(
            SignaturePurpose::Login,
            &(state.expose(), &request.client_id),
            LOGIN_TIME.as_secs(),
        );
        let cookie = LoginCookie { cookies: self.cookies, name: login_cookie(state.expose()), value };
        match self.logins.insert(&state, PendingLogin { request, identity, approved_by }) {
            Ok(()) => Ok((url, cookie)),
            Err(codes::Full) => Err(failed_page("Too many people log in just now. Try again in a minute.")),
        }
    }

    /// A person comes back from the provider.
    async fn callback(&self, headers: &HeaderMap, query: &str) -> Response<Bytes> {
        let expired = || {
            let text = "<p>This login has expired, was finished before, or was begun in another browser. Start it again in your \
                        program.</p>";
            response::page(StatusCode::BAD_REQUEST, "Login not possible", text)
        };
        let parameters = Parameters::parse(query.as_bytes());
        let Some(state) = parameters.get("state") else { return expired() };
        let Some(login) = self.logins.take(state) else { return expired() };
        let cookie = self.cookies.get(headers, &login_cookie(state));
        let signed: Option<(String, String)> =
            cookie.and_then(|cookie| self.key.open(SignaturePurpose::Login, &cookie));
        if signed.is_none_or(|(of, client_id)| of != state || client_id != login.request.client_id) {
            return expired();
        }
        let mut response = self.finish_login(headers, &login, query).await;
        self.cookies.set(&mut response, &login_cookie(state), "", 0);
        response
    }

    async fn finish_login(&self, headers: &HeaderMap, login: &PendingLogin, query: &str) -> Response<Bytes> {
        let PendingLogin { request, identity, approved_by } = login;
        let tell =
            |code: &str, text: &str| response::see_other(&request.error_url(self.issuer(), code, text));
        let claims = match self.provider.finish(identity, query).await {
            Ok(claims) => claims,
            Err(error) => {
                tracing::warn!(%error, issuer = self.provider.issuer(), "a login at the identity provider failed");
                return tell(
                    error_code(&error),
                    &format!("the login at the identity provider failed: {error}"),
                );
            }
        };
        let (principal, rights) = match self.settings.who(&claims, &request.scopes) {
            Ok(found) => found,
            Err(refusal) => {
                tracing::warn!(%refusal, client_id = request.client_id, "a person may not use the hub");
                let is_scope = matches!(refusal, Refusal::InsufficientScope { .. });
                return tell(if is_scope { "invalid_scope" } else { "access_denied" }, &refusal.to_string());
            }
        };
        // The browser was that of another person, who approved the client. This one did not.
        if approved_by.as_deref().is_some_and(|person| person != principal.as_str()) {
            return match self.clients.find(&request.client_id).await {
                Ok(client) => self.ask(headers, request, &client),
                Err(_) => tell("server_error", "the client is not known any more"),
            };
        }
        match self.issue_code(request, claims, &principal, rights).await {
            Ok(code) => {
                tracing::info!(%principal, client_id = request.client_id, "a person logged in");
                let mut response = response::see_other(&request.code_url(self.issuer(), code.expose()));
                let user = self.key.sign(SignaturePurpose::User, &principal.as_str(), KNOWN_USER);
                self.cookies.set(&mut response, USER_COOKIE, &user, KNOWN_USER);
                response
            }
            Err(()) => tell("temporarily_unavailable", "the hub cannot log anyone in now"),
        }
    }

    async fn issue_code(
        &self,
        request: &AuthorizationRequest,
        claims: Claims,
        principal: &Principal,
        rights: Rights,
    ) -> Result<Credential, ()> {
        let AuthorizationRequest { client_id, redirect_uri, scopes, resource, .. } = request;
        if RedirectKind::of(redirect_uri, &self.settings.redirect_schemes) == Ok(RedirectKind::Web)
            && let Err(error) =
                self.approvals.insert(principal.as_str(), client_id, redirect_uri, scopes).await
        {
            // The person is asked again the next time.
            tracing::warn!(%error, "cannot save what a person approved");
        }
        let no_random = |error| tracing::error!(%error, "cannot issue a code");
        let (code, id) = (Credential::random().map_err(no_random)?, GrantId::random().map_err(no_random)?);
        let grant = NewGrant {
            id,
            client_id: client_id.clone(),
            resource: resource.clone(),
            scopes: scopes.clone(),
            claims,
            principal: principal.clone(),
            rights,
        };
        let entry = CodeEntry::Waiting(Box::new(Code { request: request.clone(), grant }));
        self.codes.insert(&code, entry).map_err(|codes::Full| tracing::error!("there are too many codes"))?;
        Ok(code)
    }
}

impl Authenticator for AuthorizationProxy {
    fn known(&self, token: &str) -> Option<Arc<Access>> {
        self.grants.access(token)
    }

    fn authenticate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<Result<Arc<Access>, Refusal>>> {
        let is_ours = token.starts_with(grants::ACCESS_TOKEN);
        let refused = || Refusal::InvalidToken("the token has expired or was revoked".to_owned());
        Box::pin(std::future::ready(is_ours.then(|| self.grants.access(token).ok_or_else(refused))))
    }
}

/// The cookie of a login that was begun.
#[derive(Debug)]
struct LoginCookie {
    cookies: Cookies,
    name: String,
    value: String,
}

impl LoginCookie {
    fn on(&self, mut response: Response<Bytes>) -> Response<Bytes> {
        self.cookies.set(&mut response, &self.name, &self.value, LOGIN_TIME.as_secs());
        response
    }
}

fn login_cookie(state: &str) -> String {
    consent::named("login", state)
}

/// The error for the client, as RFC 6749 4.1.2.1 names them.
fn error_code(error: &OAuthError) -> &'static str {
    match error {
        OAuthError::Refused { code, .. } if code == "access_denied" => "access_denied",
        error if error.is_transient() => "temporarily_unavailable",
        _ => "server_error",
    }
}

fn failed_page(text: &str) -> Response<Bytes> {
    response::page(StatusCode::SERVICE_UNAVAILABLE, "Login not possible", &format!("<p>{text}</p>"))
}

/// Seconds since 1970.
fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The time of so many seconds since 1970.
fn system_time(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}
