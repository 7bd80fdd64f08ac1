//! Requests of the flow, to addresses that others name.
//!
//! Which URLs are requested is decided by servers: by a header, by a metadata document. So none is requested that could
//! reach what the server itself cannot: plain HTTP only on this machine, this machine only if the server is on it, and no
//! private network unless the configuration says so. What counts is the address of the connection, not the name.

use std::{fmt, pin::Pin, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use tokio_util::task::TaskTracker;
use toolbay_transport::http::client::{AddressPolicy, ConnectOptions, WebClient, WebError};
use url::{Host, Url};

/// A future as a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Sends requests that follow no redirect, within limits of size and time.
pub trait Fetch: fmt::Debug + Send + Sync {
    /// Sends a request and returns the whole response, whatever its status.
    fn fetch(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, FetchError>>;
}

/// Why there is no response. Texts have no query, because that may hold secrets.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FetchError {
    /// The URL is not one that may be requested.
    #[error("{url} is not requested: {why}")]
    Forbidden {
        /// The URL without its query.
        url: String,
        /// The rule.
        why: &'static str,
    },
    /// It was tried in vain, or the address is private.
    #[error(transparent)]
    Failed(#[from] WebError),
}

impl FetchError {
    /// Whether the same may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Failed(WebError::Failed(_)))
    }
}

/// Which addresses may be requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressRule {
    /// Public addresses over HTTPS.
    Public,
    /// This machine, too, also without TLS.
    Loopback,
    /// All networks over HTTPS, and this machine.
    Private,
}

impl AddressRule {
    /// The rule for a server: one on this machine may name others on it.
    pub fn for_server(url: &str) -> Self {
        match Url::parse(url) {
            Ok(url) if is_loopback(&url) => Self::Loopback,
            _ => Self::Public,
        }
    }
}

const MAX_BODY: usize = 512 * 1024;
const TIMEOUT: Duration = Duration::from_secs(20);

/// Sends requests where an [`AddressRule`] allows it.
#[derive(Debug)]
pub struct GuardedClient {
    rule: AddressRule,
    public: WebClient,
    any: WebClient,
}

impl GuardedClient {
    /// A client whose connections are tasks of `tasks`.
    pub fn new(rule: AddressRule, route: &ConnectOptions, tasks: &TaskTracker) -> Self {
        let with = |addresses| WebClient::new(&ConnectOptions { addresses, ..route.clone() }, tasks);
        Self { rule, public: with(AddressPolicy::Public), any: with(AddressPolicy::Any) }
    }

    fn client_for(&self, url: &str) -> Result<&WebClient, FetchError> {
        let forbid = |why| FetchError::Forbidden { url: without_query(url).to_owned(), why };
        let parsed = Url::parse(url).map_err(|_| forbid("it is not a valid URL"))?;
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(forbid("it contains a user name or password"));
        }
        match (parsed.scheme(), self.rule) {
            ("http" | "https", AddressRule::Public) if is_loopback(&parsed) => {
                Err(forbid("it is on this machine, but the server is not"))
            }
            ("http" | "https", _) if is_loopback(&parsed) => Ok(&self.any),
            ("https", AddressRule::Private) => Ok(&self.any),
            ("https", _) => Ok(&self.public),
            _ => Err(forbid("only `https` is, and `http` on this machine")),
        }
    }
}

impl Fetch for GuardedClient {
    fn fetch(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, FetchError>> {
        Box::pin(async move {
            let client = self.client_for(&request.uri().to_string())?;
            let found = client.send(request, MAX_BODY, TIMEOUT).await?;
            let mut response = Response::new(found.body);
            (*response.status_mut(), *response.headers_mut()) = (found.status, found.headers);
            Ok(response)
        })
    }
}

/// Whether a URL names this machine. Other names that resolve to it are refused by the connection.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
        }
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
        None => false,
    }
}

/// The part of a URL that may be shown.
pub(crate) fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}
