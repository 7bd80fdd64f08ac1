//! Arguments of `toolbay builtin`: those of the servers that the built-in ones take the place of.

use std::{net::SocketAddr, path::PathBuf};

use clap::{
    Args, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use toolbay_config::{NetworkAccess, SandboxLevel, ToolsetName, toolsets};

use super::AccessArgs;

/// The default address of a server alone.
const ADDRESS: &str = "127.0.0.1:3000";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BuiltinArgs {
    #[command(subcommand)]
    pub(crate) server: Option<BuiltinServer>,
}

const EXAMPLES: &str = "\
Without a name, the built-in servers are listed with their tools.
Examples:
  toolbay builtin filesystem ~/work/project    instead of npx -y @modelcontextprotocol/server-filesystem
  MEMORY_FILE_PATH=~/m.jsonl toolbay builtin memory
  toolbay builtin time --http 127.0.0.1:0      over HTTP, on a free port";

/// A built-in server, with the arguments of the original.
#[derive(Debug, Subcommand)]
pub(crate) enum BuiltinServer {
    /// Read and change files, as @modelcontextprotocol/server-filesystem
    Filesystem(FilesystemArgs),
    /// View and edit text files, as the text editor tool that models are trained on
    TextEditor(TextEditorArgs),
    /// Search files for text, as mcp-ripgrep
    Grep(GrepArgs),
    /// Run programs in a sandbox, as mcp-server-commands and mcp-shell-server
    Shell(ShellArgs),
    /// Remember things between conversations, as @modelcontextprotocol/server-memory
    Memory(MemoryArgs),
    /// Search the web, as @brave/brave-search-mcp-server
    BraveSearch(BraveSearchArgs),
    /// Read web pages, as mcp-server-fetch
    Fetch(FetchArgs),
    /// Tell the time in any time zone, as mcp-server-time
    Time(TimeArgs),
    /// Search code by meaning; the same as `toolbay codebase`
    Codebase(super::CodebaseArgs),
}

impl BuiltinServer {
    /// How it is served.
    pub(crate) fn serving(&self) -> &ServingArgs {
        match self {
            Self::Filesystem(args) => &args.serving,
            Self::TextEditor(args) => &args.serving,
            Self::Grep(args) => &args.serving,
            Self::Shell(args) => &args.serving,
            Self::Memory(args) => &args.serving,
            Self::BraveSearch(args) => &args.serving,
            Self::Fetch(args) => &args.serving,
            Self::Time(args) => &args.serving,
            Self::Codebase(args) => &args.serving,
        }
    }
}

/// How a server alone is served.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ServingArgs {
    /// Serve HTTP (`POST /`, `POST /mcp`, `GET /health`) instead of stdio [default address: 127.0.0.1:3000]
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, default_missing_value = ADDRESS)]
    pub(crate) http: Option<SocketAddr>,
    /// Require the token in the first line of this file (`Authorization: Bearer …`)
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// Allow non-loopback addresses without a token; anyone who can reach them can use every tool
    #[arg(long, requires = "http")]
    pub(crate) allow_unauthenticated: bool,
    /// Additional host name of the server (`Host` header), with the port if it differs; repeatable
    #[arg(long, value_name = "NAME[:PORT]", requires = "http")]
    pub(crate) public_name: Vec<String>,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
}

#[derive(Debug, Args)]
pub(crate) struct FilesystemArgs {
    /// Directories that can be used [default: the roots of the client]
    #[arg(value_name = "DIR")]
    pub(crate) directories: Vec<PathBuf>,
    /// Tools to offer
    #[arg(long, value_parser = toolset("filesystem"), default_value = "default")]
    pub(crate) toolset: ToolsetName,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// Offer a tool that deletes files
    #[arg(long)]
    pub(crate) delete: bool,
    #[command(flatten)]
    pub(crate) serving: ServingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TextEditorArgs {
    /// Directories that can be used [default: current directory]
    #[arg(value_name = "DIR")]
    pub(crate) directories: Vec<PathBuf>,
    /// Tools to offer
    #[arg(long, value_parser = toolset("text-editor"), default_value = "default")]
    pub(crate) toolset: ToolsetName,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    #[command(flatten)]
    pub(crate) serving: ServingArgs,
}

/// What the servers that change files have in common.
#[derive(Debug, Args)]
pub(crate) struct FileArgs {
    /// Include files whose names indicate secrets, such as .env and keys
    #[arg(long)]
    pub(crate) secrets: bool,
    /// Allow changes of files that configure programs, such as .git/ and .mcp.json
    #[arg(long)]
    pub(crate) no_protect: bool,
    /// Write files in place instead of replacing them in one step
    #[arg(long)]
    pub(crate) write_in_place: bool,
    /// Ignore the roots of the client instead of narrowing the directories to them
    #[arg(long)]
    pub(crate) ignore_roots: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GrepArgs {
    /// Directories that can be searched [default: current directory]
    #[arg(value_name = "DIR")]
    pub(crate) directories: Vec<PathBuf>,
    /// Tools to offer
    #[arg(long, value_parser = toolset("grep"), default_value = "default")]
    pub(crate) toolset: ToolsetName,
    /// Include files whose names indicate secrets, such as .env and keys
    #[arg(long)]
    pub(crate) secrets: bool,
    /// Ignore the roots of the client instead of narrowing the directories to them
    #[arg(long)]
    pub(crate) ignore_roots: bool,
    #[command(flatten)]
    pub(crate) serving: ServingArgs,
}

/// `ALLOW_COMMANDS` and `ALLOWED_COMMANDS`, as in mcp-shell-server, are names of programs, separated by commas.
#[derive(Debug, Args)]
#[command(
    after_help = "Environment: ALLOW_COMMANDS or ALLOWED_COMMANDS, the only programs that can be run directly."
)]
pub(crate) struct ShellArgs {
    /// Directory in which programs run and that they may change [default: current directory]
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Tools to offer
    #[arg(long, value_parser = toolset("shell"), default_value = "default")]
    pub(crate) toolset: ToolsetName,
    /// Let programs also read this file or directory; repeatable
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,
    /// Let programs also change this file or directory; repeatable
    #[arg(long, value_name = "PATH")]
    pub(crate) write: Vec<PathBuf>,
    /// Let programs use the network
    #[arg(long)]
    pub(crate) network: bool,
    /// Allow changes of files that configure programs, such as .git/ and .mcp.json
    #[arg(long)]
    pub(crate) no_protect: bool,
    /// The least confinement in which programs run
    #[arg(long, value_parser = sandbox_level(), default_value = "full")]
    pub(crate) sandbox: SandboxLevel,
    #[command(flatten)]
    pub(crate) serving: ServingArgs,
}

impl ShellArgs {
    /// What programs may connect to.
    pub(crate) fn network(&self) -> NetworkAccess {
        if self.network { NetworkAccess::Allow } else { NetworkAccess::None }
    }
}

#[derive(Debug, Args)]
#[command(
    after_help = "Environment: MEMORY_FILE_PATH, the file with the memories [default: one for each project]."
)]
pub(crate) struct MemoryArgs {
    /// Tools to offer
    #[arg(long, value_parser = toolset("memory"), default_value = "default")]
    pub(crate) toolset: ToolsetName,
    #[command(flatten)]
    pub(crate) serving: ServingArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Environment: BRAVE_API_KEY, or BRAVE_API_KEY_FILE with the path of a file that holds it (${secret:NAME} is a secret
of `toolbay secret`); BRAVE_MCP_TRANSPORT (stdio or http),
BRAVE_MCP_HOST, BRAVE_MCP_PORT, BRAVE_MCP_ENABLED_TOOLS, BRAVE_MCP_DISABLED_TOOLS.")]
pub(crate) struct BraveSearchArgs {
    /// Key of the service; other users of this machine can see arguments, so that a file, variable or ${secret:NAME} is better
    #[arg(long, value_name = "KEY")]
    pub(crate) brave_api_key: Option<String>,
    /// stdio or http
    #[arg(long, value_name = "NAME", value_parser = ["stdio", "http"])]
    pub(crate) transport: Option<String>,
    /// Host for --transport http
    #[arg(long)]
    pub(crate) host: Option<String>,
    /// Port for --transport http
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// The only tools to offer
    #[arg(long, value_name = "TOOL", num_args = 1..)]
    pub(crate) enabled_tools: Vec<String>,
    /// Tools not to offer
    #[arg(long, value_name = "TOOL", num_args = 1..)]
    pub(crate) disabled_tools: Vec<String>,
    /// Another address of the service
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    #[command(flatten)]
    pub(crate) serving: ServingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct FetchArgs {
    /// The name that sites see
    #[arg(long, value_name = "TEXT")]
    pub(crate) user_agent: Option<String>,
    /// Read pages that sites ask programs not to read
    #[arg(long)]
    pub(crate) ignore_robots_txt: bool,
    /// Proxy for all requests
    #[arg(long, value_name = "URL")]
    pub(crate) proxy_url: Option<String>,
    /// Allow addresses of this machine and of private networks
    #[arg(long, visible_alias = "allow-private-ips")]
    pub(crate) private_addresses: bool,
    #[command(flatten)]
    pub(crate) serving: ServingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TimeArgs {
    /// Time zone of the user, such as Europe/Paris [default: that of the system]
    #[arg(long, value_name = "ZONE")]
    pub(crate) local_timezone: Option<String>,
    #[command(flatten)]
    pub(crate) serving: ServingArgs,
}

/// The names of the toolsets of a server.
fn toolset(server: &str) -> impl TypedValueParser<Value = ToolsetName> {
    let names = toolsets(server).iter().copied();
    PossibleValuesParser::new(names).try_map(|name| serde_json::from_value::<ToolsetName>(name.into()))
}

fn sandbox_level() -> impl TypedValueParser<Value = SandboxLevel> {
    let names = ["full", "partial", "none"];
    PossibleValuesParser::new(names).try_map(|name| serde_json::from_value::<SandboxLevel>(name.into()))
}
