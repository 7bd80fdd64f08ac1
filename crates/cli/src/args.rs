//! The command line: commands and options.

mod builtin;
mod code;
pub(crate) mod help;
mod login;
pub(crate) mod pairs;
mod policy;
mod secrets;
mod servers;
mod token;
pub(crate) mod tool_arguments;

use std::path::PathBuf;

use clap::{Arg, ArgAction, Args, FromArgMatches, Parser, Subcommand, ValueEnum, value_parser};
use toolbay_access::PublicUrl;
use toolbay_config::{HubFile, Listen};
use toolbay_gateway::{LocalUsers, Origin};
use toolbay_host::Naming;
use toolbay_policy::{Exposure, ProfileName};

use crate::app::{error::CliError, shared_hub::HubSpec};
pub(crate) use builtin::{BraveSearchArgs, BuiltinArgs, BuiltinServer, FileArgs, ServingArgs, ShellArgs};
pub(crate) use code::{CodebaseArgs, IndexArgs, SearchArgs};
pub(crate) use login::{AuthSubcommand, LoginArgs, LogoutArgs, RevokeLoginsArgs};
pub(crate) use policy::{PendingSubcommand, PolicySubcommand, PolicyTestArgs};
pub(crate) use secrets::{SecretSubcommand, SetSecretArgs};
pub(crate) use servers::{
    AddArgs, AddJsonArgs, ApproveArgs, CheckArgs, ConfigCommand, EntryArgs, ExportArgs, GetArgs, ImportArgs,
    PathArgs, PutArgs, ScopeArg, SecretsArg, TransportArg,
};
pub(crate) use token::{CreateTokenArgs, TokenSubcommand};

/// Run many MCP servers and offer them as one.
#[derive(Debug, Parser)]
#[command(name = "toolbay", version, max_term_width = 110, after_help = AFTER_HELP)]
pub(crate) struct LowArgs {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const AFTER_HELP: &str = "\
Without a command, Toolbay is an MCP server on stdin and stdout, as with `toolbay stdio`.
Exit codes: 0 success, 1 failure, 2 usage or configuration, 3 authorization, 4 no hub or server not ready,
5 the tool returned an error, 6 denied, 130 interrupted.";

impl LowArgs {
    /// Parses the command line; ends the process if it is invalid.
    ///
    /// The option for measurements is added here and not to the description of the arguments, because completions offer
    /// even hidden options.
    pub(crate) fn read() -> Self {
        const WORKERS: &str = "workers";
        let workers =
            Arg::new(WORKERS).long(WORKERS).global(true).hide(true).value_parser(value_parser!(usize));
        let mut command = help::command().arg(workers);
        let matches = command.get_matches_mut();
        let mut args =
            Self::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit());
        args.global.workers = matches.get_one(WORKERS).copied();
        args
    }
}

/// Options that every command takes are listed under a heading of their own.
const GLOBAL: &str = "Global options";

#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Configuration file to use, in any supported format
    #[arg(long, short, global = true, help_heading = GLOBAL, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Naming of tools and prompts: prefix, none or prefix+alias [default: prefix]
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "NAMING")]
    pub(crate) naming: Option<Naming>,
    /// Profile of `toolbay.toml` that decides which servers and tools are there
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "PROFILE")]
    pub(crate) profile: Option<ProfileName>,
    /// Print machine-readable JSON
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// Print more; -vv for even more
    #[arg(long, short, global = true, help_heading = GLOBAL, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Print only results and errors
    #[arg(long, short, global = true, help_heading = GLOBAL, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// When to use colors
    #[arg(long, global = true, help_heading = GLOBAL, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN")]
    pub(crate) color: ColorChoice,
    /// Threads that serve; one loop on one thread by default. Only [`LowArgs::read`] knows the option.
    #[arg(skip)]
    pub(crate) workers: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    Auto,
    Always,
    Never,
}

/// A shell with completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Fish,
    Zsh,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the servers and offer them over HTTP
    Serve(ServeArgs),
    /// Offer the servers on stdin and stdout; clients of the same configuration share them
    Stdio(StdioArgs),
    /// Offer a server at a URL on stdin and stdout, for clients that only support stdio
    Connect(ConnectArgs),
    /// Offer only the code search server for a directory, on stdin and stdout or over HTTP
    Codebase(CodebaseArgs),
    /// Offer one of the built-in servers alone, or list them
    Builtin(BuiltinArgs),
    /// Search code by meaning, or for text
    Search(SearchArgs),
    /// Build or update the search index of a directory
    Index(IndexArgs),
    /// List the configured servers
    List,
    /// Show the details of a configured server
    Get(GetArgs),
    /// Add a server to a configuration file
    Add(AddArgs),
    /// Add a server from JSON, as in `mcpServers`
    AddJson(AddJsonArgs),
    /// Remove a server
    #[command(visible_alias = "rm")]
    Remove(EntryArgs),
    /// Enable a server
    Enable(EntryArgs),
    /// Disable a server
    Disable(EntryArgs),
    /// Review and approve the servers of this project
    Approve(ApproveArgs),
    /// Import servers from other clients
    Import(ImportArgs),
    /// Add this hub, or its servers, to a client's configuration
    Export(ExportArgs),
    /// Check and show configuration files
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Set, list and remove secrets
    #[command(subcommand)]
    Secret(SecretSubcommand),
    /// Create, list and revoke tokens for clients of a shared hub
    #[command(subcommand)]
    Token(TokenSubcommand),
    /// Show and verify the records of calls
    Audit(AuditArgs),
    /// Log in at a protected server
    Login(LoginArgs),
    /// Log out of a server: remove its tokens, and revoke them
    Logout(LogoutArgs),
    /// Show logins at protected servers
    #[command(subcommand)]
    Auth(AuthSubcommand),
    /// Explain what the rules of `[policy]` decide
    #[command(subcommand)]
    Policy(PolicySubcommand),
    /// List and decide calls that wait for you
    #[command(subcommand)]
    Pending(PendingSubcommand),
    /// List tools, or show one with its parameters and an example
    Tools(ToolsArgs),
    /// Call a tool
    Call(CallArgs),
    /// List resources
    Resources(ListArgs),
    /// Read a resource
    Read(ReadArgs),
    /// List prompts
    Prompts(ListArgs),
    /// Get a prompt
    Prompt(PromptArgs),
    /// Show the stderr output and events of servers
    Logs(LogsArgs),
    /// Show the messages between clients, the running hub and its servers
    ///
    /// Messages are kept only while they are watched: at most 10,000 messages, 32 MiB, and 10 minutes. With --follow, this
    /// command watches until Ctrl-C. Without it, it prints what is kept because of another watcher, and exits. Secrets are
    /// hidden. With --json, each message is printed in full.
    Inspect(InspectArgs),
    /// Show the status of the hub and its servers
    Status(StatusArgs),
    /// Manage the hub that clients share
    #[command(subcommand)]
    Hub(HubCommand),
    /// Start servers of the running hub
    Start(ServerNamesArgs),
    /// Stop servers of the running hub until they are started again
    Stop(ServerNamesArgs),
    /// Restart servers of the running hub
    Restart(ServerNamesArgs),
    /// Diagnose problems and suggest fixes
    Doctor(DoctorArgs),
    /// Generate shell completions
    Completions(CompletionsArgs),
    /// The background hub; started by `stdio`
    #[command(name = "__hub", hide = true)]
    Background(BackgroundArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum HubCommand {
    /// Show the hub and its connected clients
    Status,
    /// Stop the hub and its servers after running requests have finished
    Stop,
    /// Restart the hub; clients on stdio stay connected
    Restart,
    /// Show the log of the background hub
    Logs(HubLogsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct HubLogsArgs {
    /// Follow the output until Ctrl-C
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Number of lines to show
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 200)]
    pub(crate) lines: usize,
}

#[derive(Debug, Args)]
pub(crate) struct BackgroundArgs {
    /// What it serves, in JSON
    pub(crate) spec: HubSpec,
}

/// Each option has a key of the same name in `[hub]`, which counts where the option is not given.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ServeArgs {
    /// Address to listen on for HTTP (port 0 picks a free port), or an additional Unix socket; repeatable
    /// [default: 127.0.0.1:4100]
    #[arg(long, value_name = "[ADDR:]PORT|unix:PATH")]
    pub(crate) listen: Vec<Listen>,
    /// Allow non-loopback addresses without a token; anyone who can reach them can use every tool
    #[arg(long)]
    pub(crate) allow_unauthenticated: bool,
    /// Require the token in the first line of this file (`Authorization: Bearer …`)
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Serve HTTPS with the certificate chain in this file (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// URL under which clients reach the hub, such as `https://hub.example.com`; required with `[auth]` on non-loopback addresses
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<PublicUrl>,
    /// Replaced by --public-url
    #[arg(long, value_name = "NAME[:PORT]", hide = true)]
    pub(crate) public_name: Vec<String>,
    /// Offer the built-in servers filesystem, text-editor, grep and memory for the project, besides those that are configured
    #[arg(long)]
    pub(crate) builtins: bool,
    /// Tools that clients are listed: all, search or auto [default: all]
    #[arg(long, value_name = "MODE")]
    pub(crate) exposure: Option<Exposure>,
    /// Run beside a hub that already serves this configuration, with its own servers
    #[arg(long)]
    pub(crate) separate: bool,
    /// Whether clients on HTTP need a token of `toolbay token create`.
    #[arg(skip)]
    pub(crate) has_hub_tokens: bool,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    /// Whether `[auth]` protects the hub
    #[arg(skip)]
    pub(crate) has_issuer: bool,
}

/// Who may use a server over HTTP besides the user who runs it.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AccessArgs {
    /// Allow web pages of this origin, such as `https://app.example.com`; repeatable
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<Origin>,
    /// Allow other users of this machine without a token
    #[arg(long)]
    pub(crate) allow_local_users: bool,
}

impl AccessArgs {
    /// Whether any of it was given.
    pub(crate) fn is_given(&self) -> bool {
        self.allow_local_users || !self.allow_origin.is_empty()
    }

    /// Who is served without a token on loopback addresses.
    pub(crate) fn local_users(&self) -> LocalUsers {
        if self.allow_local_users { LocalUsers::Anyone } else { LocalUsers::default() }
    }
}

impl ServeArgs {
    /// The typed options, with those of a file where none was typed.
    pub(crate) fn or(&self, file: &HubFile) -> Result<Self, CliError> {
        let list = |typed: &[String], written: &[String]| {
            if typed.is_empty() { written.to_vec() } else { typed.to_vec() }
        };
        // A certificate and its key are from one place.
        let (tls_cert, tls_key) = match &self.tls_cert {
            Some(_) => (self.tls_cert.clone(), self.tls_key.clone()),
            None => (file.tls_cert.clone(), file.tls_key.clone()),
        };
        let mut access = self.access.clone();
        access.allow_local_users |= file.allow_local_users == Some(true);
        if access.allow_origin.is_empty() {
            access.allow_origin =
                file.allow_origin.iter().map(|origin| written(origin)).collect::<Result<_, _>>()?;
        }
        let public_url = match (&self.public_url, &file.public_url) {
            (Some(typed), _) => Some(typed.clone()),
            (None, Some(url)) => Some(url.parse().map_err(|why| {
                CliError::usage(format!("`[hub] public_url`: `{url}` cannot be used: {why}"))
            })?),
            (None, None) => None,
        };
        Ok(Self {
            public_url,
            has_issuer: self.has_issuer,
            listen: if self.listen.is_empty() { file.listen.clone() } else { self.listen.clone() },
            allow_unauthenticated: self.allow_unauthenticated || file.allow_unauthenticated == Some(true),
            has_hub_tokens: self.has_hub_tokens,
            token_file: self.token_file.clone().or_else(|| file.token_file.clone()),
            tls_cert,
            tls_key,
            public_name: list(&self.public_name, &file.public_name),
            access,
            builtins: self.builtins,
            exposure: self.exposure,
            separate: self.separate,
        })
    }
}

/// An origin that a file allows.
fn written(origin: &str) -> Result<Origin, CliError> {
    origin
        .parse()
        .map_err(|why| CliError::usage(format!("`[hub] allow_origin`: `{origin}` cannot be used: {why}")))
}

#[derive(Debug, Default, Args)]
pub(crate) struct StdioArgs {
    /// Run the servers in this process, for this client only
    #[arg(long)]
    pub(crate) alone: bool,
    /// Tools that this client is listed: all, search or auto [default: as the hub says]
    #[arg(long, value_name = "MODE")]
    pub(crate) exposure: Option<Exposure>,
}

#[derive(Debug, Args)]
pub(crate) struct ConnectArgs {
    /// URL of the server
    pub(crate) url: String,
    /// Header to send with every request, or @FILE with one per line.
    ///
    /// Other users of this machine can see command-line arguments: put secrets into a file that only you can read
    /// (chmod 600), and pass it as @FILE or --token-file.
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// File with a bearer token
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Transport [default: detected]
    #[arg(long, value_name = "http|sse|ws")]
    pub(crate) transport: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only those whose name or description contains this text
    pub(crate) pattern: Option<String>,
    /// Only those of this server
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// Without a running hub, query the servers instead of the cache
    #[arg(long)]
    pub(crate) live: bool,
    /// Wait until no server is starting
    #[arg(long)]
    pub(crate) wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    #[command(flatten)]
    pub(crate) list: ListArgs,
    /// Show how many tokens of a model's context the definitions take, estimated, by tool and by server
    #[arg(long)]
    pub(crate) cost: bool,
    /// Find tools by what they are wanted for, as the tool `search_tools` does, and explain the ranking
    #[arg(long, value_name = "QUERY", conflicts_with_all = ["cost", "pattern"])]
    pub(crate) search: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// Name of the tool
    pub(crate) tool: String,
    /// Arguments: `key=value`, converted according to the tool's schema, or `key:=JSON`
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) arguments: Vec<String>,
    /// All arguments as one JSON object; `-` reads it from stdin
    #[arg(long, value_name = "JSON", conflicts_with = "arguments")]
    pub(crate) args_json: Option<String>,
    /// Save images, audio and other binary content to this file; several are numbered
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print the text unmodified, including control characters
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReadArgs {
    /// URI of the resource
    pub(crate) uri: String,
}

#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// Name of the prompt
    pub(crate) name: String,
    /// Arguments
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) arguments: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// Name of the server [default: all]
    pub(crate) server: Option<String>,
    /// Follow the output until Ctrl-C
    #[arg(long, short)]
    pub(crate) follow: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// Check that no record was changed, removed, moved or cut off
    #[arg(long, conflicts_with_all = ["since", "server", "principal", "outcome", "follow"])]
    pub(crate) verify: bool,
    /// Only calls since then, such as 2h, 3days or 2026-07-28T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = point_in_time)]
    pub(crate) since: Option<humantime::Timestamp>,
    /// Only calls to this server
    #[arg(long)]
    pub(crate) server: Option<String>,
    /// Only calls of this principal
    #[arg(long)]
    pub(crate) principal: Option<String>,
    /// Only calls that ended so: success, tool_error, protocol_error, denied, cancelled, timeout, input_required
    #[arg(long)]
    pub(crate) outcome: Option<toolbay_audit::CallOutcome>,
    /// Follow the records until Ctrl-C
    #[arg(long, short)]
    pub(crate) follow: bool,
}

/// A time, or how long it is ago.
fn point_in_time(text: &str) -> Result<humantime::Timestamp, String> {
    if let Ok(ago) = humantime::parse_duration(text) {
        let time = std::time::SystemTime::now().checked_sub(ago);
        return time.map(humantime::Timestamp::from).ok_or_else(|| "that is too long ago".to_owned());
    }
    text.parse()
        .map_err(|_| "expected a duration such as 2h, or a time such as 2026-07-28T12:00:00Z".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Only messages of this server
    pub(crate) server: Option<String>,
    /// Watch, and print messages as they pass
    #[arg(long, short)]
    pub(crate) follow: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Name of the server [default: everything]
    pub(crate) server: Option<String>,
    /// Maximum startup time of a server
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) timeout: u64,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Keep watching: a live table on a terminal, else a line per change
    #[arg(long, short)]
    pub(crate) watch: bool,
    /// Wait until no server is starting
    #[arg(long, conflicts_with = "watch")]
    pub(crate) wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ServerNamesArgs {
    /// Names of the servers
    #[arg(value_name = "SERVER", required_unless_present = "all")]
    pub(crate) servers: Vec<String>,
    /// All servers except those that are disabled or need approval
    #[arg(long, conflicts_with = "servers")]
    pub(crate) all: bool,
}
