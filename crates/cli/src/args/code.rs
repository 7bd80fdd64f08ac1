//! Arguments of commands that search code.

use std::path::PathBuf;

use clap::Args;

use super::ServingArgs;

#[derive(Debug, Args)]
#[command(after_help = CODEBASE_EXAMPLES)]
pub(crate) struct CodebaseArgs {
    /// Directory [default: current directory]
    pub(crate) path: Option<PathBuf>,
    /// Report failures of tools as JSON-RPC errors instead of results with `isError`
    #[arg(long)]
    pub(crate) s3_errors: bool,
    /// Include files whose names indicate secrets, such as .env and keys
    #[arg(long)]
    pub(crate) secrets: bool,
    #[command(flatten)]
    pub(crate) serving: ServingArgs,
}

const CODEBASE_EXAMPLES: &str = "\
Examples:
  toolbay codebase ~/work/project          for clients that start a command
  toolbay codebase --http                  for clients on HTTP, at http://127.0.0.1:3000/
  toolbay codebase . --http 127.0.0.1:0    on a free port";

#[derive(Debug, Args)]
#[command(after_help = SEARCH_EXAMPLES)]
pub(crate) struct SearchArgs {
    /// What to look for, in natural language
    #[arg(value_name = "QUERY", required_unless_present = "text")]
    pub(crate) question: Option<String>,
    /// Directory or file to search [default: current directory]
    pub(crate) path: Option<PathBuf>,
    /// Search for text that matches this regular expression instead
    #[arg(long, short, value_name = "PATTERN")]
    pub(crate) text: Option<String>,
    /// Treat the pattern as literal text
    #[arg(long, short = 'F', requires = "text")]
    pub(crate) fixed_strings: bool,
    /// Ignore case [default: smart case]
    #[arg(long, short, requires = "text", conflicts_with = "case_sensitive")]
    pub(crate) ignore_case: bool,
    /// Match case
    #[arg(long, short = 's', requires = "text")]
    pub(crate) case_sensitive: bool,
    /// Match whole words only
    #[arg(long, short, requires = "text")]
    pub(crate) word_regexp: bool,
    /// Lines of context before and after each match
    #[arg(long, short = 'C', value_name = "LINES", default_value_t = 0, requires = "text")]
    pub(crate) context: usize,
    /// Only files that match; a leading `!` excludes them; repeatable
    #[arg(long, short, value_name = "GLOB")]
    pub(crate) glob: Vec<String>,
    /// Only this language
    #[arg(long, short, value_name = "NAME", conflicts_with = "text")]
    pub(crate) language: Option<String>,
    /// Maximum number of results [default: 10, or 1000 with --text]
    #[arg(long, short = 'n', value_name = "NUMBER")]
    pub(crate) max_results: Option<usize>,
    /// Number of results to skip
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) offset: usize,
    /// Include files whose names indicate secrets, such as .env and keys
    #[arg(long)]
    pub(crate) secrets: bool,
    /// Show chunks in full
    #[arg(long, conflicts_with = "text")]
    pub(crate) full: bool,
}

const SEARCH_EXAMPLES: &str = "\
Examples:
  toolbay search 'restart a crashed server with backoff'
  toolbay search 'parse the configuration' src -g '*.rs' -n 5
  toolbay search --text 'fn \\w+_total' src";

#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    /// Directory [default: current directory]
    pub(crate) path: Option<PathBuf>,
    /// Show the status of the index without changing it
    #[arg(long, conflicts_with = "clear")]
    pub(crate) status: bool,
    /// Remove the index
    #[arg(long)]
    pub(crate) clear: bool,
}
