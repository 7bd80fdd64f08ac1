//! Asking an issuer about tokens (RFC 7662).

use std::{
    collections::HashMap,
    fmt, mem,
    sync::Arc,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{
    HeaderValue, Method, Request, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::sync::{Semaphore, SemaphorePermit};
use toolbay_oauth::{AuthorizationServer, Credential, Fetch};
use url::form_urlencoded;

use super::{IssuerStatus, accepted::TokenHash, claims::Claims};
use crate::authenticator::Refusal;

/// How many questions are under way at a time.
const MAX_ASKING: usize = 16;
/// How many requests may wait for their turn.
const MAX_WAITING: usize = 256;
/// How many tokens are remembered that the issuer does not know.
const MAX_INACTIVE: usize = 4096;

/// How an issuer is asked about tokens.
#[derive(Debug, Clone)]
pub struct IntrospectionConfig {
    /// The endpoint; without it, the one that the metadata of the issuer names.
    pub url: Option<String>,
    /// The name of this hub at the issuer.
    pub client_id: String,
    /// Its password there.
    pub client_secret: Credential,
    /// How long a response counts. So long may a revoked token be used.
    pub counts_for: Duration,
}

impl IntrospectionConfig {
    /// How long a response counts unless the configuration says otherwise.
    pub const COUNTS_FOR: Duration = Duration::from_secs(30);
}

/// Asks an issuer about tokens.
pub(super) struct Introspection {
    issuer: String,
    config: IntrospectionConfig,
    fetch: Arc<dyn Fetch>,
    turns: Semaphore,
    waiting: Semaphore,
    state: Mutex<IntrospectionState>,
}

#[derive(Default)]
struct IntrospectionState {
    found_url: Option<String>,
    inactive: HashMap<TokenHash, Instant>,
    failures: u32,
    error: Option<String>,
}

impl Introspection {
    pub(super) fn new(issuer: &str, config: IntrospectionConfig, fetch: Arc<dyn Fetch>) -> Self {
        Self {
            issuer: issuer.to_owned(),
            config,
            fetch,
            turns: Semaphore::new(MAX_ASKING),
            waiting: Semaphore::new(MAX_WAITING),
            state: Mutex::default(),
        }
    }

    pub(super) fn counts_for(&self) -> Duration {
        self.config.counts_for
    }

    pub(super) fn status(&self) -> IssuerStatus {
        let state = self.state.lock();
        IssuerStatus { keys: None, failures: state.failures, error: state.error.clone() }
    }

    /// Waits until the issuer may be asked, so that it is not asked more at a time than it can take.
    pub(super) async fn turn(&self) -> Result<SemaphorePermit<'_>, Refusal> {
        let unavailable =
            || Refusal::Unavailable("too many tokens are being checked; try again later".into());
        let _waits = self.waiting.try_acquire().map_err(|_| unavailable())?;
        self.turns.acquire().await.map_err(|_| unavailable())
    }

    /// What the issuer says about a token.
    pub(super) async fn ask(&self, hash: &TokenHash, token: &str) -> Result<Claims, Refusal> {
        let unknown = || Refusal::InvalidToken("the issuer says that the token is not valid".to_owned());
        if self.state.lock().inactive.get(hash).is_some_and(|until| *until > Instant::now()) {
            return Err(unknown());
        }
        let found = self.response(token).await;
        let mut state = self.state.lock();
        match found {
            Ok(claims) => {
                if mem::take(&mut state.failures) > 0 {
                    tracing::info!(issuer = self.issuer, "the issuer can be asked about tokens again");
                }
                state.error = None;
                if claims.get("active") == Some(&Value::Bool(true)) {
                    return Ok(Claims::new(claims));
                }
                let now = Instant::now();
                if state.inactive.len() >= MAX_INACTIVE {
                    state.inactive.retain(|_, until| *until > now);
                }
                if state.inactive.len() < MAX_INACTIVE {
                    state.inactive.insert(*hash, now + self.config.counts_for);
                }
                Err(unknown())
            }
            Err(error) => {
                state.failures = state.failures.saturating_add(1);
                state.found_url = None;
                if state.failures == 1 {
                    tracing::warn!(issuer = self.issuer, "cannot ask the issuer about tokens: {error}");
                }
                state.error = Some(error);
                Err(Refusal::Unavailable(format!(
                    "the issuer {} cannot be asked about tokens now; try again later",
                    self.issuer
                )))
            }
        }
    }

    async fn response(&self, token: &str) -> Result<Map<String, Value>, String> {
        let url = self.url().await?;
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("token", token)
            .append_pair("token_type_hint", "access_token")
            .finish();
        let mut request = Request::new(Bytes::from(form));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = url.parse().map_err(|_| format!("{url} is not a valid URL"))?;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        headers.insert(AUTHORIZATION, self.authorization()?);
        let response = self.fetch.fetch(request).await.map_err(|error| error.to_string())?;
        match response.status() {
            StatusCode::OK => serde_json::from_slice(response.body())
                .map_err(|error| format!("{url} returned something that is not a JSON object: {error}")),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(format!(
                "{url} refused the hub's own credentials; check `client_id` and `client_secret` in `[auth.introspection]`"
            )),
            status => Err(format!("{url} returned status {status}")),
        }
    }

    async fn url(&self) -> Result<String, String> {
        let known = self.config.url.clone().or_else(|| self.state.lock().found_url.clone());
        if let Some(known) = known {
            return Ok(known);
        }
        let metadata = AuthorizationServer::of_issuer(self.fetch.as_ref(), &self.issuer).await;
        let url = metadata.map_err(|error| error.to_string())?.introspection_endpoint.ok_or_else(|| {
            "its metadata names no introspection endpoint; set `url` in `[auth.introspection]`".to_owned()
        })?;
        self.state.lock().found_url = Some(url.clone());
        Ok(url)
    }

    /// `client_secret_basic`, whose parts are encoded as in a form (RFC 6749, 2.3.1).
    fn authorization(&self) -> Result<HeaderValue, String> {
        let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let pair =
            format!("{}:{}", encode(&self.config.client_id), encode(self.config.client_secret.expose()));
        let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair)))
            .map_err(|_| "the credentials of the hub cannot be sent".to_owned())?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl fmt::Debug for Introspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Introspection").field("config", &self.config).finish_non_exhaustive()
    }
}
