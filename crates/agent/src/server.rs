//! A handle to one server of an agent.

use serde_json::Value;
use toolbay_host::{LogLine, ServerState, ServerStatus};
use toolbay_protocol::ServerName;

use crate::{
    Agent, CallToolResult, Error, ServerInfo,
    client::Notifications,
    peer::{Peer, peer_requests},
};

/// One server of an agent: its state, its lists and calls by its own names.
///
/// The server is looked up by name for every call, so a handle stays valid over restarts and changes of the configuration.
///
/// ```no_run
/// # async fn example(agent: toolbay_agent::Agent) -> Result<(), toolbay_agent::Error> {
/// let git = agent.server("git")?;
/// git.ping().await?;
/// for tool in git.tools() {
///     eprintln!("{} has {}", git.name(), tool.name());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Server {
    agent: Agent,
    name: ServerName,
}

impl Server {
    pub(crate) fn new(agent: Agent, name: ServerName) -> Self {
        Self { agent, name }
    }

    /// Its configured name.
    pub fn name(&self) -> &ServerName {
        &self.name
    }

    /// Its status.
    ///
    /// # Errors
    ///
    /// When it was removed.
    pub fn status(&self) -> Result<ServerStatus, Error> {
        self.agent.status(self.name.as_str())
    }

    /// Its state.
    ///
    /// # Errors
    ///
    /// When it was removed.
    pub fn state(&self) -> Result<ServerState, Error> {
        Ok(self.status()?.state)
    }

    /// What it says about itself; none before it was up for the first time.
    pub fn info(&self) -> Option<ServerInfo> {
        let status = self.status().ok()?;
        status.catalog.server_info.as_ref()?;
        Some(ServerInfo::of(&status.catalog, status.revision))
    }

    /// Calls a tool by the name that the server uses: [`Agent::call_tool_on`].
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn call_tool(&self, name: &str, arguments: Value) -> Result<CallToolResult, Error> {
        self.agent.call_tool_on(self.name.as_str(), name, arguments).await
    }

    /// Starts it: [`Agent::start_server`].
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn start(&self) -> Result<(), Error> {
        self.agent.start_server(self.name.as_str()).await
    }

    /// Stops it: [`Agent::stop_server`].
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn stop(&self) -> Result<(), Error> {
        self.agent.stop_server(self.name.as_str()).await
    }

    /// Restarts it: [`Agent::restart_server`].
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn restart(&self) -> Result<(), Error> {
        self.agent.restart_server(self.name.as_str()).await
    }

    /// Waits until it is up, or known not to come up: [`Agent::wait_for`].
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn settled(&self) -> Result<ServerState, Error> {
        self.agent.wait_for(self.name.as_str()).await
    }

    /// The last lines that it wrote to stderr, and what happened to it.
    ///
    /// # Errors
    ///
    /// When it was removed.
    pub fn log(&self) -> Result<Vec<LogLine>, Error> {
        Ok(self.peer()?.handle.log().since(0))
    }

    /// All notifications of the server from now on.
    ///
    /// # Errors
    ///
    /// When it was removed.
    pub fn notifications(&self) -> Result<Notifications, Error> {
        let status = self.peer()?.handle.status();
        let in_calls = self.agent.observe_calls();
        Ok(Notifications::of_server(self.agent.host(), self.name.clone(), status, in_calls))
    }

    fn peer(&self) -> Result<Peer, Error> {
        let handle = self.agent.host().server(self.name.as_str());
        let handle = handle.ok_or_else(|| self.agent.no_server(self.name.as_str()))?;
        Ok(Peer { handle, tasks: self.agent.host().tasks().clone(), sender: self.agent.sender() })
    }
}

peer_requests!(Server);
