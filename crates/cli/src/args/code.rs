//! What is typed to search code.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;

use super::AccessArgs;

/// Where the codebase server listens unless said.
const CODEBASE_ADDRESS: &str = "127.0.0.1:3000";

#[derive(Debug, Args)]
#[command(after_help = CODEBASE_EXAMPLES)]
pub(crate) struct CodebaseArgs {
    /// The folder; this one unless given
    pub(crate) path: Option<PathBuf>,
    /// Serve HTTP (`POST /`, `POST /mcp`, `GET /health`) instead of stdin and stdout
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, default_missing_value = CODEBASE_ADDRESS)]
    pub(crate) http: Option<SocketAddr>,
    /// Answer failures of tools with JSON-RPC errors instead of results that say `isError`
    #[arg(long)]
    pub(crate) s3_errors: bool,
    /// Show files whose names say that they hold secrets, such as .env and keys
    #[arg(long)]
    pub(crate) secrets: bool,
    /// Serve only HTTP clients that show the token in the first line of this file (`Authorization: Bearer …`)
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// Listen beyond this machine although anyone who reaches the address can read every file
    #[arg(long, requires = "http")]
    pub(crate) allow_unauthenticated: bool,
    /// Another name under which clients may reach the server (the `Host` header), with the port if it is another one there
    #[arg(long, value_name = "NAME[:PORT]", requires = "http")]
    pub(crate) public_name: Vec<String>,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
}

const CODEBASE_EXAMPLES: &str = "\
Examples:
  toolbay codebase ~/work/project          for clients that start a command
  toolbay codebase --http                  for clients on HTTP, at http://127.0.0.1:3000/
  toolbay codebase . --http 127.0.0.1:0    on a free port";

#[derive(Debug, Args)]
#[command(after_help = SEARCH_EXAMPLES)]
pub(crate) struct SearchArgs {
    /// What to look for, in words
    #[arg(value_name = "QUESTION", required_unless_present = "text")]
    pub(crate) question: Option<String>,
    /// The folder or file to search in; this folder unless given
    pub(crate) path: Option<PathBuf>,
    /// Look for this pattern in the text instead
    #[arg(long, short, value_name = "PATTERN")]
    pub(crate) text: Option<String>,
    /// The pattern is literal text
    #[arg(long, short = 'F', requires = "text")]
    pub(crate) fixed_strings: bool,
    /// Case does not matter; unless given, it does if the pattern has an upper-case letter
    #[arg(long, short, requires = "text", conflicts_with = "case_sensitive")]
    pub(crate) ignore_case: bool,
    /// Case matters
    #[arg(long, short = 's', requires = "text")]
    pub(crate) case_sensitive: bool,
    /// Only whole words count
    #[arg(long, short, requires = "text")]
    pub(crate) word_regexp: bool,
    /// Show this many lines before and after each line that is found
    #[arg(long, short = 'C', value_name = "LINES", default_value_t = 0, requires = "text")]
    pub(crate) context: usize,
    /// Only files that fit; a `!` before it leaves them out; may be given several times
    #[arg(long, short, value_name = "GLOB")]
    pub(crate) glob: Vec<String>,
    /// Only this language
    #[arg(long, short, value_name = "NAME", conflicts_with = "text")]
    pub(crate) language: Option<String>,
    /// How many results to show: 10 by meaning, 1000 of text, unless given
    #[arg(long, short = 'n', value_name = "NUMBER")]
    pub(crate) max_results: Option<usize>,
    /// How many results to leave out
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) offset: usize,
    /// Search files whose names say that they hold secrets, too, such as .env and keys
    #[arg(long)]
    pub(crate) secrets: bool,
    /// Show chunks whole
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
    /// The folder; this one unless given
    pub(crate) path: Option<PathBuf>,
    /// Tell how the index is, and do nothing about it
    #[arg(long, conflicts_with = "clear")]
    pub(crate) status: bool,
    /// Remove the index
    #[arg(long)]
    pub(crate) clear: bool,
}
