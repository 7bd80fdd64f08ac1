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

/// A program that serves MCP over HTTP and says where; killed when dropped.
#[derive(Debug)]
pub struct WebServer {
    child: Child,
    address: SocketAddr,
}

impl WebServer {
    /// Runs `toolbay-test-server` on a free port, with more arguments.
    pub fn run(program: &Path, arguments: &[&str]) -> Result<Self> {
        Self::run_on(program, 0, arguments)
    }

    /// As [`Self::run`], on a certain port.
    pub fn run_on(program: &Path, port: u16, arguments: &[&str]) -> Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "a test server; killed on drop")]
        let mut command = Command::new(program);
        command
            .args(arguments)
            .args(["--http", &port.to_string()])
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().context("the server does not start")?;
        let stderr = child.stderr.take().context("it was piped")?;
        let mut server = Self { child, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        let mut line = String::new();
        BufReader::new(stderr).read_line(&mut line)?;
        let address = line.trim().strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp"));
        server.address = address.with_context(|| format!("no address: {line}"))?.parse()?;
        Ok(server)
    }

    /// Kills it; whoever talks to it learns that from the system.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Stops it where it is: its system still accepts connections and bytes, and nobody takes them.
    pub fn freeze(&self) -> Result<()> {
        signal(self.child.id(), Signal::STOP)
    }

    /// Lets it go on.
    pub fn thaw(&self) -> Result<()> {
        signal(self.child.id(), Signal::CONT)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
