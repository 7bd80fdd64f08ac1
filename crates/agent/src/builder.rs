//! Describing an agent.

use std::{
    collections::{BTreeMap, HashSet},
    ffi::{OsStr, OsString},
    fmt,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use serde_json::Value;
use toolbay_config::{Problem, ReadFiles, ServerConfig, Variables};
use toolbay_host::{Endpoint, Host, HostOptions, InProcess, Incomplete, Naming, SecretLookup, Shim, custom};
use toolbay_protocol::ServerName;

use crate::{
    Agent, BoxError, Error, Handlers, Tool,
    call::CallSender,
    config::{HttpConfig, IntoServerConfig, StdioConfig},
    reload::{ConfigFiles, ConfiguredServers, FollowedFile, OnProblem, follow},
    serve_tools,
};

/// How long [`AgentBuilder::build`] waits for servers by default.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// An agent that is being described: [`Agent::builder`].
///
/// ```no_run
/// use toolbay_agent::Agent;
///
/// # async fn example() -> Result<(), toolbay_agent::Error> {
/// let agent = Agent::builder()
///     .inherit_env()
///     .stdio_server("git", "uvx", ["mcp-server-git"])
///     .http_server("docs", "https://example.com/mcp")
///     .build()
///     .await?;
/// for tool in agent.as_tools() {
///     eprintln!("{}: {}", tool.name(), tool.description());
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Process trees
///
/// What a server starts must end with it, and all of it with this program, `kill -9` included. For that, a small process runs
/// between this program and each server: this same program, which becomes that process when it is started for it. Call
/// [`shim::run_if_asked`](crate::shim::run_if_asked) first in `main`, before the runtime is made, and give the builder
/// [`Shim::current_exe`]. Without it servers run, too; they are ended whenever this program ends in an orderly way.
///
/// ```no_run
/// use toolbay_agent::{Agent, Shim, shim};
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     shim::run_if_asked();
///     tokio::runtime::Runtime::new()?.block_on(async {
///         let agent = Agent::builder().shim(Shim::current_exe()).build().await?;
///         agent.shutdown(std::time::Duration::from_secs(10)).await;
///         Ok(())
///     })
/// }
/// ```
#[must_use = "nothing happens before `build`"]
pub struct AgentBuilder {
    servers: Vec<Result<ServerConfig, Error>>,
    files: Vec<FollowedFile>,
    extensions: Option<PathBuf>,
    manifests: Vec<String>,
    embedded: Vec<(ServerName, Endpoint)>,
    naming: Naming,
    environment: BTreeMap<OsString, OsString>,
    shim: Shim,
    roots: Option<Vec<String>>,
    cache: Option<PathBuf>,
    secrets: Option<SecretLookup>,
    wait_timeout: Duration,
    on_problem: Option<OnProblem>,
    sender: CallSender,
}

impl Agent {
    /// Describes an agent and its servers.
    pub fn builder() -> AgentBuilder {
        AgentBuilder {
            servers: Vec::new(),
            files: Vec::new(),
            extensions: None,
            manifests: Vec::new(),
            embedded: Vec::new(),
            naming: Naming::default(),
            environment: BTreeMap::new(),
            shim: Shim::none(),
            roots: None,
            cache: None,
            secrets: None,
            wait_timeout: WAIT_TIMEOUT,
            on_problem: None,
            sender: CallSender::new(),
        }
    }
}

impl AgentBuilder {
    /// Passes on the environment of this program. Servers inherit what programs need to run (`PATH`, `HOME`, proxies, …) and
    /// nothing that may be a secret, unless their configuration says otherwise; files may refer to all variables. Without
    /// it, commands are searched for in the directories of the system only.
    pub fn inherit_env(self) -> Self {
        Self { environment: program_environment(), ..self }
    }

    /// As [`AgentBuilder::inherit_env`], with these variables instead of those of this program.
    pub fn environment(self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { environment: variables.into_iter().collect(), ..self }
    }

    /// Sets the name and version of this program for servers (`clientInfo`).
    pub fn client_info(self, name: &str, version: &str) -> Self {
        Self { sender: self.sender.named(name, version), ..self }
    }

    /// Handles requests of servers in the middle of calls. Exactly these capabilities are declared in handshakes. Without
    /// it all are declared, because [`Agent::handlers`] may add any of them later.
    pub fn handlers(self, handlers: Handlers) -> Self {
        Self { sender: self.sender.with_handlers(handlers), ..self }
    }

    /// Declares further capabilities (`clientCapabilities`), such as `{"experimental": {…}}`.
    pub fn capabilities(self, capabilities: Value) -> Self {
        Self { sender: self.sender.declaring(capabilities), ..self }
    }

    /// Adds a server that is run as a child process. [`AgentBuilder::server`] takes more settings.
    pub fn stdio_server<S: Into<String>>(
        self,
        name: &str,
        command: &str,
        args: impl IntoIterator<Item = S>,
    ) -> Self {
        self.server(name, StdioConfig::new(command).args(args))
    }

    /// Adds a server at a URL: `http`, `https`, `ws` or `wss`. [`AgentBuilder::server`] takes more settings.
    pub fn http_server(self, name: &str, url: &str) -> Self {
        self.server(name, HttpConfig::new(url))
    }

    /// Adds a server.
    ///
    /// ```
    /// use serde_json::json;
    /// use toolbay_agent::{Agent, HttpConfig, StdioConfig};
    ///
    /// let builder = Agent::builder()
    ///     .server("git", StdioConfig::new("uvx").arg("mcp-server-git").cwd("/home/ada/project"))
    ///     .server("docs", HttpConfig::new("https://example.com/mcp").header("Authorization", "Bearer …"))
    ///     .server("time", json!({"command": "uvx", "args": ["mcp-server-time"]}));
    /// ```
    pub fn server(mut self, name: &str, config: impl IntoServerConfig) -> Self {
        self.servers.push(config.into_server_config(name));
        self
    }

    /// Adds a server that runs in this process.
    pub fn in_process(mut self, name: &str, server: impl Into<InProcess>) -> Self {
        self.embedded.push((ServerName::new(name), Endpoint::InProcess(server.into())));
        self
    }

    /// Adds tools of this program. They are listed, checked and called like those of any other server.
    pub fn tools(self, name: &str, tools: Vec<Arc<dyn Tool>>) -> Self {
        self.in_process(name, serve_tools(tools))
    }

    /// Adds a server behind a transport of one's own.
    pub fn custom_server(mut self, name: &str, transport: Arc<dyn custom::Transport>) -> Self {
        self.embedded.push((ServerName::new(name), Endpoint::Custom(transport)));
        self
    }

    /// Adds all servers of a configuration file, in any format that is known. It is read once, by
    /// [`AgentBuilder::build`]. An entry that cannot be used takes nothing from the others: see
    /// [`AgentBuilder::on_problem`].
    pub fn config_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.files.push(FollowedFile { path: path.into(), is_followed: false, servers: Vec::new() });
        self
    }

    /// As [`AgentBuilder::config_file`], and follows the file: changes are applied within a second or two. Only servers whose
    /// entries changed are restarted; a file or entry that is broken counts as it was before.
    pub fn follow_config_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.files.push(FollowedFile { path: path.into(), is_followed: true, servers: Vec::new() });
        self
    }

    /// Reads a directory of extensions: manifests, unpacked bundles, entries of the registry. An entry of a file that holds
    /// settings alone is started as the extension of the same name describes it.
    pub fn extensions(self, directory: impl Into<PathBuf>) -> Self {
        Self { extensions: Some(directory.into()), ..self }
    }

    /// Adds the manifest of an extension (JSON text with `context_servers`).
    pub fn extension_manifest(mut self, manifest: impl Into<String>) -> Self {
        self.manifests.push(manifest.into());
        self
    }

    /// Called for each entry of a file that cannot be used. Without it they are logged as warnings.
    pub fn on_problem(self, on_problem: impl Fn(&Problem) + Send + Sync + 'static) -> Self {
        Self { on_problem: Some(Arc::new(on_problem)), ..self }
    }

    /// Sets how the names of tools and prompts are made.
    pub fn naming(self, naming: Naming) -> Self {
        Self { naming, ..self }
    }

    /// Sets the roots (URIs) of servers whose configuration names none.
    pub fn roots<S: Into<String>>(self, uris: impl IntoIterator<Item = S>) -> Self {
        Self { roots: Some(uris.into_iter().map(Into::into).collect()), ..self }
    }

    /// Keeps process trees together: see [above](AgentBuilder#process-trees).
    pub fn shim(self, shim: Shim) -> Self {
        Self { shim, ..self }
    }

    /// Keeps the lists of servers in a directory, so that they are known before the servers are up.
    pub fn cache(self, directory: impl Into<PathBuf>) -> Self {
        Self { cache: Some(directory.into()), ..self }
    }

    /// Finds the values of `${secret:NAME}` in configurations, by name. Called whenever a server that refers to a secret is
    /// started; it should end within seconds. Values appear in no error, log or status. Without it, such servers are not started.
    ///
    /// ```
    /// use toolbay_agent::Agent;
    ///
    /// let builder = Agent::builder().secrets(|name| async move {
    ///     match name.as_str() {
    ///         "GITHUB_TOKEN" => Ok("a value from a vault".to_owned()),
    ///         _ => Err("there is no such secret".into()),
    ///     }
    /// });
    /// ```
    pub fn secrets<F>(self, look_up: impl Fn(String) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<String, BoxError>> + Send + 'static,
    {
        Self { secrets: Some(secret_lookup(look_up)), ..self }
    }

    /// Limits how long [`AgentBuilder::build`] waits for servers; 30 s by default. With zero it does not wait.
    pub fn wait_timeout(self, timeout: Duration) -> Self {
        Self { wait_timeout: timeout, ..self }
    }

    /// Starts all servers at once and waits until each is up or its start has failed, but no longer than
    /// [`AgentBuilder::wait_timeout`].
    ///
    /// A start has failed after five attempts. Such a server takes nothing from the others: it is tried again in the
    /// background, its state is in [`Agent::status`], and calls to it return [`Error::Init`]. Servers that are late join when they
    /// are ready.
    ///
    /// # Errors
    ///
    /// When the description cannot be used: a file that cannot be read, a bad URL, one name twice.
    pub async fn build(self) -> Result<Agent, Error> {
        let mut own = self.servers.into_iter().collect::<Result<Vec<_>, _>>()?;
        for server in &mut own {
            server.tuning.roots = server.tuning.roots.take().or_else(|| self.roots.clone());
        }
        let mut files = ConfigFiles {
            files: self.files,
            extensions: self.extensions,
            manifests: self.manifests,
            variables: variables(&self.environment),
            path: self.environment.get(OsStr::new("PATH")).cloned().unwrap_or_default(),
            roots: self.roots,
            on_problem: self.on_problem,
        };
        let of_files = files.read_first()?;
        let servers = [&own[..], &of_files[..]].concat();
        let embedded = self.embedded.iter().map(|(name, _)| name);
        all_different(embedded.chain(servers.iter().map(|server| &server.name)))?;
        let options = HostOptions {
            naming: self.naming,
            base_env: self.environment,
            shim: self.shim,
            cache: self.cache,
            secrets: self.secrets,
            client: Some(self.sender.handshake_identity()),
            ..HostOptions::default()
        };
        let host = Host::start_with(&servers, self.embedded, &options);
        let configured = Arc::new(ConfiguredServers::new(of_files));
        if files.are_followed() {
            host.tasks().spawn(follow(host.clone(), configured.clone(), files));
        }
        let _ = tokio::time::timeout(self.wait_timeout, host.settled()).await; // late ones join when they are ready
        Ok(Agent::with_parts(host, self.sender, configured))
    }
}

pub(crate) fn secret_lookup<F>(look_up: impl Fn(String) -> F + Send + Sync + 'static) -> SecretLookup
where
    F: Future<Output = Result<String, BoxError>> + Send + 'static,
{
    SecretLookup::new(move |name| {
        let value = look_up(name.as_str().to_owned());
        async move {
            let failed =
                |why| Incomplete { reason: format!("cannot read secret {name}: {why}"), may_change: true };
            value.await.map_err(failed)
        }
    })
}

/// The environment of this program.
pub(crate) fn program_environment() -> BTreeMap<OsString, OsString> {
    std::env::vars_os().collect()
}

/// The values of variables in a file.
fn variables(environment: &BTreeMap<OsString, OsString>) -> Variables {
    let text =
        |(name, value): (&OsString, &OsString)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()));
    Variables {
        env: environment.iter().filter_map(text).collect(),
        home: environment.get(OsStr::new("HOME")).map(PathBuf::from),
        files: ReadFiles::Now,
        ..Variables::default()
    }
}

fn all_different<'a>(names: impl Iterator<Item = &'a ServerName>) -> Result<(), Error> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Error::name_taken(name.as_str()));
        }
    }
    Ok(())
}

impl fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let embedded: Vec<_> = self.embedded.iter().map(|(name, _)| name).collect();
        f.debug_struct("AgentBuilder")
            .field("servers", &self.servers.len())
            .field("files", &self.files.iter().map(|file| &file.path).collect::<Vec<_>>())
            .field("embedded", &embedded)
            .finish_non_exhaustive()
    }
}

/// The examples of the guide are tested, too.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct Guide;
