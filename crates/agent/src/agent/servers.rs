//! The servers of an agent: their states, and starting and stopping them.

use std::time::Duration;

use toolbay_config::ServerConfig;
use toolbay_host::{ApplyReport, HostChanges, HostEvents, ServerHandle, ServerState, ServerStatus};

use super::Agent;
use crate::Error;

impl Agent {
    /// Makes these the configured servers: [`Host::apply`](toolbay_host::Host::apply).
    pub async fn apply(&self, servers: &[ServerConfig]) -> ApplyReport {
        self.host.apply(servers).await
    }

    /// The status of one server.
    pub fn status(&self, server: &str) -> Option<ServerStatus> {
        self.host.status(server)
    }

    /// The status of all servers, in the order of the configuration.
    pub fn statuses(&self) -> Vec<ServerStatus> {
        self.host.statuses()
    }

    /// The status of the servers that accept calls now.
    pub fn running(&self) -> Vec<ServerStatus> {
        self.host.running()
    }

    /// The server of that name.
    pub fn server(&self, name: &str) -> Option<ServerHandle> {
        self.host.server(name)
    }

    /// All servers, in the order of the configuration.
    pub fn servers(&self) -> Vec<ServerHandle> {
        self.host.servers()
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
        Ok(self.host.start_server(name).await?)
    }

    /// Stops a server until it is started again. Returns once its processes are gone and its tools are no longer listed.
    ///
    /// # Errors
    ///
    /// When there is no such server.
    pub async fn stop_server(&self, name: &str) -> Result<(), Error> {
        Ok(self.host.stop_server(name).await?)
    }

    /// Stops a server and starts it again. Returns once the old process is gone and the new one is starting.
    ///
    /// # Errors
    ///
    /// When there is no such server, or it may not run.
    pub async fn restart_server(&self, name: &str) -> Result<(), Error> {
        Ok(self.host.restart_server(name).await?)
    }

    /// Enables a server that was disabled or never approved. Returns once it is starting.
    ///
    /// # Errors
    ///
    /// When there is no such server.
    pub async fn enable_server(&self, name: &str) -> Result<(), Error> {
        Ok(self.host.enable_server(name).await?)
    }

    /// Disables a server. Returns once its processes are gone and its tools are no longer listed.
    ///
    /// # Errors
    ///
    /// When there is no such server.
    pub async fn disable_server(&self, name: &str) -> Result<(), Error> {
        Ok(self.host.disable_server(name).await?)
    }

    /// Waits until a server is up, or known not to come up, and returns its state.
    ///
    /// # Errors
    ///
    /// When there is no such server.
    pub async fn wait_for(&self, name: &str) -> Result<ServerState, Error> {
        Ok(self.host.wait_for(name).await?)
    }

    /// Waits until no server is starting any more.
    pub async fn settled(&self) {
        self.host.settled().await;
    }

    /// Stops every server and waits until all are gone, but no longer than `grace`.
    pub async fn shutdown(&self, grace: Duration) {
        self.host.stop(grace).await;
    }
}
