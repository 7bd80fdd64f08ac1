//! Configuration of servers: a program to run, or a URL; and the extensions that describe servers.
//!
//! Each kind of server has a type of its own, so that a setting which does not apply does not compile: there is no working
//! directory at a URL, and no header for a process.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Map, Value, json};
use toolbay_config::{Command, ReadFiles, ServerEndpoint, Variables};

pub use toolbay_bundle::{Descriptor, DescriptorError, Descriptors, read_manifest};
pub use toolbay_config::{Problem, ServerConfig, ServerOptions};

use crate::Error;

/// Anything that describes a server: [`StdioConfig`], [`HttpConfig`], a checked [`ServerConfig`], or a JSON object as it
/// stands under `mcpServers` of a file.
pub trait IntoServerConfig {
    /// Checks the description and gives the server its name.
    ///
    /// # Errors
    ///
    /// When the description or the name cannot be used.
    fn into_server_config(self, name: &str) -> Result<ServerConfig, Error>;
}

/// A server that runs as a child process and uses its standard streams.
///
/// ```
/// use std::time::Duration;
/// use toolbay_agent::StdioConfig;
///
/// let git = StdioConfig::new("uvx")
///     .arg("mcp-server-git")
///     .cwd("/home/ada/project")
///     .env("GIT_PAGER", "cat")
///     .startup_timeout(Duration::from_secs(60));
/// ```
#[derive(Debug, Clone)]
pub struct StdioConfig {
    command: String,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    options: ServerOptions,
}

/// A server at a URL. Streamable HTTP and HTTP+SSE are told apart; `ws` and `wss` mean WebSocket.
///
/// ```
/// use toolbay_agent::HttpConfig;
///
/// let docs = HttpConfig::new("https://example.com/mcp").header("Authorization", "Bearer …").max_message(1 << 20);
/// ```
#[derive(Clone)]
pub struct HttpConfig {
    url: String,
    headers: Vec<(String, String)>,
    options: ServerOptions,
}

impl StdioConfig {
    /// A program, without arguments. It is searched for in the `PATH` of the environment that the builder was given.
    pub fn new(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            options: ServerOptions::default(),
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds a variable to the environment of the server. Its value is never printed.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Adds variables to the environment of the server.
    pub fn envs<N: Into<String>, V: Into<String>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        self.env.extend(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Sets the working directory.
    pub fn cwd(self, directory: impl Into<PathBuf>) -> Self {
        Self { cwd: Some(directory.into()), ..self }
    }

    pub(crate) fn command(&self) -> &str {
        &self.command
    }
}

impl HttpConfig {
    /// A server at this URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), headers: Vec::new(), options: ServerOptions::default() }
    }

    /// Adds a header to every request. Its value is never printed.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Trusts the certificates in a PEM file, besides those of the machine.
    pub fn ca(mut self, file: impl AsRef<Path>) -> Self {
        let file = file.as_ref();
        self.options.ca = Some(std::path::absolute(file).unwrap_or_else(|_| file.to_owned()));
        self
    }

    /// Limits the time to connect.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.options.connect_timeout = Some(timeout);
        self
    }
}

/// The limits that servers of all kinds have.
macro_rules! limits {
    ($config:ident) => {
        impl $config {
            /// Limits the time from starting to ready; 30 s by default, 120 s for programs that fetch packages first.
            pub fn startup_timeout(mut self, timeout: Duration) -> Self {
                self.options.startup_timeout = Some(timeout);
                self
            }

            /// Limits the time of a call without a response or progress; 60 s by default.
            pub fn idle_timeout(mut self, timeout: Duration) -> Self {
                self.options.idle_timeout = Some(timeout);
                self
            }

            /// Limits the time of a call in all; 600 s by default.
            pub fn total_timeout(mut self, timeout: Duration) -> Self {
                self.options.total_timeout = Some(timeout);
                self
            }

            /// Limits the length of a message that the server sends, in bytes.
            pub fn max_message(mut self, bytes: usize) -> Self {
                self.options.max_message = Some(bytes);
                self
            }

            /// Changes any other setting: those under `toolbay` of an entry in a file.
            pub fn with_options(mut self, change: impl FnOnce(&mut ServerOptions)) -> Self {
                change(&mut self.options);
                self
            }
        }
    };
}

limits!(StdioConfig);
limits!(HttpConfig);

impl IntoServerConfig for StdioConfig {
    fn into_server_config(self, name: &str) -> Result<ServerConfig, Error> {
        // What a program says is taken literally: only the name is checked, and no variable is expanded.
        let mut config = checked(name, json!({ "command": "program" }), ReadFiles::Never)?;
        if self.command.trim().is_empty() {
            return Err(Error::Setup { server: name.to_owned(), reason: "its command is empty".to_owned() });
        }
        let Self { command, args, env, cwd, options } = self;
        config.endpoint = ServerEndpoint::Command(Command { command, args, env, cwd });
        config.tuning = options;
        Ok(config)
    }
}

impl IntoServerConfig for HttpConfig {
    fn into_server_config(self, name: &str) -> Result<ServerConfig, Error> {
        let Self { url, headers, options } = self;
        let headers: Map<String, Value> =
            headers.into_iter().map(|(name, value)| (name, json!(value))).collect();
        let ca = options.ca.as_ref().map(|file| json!({ "ca": file }));
        let mut entry = json!({ "url": url, "headers": headers });
        if let Some(ca) = ca {
            entry["toolbay"] = ca;
        }
        Ok(ServerConfig { tuning: options, ..checked(name, entry, ReadFiles::Now)? })
    }
}

impl IntoServerConfig for ServerConfig {
    fn into_server_config(self, name: &str) -> Result<ServerConfig, Error> {
        let named = checked(name, json!({ "command": "program" }), ReadFiles::Never)?;
        Ok(Self { name: named.name, ..self })
    }
}

impl IntoServerConfig for Value {
    fn into_server_config(self, name: &str) -> Result<ServerConfig, Error> {
        checked(name, self, ReadFiles::Now)
    }
}

/// Checks an entry as it would stand in a file.
fn checked(name: &str, entry: Value, files: ReadFiles) -> Result<ServerConfig, Error> {
    let unusable = |reason: String| Error::Setup { server: name.to_owned(), reason };
    let text = json!({ "mcpServers": { name: entry } }).to_string();
    let variables = Variables { files, ..Variables::default() };
    let file = toolbay_config::parse_with(&text, Path::new(""), &variables)?;
    if let Some(problem) = file.problems.into_iter().next() {
        return Err(unusable(problem.message));
    }
    file.servers.into_iter().next().ok_or_else(|| unusable("it is no server".to_owned()))
}

impl std::fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpConfig").field("url", &self.url).finish_non_exhaustive()
    }
}
