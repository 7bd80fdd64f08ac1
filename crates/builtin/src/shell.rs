//! The server `shell`: runs programs in a sandbox.
//!
//! Each connection has a state of its own, with its programs that go on running. When it ends, they end.

mod bash;
mod contracts;
mod exec;
mod output;
mod run;
mod sandbox;
mod sessions;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::json;
use tokio_util::task::TaskTracker;
use toolbay_files::Protection;
use toolbay_results::{ReadError, ResultStore, read_page};
use toolbay_sandbox::{Helper, Level, Limits, Network};
use toolbay_server::{
    Annotations, Resource, ResourceContents, ResourceError, ToolError, ToolOutput, ToolServer, Toolset,
    in_process,
};
use toolbay_supervise::Shim;
use toolbay_transport::Connection;

use output::Shown;
use sandbox::Launcher;

/// How long a program may run, unless the caller asks for another time.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
/// The longest time that a caller may ask for.
const MAX_TIMEOUT: Duration = Duration::from_secs(3600);
/// The key of `_meta` under which results name their sandbox.
const SANDBOX_META: &str = "io.toolbay/sandbox";

/// What every tool may do: all that programs can.
const ANNOTATIONS: Annotations = Annotations {
    read_only: Some(false),
    destructive: Some(true),
    idempotent: Some(false),
    open_world: Some(true),
};

/// How the server is set up.
#[derive(Debug, Clone)]
pub struct ShellConfig {
    /// The tools that are offered.
    pub toolset: ShellToolset,
    /// Where programs run, and what they may change.
    pub directory: PathBuf,
    /// What else they may read.
    pub read: Vec<PathBuf>,
    /// What else they may change.
    pub write: Vec<PathBuf>,
    /// What they may not even read, wherever it is: our own configuration, state and sockets.
    pub hide: Vec<PathBuf>,
    /// Whether files that configure programs, such as `.git/`, can be changed.
    pub protection: Protection,
    /// The home directory of the user, which is another, empty one in the sandbox.
    pub home: Option<PathBuf>,
    /// What they may connect to.
    pub network: Network,
    /// How much they may use.
    pub limits: Limits,
    /// The least sandbox in which programs run. [`Level::None`] means without any.
    pub sandbox: Level,
    /// The program that builds sandboxes.
    pub helper: Helper,
    /// What ends programs that have no namespace of their own, even if this process is killed.
    pub shim: Shim,
    /// Our environment. Programs get the part of it that holds no secrets.
    pub environment: BTreeMap<OsString, OsString>,
    /// The only programs that the toolset `shell-server` runs directly. No boundary: they can run others.
    pub allow_commands: Option<Vec<String>>,
    /// Where long outputs are kept.
    pub results: Option<ResultStore>,
}

/// The tools of the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ShellToolset {
    /// `exec`: one program with its arguments.
    #[default]
    Exec,
    /// `bash`: commands for a shell that stays.
    Bash,
    /// `exec_command` and `write_stdin`: programs that go on running between calls.
    Sessions,
    /// `run_command` of mcp-server-commands.
    Commands,
    /// `shell_execute` of mcp-shell-server.
    ShellServer,
}

impl ShellConfig {
    /// The usual setup for a directory: the full sandbox, built by this program, and no network.
    pub fn new(directory: PathBuf) -> Self {
        Self {
            toolset: ShellToolset::default(),
            directory,
            read: Vec::new(),
            write: Vec::new(),
            hide: Vec::new(),
            protection: Protection::Protect,
            home: None,
            network: Network::None,
            limits: Limits::default(),
            sandbox: Level::Full,
            helper: Helper::current_exe(),
            shim: Shim::current_exe(),
            environment: BTreeMap::new(),
            allow_commands: None,
            results: None,
        }
    }
}

/// Makes the server connectable.
pub fn shell(config: ShellConfig) -> Arc<dyn Fn(&TaskTracker) -> Connection + Send + Sync> {
    Arc::new(move |tasks| {
        // Results are read by the connection that has them.
        let results = config.results.as_ref().and_then(|results| results.for_connection().ok());
        let config = Arc::new(ShellConfig { results, ..config.clone() });
        let shell = Shell {
            launcher: Launcher::new(config.clone(), tasks.clone()),
            bash: bash::Bash::default(),
            sessions: sessions::Sessions::default(),
        };
        let mut server = ToolServer::new("shell", shell, tools(&config));
        if config.results.is_some() {
            let template = format!("{}{{id}}", toolbay_results::SCHEME);
            let read = |shell: &Shell, uri: &str| {
                let results = shell.config().results.as_ref().ok_or(ResourceError::NotFound)?;
                read_page(results, uri).map(ResourceContents::Text).map_err(|error| match error {
                    ReadError::NotFound => ResourceError::NotFound,
                    ReadError::Failed(reason) => ResourceError::Failed(reason),
                })
            };
            server = server.resource(
                Resource::blocking(template, "result", read)
                    .title("A long output")
                    .description("All of an output; `?offset=N&limit=M` is a part of it, in bytes")
                    .mime_type("text/plain"),
            );
        }
        in_process(Arc::new(server))(tasks)
    })
}

fn tools(config: &ShellConfig) -> Toolset<Shell> {
    match config.toolset {
        ShellToolset::Exec => Toolset::new([exec::tool()]),
        ShellToolset::Bash => Toolset::new([bash::tool()]),
        ShellToolset::Sessions => Toolset::new(sessions::tools()),
        ShellToolset::Commands => Toolset::new([contracts::run_command()]),
        ShellToolset::ShellServer => Toolset::new([contracts::shell_execute(config)]),
    }
}

/// The state of one connection.
#[derive(Debug)]
struct Shell {
    launcher: Launcher,
    bash: bash::Bash,
    sessions: sessions::Sessions,
}

impl Shell {
    fn config(&self) -> &ShellConfig {
        self.launcher.config()
    }

    /// A directory in which a program runs. The sandbox decides what it may do there.
    fn directory(&self, argument: &str, path: Option<&str>) -> Result<PathBuf, ToolError> {
        let directory = self.config().directory.join(path.unwrap_or_default());
        match directory.canonicalize() {
            Ok(directory) if directory.is_dir() && self.is_allowed(&directory) => Ok(directory),
            Ok(_) => Err(ToolError::argument(argument, "is not a directory that programs may use")),
            Err(error) => Err(ToolError::argument(argument, format!("cannot be used: {error}"))),
        }
    }

    fn is_allowed(&self, directory: &Path) -> bool {
        let config = self.config();
        let own = std::iter::once(&config.directory);
        config.sandbox == Level::None
            || own.chain(&config.read).chain(&config.write).any(|allowed| {
                directory.starts_with(allowed)
                    || allowed.canonicalize().is_ok_and(|allowed| directory.starts_with(allowed))
            })
    }
}

/// Adds a link to the whole of an output, if only a part of it is shown.
fn with_link(output: ToolOutput, name: &str, shown: &Shown) -> ToolOutput {
    let Some(uri) = &shown.uri else { return output };
    output.and_block(&json!({
        "type": "resource_link",
        "uri": uri,
        "name": name,
        "title": format!("All of {name}"),
        "mimeType": "text/plain",
        "size": shown.total,
    }))
}

/// Names the sandbox in which a program ran.
fn with_level(output: ToolOutput, level: Level) -> ToolOutput {
    output.with_meta(SANDBOX_META, &json!({ "level": level.as_str() }))
}
