//! A test server over HTTP, as a process of its own.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result};

/// A program that serves MCP at a URL and says which; killed when dropped.
#[derive(Debug)]
pub struct WebServer {
    child: Child,
    url: String,
}

impl WebServer {
    /// Runs `toolbay-test-server` on a free port, with more arguments, over the transport that `flag` names.
    pub fn run(program: &Path, arguments: &[&str], flag: &str) -> Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "a test server; killed on drop")]
        let mut command = Command::new(program);
        command.args(arguments).args([flag, "0"]).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("the server does not start")?;
        let stderr = child.stderr.take().context("it was piped")?;
        let mut server = Self { child, url: String::new() };
        let mut line = String::new();
        BufReader::new(stderr).read_line(&mut line)?;
        server.url = line.trim().to_owned();
        server.address()?; // or it said something else
        Ok(server)
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
