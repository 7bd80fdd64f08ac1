//! A test server over HTTP, as a process of its own.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result};
use rustix::process::Signal;

use super::hub::signal;

/// A program that serves MCP at a URL and says which; killed when dropped.
#[derive(Debug)]
pub struct WebServer {
    child: Child,
    url: String,
}

impl WebServer {
    /// Runs `toolbay-test-server` on a free port, with more arguments, over the transport that `flag` names.
    pub fn run(program: &Path, arguments: &[&str], flag: &str) -> Result<Self> {
        Self::start(program, arguments, &[flag, "0"])
    }

    /// As [`WebServer::run`], on a certain port.
    pub fn run_on(program: &Path, port: u16, arguments: &[&str], flag: &str) -> Result<Self> {
        Self::start(program, arguments, &[flag, &port.to_string()])
    }

    fn start(program: &Path, arguments: &[&str], place: &[&str]) -> Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "a test server; killed on drop")]
        let mut command = Command::new(program);
        command.args(arguments).args(place).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("the server does not start")?;
        let stderr = child.stderr.take().context("it was piped")?;
        let mut server = Self { child, url: String::new() };
        let mut line = String::new();
        BufReader::new(stderr).read_line(&mut line)?;
        server.url = line.trim().to_owned();
        server.address()?; // or it said something else
        Ok(server)
    }

    /// Kills it. The system closes its connections.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Suspends it: its system still accepts connections and bytes, and nothing reads them.
    pub fn freeze(&self) -> Result<()> {
        signal(self.child.id(), Signal::STOP)
    }

    /// Lets it go on.
    pub fn thaw(&self) -> Result<()> {
        signal(self.child.id(), Signal::CONT)
    }

    pub fn address(&self) -> Result<SocketAddr> {
        let authority = self.url.split('/').nth(2).and_then(|authority| authority.parse().ok());
        authority.with_context(|| format!("no URL: {:?}", self.url))
    }

    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
