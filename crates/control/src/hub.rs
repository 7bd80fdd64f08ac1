//! The hub as a process, and its handle.

use std::{fmt, path::PathBuf, sync::Arc, time::SystemTime};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::snapshot::{ExposureSnapshot, Note};

/// A hub as a process, at one moment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HubSnapshot {
    /// The program that it runs.
    pub build: Build,
    /// Its process.
    pub pid: u32,
    /// Whether it runs in the background, for as long as it has clients.
    pub background: bool,
    /// When it started, in milliseconds since 1970.
    pub started_ms: u64,
    /// How tools and prompts are named.
    pub naming: String,
    /// The configuration files that it serves.
    pub config_files: Vec<PathBuf>,
    /// Where clients reach it over HTTP.
    pub urls: Vec<String>,
    /// Its control socket.
    pub socket: Option<PathBuf>,
    /// Its log file.
    pub log: Option<PathBuf>,
    /// How much memory it uses, in KiB. Only for `hub status`: clients request the rest whenever they connect, and looking at
    /// all processes would take longer than that.
    pub memory_kib: Option<u64>,
    /// How much memory its servers use with all that they started, in KiB.
    pub servers_memory_kib: Option<u64>,
    /// The clients that are connected.
    pub clients: Vec<ClientSnapshot>,
    /// Variables that the configuration refers to, that are set for a client, and that are not set for the hub.
    pub unset_variables: Vec<String>,
}

/// A client of a hub at one moment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClientSnapshot {
    /// What it calls itself, and its version.
    pub name: Option<String>,
    /// How it is connected: `stdio`, `unix`, `sse`, `websocket`, `http`.
    pub transport: String,
    /// As whom it is connected: `owner`, `token:NAME`, `uid:1000`, `user:ISSUER#SUBJECT`.
    #[serde(default)]
    pub principal: String,
    /// Its process, or that of the `toolbay stdio` in front of it.
    pub pid: Option<u32>,
    /// Its project.
    pub root: Option<PathBuf>,
    /// When it connected, in milliseconds since 1970.
    pub since_ms: u64,
}

/// A build of the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Its version.
    pub version: String,
    /// Tells files with the same version apart.
    pub id: String,
    /// When its file was written, in milliseconds since 1970.
    pub modified_ms: u64,
}

impl Build {
    /// Whether this build should take the place of `other`: it is another, and not an older one.
    pub fn supersedes(&self, other: &Self) -> bool {
        if self.id == other.id && self.version == other.version {
            return false;
        }
        let (ours, theirs) = (numbers(&self.version), numbers(&other.version));
        ours > theirs || (ours == theirs && self.modified_ms > other.modified_ms)
    }
}

/// The numbers in a version, in order.
fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

/// A handle that ends a hub.
#[derive(Clone)]
pub struct HubHandle {
    describe: Arc<dyn Fn() -> HubSnapshot + Send + Sync>,
    notes: Arc<dyn Fn() -> Vec<Note> + Send + Sync>,
    exposure: Arc<dyn Fn() -> Option<ExposureSnapshot> + Send + Sync>,
    unset_variables: watch::Sender<Vec<String>>,
    /// Set when the hub shall make room for another: it takes no new clients, and ends when those that it has are gone.
    pub drain: CancellationToken,
    /// Set when a hub that makes room has given up its sockets.
    pub released: CancellationToken,
    /// Set when the hub shall end.
    pub stop: CancellationToken,
}

impl HubHandle {
    /// A hub that ends with `stop`.
    pub fn new(stop: CancellationToken, describe: impl Fn() -> HubSnapshot + Send + Sync + 'static) -> Self {
        let (drain, released) = (CancellationToken::new(), CancellationToken::new());
        let unset_variables = watch::Sender::new(Vec::new());
        Self {
            describe: Arc::new(describe),
            notes: Arc::new(Vec::new),
            exposure: Arc::new(|| None),
            unset_variables,
            drain,
            released,
            stop,
        }
    }

    /// The same hub, with notes on its servers that only it knows.
    #[must_use]
    pub fn with_notes(self, notes: impl Fn() -> Vec<Note> + Send + Sync + 'static) -> Self {
        Self { notes: Arc::new(notes), ..self }
    }

    /// The same hub, which knows which tools its clients are listed.
    #[must_use]
    pub fn with_exposure(self, exposure: impl Fn() -> ExposureSnapshot + Send + Sync + 'static) -> Self {
        Self { exposure: Arc::new(move || Some(exposure())), ..self }
    }

    /// Which tools its clients are listed.
    pub(crate) fn exposure(&self) -> Option<ExposureSnapshot> {
        (self.exposure)()
    }

    /// Notes on its servers.
    pub(crate) fn notes(&self) -> Vec<Note> {
        (self.notes)()
    }

    /// The hub now.
    pub fn snapshot(&self) -> HubSnapshot {
        HubSnapshot { unset_variables: self.unset_variables(), ..(self.describe)() }
    }

    /// Variables that are set for a client and missing in the hub; see [`HubSnapshot::unset_variables`].
    pub fn unset_variables(&self) -> Vec<String> {
        self.unset_variables.borrow().clone()
    }

    /// Says which variables are set for a client and missing in the hub.
    pub fn set_unset_variables(&self, names: Vec<String>) {
        self.unset_variables.send_replace(names);
    }
}

impl fmt::Debug for HubHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubHandle")
            .field("drain", &self.drain)
            .field("stop", &self.stop)
            .finish_non_exhaustive()
    }
}

/// A time as it is written in snapshots.
pub fn millis(time: SystemTime) -> u64 {
    let since_epoch = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_build_supersedes_an_older_one_and_never_the_other_way_round() {
        let build = |version: &str, id: &str, modified_ms| Build {
            version: version.to_owned(),
            id: id.to_owned(),
            modified_ms,
        };
        let old = build("0.9.0", "a", 5);
        for newer in [build("0.10.0", "b", 1), build("0.9.0", "b", 6), build("0.9.1", "a", 5)] {
            assert!(newer.supersedes(&old) && !old.supersedes(&newer), "{newer:?}");
        }
        for same in [build("0.9.0", "a", 5), build("0.9.0", "b", 5)] {
            assert!(!same.supersedes(&old) && !old.supersedes(&same), "{same:?}");
        }
    }
}
