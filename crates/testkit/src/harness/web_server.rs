//! A test server over HTTP, as a process of its own.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result};

/// A program that serves MCP over HTTP and says where; killed when dropped.
#[derive(Debug)]
pub struct WebServer {
    child: Child,
    address: SocketAddr,
}

impl WebServer {
    /// Runs `toolbay-test-server` on a free port, with more arguments.
    pub fn run(program: &Path, arguments: &[&str]) -> Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "a test server; killed on drop")]
        let mut command = Command::new(program);
        command.args(arguments).args(["--http", "0"]).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("the server does not start")?;
        let stderr = child.stderr.take().context("it was piped")?;
        let mut server = Self { child, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        let mut line = String::new();
        BufReader::new(stderr).read_line(&mut line)?;
        let address = line.trim().strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp"));
        server.address = address.with_context(|| format!("no address: {line}"))?.parse()?;
        Ok(server)
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
