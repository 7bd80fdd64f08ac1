//! Downloads of pages: robots.txt, redirects, limits, encodings.

use std::{
    collections::HashMap,
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use encoding_rs::{Encoding, UTF_8};
use http::{
    HeaderMap, HeaderValue, StatusCode, Uri,
    header::{ACCEPT, CONTENT_TYPE, LOCATION, USER_AGENT},
};
use parking_lot::Mutex;
use tokio_util::task::TaskTracker;
use toolbay_server::ToolError;
use toolbay_transport::http::client::{ConnectOptions, WebClient, WebError, WebResponse};
use url::Url;

use super::robots::Robots;

/// The longest page that is read.
const MAX_PAGE: usize = 10 * 1024 * 1024;
/// The longest robots.txt that is read.
const MAX_ROBOTS: usize = 500 * 1024;
/// How much of it an error shows.
const MAX_SHOWN: usize = 4 * 1024;
/// How long one response may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How often a page may lead to another one.
const MAX_REDIRECTS: usize = 10;
/// How long a robots.txt counts, and of how many sites.
const ROBOTS_AGE: Duration = Duration::from_secs(600);
const MAX_SITES: usize = 64;

const AUTONOMOUS: &str =
    "ModelContextProtocol/1.0 (Autonomous; +https://github.com/modelcontextprotocol/servers)";
const USER_SPECIFIED: &str =
    "ModelContextProtocol/1.0 (User-Specified; +https://github.com/modelcontextprotocol/servers)";

/// Who wants a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A model, which obeys robots.txt.
    Model,
    /// A user.
    User,
}

/// A page, decoded.
#[derive(Debug)]
pub(super) struct Page {
    /// Where it is, after redirects.
    pub(super) url: Url,
    pub(super) content_type: String,
    pub(super) text: String,
}

/// Downloads pages.
pub(super) struct Downloader {
    client: WebClient,
    user_agent: Option<HeaderValue>,
    ignore_robots_txt: bool,
    /// What sites ask for, by origin.
    robots: Mutex<HashMap<String, (Instant, Arc<SiteRules>)>>,
}

/// What a site asks programs for.
#[derive(Debug)]
struct SiteRules {
    robots: Robots,
    /// The robots.txt, as far as errors show it.
    text: String,
}

impl Downloader {
    pub(super) fn new(
        route: &ConnectOptions,
        user_agent: Option<String>,
        ignore_robots_txt: bool,
        tasks: &TaskTracker,
    ) -> Self {
        let user_agent = user_agent.and_then(|name| HeaderValue::from_str(&name).ok());
        Self { client: WebClient::new(route, tasks), user_agent, ignore_robots_txt, robots: Mutex::default() }
    }

    /// Downloads a page, with all redirects on the way.
    pub(super) async fn download(&self, url: &Url, purpose: Purpose) -> Result<Page, ToolError> {
        let mut at = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let uri = uri(&at).map_err(|reason| not_fetched(url, reason))?;
            if purpose == Purpose::Model && !self.ignore_robots_txt {
                self.check_robots(&at).await?;
            }
            let response = self.get(&uri, purpose, MAX_PAGE).await.map_err(|error| failed(url, error))?;
            if let Some(next) = redirection(&at, &response) {
                at = next;
                continue;
            }
            if response.status.as_u16() >= 400 {
                let status = response.status.as_u16();
                return Err(ToolError::failed(format!("Failed to fetch {url} - status code {status}")));
            }
            return decode(at, &response).map_err(|reason| not_fetched(url, reason));
        }
        Err(not_fetched(url, format!("more than {MAX_REDIRECTS} redirects")))
    }

    /// Fails if the site asks programs not to fetch a page.
    async fn check_robots(&self, url: &Url) -> Result<(), ToolError> {
        let Ok(robots_url) = url.join("/robots.txt") else { return Ok(()) };
        let rules = self.rules(&robots_url).await?;
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        if rules.robots.allows(path) {
            return Ok(());
        }
        Err(ToolError::failed(format!(
            "The sites robots.txt ({robots_url}), specifies that autonomous fetching of this page is not allowed, \
             <useragent>{}</useragent>\n<url>{url}</url><robots>\n{}\n</robots>\n\
             The assistant must let the user know that it failed to view the page. The assistant may provide further guidance \
             based on the above information.\n\
             The assistant can tell the user that they can try manually fetching the page by using the fetch prompt within their UI.",
            self.name(Purpose::Model),
            rules.text
        )))
    }

    /// What a site asks for.
    async fn rules(&self, robots_url: &Url) -> Result<Arc<SiteRules>, ToolError> {
        let origin = robots_url.origin().ascii_serialization();
        let known =
            self.robots.lock().get(&origin).filter(|(since, _)| since.elapsed() < ROBOTS_AGE).cloned();
        if let Some((_, rules)) = known {
            return Ok(rules);
        }
        let text = self.robots_txt(robots_url).await?;
        let shown = toolbay_server::limit::head(&text, MAX_SHOWN).to_owned();
        let rules =
            Arc::new(SiteRules { robots: Robots::parse(&text, self.name(Purpose::Model)), text: shown });
        let mut robots = self.robots.lock();
        if robots.len() >= MAX_SITES {
            robots.clear();
        }
        robots.insert(origin, (Instant::now(), rules.clone()));
        Ok(rules)
    }

    async fn robots_txt(&self, url: &Url) -> Result<String, ToolError> {
        let mut at = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let uri = uri(&at).map_err(|reason| not_fetched(url, reason))?;
            let response = match self.get(&uri, Purpose::Model, MAX_ROBOTS).await {
                Ok(response) => response,
                Err(error @ WebError::Private(_)) => return Err(failed(&at, error)),
                Err(WebError::TooLong { .. }) => return Ok(String::new()),
                Err(WebError::Failed(_)) => {
                    let text = format!("Failed to fetch robots.txt {url} due to a connection issue");
                    return Err(ToolError::failed(text));
                }
            };
            if let Some(next) = redirection(&at, &response) {
                at = next;
                continue;
            }
            let status = response.status;
            if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
                return Err(ToolError::failed(format!(
                    "When fetching robots.txt ({url}), received status {} so assuming that autonomous fetching is not allowed, \
                     the user can try manually fetching by using the fetch prompt",
                    status.as_u16()
                )));
            }
            let is_missing = status.is_client_error();
            let text =
                if is_missing { String::new() } else { String::from_utf8_lossy(&response.body).into_owned() };
            return Ok(text);
        }
        Err(ToolError::failed(format!("Failed to fetch robots.txt {url} due to a connection issue")))
    }

    async fn get(&self, uri: &Uri, purpose: Purpose, limit: usize) -> Result<WebResponse, WebError> {
        let mut headers = HeaderMap::new();
        let name = HeaderValue::from_static(match purpose {
            Purpose::Model => AUTONOMOUS,
            Purpose::User => USER_SPECIFIED,
        });
        headers.insert(USER_AGENT, self.user_agent.clone().unwrap_or(name));
        headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
        self.client.get(uri, headers, limit, TIMEOUT).await
    }

    fn name(&self, purpose: Purpose) -> &str {
        let configured = self.user_agent.as_ref().and_then(|name| name.to_str().ok());
        configured.unwrap_or(match purpose {
            Purpose::Model => AUTONOMOUS,
            Purpose::User => USER_SPECIFIED,
        })
    }
}

impl fmt::Debug for Downloader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Downloader").field("client", &self.client).finish_non_exhaustive()
    }
}

impl Page {
    /// Whether it is HTML, by its type or its first characters.
    pub(super) fn is_html(&self) -> bool {
        let start = self.text.char_indices().nth(100).map_or(self.text.len(), |(at, _)| at);
        self.content_type.is_empty()
            || self.content_type.contains("text/html")
            || self.text[..start].contains("<html")
    }
}

/// The URL of a request: without fragment.
fn uri(url: &Url) -> Result<Uri, String> {
    let mut url = url.clone();
    url.set_fragment(None);
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("`{}` is not supported, only http and https", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("URLs with a user name or password are not supported".to_owned());
    }
    url.as_str().parse().map_err(|_| "not a valid URL".to_owned())
}

/// Where a response leads to.
fn redirection(url: &Url, response: &WebResponse) -> Option<Url> {
    let is_redirect = matches!(response.status.as_u16(), 301 | 302 | 303 | 307 | 308);
    let location = response.headers.get(LOCATION).filter(|_| is_redirect)?;
    url.join(location.to_str().ok()?).ok()
}

/// Decodes a page, in the encoding that its type or its beginning names.
fn decode(url: Url, response: &WebResponse) -> Result<Page, String> {
    let content_type = response.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    let body = &response.body;
    if !is_text(&content_type, body) {
        let kind = if content_type.is_empty() { "unknown" } else { &content_type };
        return Err(format!("it is not text: content type {kind}, {} bytes", body.len()));
    }
    let start = String::from_utf8_lossy(&body[..body.len().min(1024)]);
    let named = charset(&content_type).or_else(|| charset(&start));
    let encoding = named.and_then(|name| Encoding::for_label(name.as_bytes())).unwrap_or(UTF_8);
    let text = encoding.decode(body).0.into_owned();
    Ok(Page { url, content_type, text })
}

/// Whether a response can be shown as text.
fn is_text(content_type: &str, body: &[u8]) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_known = media_type.starts_with("text/")
        || [
            "json",
            "xml",
            "javascript",
            "yaml",
            "x-ndjson",
            "x-sh",
            "sql",
            "graphql",
            "x-www-form-urlencoded",
        ]
        .iter()
        .any(|kind| media_type.ends_with(kind));
    is_known || charset(content_type).is_some() || (!body.contains(&0) && std::str::from_utf8(body).is_ok())
}

/// The value of the first `charset=`.
fn charset(text: &str) -> Option<&str> {
    let at = text.to_ascii_lowercase().find("charset=")? + "charset=".len();
    let value = text.get(at..)?.trim_start_matches(['"', '\'', ' ']);
    let end =
        value.find(|it: char| !it.is_ascii_alphanumeric() && !"-_:.".contains(it)).unwrap_or(value.len());
    Some(&value[..end]).filter(|name| !name.is_empty())
}

fn not_fetched(url: &Url, reason: impl fmt::Display) -> ToolError {
    ToolError::failed(format!("Failed to fetch {url}: {reason}"))
}

fn failed(url: &Url, error: WebError) -> ToolError {
    match error {
        WebError::Private(private) => ToolError::failed(format!(
            "Refused to fetch {url}: {private}. Set `private_addresses = true`, or start the server with --allow-private-ips, to \
             allow private, loopback and link-local addresses."
        )),
        error => not_fetched(url, error),
    }
}
