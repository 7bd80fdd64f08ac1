//! The server `grep`: regular expressions in the files of allowed directories, with ripgrep's engine in this process.
//!
//! ```text
//! arguments ─→ GrepQuery, FileFilter ─→ survey: every file is searched, matches are counted ─→ page: the lines that are shown
//! ```
//!
//! The survey keeps of each file its path and its number of matches, and only of as many files as the page can come from.
//! Then the few files of the page are searched again for their lines. So totals are exact, pages are in a fixed order, and
//! memory depends on the page, not on what is found.

mod files;
mod page;
mod query;
mod ripgrep;
mod survey;
mod tool;

use std::{borrow::Cow, io, path::PathBuf, sync::Arc, time::Duration};

use toolbay_files::{AllowedDirectories, Secrets};
use toolbay_server::{ToolContext, ToolError, ToolResult, ToolServer, in_process};

use crate::{ClientRoots, Connect};

use files::{FileFilter, Search};
use page::{Format, Page, PageLimits};
use query::GrepQuery;
use survey::Counting;

/// How long a search may take. What was found until then is returned, and the result says so.
const TIME_LIMIT: Duration = Duration::from_secs(45);

/// How the server is set up.
#[derive(Debug, Clone, Default)]
pub struct GrepConfig {
    /// The directories whose files may be searched.
    pub directories: Vec<PathBuf>,
    /// What `~` stands for in paths.
    pub home: Option<PathBuf>,
    /// Whether files whose names say that they hold secrets are hidden.
    pub secrets: Secrets,
    /// Which tools are offered.
    pub toolset: GrepToolset,
    /// What the roots of clients mean for the directories.
    pub client_roots: ClientRoots,
    /// How long a search may take, if not 45 seconds.
    pub time_limit: Option<Duration>,
}

/// Which tools are offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GrepToolset {
    /// `grep`, with the parameters that models know.
    #[default]
    Grep,
    /// The five tools of mcp-ripgrep.
    Ripgrep,
}

/// What the tools work on.
#[derive(Debug)]
struct GrepServer {
    allowed: AllowedDirectories,
    client_roots: ClientRoots,
    time_limit: Duration,
}

/// Makes the server connectable. Directories that cannot be opened are returned with the reason.
pub fn grep(config: GrepConfig) -> (Connect, Vec<(PathBuf, io::Error)>) {
    let (allowed, skipped) = AllowedDirectories::open(config.directories);
    let allowed = allowed.home(config.home).secrets(config.secrets);
    let client_roots = config.client_roots;
    let state = GrepServer { allowed, client_roots, time_limit: config.time_limit.unwrap_or(TIME_LIMIT) };
    let server = match config.toolset {
        GrepToolset::Grep => ToolServer::new("grep", state, tool::toolset()),
        GrepToolset::Ripgrep => ToolServer::new("ripgrep-search", state, ripgrep::toolset()),
    };
    let server = if client_roots == ClientRoots::Ignore { server } else { server.with_roots() };
    (in_process(Arc::new(server)), skipped)
}

/// Makes a handler search in what the client of a call may use.
fn for_client<A>(
    handler: fn(&GrepServer, A, &ToolContext) -> ToolResult,
) -> impl Fn(&GrepServer, A, &ToolContext) -> ToolResult + Send + Sync {
    move |server, arguments, context| match server.client_roots.apply(&server.allowed, context)? {
        Cow::Borrowed(_) => handler(server, arguments, context),
        Cow::Owned(allowed) => handler(&GrepServer { allowed, ..*server }, arguments, context),
    }
}

/// Searches as the tool `grep` of the `agent` toolset does: `rg -n PATTERN PATH` with absolute paths, or `no matches`.
///
/// # Errors
/// If the pattern or the path cannot be used, or the call is canceled.
pub(crate) fn agent_grep(
    allowed: &AllowedDirectories,
    pattern: &str,
    path: Option<&str>,
    context: &ToolContext,
) -> Result<String, ToolError> {
    /// The reference's limits.
    const LIMITS: PageLimits = PageLimits { offset: 0, matches: 50_000, bytes: 100 * 1024, line: 2_000 };
    let failed = |error: files::GrepError| ToolError::failed(format!("grep: {error}"));
    let query = GrepQuery { pattern: pattern.to_owned(), ..GrepQuery::default() };
    let search = Search::new(allowed, path, FileFilter::default(), context, TIME_LIMIT).map_err(failed)?;
    let search = search.with_absolute_paths();
    let survey = search.survey(&query, Counting::Lines, LIMITS.matches).map_err(failed)?;
    let format = Format { paths: true, line_numbers: true, colors: false };
    let page = search.page(&query, &survey, LIMITS, format).map_err(failed)?;
    Ok(match page {
        Page { shown: 0, .. } => "no matches".to_owned(),
        Page { text, shown, .. } if shown as u64 == survey.matches => text,
        Page { text, shown, .. } => format!(
            "{text}[shown {shown} of {} matches in {} files; use a narrower pattern or path]",
            survey.matches, survey.files
        ),
    })
}
