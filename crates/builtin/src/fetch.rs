//! The server `fetch`: pages of the web as Markdown.
//!
//! The contract is that of `mcp-server-fetch`. Where a page is fetched because a model asks for it, the site's `robots.txt` is
//! obeyed, also after redirects; the prompt `fetch` is what a user asks for, and is not. Only public addresses are connected to,
//! unless the configuration allows others.

mod markdown;
mod page;
mod robots;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::task::TaskTracker;
use toolbay_server::{
    Annotations, BlockingThreads, Prompt, PromptArguments, PromptText, Tool, ToolContext, ToolError,
    ToolOutput, ToolResult, ToolServer, Toolset, in_process,
};
use toolbay_transport::{
    Connection,
    http::client::{AddressPolicy, ConnectOptions, Proxies},
};
use url::Url;

use page::{Downloader, Page, Purpose};

const DESCRIPTION: &str = "Fetches a URL from the internet and optionally extracts its contents as markdown.";

/// How pages are fetched.
#[derive(Debug, Clone, Default)]
pub struct FetchConfig {
    /// The name that sites see, if not one that says which server this is.
    pub user_agent: Option<String>,
    /// Whether pages are fetched that sites ask programs not to fetch.
    pub ignore_robots_txt: bool,
    /// A proxy for all requests, instead of those of `route`.
    pub proxy_url: Option<String>,
    /// Whether addresses are connected to that are not public.
    pub allow_private: bool,
    /// Proxies and certificates.
    pub route: ConnectOptions,
}

/// Makes the server connectable.
pub fn fetch(config: FetchConfig) -> Arc<dyn Fn(&TaskTracker) -> Connection + Send + Sync> {
    Arc::new(move |tasks| {
        let mut route = config.route.clone();
        if let Some(proxy) = &config.proxy_url {
            route.proxies = Proxies::from_variables(|name| (name == "ALL_PROXY").then_some(proxy.as_ref()));
        }
        route.addresses = if config.allow_private { AddressPolicy::Any } else { AddressPolicy::Public };
        let downloader = Downloader::new(&route, config.user_agent.clone(), config.ignore_robots_txt, tasks);
        let tools = tools();
        let fetcher = Fetcher { downloader, threads: tools.threads().clone() };
        let prompt = Prompt::new("fetch", prompt)
            .description("Fetch a URL and extract its contents as markdown")
            .argument("url", "URL to fetch");
        in_process(Arc::new(ToolServer::new("mcp-fetch", fetcher, tools).prompt(prompt)))(tasks)
    })
}

fn tools() -> Toolset<Fetcher> {
    Toolset::new([Tool::new("fetch", run)
        .title("Fetch")
        .description(DESCRIPTION)
        .output::<Fetched>()
        .annotations(Annotations { open_world: Some(true), ..Annotations::READ_ONLY })])
}

#[derive(Debug)]
struct Fetcher {
    downloader: Downloader,
    /// Conversions run on these.
    threads: BlockingThreads,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// URL to fetch
    #[schemars(length(min = 1), extend("format" = "uri"))]
    url: String,
    /// Maximum number of characters to return.
    #[serde(default = "default_length")]
    #[schemars(range(min = 1, max = 999_999))]
    max_length: usize,
    /// On return output starting at this character index, useful if a previous fetch was truncated and more context is required.
    #[serde(default)]
    start_index: usize,
    /// Get the actual HTML content of the requested page, without simplification.
    #[serde(default)]
    raw: bool,
}

fn default_length() -> usize {
    5000
}

/// A part of a page.
#[derive(Debug, Serialize, JsonSchema)]
struct Fetched {
    /// The URL of the page, after redirects
    url: String,
    /// Its content type
    content_type: String,
    /// The part
    content: String,
    /// Characters of the whole content
    total_length: usize,
    /// The `start_index` of the next part, if there is one
    #[serde(skip_serializing_if = "Option::is_none")]
    next_index: Option<usize>,
}

async fn run(fetcher: Arc<Fetcher>, arguments: Arguments, _: ToolContext) -> ToolResult {
    let url = Url::parse(&arguments.url)
        .map_err(|error| ToolError::argument("url", format!("is not a valid URL: {error}")))?;
    let page = fetcher.downloader.download(&url, Purpose::Model).await?;
    let (final_url, content_type) = (page.url.to_string(), page.content_type.clone());
    let (content, prefix) = fetcher.readable(page, arguments.raw).await?;
    let total_length = content.chars().count();
    let part: String = content.chars().skip(arguments.start_index).take(arguments.max_length).collect();
    let next = arguments.start_index.saturating_add(part.chars().count());
    let next_index = (next < total_length).then_some(next);
    let mut text = format!("{prefix}Contents of {url}:\n");
    match (part.is_empty(), next_index) {
        (true, _) => text.push_str("<error>No more content available.</error>"),
        (false, None) => text.push_str(&part),
        (false, Some(next)) => {
            text.push_str(&part);
            text.push_str(&format!(
                "\n\n<error>Content truncated. Call the fetch tool with a start_index of {next} to get more content.</error>"
            ));
        }
    }
    let fetched = Fetched { url: final_url, content_type, content: part, total_length, next_index };
    Ok(ToolOutput::text(text).with_structured(&fetched))
}

async fn prompt(fetcher: Arc<Fetcher>, arguments: PromptArguments) -> PromptText {
    let url = arguments.get("url").map(String::as_str).unwrap_or_default();
    let fetched = async {
        let parsed = Url::parse(url)
            .map_err(|error| ToolError::failed(format!("Failed to fetch {url}: not a valid URL: {error}")))?;
        let page = fetcher.downloader.download(&parsed, Purpose::User).await?;
        fetcher.readable(page, false).await
    };
    match fetched.await {
        Ok((content, prefix)) => {
            PromptText { description: format!("Contents of {url}"), text: format!("{prefix}{content}") }
        }
        Err(error) => PromptText { description: format!("Failed to fetch {url}"), text: error.to_string() },
    }
}

impl Fetcher {
    /// The text of a page, and what to say before it.
    async fn readable(&self, page: Page, raw: bool) -> Result<(String, String), ToolError> {
        if page.is_html() && !raw {
            let convert = move |_: &ToolContext| markdown::convert(&page.text);
            let converted = self.threads.run(ToolContext::default(), convert).await?;
            return Ok((converted.unwrap_or_else(|| markdown::FAILED.to_owned()), String::new()));
        }
        let prefix = format!(
            "Content type {} cannot be simplified to markdown, but here is the raw content:\n",
            page.content_type
        );
        Ok((page.text, prefix))
    }
}
