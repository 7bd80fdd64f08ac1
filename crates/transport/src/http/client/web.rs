//! Reading what is on the web: any URL, one response at a time.

use std::{fmt, net::IpAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderMap, Request, StatusCode, Uri,
    header::{ACCEPT_ENCODING, PROXY_AUTHORIZATION},
};
use http_body_util::Full;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::http::{
    ReadBodyError,
    client::{
        ConnectOptions, HttpError, PrivateAddress,
        addresses::{AddressPolicy, refuse_private},
        connector::Proxies,
        decompress::{DecompressedBody, UNDERSTOOD},
        error::{find, is_unknown_host, reason},
        origin_client::{Pool, Purpose, pool_of},
        target::shown,
    },
    read_body,
};

/// A client for any URL. It follows no redirect, so that its caller decides about each of them.
pub struct WebClient {
    pool: Pool,
    proxies: Proxies,
    addresses: AddressPolicy,
}

/// A whole response.
#[derive(Debug, Clone)]
pub struct WebResponse {
    /// Whether it is a good one is for the caller to decide.
    pub status: StatusCode,
    /// Its headers. The encoding is removed from the body already.
    pub headers: HeaderMap,
    /// Its content.
    pub body: Bytes,
}

/// Why there is no response.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WebError {
    /// Nothing was sent, because of the address.
    #[error(transparent)]
    Private(#[from] PrivateAddress),
    /// It was tried in vain.
    #[error(transparent)]
    Failed(#[from] HttpError),
    /// The response is longer than the caller takes.
    #[error("{url} has more than {limit} bytes")]
    TooLong { url: Arc<str>, limit: usize },
}

impl WebClient {
    /// Its connections are tasks of `tasks`.
    pub fn new(route: &ConnectOptions, tasks: &TaskTracker) -> Self {
        Self {
            pool: pool_of(Some("https"), route, Purpose::Requests, tasks),
            proxies: route.proxies.clone(),
            addresses: route.addresses,
        }
    }

    /// Reads a URL: at most `max_body` bytes, within `limit`.
    ///
    /// # Errors
    /// If the address may not be connected to, or there is no whole response in time.
    pub async fn get(
        &self,
        url: &Uri,
        headers: HeaderMap,
        max_body: usize,
        limit: Duration,
    ) -> Result<WebResponse, WebError> {
        let mut request = Request::new(Bytes::new());
        *request.uri_mut() = url.clone();
        *request.headers_mut() = headers;
        self.send(request, max_body, limit).await
    }

    /// Sends any request and waits for the whole response: at most `max_body` bytes, within `limit`.
    ///
    /// # Errors
    /// If the address may not be connected to, or there is no whole response in time.
    pub async fn send(
        &self,
        request: Request<Bytes>,
        max_body: usize,
        limit: Duration,
    ) -> Result<WebResponse, WebError> {
        let url = request.uri().clone();
        match timeout(limit, self.exchange(&url, request, max_body, limit)).await {
            Ok(response) => response,
            Err(_) => Err(HttpError::Slow { url: shown(&url), after: limit }.into()),
        }
    }

    async fn exchange(
        &self,
        url: &Uri,
        request: Request<Bytes>,
        max_body: usize,
        limit: Duration,
    ) -> Result<WebResponse, WebError> {
        let mut request = request.map(Full::new);
        let headers = request.headers_mut();
        if let Some(proxy) = self.proxies.of(url) {
            // The proxy resolves the name; what this machine knows about it is all that can be checked.
            self.check_name(url).await?;
            if Purpose::Requests.is_sent_on(url)
                && let Some(password) = proxy.basic_auth()
            {
                headers.insert(PROXY_AUTHORIZATION, password.clone());
            }
        }
        headers.insert(ACCEPT_ENCODING, UNDERSTOOD);
        let (head, body) = match self.pool.request(request).await {
            Ok(response) => response.into_parts(),
            Err(error) => return Err(failed(url, &error)),
        };
        let broken = |reason: String| HttpError::Broken { url: shown(url), reason };
        let body = DecompressedBody::new(&head.headers, body)
            .map_err(|encoding| broken(format!("it is compressed as `{encoding}`")))?;
        let body = match read_body(body, max_body, limit).await {
            Ok(body) => body,
            Err(ReadBodyError::TooLong { limit }) => {
                return Err(WebError::TooLong { url: shown(url), limit });
            }
            Err(ReadBodyError::TooSlow { limit }) => {
                return Err(HttpError::Slow { url: shown(url), after: limit }.into());
            }
            Err(ReadBodyError::Broken(error)) => return Err(broken(reason(&*error)).into()),
        };
        Ok(WebResponse { status: head.status, headers: head.headers, body })
    }

    /// Refuses a host of which this machine knows that its address is not public.
    async fn check_name(&self, url: &Uri) -> Result<(), PrivateAddress> {
        if self.addresses == AddressPolicy::Any {
            return Ok(());
        }
        let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
        let addresses: Vec<IpAddr> = match tokio::net::lookup_host((host, 0)).await {
            Ok(found) => found.map(|address| address.ip()).collect(),
            Err(_) => Vec::new(),
        };
        refuse_private(host, addresses)
    }
}

fn failed(url: &Uri, error: &(dyn std::error::Error + 'static)) -> WebError {
    match find::<PrivateAddress>(error) {
        Some(private) => private.clone().into(),
        None => HttpError::Unreachable {
            url: shown(url),
            reason: reason(error),
            is_unknown_host: is_unknown_host(error),
        }
        .into(),
    }
}

impl fmt::Debug for WebClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebClient").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}
