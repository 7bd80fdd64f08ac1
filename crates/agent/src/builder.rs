//! An agent in a few lines.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use toolbay_config::{Problem, ReadFiles, ServerConfig, Variables};
use toolbay_host::{Endpoint, Host, HostOptions, InProcess, Naming, Shim, custom};
use toolbay_protocol::ServerName;

use crate::{Agent, Error, Tool, serve_tools, server_config};

/// How long [`AgentBuilder::build`] waits for servers, unless told otherwise.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

type OnProblem = Box<dyn Fn(&Problem) + Send + Sync>;

/// An agent that is being described: [`Agent::builder`].
///
/// ```no_run
/// use toolbay_agent::{Agent, shim};
///
/// # async fn example() -> Result<(), toolbay_agent::Error> {
/// let agent = Agent::builder()
///     .environment(std::env::vars_os())
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
/// What a server starts must end with it, and all of it with this program, `kill -9` included. For that a small process of
/// our own stands between this program and each server: this same program, which turns into it when it is started so. Call
/// [`shim::run_if_asked`](crate::shim::run_if_asked) first in `main`, before anything else, runtime included, and say
/// [`AgentBuilder::shim`] with [`Shim::current_exe`]. Without it servers run all the same; they are ended with this
/// program whenever it ends in an orderly way.
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
    files: Vec<PathBuf>,
    embedded: Vec<(ServerName, Endpoint)>,
    naming: Naming,
    environment: BTreeMap<OsString, OsString>,
    shim: Shim,
    roots: Option<Vec<String>>,
    cache: Option<PathBuf>,
    wait_timeout: Duration,
    on_problem: Option<OnProblem>,
}

impl Agent {
    /// Describes an agent in a few lines.
    pub fn builder() -> AgentBuilder {
        AgentBuilder {
            servers: Vec::new(),
            files: Vec::new(),
            embedded: Vec::new(),
            naming: Naming::default(),
            environment: BTreeMap::new(),
            shim: Shim::none(),
            roots: None,
            cache: None,
            wait_timeout: WAIT_TIMEOUT,
            on_problem: None,
        }
    }
}

impl AgentBuilder {
    /// A server to run, which speaks on its standard streams.
    ///
    /// It is looked up in the `PATH` of [`AgentBuilder::environment`].
    pub fn stdio_server<S: Into<String>>(
        mut self,
        name: &str,
        command: &str,
        args: impl IntoIterator<Item = S>,
    ) -> Self {
        self.servers.push(server_config::program(name, command, args, &[]));
        self
    }

    /// As [`AgentBuilder::stdio_server`], with variables of its own. They are never printed.
    pub fn stdio_server_with<S: Into<String>, N: Into<String>, V: Into<String>>(
        mut self,
        name: &str,
        command: &str,
        args: impl IntoIterator<Item = S>,
        env: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        self.servers.push(server_config::program(name, command, args, &pairs(env)));
        self
    }

    /// A server at a URL; `http`, `https`, `ws` or `wss`. What is spoken there is found out.
    pub fn http_server(self, name: &str, url: &str) -> Self {
        self.http_server_with(name, url, std::iter::empty::<(String, String)>())
    }

    /// As [`AgentBuilder::http_server`], with headers for every request. They are never printed.
    pub fn http_server_with<N: Into<String>, V: Into<String>>(
        mut self,
        name: &str,
        url: &str,
        headers: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        self.servers.push(server_config::remote(name, url, &pairs(headers)));
        self
    }

    /// A server as a configuration describes it: with variables, time limits, filters and all.
    pub fn server(mut self, server: ServerConfig) -> Self {
        self.servers.push(Ok(server));
        self
    }

    /// A server in this process.
    pub fn in_process(mut self, name: &str, server: InProcess) -> Self {
        self.embedded.push((ServerName::new(name), Endpoint::InProcess(server)));
        self
    }

    /// Tools of this program, offered like those of every other server.
    pub fn tools(self, name: &str, tools: Vec<Arc<dyn Tool>>) -> Self {
        self.in_process(name, serve_tools(tools))
    }

    /// A server behind a transport of one's own.
    pub fn custom_server(mut self, name: &str, transport: Arc<dyn custom::Transport>) -> Self {
        self.embedded.push((ServerName::new(name), Endpoint::Custom(transport)));
        self
    }

    /// All servers of a configuration file, in any format that is known; variables in it come to what
    /// [`AgentBuilder::environment`] says. An entry that cannot be used takes nothing from the others: see
    /// [`AgentBuilder::on_problem`].
    pub fn config_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.files.push(path.into());
        self
    }

    /// Called for each entry of a file that cannot be used. Without it they are logged as warnings.
    pub fn on_problem(self, told: impl Fn(&Problem) + Send + Sync + 'static) -> Self {
        Self { on_problem: Some(Box::new(told)), ..self }
    }

    /// How the names of tools and prompts are made.
    pub fn naming(self, naming: Naming) -> Self {
        Self { naming, ..self }
    }

    /// Our own variables, such as `std::env::vars_os()`. Servers inherit those that programs need to run, and none that may
    /// be a secret, unless their entries say otherwise; proxies are taken from them, too. Without this, servers are not even
    /// found in `PATH`.
    pub fn environment(self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { environment: variables.into_iter().collect(), ..self }
    }

    /// What servers are told about the folders they may look at, where their entries say nothing else: URIs.
    pub fn roots<S: Into<String>>(self, uris: impl IntoIterator<Item = S>) -> Self {
        Self { roots: Some(uris.into_iter().map(Into::into).collect()), ..self }
    }

    /// How process trees are kept together.
    pub fn shim(self, shim: Shim) -> Self {
        Self { shim, ..self }
    }

    /// A folder in which is kept what servers offer, so that it is known before they are up.
    pub fn cache(self, folder: impl Into<PathBuf>) -> Self {
        Self { cache: Some(folder.into()), ..self }
    }

    /// How long [`AgentBuilder::build`] waits for servers to come up. With zero it does not: they join when they are ready.
    pub fn wait_timeout(self, timeout: Duration) -> Self {
        Self { wait_timeout: timeout, ..self }
    }

    /// Starts all servers at once, and waits until each is up or known not to be, but no longer than
    /// [`AgentBuilder::wait_timeout`]. One that does not come up takes nothing from the others.
    ///
    /// # Errors
    ///
    /// When something was described that cannot be: a file that cannot be read, a URL that is none, one name twice.
    pub async fn build(self) -> Result<Agent, Error> {
        let mut servers = self.servers.into_iter().collect::<Result<Vec<_>, _>>()?;
        let variables = variables(&self.environment);
        for path in &self.files {
            let file = toolbay_config::load_with(path, &variables)?;
            for problem in &file.problems {
                match &self.on_problem {
                    Some(told) => told(problem),
                    None => tracing::warn!("{}:{problem}", path.display()),
                }
            }
            servers.extend(file.servers);
        }
        for server in &mut servers {
            server.tuning.roots = server.tuning.roots.take().or_else(|| self.roots.clone());
        }
        let embedded = self.embedded.iter().map(|(name, _)| name);
        all_different(embedded.chain(servers.iter().map(|server| &server.name)))?;
        let options = HostOptions {
            naming: self.naming,
            base_env: self.environment,
            shim: self.shim,
            cache: self.cache,
            ..HostOptions::default()
        };
        let host = Host::start_with(&servers, self.embedded, &options);
        let _ = tokio::time::timeout(self.wait_timeout, host.settled()).await; // late ones join when they are ready
        Ok(Agent::new(host))
    }
}

/// What variables in a file come to: what our own environment says.
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

fn pairs<N: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (N, V)>) -> Vec<(String, String)> {
    pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn all_different<'a>(names: impl Iterator<Item = &'a ServerName>) -> Result<(), Error> {
    let mut seen = std::collections::HashSet::new();
    for name in names {
        if !seen.insert(name) {
            let reason = "another server has the same name".to_owned();
            return Err(Error::Setup { server: name.to_string(), reason });
        }
    }
    Ok(())
}

impl fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let embedded: Vec<_> = self.embedded.iter().map(|(name, _)| name).collect();
        f.debug_struct("AgentBuilder")
            .field("servers", &self.servers.len())
            .field("files", &self.files)
            .field("embedded", &embedded)
            .finish_non_exhaustive()
    }
}

/// The examples of the guide are tested, too.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct Guide;
