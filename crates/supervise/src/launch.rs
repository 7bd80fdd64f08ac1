//! What to run, and how patiently to stop it.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, time::Duration};

/// One program to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// For people: shown by `ps` and in errors.
    pub name: String,
    /// Invariant: one program, looked up in `env`'s `PATH`; it is never split at spaces and never meets a shell.
    pub command: OsString,
    pub args: Vec<OsString>,
    /// The whole environment: nothing is inherited from the host.
    pub env: BTreeMap<OsString, OsString>,
    /// `None` is the host's own directory.
    pub cwd: Option<PathBuf>,
    pub stderr: StderrPolicy,
}

/// Where the server's stderr goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StderrPolicy {
    /// Into a [`LogRing`](crate::LogRing).
    #[default]
    Capture,
    /// To the host's own stderr.
    Inherit,
    Null,
    /// Appended to a file, which is created (0600) if need be.
    File(PathBuf),
}

/// How long a server may take to end by itself: closing its stdin, then SIGTERM, then SIGKILL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopGrace {
    pub after_stdin: Duration,
    pub after_term: Duration,
}

impl Default for StopGrace {
    fn default() -> Self {
        Self { after_stdin: Duration::from_secs(2), after_term: Duration::from_secs(2) }
    }
}
