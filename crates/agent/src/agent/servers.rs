//! The servers of an agent: their states, and starting and stopping them.

use std::time::Duration;

use toolbay_config::ServerConfig;
use toolbay_host::{ApplyReport, HostChanges, HostEvents, ServerError, ServerState, ServerStatus};
use toolbay_protocol::ServerName;

use super::{Agent, not_up};
use crate::{Error, Server, ServerInfo, config::IntoServerConfig};

impl Agent {
    /// Starts a server that was not there before, waits until it is up and returns what it says about itself.
    ///
    /// The other servers are not touched. A server that does not come up is removed again.
    ///
    /// ```no_run
    /// # async fn example(agent: toolbay_agent::Agent) -> Result<(), toolbay_agent::Error> {
    /// use toolbay_agent::StdioConfig;
    ///
    /// let info = agent.add_server("git", StdioConfig::new("uvx").arg("mcp-server-git")).await?;
    /// eprintln!("{} {}", info.name, info.version);
    /// agent.remove_server("git").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the name is taken, the configuration cannot be used, or the server does not come up.
    pub async fn add_server(&self, name: &str, config: impl IntoServerConfig) -> Result<ServerInfo, Error> {
        let config = config.into_server_config(name)?;
        if !self.configured.add(&self.host, config).await {
            return Err(Error::name_taken(name));
        }
        let state = self.wait_for(name).await?;
        if state.is_up() {
            let status = self.status(name)?;
            return Ok(ServerInfo::of(&status.catalog, status.revision));
        }
        let status = self.status(name)?;
        self.configured.remove(&self.host, name).await;
        let server = status.name.clone();
        Err(not_up(status).unwrap_or(Error::NotRunning { server, state }))
    }

    /// Stops a server and forgets it. Calls that run there may finish; its tools are no longer listed.
    ///
    /// # Errors
    ///
    /// When there is no such server, or it is part of the program or of a file.
    pub async fn remove_server(&self, name: &str) -> Result<(), Error> {
        if self.configured.remove(&self.host, name).await {
            self.host.table_updated().await;
            return Ok(());
        }
        let status = self.status(name)?;
        let reason = match status.config {
            Some(_) => "it comes from a configuration file: remove it there",
            None => "it is part of the program",
        };
        Err(Error::Setup { server: name.to_owned(), reason: reason.to_owned() })
    }

    /// Makes these the servers that the program names: servers that are new are started, those that are gone are stopped,
    /// changed ones are replaced, and equal ones are not touched. Servers of files and of the program itself stay.
    pub async fn apply(&self, servers: &[ServerConfig]) -> ApplyReport {
        self.configured.replace(&self.host, servers).await
    }

    /// The status of one server.
    ///
    /// # Errors
    ///
    /// When there is no such server.
    pub fn status(&self, server: &str) -> Result<ServerStatus, Error> {
        self.host.status(server).ok_or_else(|| self.no_server(server))
    }

    /// The status of all servers, in the order of the configuration.
    pub fn statuses(&self) -> Vec<ServerStatus> {
        self.host.statuses()
    }

    /// The server of that name.
    ///
    /// # Errors
    ///
    /// When there is no such server.
    pub fn server(&self, name: &str) -> Result<Server, Error> {
        let handle = self.host.server(name).ok_or_else(|| self.no_server(name))?;
        Ok(Server::new(self.clone(), handle.name().clone()))
    }

    /// All servers, in the order of the configuration.
    pub fn servers(&self) -> Vec<Server> {
        self.host.servers().iter().map(|handle| Server::new(self.clone(), handle.name().clone())).collect()
    }

    /// The servers that accept calls now.
    pub fn running(&self) -> Vec<Server> {
        let running = self.host.running().into_iter();
        running.map(|status| Server::new(self.clone(), status.name)).collect()
    }

    /// The names of all servers.
    pub fn server_names(&self) -> Vec<ServerName> {
        self.host.servers().iter().map(|handle| handle.name().clone()).collect()
    }

    /// Whether any server is still starting for the first time.
    pub fn is_starting(&self) -> bool {
        self.host.is_starting()
    }

    /// Every change of state from now on, numbered.
    pub fn events(&self) -> HostEvents {
        self.host.events()
    }

    /// Changes of the merged lists and of watched resources from now on.
    pub fn changes(&self) -> HostChanges {
        self.host.changes()
    }

    /// Starts a server that is down. Returns once it is starting; [`Agent::wait_for`] waits for the rest.
    ///
    /// # Errors
    ///
    /// When there is no such server, or it may not run.
    pub async fn start_server(&self, name: &str) -> Result<(), Error> {
        self.host.start_server(name).await.map_err(|why| self.order_error(why))
    }

    /// Stops a server until it is started again. Returns once its processes are gone and its tools are no longer listed.
    ///
    /// # Errors
    ///
    /// When there is no such server.
    pub async fn stop_server(&self, name: &str) -> Result<(), Error> {
        self.host.stop_server(name).await.map_err(|why| self.order_error(why))
    }

    /// Stops a server and starts it again. Returns once the old process is gone and the new one is starting.
    ///
    /// # Errors
    ///
    /// When there is no such server, or it may not run.
    pub async fn restart_server(&self, name: &str) -> Result<(), Error> {
        self.host.restart_server(name).await.map_err(|why| self.order_error(why))
    }

    /// Enables a server that was disabled or never approved. Returns once it is starting.
    ///
    /// # Errors
    ///
    /// When there is no such server.
    pub async fn enable_server(&self, name: &str) -> Result<(), Error> {
        self.host.enable_server(name).await.map_err(|why| self.order_error(why))
    }

    /// Disables a server. Returns once its processes are gone and its tools are no longer listed.
    ///
    /// # Errors
    ///
    /// When there is no such server.
    pub async fn disable_server(&self, name: &str) -> Result<(), Error> {
        self.host.disable_server(name).await.map_err(|why| self.order_error(why))
    }

    /// Waits until a server is up, or known not to come up, and returns its state.
    ///
    /// # Errors
    ///
    /// When there is no such server.
    pub async fn wait_for(&self, name: &str) -> Result<ServerState, Error> {
        self.host.wait_for(name).await.map_err(|why| self.order_error(why))
    }

    /// Waits until no server is starting any more.
    pub async fn settled(&self) {
        self.host.settled().await;
    }

    /// Stops every server and waits until all are gone, but no longer than `grace`.
    pub async fn shutdown(&self, grace: Duration) {
        self.host.stop(grace).await;
    }

    /// The error of an order, with the servers that there are.
    fn order_error(&self, why: ServerError) -> Error {
        match why {
            ServerError::Unknown(name) => self.no_server(&name),
            why => why.into(),
        }
    }
}
