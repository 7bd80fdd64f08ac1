//! The server `brave-search`: the web by the Brave Search API.
//!
//! The contract is that of `@brave/brave-search-mcp-server`; the archived `@modelcontextprotocol/server-brave-search` has a part
//! of it. What differs is listed in docs/brave-search.md: calls wait for the rate limit instead of failing, responses are
//! cached, and the list of tools is short.

mod api;
mod arguments;
mod cache;
mod rate_limit;
mod results;
mod tools;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use http::{HeaderMap, Uri};
use tokio_util::task::TaskTracker;
use toolbay_server::{ToolServer, in_process};
use toolbay_transport::http::client::{ConnectOptions, JsonService, Target};

use crate::{Connect, secret::SecretSource};
use api::{Api, SharedState};
use cache::Cache;
use rate_limit::{RateLimit, duration};

pub use rate_limit::QuotaWindow;

/// Where the API is.
const BASE_URL: &str = "https://api.search.brave.com";
/// The longest response that is read.
const MAX_RESPONSE: usize = 4 << 20;

/// How the server is set up.
#[derive(Debug, Clone, Default)]
pub struct BraveSearchConfig {
    /// The API key. Without one, calls fail with a message that says how to set it.
    pub api_key: Option<Arc<dyn SecretSource>>,
    /// Where the API is, if not at Brave: a proxy, or a test service.
    pub base_url: Option<String>,
    /// Only these tools, if any are named.
    pub enabled_tools: Vec<String>,
    /// All tools but these.
    pub disabled_tools: Vec<String>,
    /// How long responses are used again, if not 5 minutes. Zero: not at all.
    pub cache_time: Option<Duration>,
    /// How long a response may take, if not 20 seconds.
    pub timeout: Option<Duration>,
    /// How long a call may wait for the rate limit, if not 30 seconds.
    pub max_wait: Option<Duration>,
    /// Proxies, certificates and timeouts of connections.
    pub route: ConnectOptions,
}

/// Why the server cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum BraveSearchConfigError {
    /// `base_url` is no URL.
    #[error("`base_url` must be a URL with http or https: {url}")]
    BaseUrl {
        /// What it is.
        url: String,
    },
    /// There is no such tool.
    #[error("there is no tool `{name}`; the tools are {}", tools::NAMES.join(", "))]
    UnknownTool {
        /// What was named.
        name: String,
    },
    /// Both lists are given.
    #[error("`enabled_tools` and `disabled_tools` cannot be used together")]
    BothLists,
}

/// The server, ready to be connected to. All connections share the rate limit and the cache.
#[derive(Clone)]
pub struct BraveSearch {
    connect: Connect,
    shared: Arc<SharedState>,
}

/// Sets up the server.
///
/// # Errors
/// If the URL or the name of a tool is wrong.
pub fn brave_search(config: BraveSearchConfig) -> Result<BraveSearch, BraveSearchConfigError> {
    let base_url = config.base_url.unwrap_or_else(|| BASE_URL.to_owned());
    let base_url = base_url.trim_end_matches('/').to_owned();
    let wrong = || BraveSearchConfigError::BaseUrl { url: base_url.clone() };
    let url: Uri = base_url.parse().map_err(|_| wrong())?;
    if !matches!(url.scheme_str(), Some("http" | "https")) || url.query().is_some() {
        return Err(wrong());
    }
    let (enabled, disabled) = (config.enabled_tools, config.disabled_tools);
    if !enabled.is_empty() && !disabled.is_empty() {
        return Err(BraveSearchConfigError::BothLists);
    }
    if let Some(name) = enabled.iter().chain(&disabled).find(|name| !tools::NAMES.contains(&name.as_str())) {
        return Err(BraveSearchConfigError::UnknownTool { name: name.clone() });
    }
    let shared = Arc::new(SharedState {
        base_url,
        key: config.api_key,
        limit: RateLimit::new(),
        cache: Cache::new(config.cache_time.unwrap_or(Duration::from_secs(300))),
        timeout: config.timeout.unwrap_or(Duration::from_secs(20)),
        max_wait: config.max_wait.unwrap_or(Duration::from_secs(30)),
        requests: AtomicU64::new(0),
        cached: AtomicU64::new(0),
    });
    let target = Target {
        url,
        headers: HeaderMap::new(),
        max_message: MAX_RESPONSE,
        max_running: 16,
        route: config.route,
        authorizer: None,
    };
    let of_connections = shared.clone();
    let connect = Arc::new(move |tasks: &TaskTracker| {
        let is_wanted = |name: &str| match enabled.is_empty() {
            true => !disabled.iter().any(|disabled| disabled == name),
            false => enabled.iter().any(|enabled| enabled == name),
        };
        let api = Api { shared: of_connections.clone(), service: JsonService::new(target.clone(), tasks) };
        let server = ToolServer::new("brave-search-mcp-server", api, tools::toolset(is_wanted)).instructions(
            "Use this server to search the Web for various types of data via the Brave Search API.",
        );
        in_process(Arc::new(server))(tasks)
    });
    Ok(BraveSearch { connect, shared })
}

impl BraveSearch {
    /// Returns a function that opens a connection to the server in this process.
    pub fn connector(&self) -> Connect {
        self.connect.clone()
    }

    /// Returns how much of the quota is left, as of the last response.
    pub fn status(&self) -> BraveSearchStatus {
        let (windows, waiting) = self.shared.limit.status();
        BraveSearchStatus {
            requests: self.shared.requests.load(Ordering::Relaxed),
            cached: self.shared.cached.load(Ordering::Relaxed),
            waiting,
            windows,
        }
    }
}

impl fmt::Debug for BraveSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BraveSearch").field("shared", &self.shared).finish_non_exhaustive()
    }
}

/// What the server has done, and what is left of its quota.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BraveSearchStatus {
    /// Requests that were sent.
    pub requests: u64,
    /// Calls that were answered from the cache.
    pub cached: u64,
    /// Calls that wait for the rate limit.
    pub waiting: usize,
    /// The limits that the service told, shortest window first. None before the first response.
    pub windows: Vec<QuotaWindow>,
}

impl fmt::Display for BraveSearchStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.requests == 1 { "" } else { "s" };
        let Self { requests, cached, waiting, .. } = self;
        write!(f, "{requests} request{plural}, {cached} from the cache, {waiting} waiting")?;
        for QuotaWindow { limit, remaining, length, resets_in } in &self.windows {
            let (length, resets_in) = (duration(*length), duration(*resets_in));
            write!(f, "; {remaining} of {limit} per {length} left, resets in {resets_in}")?;
        }
        Ok(())
    }
}
