//! What a program in a sandbox may do.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What a program may reach and use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// The level that must be reached. The program does not run below it.
    pub level: Level,
    /// Files and directories that it may read and run, besides those of the system.
    pub read: Vec<PathBuf>,
    /// Files and directories that it may change.
    pub write: Vec<PathBuf>,
    /// Files and directories that it may read but not change, within those that it may change.
    pub protect: Vec<PathBuf>,
    /// What it may connect to.
    pub network: Network,
    /// How much it may use.
    pub limits: Limits,
}

/// How well a program is confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Not at all.
    None,
    /// By rules for files and system calls. Other processes, and sockets in files that it may read, stay visible.
    Partial,
    /// By rules, and in namespaces of its own: it sees no other process, no network and no file that it may not read.
    Full,
}

/// What a program may connect to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Nothing but itself.
    #[default]
    None,
    /// Everything.
    Allow,
}

/// How much a program and all that it starts may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Processes and threads.
    pub processes: u64,
    /// Bytes of memory, of all processes together.
    pub memory: u64,
    /// Seconds of CPU time, of each process.
    pub cpu_seconds: u64,
    /// Bytes of each file, and of all temporary files together.
    pub file_size: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { processes: 512, memory: 4 << 30, cpu_seconds: 3600, file_size: 1 << 30 }
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
            network: Network::None,
            limits: Limits::default(),
        }
    }
}
