//! Arguments of commands about configured servers.

use std::path::PathBuf;

use clap::{
    Args, Subcommand, ValueEnum,
    builder::{PossibleValue, StringValueParser, TypedValueParser},
};
use toolbay_config::Format;

/// Whose file is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeArg {
    /// Your own file
    User,
    /// The project file
    Project,
}

#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// Name of the server
    #[arg(value_name = "NAME")]
    pub(crate) server: String,
}

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TransportArg {
    Stdio,
    #[value(alias = "streamable-http")]
    Http,
    Sse,
    Ws,
}

/// What all commands take that put servers into files.
#[derive(Debug, Args)]
pub(crate) struct PutArgs {
    /// File to write to [default: user]
    #[arg(long, short, value_enum)]
    pub(crate) scope: Option<ScopeArg>,
    /// Print the changes without writing them
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask for confirmation
    // Without a short form: `-y` is what people type for `npx`.
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = ADD_EXAMPLES)]
pub(crate) struct AddArgs {
    /// Name of the server
    pub(crate) name: String,
    /// Command or URL; with --builtin, the directory to serve, or several
    #[arg(value_name = "COMMAND_OR_URL", required_unless_present_any = ["url", "builtin"])]
    pub(crate) target: Option<String>,
    /// Arguments of the command; put `--` before the command
    #[arg(value_name = "ARGS")]
    pub(crate) args: Vec<String>,
    /// Transport [default: detected]
    #[arg(long, short, value_enum)]
    pub(crate) transport: Option<TransportArg>,
    /// URL of the server
    #[arg(long, conflicts_with = "target")]
    pub(crate) url: Option<String>,
    /// Built-in server, such as `filesystem` or `codebase`; `toolbay builtin` lists them [default: current directory]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["url", "env", "header", "transport", "cwd", "bearer_token_env_var"])]
    pub(crate) builtin: Option<String>,
    /// Another key of the built-in server; the value is JSON, or else a text; repeatable
    #[arg(long, value_name = "KEY=VALUE", requires = "builtin")]
    pub(crate) set: Vec<String>,
    /// Environment variable, or @FILE with one per line; `KEY=${OTHER}` keeps the value out of the file.
    ///
    /// Other users of this machine can see command-line arguments: pass secrets as `KEY=${OTHER}` or @FILE.
    #[arg(long, short, value_name = "KEY=VALUE")]
    pub(crate) env: Vec<String>,
    /// Header to send with every request, or @FILE with one per line.
    ///
    /// Other users of this machine can see command-line arguments: pass secrets as `NAME: ${VARIABLE}` or @FILE.
    #[arg(long, short = 'H', value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// Environment variable that holds a bearer token
    #[arg(long, value_name = "VAR")]
    pub(crate) bearer_token_env_var: Option<String>,
    /// Working directory of the command
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Offer only these tools; `*` matches any characters
    #[arg(long, value_name = "TOOL,…", value_delimiter = ',')]
    pub(crate) include_tools: Vec<String>,
    /// Do not offer these tools
    #[arg(long, value_name = "TOOL,…", value_delimiter = ',')]
    pub(crate) exclude_tools: Vec<String>,
    /// Add it disabled
    #[arg(long)]
    pub(crate) disabled: bool,
    #[command(flatten)]
    pub(crate) put: PutArgs,
}

const ADD_EXAMPLES: &str = "\
Examples:
  toolbay add files -- npx -y @modelcontextprotocol/server-filesystem@2025.8.21 ~/Documents
  toolbay add issues https://issues.example.com/mcp --header 'Authorization: Bearer ${ISSUES_TOKEN}'
  toolbay add issues --url https://issues.example.com/mcp --bearer-token-env-var ISSUES_TOKEN
  toolbay add code --builtin codebase ~/work/project
  toolbay add files --builtin filesystem . ~/notes --set delete=true";

#[derive(Debug, Args)]
pub(crate) struct AddJsonArgs {
    /// Name of the server
    pub(crate) name: String,
    /// Entry as in `mcpServers`: `{"command": …}` or `{"url": …}`; `-` reads it from stdin
    #[arg(value_name = "JSON")]
    pub(crate) entry: String,
    #[command(flatten)]
    pub(crate) put: PutArgs,
}

/// A server where it stands.
#[derive(Debug, Args)]
pub(crate) struct EntryArgs {
    /// Name of the server
    pub(crate) name: String,
    /// File to change, if several define it
    #[arg(long, short, value_enum)]
    pub(crate) scope: Option<ScopeArg>,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// Name of the server [default: ask for each]
    pub(crate) name: Option<String>,
    /// All servers that need approval, or whose definitions do
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
    /// Only show what would run and what changed
    #[arg(long, visible_alias = "list", conflicts_with_all = ["yes", "reject"])]
    pub(crate) diff: bool,
    /// Reject its launch; it is not asked about again until it changes
    #[arg(long, conflicts_with = "yes")]
    pub(crate) reject: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// File to import, in any supported format [default: the files of all known clients]
    pub(crate) file: Option<PathBuf>,
    /// Import only from this client
    #[arg(long, value_name = "CLIENT", conflicts_with = "file", value_parser = ClientName(&[Format::Goose, Format::Devin]))]
    pub(crate) from: Option<String>,
    /// Also replace existing servers that differ
    #[arg(long)]
    pub(crate) replace: bool,
    /// Use built-in servers in place of the published ones that they replace
    #[arg(long)]
    pub(crate) prefer_builtin: bool,
    /// What to do with plain secrets in the entries [default: ask on a terminal; copy them with --yes or without a terminal]
    #[arg(long, value_enum)]
    pub(crate) secrets: Option<SecretsArg>,
    #[command(flatten)]
    pub(crate) put: PutArgs,
}

/// What becomes of plain secrets that are imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SecretsArg {
    /// Move them to the store of `toolbay secret`, and refer to them
    Move,
    /// Copy them as they are
    Copy,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Client to export to
    #[arg(long, value_name = "CLIENT", value_parser = ClientName(&[]))]
    pub(crate) client: String,
    /// Export the servers themselves instead of the hub
    #[arg(long)]
    pub(crate) servers: bool,
    /// Write it to the client's file instead of printing it
    #[arg(long)]
    pub(crate) write: bool,
    /// Which of the client's files to write [default: user]
    #[arg(long, short, value_enum)]
    pub(crate) scope: Option<ScopeArg>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check files and report errors with line and column
    Check(CheckArgs),
    /// Print the effective configuration
    Show,
    /// Print which files apply
    Path(PathArgs),
    /// Print the JSON Schema of `toolbay.toml`
    Schema,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// File to check, in any supported format [default: all files that apply]
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PathArgs {
    /// Print only the path of this file
    #[arg(long, short, value_enum)]
    pub(crate) scope: Option<ScopeArg>,
}

/// The name of a client. The help lists them and shells complete them, but any text is taken: there are more ways to
/// write some, and the commands know what was perhaps meant. Holds the clients that are listed besides the usual ones.
#[derive(Debug, Clone, Copy)]
struct ClientName(&'static [Format]);

impl TypedValueParser for ClientName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Format::CLIENTS.iter().chain(self.0).map(|format| PossibleValue::new(format.name()))))
    }
}
