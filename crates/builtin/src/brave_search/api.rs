//! Requests to the Brave Search API: sent as the rate limit allows, repeated where that helps, and cached.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use toolbay_protocol::redact::KnownSecrets;
use toolbay_server::{ToolContext, ToolError};
use toolbay_transport::http::client::{HttpError, JsonResponse, JsonService};

use super::{
    cache::Cache,
    rate_limit::{LimitError, RateLimit, duration},
};
use crate::secret::{SecretError, SecretSource};

/// How often a request is sent again.
const RETRIES: u32 = 2;
/// The first pause before that; each further one is four times as long.
const PAUSE: Duration = Duration::from_millis(250);

/// What all connections to this server share.
#[derive(Debug)]
pub(super) struct SharedState {
    pub(super) base_url: String,
    pub(super) key: Option<Arc<dyn SecretSource>>,
    pub(super) limit: RateLimit,
    pub(super) cache: Cache,
    /// How long a response may take.
    pub(super) timeout: Duration,
    /// How long a call may wait for the rate limit.
    pub(super) max_wait: Duration,
    pub(super) requests: AtomicU64,
    pub(super) cached: AtomicU64,
}

/// The API, over connections of its own.
#[derive(Debug)]
pub(super) struct Api {
    pub(super) shared: Arc<SharedState>,
    pub(super) service: JsonService,
}

/// A request to the API.
#[derive(Debug, Default)]
pub(super) struct ApiRequest {
    /// Below the base URL: `web/search`.
    pub(super) path: &'static str,
    pub(super) parameters: Vec<(String, String)>,
    pub(super) headers: Vec<(&'static str, String)>,
}

/// Why there is no response. The messages are for models.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApiError {
    #[error(
        "brave-search has no API key; set BRAVE_API_KEY or BRAVE_API_KEY_FILE, or `api_key` in the configuration. \
         Keys are issued at https://brave.com/search/api/"
    )]
    NoKey,
    #[error("brave-search has no API key: {0}")]
    Key(#[from] SecretError),
    #[error("{0}")]
    Limit(#[from] LimitError),
    #[error("the arguments make a request that is too long")]
    TooLong,
    #[error("Brave Search cannot be reached: {0}")]
    Http(#[from] HttpError),
    #[error("Brave Search limits the rate of requests: try again in {}", duration(*after))]
    RateLimited { after: Duration },
    #[error("Brave Search returned {status}{detail}{}", hint(*status))]
    Status { status: StatusCode, detail: String },
    #[error("Brave Search returned something unexpected: {reason}")]
    Malformed { reason: String },
}

impl From<ApiError> for ToolError {
    fn from(error: ApiError) -> Self {
        Self::failed(error.to_string())
    }
}

impl Api {
    /// Sends a request and reads its response.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        request: &ApiRequest,
        context: &ToolContext,
    ) -> Result<T, ApiError> {
        parse(&self.get_bytes(request, context).await?)
    }

    /// Sends a request whose response changes from time to time.
    pub(super) async fn get_uncached<T: DeserializeOwned>(
        &self,
        request: &ApiRequest,
        context: &ToolContext,
    ) -> Result<T, ApiError> {
        let url = request.url(&self.shared.base_url);
        parse(&self.send(&url, self.headers(request).await?, context).await?)
    }

    /// Sends a request, or takes the response to the same one from the cache.
    pub(super) async fn get_bytes(
        &self,
        request: &ApiRequest,
        context: &ToolContext,
    ) -> Result<Bytes, ApiError> {
        let shared = &*self.shared;
        let url = request.url(&shared.base_url);
        let cache_key = request.cache_key(&url);
        if let Some(response) = cache_key.as_ref().and_then(|key| shared.cache.get(key)) {
            shared.cached.fetch_add(1, Ordering::Relaxed);
            return Ok(response);
        }
        let response = self.send(&url, self.headers(request).await?, context).await?;
        // Only what can be read is worth keeping.
        parse::<serde::de::IgnoredAny>(&response)?;
        if let Some(key) = cache_key {
            shared.cache.insert(key, response.clone());
        }
        Ok(response)
    }

    async fn send(&self, url: &str, headers: HeaderMap, context: &ToolContext) -> Result<Bytes, ApiError> {
        let shared = &*self.shared;
        let url: http::Uri = url.parse().map_err(|_| ApiError::TooLong)?;
        let deadline = Instant::now() + shared.max_wait;
        for attempt in 0.. {
            let is_last = attempt == RETRIES;
            let turn = shared.limit.turn(deadline).await?;
            context.report_progress(u64::from(attempt) + 1, None, "sent to Brave Search");
            shared.requests.fetch_add(1, Ordering::Relaxed);
            let response = self.service.get(url.clone(), headers.clone(), shared.timeout).await;
            match &response {
                Ok(response) => shared.limit.learn(&response.headers),
                Err(_) => shared.limit.learn_nothing(),
            }
            drop(turn);
            let delay = match response {
                Ok(response) if response.status.is_success() => return Ok(response.body),
                Ok(response) if response.status == StatusCode::TOO_MANY_REQUESTS => {
                    let after = retry_after(&response).unwrap_or(Duration::from_secs(1));
                    if is_last || Instant::now() + after > deadline {
                        return Err(ApiError::RateLimited { after });
                    }
                    shared.limit.block(after);
                    continue;
                }
                Ok(response) if !is_last && response.status.is_server_error() => retry_after(&response),
                Ok(response) => return Err(status_error(&response, &headers)),
                // One that is late was waited for long enough.
                Err(error @ HttpError::Slow { .. }) => return Err(error.into()),
                Err(error) if is_last => return Err(error.into()),
                Err(_) => None,
            };
            let delay = delay.unwrap_or(PAUSE * 4_u32.pow(attempt));
            if Instant::now() + delay > deadline {
                return Err(ApiError::RateLimited { after: delay });
            }
            sleep(delay).await;
        }
        Err(ApiError::TooLong) // not reached: the last attempt returns
    }

    async fn headers(&self, request: &ApiRequest) -> Result<HeaderMap, ApiError> {
        let key = self.shared.key.clone().ok_or(ApiError::NoKey)?;
        let key = tokio::task::spawn_blocking(move || key.read()).await.map_err(|_| ApiError::NoKey)??;
        let mut key = HeaderValue::from_str(&key).map_err(|_| ApiError::NoKey)?;
        key.set_sensitive(true);
        let mut headers = HeaderMap::from_iter([(HeaderName::from_static("x-subscription-token"), key)]);
        for (name, value) in &request.headers {
            let value = HeaderValue::from_str(value).map_err(|_| ApiError::Malformed {
                reason: format!("`{name}` cannot be sent as a header"),
            })?;
            headers.insert(HeaderName::from_static(name), value);
        }
        Ok(headers)
    }
}

impl ApiRequest {
    fn url(&self, base_url: &str) -> String {
        let mut url = format!("{base_url}/res/v1/{}", self.path);
        for (number, (name, value)) in self.parameters.iter().enumerate() {
            url.push(if number == 0 { '?' } else { '&' });
            push_encoded(&mut url, name);
            url.push('=');
            push_encoded(&mut url, value);
        }
        url
    }

    /// The same request has the same key; none for one that is to be sent in any case.
    fn cache_key(&self, url: &str) -> Option<String> {
        if self.headers.iter().any(|(name, _)| *name == "cache-control") {
            return None;
        }
        let headers: Vec<String> =
            self.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        Some(format!("{url}\n{}", headers.join("\n")))
    }
}

/// Adds a text in the encoding of HTML forms.
fn push_encoded(url: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => url.push(byte.into()),
            b' ' => url.push('+'),
            _ => url.push_str(&format!("%{byte:02X}")),
        }
    }
}

fn parse<T: DeserializeOwned>(response: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(response).map_err(|error| {
        let beginning = String::from_utf8_lossy(&response[..response.len().min(100)]);
        ApiError::Malformed { reason: format!("{error}; it begins with {beginning:?}") }
    })
}

/// What a refusal says: the reason that the service gives, or the beginning of its text.
fn status_error(response: &JsonResponse, sent: &HeaderMap) -> ApiError {
    const MAX_SHOWN: usize = 500;
    let body: Option<Value> = serde_json::from_slice(&response.body).ok();
    let detail = body.as_ref().and_then(|body| body["error"]["detail"].as_str().map(str::to_owned));
    let detail = detail.unwrap_or_else(|| {
        let text = String::from_utf8_lossy(&response.body);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    });
    // A service may repeat what it was sent.
    let known = KnownSecrets::default();
    sent.values()
        .filter(|value| value.is_sensitive())
        .filter_map(|value| value.to_str().ok())
        .for_each(|value| known.add(value));
    let detail: String = known.hide(&detail).chars().take(MAX_SHOWN).collect();
    let detail = if detail.is_empty() { detail } else { format!(": {detail}") };
    ApiError::Status { status: response.status, detail }
}

fn hint(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 | 403 => "; check the API key and what its plan includes",
        422 => "; check the arguments, and the API key",
        402 => "; the plan of the API key does not include this",
        500.. => "; the service has a problem, try again later",
        _ => "",
    }
}

/// The time until the next attempt, from `Retry-After` or the shortest window of the rate limit.
fn retry_after(response: &JsonResponse) -> Option<Duration> {
    let seconds = |name: &str| {
        let value = response.headers.get(name)?.to_str().ok()?;
        value.split(',').next()?.trim().parse().ok().map(Duration::from_secs)
    };
    seconds("retry-after").or_else(|| seconds("x-ratelimit-reset"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_encoded_as_forms_are() {
        let parameters =
            vec![("q".to_owned(), "a+b & c/ü*~'()!".to_owned()), ("count".to_owned(), "1".to_owned())];
        let request = ApiRequest { path: "web/search", parameters, headers: Vec::new() };
        let expected = "https://x/res/v1/web/search?q=a%2Bb+%26+c%2F%C3%BC*%7E%27%28%29%21&count=1";
        assert_eq!(request.url("https://x"), expected);
    }
}
