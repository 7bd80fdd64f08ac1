//! What a hub is to run.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};

use super::{Hub, Pipe, hub::command};

/// The programs of one build.
#[derive(Debug, Clone)]
pub struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// Those that lie beside a hub.
    pub fn beside(toolbay: &Path) -> Result<Self> {
        let programs = Self::in_folder(toolbay.parent().context("a program lies in a folder")?);
        for name in ["toolbay", "toolbay-hostile", "toolbay-test-server"] {
            let path = programs.path(name);
            ensure!(path.exists(), "{} is missing; first: cargo build --workspace", path.display());
        }
        Ok(programs)
    }

    /// Those of a folder, whatever is there.
    pub fn in_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Starts one of them alone, as a server on stdin and stdout.
    pub fn pipe(&self, name: &str, arguments: &[&str]) -> Result<Pipe> {
        Pipe::run(&self.path(name), arguments)
    }

    /// Where one of them is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// A configuration in the making.
#[derive(Debug)]
pub struct Setup {
    pub(super) programs: Programs,
    /// Holds the configuration, sockets and whatever else the hub writes; a short path, because of the sockets.
    pub(super) folder: PathBuf,
    pub(super) servers: Map<String, Value>,
    pub(super) open_files: Option<u64>,
}

impl Setup {
    pub fn new(programs: Programs, folder: &Path) -> Self {
        Self { programs, folder: folder.to_owned(), servers: Map::new(), open_files: None }
    }

    /// Adds the hostile server with these flags; `tuning` is the object `toolbay` of its entry.
    pub fn hostile(self, name: &str, flags: &[&str], tuning: Value) -> Self {
        self.server(name, "toolbay-hostile", flags, tuning)
    }

    /// Adds a server without faults.
    pub fn healthy(self, name: &str) -> Self {
        self.server(name, "toolbay-test-server", &[], json!({}))
    }

    /// Adds a server.
    pub fn server(mut self, name: &str, program: &str, args: &[&str], tuning: Value) -> Self {
        let entry = json!({ "command": self.programs.path(program), "args": args, "toolbay": tuning });
        self.servers.insert(name.to_owned(), entry);
        self
    }

    /// Adds a server at a URL.
    pub fn remote(mut self, name: &str, url: &str) -> Self {
        self.servers.insert(name.to_owned(), json!({ "url": url }));
        self
    }

    /// Gives a server that was added this object `toolbay`.
    pub fn tuned(mut self, name: &str, tuning: Value) -> Self {
        self.servers[name]["toolbay"] = tuning;
        self
    }

    /// Lets the hub have only so many files.
    pub fn open_files(self, limit: u64) -> Self {
        Self { open_files: Some(limit), ..self }
    }

    /// Starts the hub and waits until it listens; its servers may still be starting.
    pub fn start(self) -> Result<Hub> {
        Hub::start(self)
    }

    /// Starts a hub on stdin and stdout, for one client alone.
    pub fn start_stdio(&self) -> Result<Pipe> {
        self.stdio(&["stdio", "--alone"])
    }

    /// Starts a client of the hub that serves this configuration.
    pub fn join_stdio(&self) -> Result<Pipe> {
        self.stdio(&["stdio"])
    }

    fn stdio(&self, arguments: &[&str]) -> Result<Pipe> {
        let config = self.write(&json!({}))?;
        Pipe::start(command(&self.programs, &self.folder, &config, arguments))
    }

    /// Writes the configuration, with this environment for all servers.
    pub(super) fn write(&self, environment: &Value) -> Result<PathBuf> {
        let mut servers = self.servers.clone();
        for server in servers.values_mut().filter(|server| server.get("command").is_some()) {
            server["env"] = environment.clone();
        }
        let config = self.folder.join("mcp.json");
        fs::write(&config, json!({ "mcpServers": servers }).to_string())?;
        Ok(config)
    }
}
