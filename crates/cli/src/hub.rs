//! A hub in this process.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde_json::{Value, json};
use toolbay_config::{ConfigFile, ServerConfig, Standing};
use toolbay_control::Snapshot;
use toolbay_host::{Host, HostOptions, InProcess, Naming, Shim};
use toolbay_protocol::ServerName;

use crate::{context::Context, error::CliError};

/// How long servers may take to end: stdin closed, SIGTERM, SIGKILL, and some more.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// What a hub shall run.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The configuration, as an absolute path.
    pub(crate) config: Option<PathBuf>,
    file: ConfigFile,
    naming: Option<Naming>,
    /// Whether the hub offers a server that tells about itself.
    tells_of_itself: bool,
}

impl Plan {
    /// Reads the configuration, if there is one, and tells about entries that cannot be used.
    pub(crate) fn read(context: &Context) -> Result<Self, CliError> {
        let Some(typed) = &context.args.global.config else {
            return Ok(Self {
                config: None,
                file: ConfigFile::default(),
                naming: None,
                tells_of_itself: true,
            });
        };
        let config = absolute(typed)?;
        let file = toolbay_config::load(&config)?;
        for problem in &file.problems {
            context.out.warn(&format!("{}:{problem}", typed.display()));
        }
        let runs = |server: &ServerConfig| server.standing == Standing::Enabled;
        if !file.servers.iter().any(runs) {
            context.out.warn(&format!("{} has no server to run", typed.display()));
        }
        Ok(Self { config: Some(config), file, naming: None, tells_of_itself: false })
    }

    /// One server and nothing else, under the names that it uses itself.
    pub(crate) fn of_entry(name: &str, entry: &Value) -> Result<Self, CliError> {
        let text = json!({ "mcpServers": { name: entry } }).to_string();
        let file = toolbay_config::parse(&text, Path::new("."))?;
        match file.problems.first() {
            Some(problem) => Err(CliError::usage(&problem.message)),
            None => Ok(Self { config: None, file, naming: Some(Naming::None), tells_of_itself: false }),
        }
    }

    /// Starts everything, in the background. Without a configuration there is the server `hub`.
    pub(crate) fn start(&self, context: &Context) -> Host {
        let itself: Arc<OnceLock<Host>> = Arc::default();
        let mut in_process: Vec<(ServerName, InProcess)> = Vec::new();
        if self.tells_of_itself {
            let itself = itself.clone();
            let status = move || {
                let snapshot = itself.get().map(Snapshot::of);
                serde_json::to_value(snapshot).unwrap_or_default()
            };
            in_process.push((ServerName::new("hub"), toolbay_builtin::hub::hub(Arc::new(status))));
        }
        let options = HostOptions {
            naming: self.naming.unwrap_or(context.args.global.naming),
            base_env: context.env.variables.clone(),
            shim: Shim::current_exe(),
            ..HostOptions::default()
        };
        let host = Host::start(&self.file.servers, in_process, &options);
        // Set once, here.
        let _ = itself.set(host.clone());
        host
    }
}

/// Stops every server with everything below it.
pub(crate) async fn stop(host: &Host) {
    host.stop(STOP_PATIENCE).await;
}

/// The one path that means this file, so that a hub is found however it was typed.
pub(crate) fn absolute(config: &Path) -> Result<PathBuf, CliError> {
    std::fs::canonicalize(config).map_err(|source| {
        CliError::Config(toolbay_config::ConfigError::Read { path: config.to_owned(), source })
    })
}
