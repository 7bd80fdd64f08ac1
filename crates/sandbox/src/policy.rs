//! What a program in a sandbox may do.

use std::{fmt, path::PathBuf};

use serde::{Deserialize, Serialize};

/// What a program may reach and use. Paths are absolute and contain no links: see [`std::fs::canonicalize`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// The level that must be reached. The program does not run below it.
    pub level: Level,
    /// Files and directories that it may read and run, besides those of the system.
    pub read: Vec<PathBuf>,
    /// Files and directories that it may change.
    pub write: Vec<PathBuf>,
    /// Files and directories that it may read but not change, within those that it may change. Only at [`Level::Full`].
    pub protect: Vec<PathBuf>,
    /// Files and directories that it may not even read, within those that it may.
    pub hide: Vec<PathBuf>,
    /// Its home directory, which is empty and gone when the program ends. Only at [`Level::Full`].
    pub home: Option<PathBuf>,
    /// What it may connect to.
    pub network: Network,
    /// How much it may use.
    pub limits: Limits,
    /// The name of the [`Function`](crate::Function) that runs in place of a program. It sees no file at all, not even those of the
    /// system, and may do little more than read, write and use memory.
    pub function: Option<String>,
}

/// How well a program is confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Not at all.
    None,
    /// By rules for files and system calls. It shares `/tmp` and the numbers of processes with others, and its limits are
    /// less exact.
    Partial,
    /// By rules, and in namespaces of its own: it sees no other process, no network and no file that it may not read.
    Full,
}

impl Level {
    /// The name in configurations and results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Partial => "partial",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a program may connect to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Nothing but itself.
    #[default]
    None,
    /// Everything that has an IP address. Unix sockets stay closed: what is behind them runs with all rights of the user.
    Allow,
}

/// How much a program and all that it starts may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Processes and threads.
    pub processes: u64,
    /// Bytes of memory, of all processes and temporary files together.
    pub memory: u64,
    /// Seconds of CPU time, of each process.
    pub cpu_seconds: u64,
    /// Bytes of each file, and of all temporary files together.
    pub file_size: u64,
    /// Bytes that must stay free on the disks of what it may change.
    pub free_disk: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { processes: 512, memory: 4 << 30, cpu_seconds: 3600, file_size: 1 << 30, free_disk: 256 << 20 }
    }
}

impl Policy {
    /// A policy that lets a program read the system and nothing else.
    pub fn new(level: Level) -> Self {
        Self {
            level,
            read: Vec::new(),
            write: Vec::new(),
            protect: Vec::new(),
            hide: Vec::new(),
            home: None,
            network: Network::None,
            limits: Limits::default(),
            function: None,
        }
    }

    /// A policy that lets a function of this program use memory and the files that are open already, and nothing else.
    pub fn for_function(level: Level, name: &str, limits: Limits) -> Self {
        Self { function: Some(name.to_owned()), limits, ..Self::new(level) }
    }
}
