//! What is typed to look at configured servers and to change them.

use std::path::PathBuf;

use clap::{
    Args, Subcommand, ValueEnum,
    builder::{PossibleValue, StringValueParser, TypedValueParser},
};
use toolbay_config::Format;

/// Whose file is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeArg {
    /// Your own file, for all projects
    User,
    /// The file of the project in this folder
    Project,
}

#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// The server
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
    /// Into whose file; your own unless given
    #[arg(long, short, value_enum)]
    pub(crate) scope: Option<ScopeArg>,
    /// Print what would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    // Without a short form: `-y` is what people type for `npx`.
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = ADD_EXAMPLES)]
pub(crate) struct AddArgs {
    /// The name of the server
    pub(crate) name: String,
    /// Its command, or its URL; with --builtin, the folder that it serves
    #[arg(value_name = "COMMAND_OR_URL", required_unless_present_any = ["url", "builtin"])]
    pub(crate) target: Option<String>,
    /// Arguments of the command; `--` before the command keeps them from being taken for ours
    #[arg(value_name = "ARGS")]
    pub(crate) args: Vec<String>,
    /// What it speaks, where that is not to be found out
    #[arg(long, short, value_enum)]
    pub(crate) transport: Option<TransportArg>,
    /// Its URL
    #[arg(long, conflicts_with = "target")]
    pub(crate) url: Option<String>,
    /// A server that is a part of Toolbay: `codebase`, which searches and reads a folder (this one unless given)
    #[arg(long, value_name = "NAME", conflicts_with_all = ["url", "args", "env", "header", "transport", "cwd", "bearer_token_env_var"])]
    pub(crate) builtin: Option<String>,
    /// A variable for its environment, or @FILE with one per line; `KEY=${OTHER}` keeps the value out of the file.
    ///
    /// Other users of this machine can see arguments while the program runs: pass secrets as `KEY=${OTHER}` or @FILE.
    #[arg(long, short, value_name = "KEY=VALUE")]
    pub(crate) env: Vec<String>,
    /// A header to send with every request, or @FILE with one per line.
    ///
    /// Other users of this machine can see arguments while the program runs: pass secrets as `NAME: ${VARIABLE}` or @FILE.
    #[arg(long, short = 'H', value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// The variable of the environment that holds a bearer token
    #[arg(long, value_name = "VAR")]
    pub(crate) bearer_token_env_var: Option<String>,
    /// The folder to run it in
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cwd: Option<PathBuf>,
    /// Tools of it to offer, and no others; `*` stands for any characters
    #[arg(long, value_name = "TOOL,…", value_delimiter = ',')]
    pub(crate) include_tools: Vec<String>,
    /// Tools of it not to offer
    #[arg(long, value_name = "TOOL,…", value_delimiter = ',')]
    pub(crate) exclude_tools: Vec<String>,
    /// Add it switched off
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
  toolbay add code --builtin codebase ~/work/project";

#[derive(Debug, Args)]
pub(crate) struct AddJsonArgs {
    /// The name of the server
    pub(crate) name: String,
    /// Its entry as in `mcpServers`: `{"command": …}` or `{"url": …}`; `-` reads it from stdin
    #[arg(value_name = "JSON")]
    pub(crate) entry: String,
    #[command(flatten)]
    pub(crate) put: PutArgs,
}

/// A server where it stands.
#[derive(Debug, Args)]
pub(crate) struct EntryArgs {
    /// The server
    pub(crate) name: String,
    /// In whose file, if several have it
    #[arg(long, short, value_enum)]
    pub(crate) scope: Option<ScopeArg>,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// The server; one after the other unless given
    pub(crate) name: Option<String>,
    /// All that wait
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
    /// Show what would run and what changed about it, and no more
    #[arg(long, conflicts_with_all = ["yes", "reject"])]
    pub(crate) diff: bool,
    /// Keep it from running, without asking again until it changes
    #[arg(long, conflicts_with = "yes")]
    pub(crate) reject: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The file, in any known format; those of all known clients unless given
    pub(crate) file: Option<PathBuf>,
    /// The client whose files are meant
    #[arg(long, value_name = "CLIENT", conflicts_with = "file", value_parser = ClientName(&[Format::Goose, Format::Devin]))]
    pub(crate) from: Option<String>,
    /// Also those that are there already and differ
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) put: PutArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The client
    #[arg(long, value_name = "CLIENT", value_parser = ClientName(&[]))]
    pub(crate) client: String,
    /// The servers themselves instead of this hub
    #[arg(long)]
    pub(crate) servers: bool,
    /// Put it into the client's file instead of printing it
    #[arg(long)]
    pub(crate) write: bool,
    /// Into which of its files; the one for all projects unless given
    #[arg(long, short, value_enum)]
    pub(crate) scope: Option<ScopeArg>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check files and tell what is wrong with them, with line and column
    Check(CheckArgs),
    /// Print the servers in the same words, whatever the format of their file
    Show,
    /// Print which files count
    Path(PathArgs),
    /// Print the JSON Schema of `toolbay.toml`
    Schema,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The file, in any known format; all that count unless given
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PathArgs {
    /// Print nothing but the path of this one
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
