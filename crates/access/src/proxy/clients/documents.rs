//! Clients whose id is the URL of a document that describes them (client ID metadata documents).
//!
//! Anyone can make the hub fetch any URL, so it is fetched by a client that reaches public addresses alone, follows no redirect,
//! and takes no long response; and only so often.

use std::{collections::HashMap, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use parking_lot::Mutex;
use tokio::{sync::Semaphore, time::Instant};
use toolbay_oauth::Fetch;
use url::Url;

use super::{ClientMetadata, InvalidClient, ProxyClient};
use crate::proxy::rate::RateLimit;

/// How many documents are kept.
const MAX_DOCUMENTS: usize = 200;
/// The longest document, in bytes.
const MAX_DOCUMENT: usize = 16 * 1024;
/// How long a document is kept: as its server says, between these, or the first if it says nothing.
const SHORTEST: Duration = Duration::from_secs(300);
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// How long it is remembered that there was none.
const FAILED: Duration = Duration::from_secs(30);
/// How many are fetched at once.
const FETCHES: usize = 4;

/// Documents of clients.
#[derive(Debug)]
pub(super) struct Documents {
    fetch: Arc<dyn Fetch>,
    known: Mutex<HashMap<String, KnownDocument>>,
    fetches: Semaphore,
    rate: RateLimit,
}

#[derive(Debug, Clone)]
struct KnownDocument {
    until: Instant,
    found: Result<Arc<ProxyClient>, InvalidClient>,
}

impl Documents {
    pub(super) fn new(fetch: Arc<dyn Fetch>) -> Self {
        let rate = RateLimit::new(20, Duration::from_secs(1));
        Self { fetch, known: Mutex::default(), fetches: Semaphore::new(FETCHES), rate }
    }

    /// The client that a URL describes.
    pub(super) async fn find(
        &self,
        url: &str,
        schemes: &[String],
    ) -> Result<Arc<ProxyClient>, InvalidClient> {
        check_url(url)?;
        let known = self.known.lock().get(url).cloned();
        if let Some(known) = known
            && Instant::now() < known.until
        {
            return known.found;
        }
        if !self.rate.allows() {
            return Err(InvalidClient::Busy);
        }
        let Ok(_place) = self.fetches.acquire().await else { return Err(InvalidClient::Busy) };
        let (found, age) = match self.read(url, schemes).await {
            Ok((client, age)) => (Ok(Arc::new(client)), age),
            Err(problem) => (Err(problem), FAILED),
        };
        self.remember(url, found.clone(), age);
        found
    }

    async fn read(&self, url: &str, schemes: &[String]) -> Result<(ProxyClient, Duration), InvalidClient> {
        let unknown = |problem: String| {
            InvalidClient::Unknown(format!("the description of the program at {url} {problem}"))
        };
        let mut request = Request::new(Bytes::new());
        *request.method_mut() = Method::GET;
        *request.uri_mut() = url.parse().map_err(|_| unknown("has no valid address".to_owned()))?;
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let response =
            self.fetch.fetch(request).await.map_err(|error| unknown(format!("cannot be read: {error}")))?;
        if response.status() != StatusCode::OK {
            return Err(unknown(format!("cannot be read: status {}", response.status().as_u16())));
        }
        if response.body().len() > MAX_DOCUMENT {
            return Err(unknown(format!("has more than {MAX_DOCUMENT} bytes")));
        }
        let metadata: ClientMetadata = serde_json::from_slice(response.body())
            .map_err(|_| unknown("is not a client ID metadata document".to_owned()))?;
        if metadata.client_id.as_deref() != Some(url) {
            return Err(unknown("is that of another `client_id`".to_owned()));
        }
        if metadata.token_endpoint_auth_method.as_deref().is_some_and(|method| method != "none") {
            return Err(unknown(
                "asks for an authentication that this hub does not support; it must be `none`".to_owned(),
            ));
        }
        metadata.check().map_err(|problem| unknown(format!("is not acceptable: {problem}")))?;
        let ClientMetadata { client_name, redirect_uris, .. } = metadata;
        let client = ProxyClient::new(url.to_owned(), client_name.as_deref(), redirect_uris, schemes)
            .map_err(|problem| unknown(format!("is not acceptable: {problem}")))?;
        Ok((client, age(response.headers())))
    }

    fn remember(&self, url: &str, found: Result<Arc<ProxyClient>, InvalidClient>, age: Duration) {
        let now = Instant::now();
        let mut known = self.known.lock();
        if known.len() >= MAX_DOCUMENTS {
            known.retain(|_, one| now < one.until);
        }
        if known.len() >= MAX_DOCUMENTS {
            let first = known.iter().min_by_key(|(_, one)| one.until).map(|(url, _)| url.clone());
            first.and_then(|url| known.remove(&url));
        }
        known.insert(url.to_owned(), KnownDocument { until: now + age, found });
    }
}

/// A URL that can be a client id: `https`, a path, and nothing that hides where it leads.
fn check_url(url: &str) -> Result<(), InvalidClient> {
    let parsed = Url::parse(url).ok().filter(|parsed| {
        parsed.scheme() == "https"
            && parsed.as_str() == url
            && parsed.path().len() > 1
            && parsed.username().is_empty()
            && parsed.password().is_none()
            && parsed.fragment().is_none()
    });
    match parsed {
        Some(_) => Ok(()),
        None => Err(InvalidClient::Unknown(
            "a client id that is a URL must be `https` with a path, in its normal form, without a password and a fragment"
                .to_owned(),
        )),
    }
}

fn age(headers: &HeaderMap) -> Duration {
    let control =
        headers.get(header::CACHE_CONTROL).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let seconds = control.split(',').find_map(|word| word.trim().strip_prefix("max-age=")?.parse().ok());
    seconds.map_or(SHORTEST, |seconds| Duration::from_secs(seconds).clamp(SHORTEST, LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clear_urls_are_client_ids() {
        assert_eq!(check_url("https://app.example/client.json"), Ok(()));
        for bad in [
            "http://app.example/client.json",
            "https://app.example",
            "https://app.example/",
            "https://u@app.example/c",
            "https://app.example/c#x",
            "https://app.example/a/../c",
            "https://APP.example/c",
            "file:///c",
        ] {
            assert!(check_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn documents_are_kept_as_long_as_their_server_says_within_limits() {
        let age = |value: &'static str| {
            age(&HeaderMap::from_iter([(header::CACHE_CONTROL, HeaderValue::from_static(value))]))
        };
        assert_eq!(age("no-store"), SHORTEST);
        assert_eq!(age("public, max-age=3600"), Duration::from_secs(3600));
        assert_eq!(age("max-age=99999999"), LONGEST);
    }
}
