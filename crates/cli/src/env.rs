//! What surrounds us. Nothing else in Toolbay reads environment variables.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use toolbay_control::SocketDir;

/// Everything we take from the environment.
#[derive(Debug)]
pub(crate) struct Env {
    /// `XDG_RUNTIME_DIR`: where sockets live.
    runtime_dir: Option<PathBuf>,
    /// `TMPDIR`, where it is missing.
    temp_dir: PathBuf,
    /// `XDG_STATE_HOME`, or `.local/state` below `HOME`: what is to outlive a hub.
    state_dir: Option<PathBuf>,
    /// `RUST_LOG`: what our own log says.
    pub(crate) log_filter: Option<String>,
    /// Whether `NO_COLOR` and `TERM` allow colours.
    pub(crate) allows_colour: bool,
    /// All of it, for servers to inherit from as their entries say.
    pub(crate) variables: BTreeMap<OsString, OsString>,
}

impl Env {
    pub(crate) fn read() -> Self {
        let variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        let get = |name: &str| variables.get(OsStr::new(name)).filter(|value| !value.is_empty());
        let absolute = |value: &OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
        Self {
            runtime_dir: get("XDG_RUNTIME_DIR").and_then(absolute),
            temp_dir: std::env::temp_dir(),
            state_dir: get("XDG_STATE_HOME")
                .and_then(absolute)
                .or_else(|| Some(get("HOME").and_then(absolute)?.join(".local/state"))),
            log_filter: get("RUST_LOG").and_then(|value| value.to_str()).map(str::to_owned),
            allows_colour: get("NO_COLOR").is_none() && get("TERM").is_none_or(|term| term != "dumb"),
            variables,
        }
    }

    /// Where hubs have their sockets.
    pub(crate) fn socket_dir(&self) -> SocketDir {
        SocketDir::new(self.runtime_dir.as_deref(), &self.temp_dir)
    }

    /// Where the key is kept that seals ids of tasks.
    pub(crate) fn task_key(&self) -> Option<PathBuf> {
        self.state_dir.as_ref().map(|folder| folder.join("toolbay/tasks.key"))
    }

    /// The configuration that other programs look for in a folder, if it is here.
    pub(crate) fn project_config() -> Option<&'static Path> {
        let file = Path::new(".mcp.json");
        file.is_file().then_some(file)
    }
}
