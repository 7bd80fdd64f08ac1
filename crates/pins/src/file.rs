//! The file with the pins of all servers.
//!
//! All hubs of a user share it. It is replaced as a whole, under a lock of all processes: one that is killed meanwhile leaves the
//! old file, and two that pin at once lose nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use toolbay_config::{Durability, lock_file, read_small, replace_file};

use crate::{
    changes::{Change, ChangeKind, changes},
    definitions::{DefinitionKey, Definitions},
};

/// A larger file was not written by us.
const MAX_FILE: u64 = 128 * 1024 * 1024;
const VERSION: u32 = 1;

/// A file with pins.
#[derive(Debug, Clone)]
pub struct PinFile {
    path: PathBuf,
}

/// An entry of a configuration. The same name in two files is two servers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PinnedServer {
    file: String,
    name: String,
}

impl PinnedServer {
    /// The entry of that name in a file.
    pub fn new(file: &Path, name: &str) -> Self {
        // One name per file, however it was reached.
        let file =
            file.canonicalize().or_else(|_| std::path::absolute(file)).unwrap_or_else(|_| file.to_owned());
        // A name that is no text is escaped, which no two names share.
        let file = file.to_str().map_or_else(|| format!("{file:?}"), str::to_owned);
        Self { file, name: name.to_owned() }
    }

    /// The name of the server.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The pins of all servers, by the file with their entry, then by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pins {
    servers: BTreeMap<String, BTreeMap<String, ServerPins>>,
}

/// The pins of one server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerPins {
    /// The launch that they belong to. Whoever changes how a server is launched expects other definitions, so another launch is
    /// pinned anew; pins are about changes that nobody asked for.
    pub launch: String,
    /// When it was first used, in seconds since 1970.
    pub since: u64,
    /// What was pinned.
    pub pinned: Definitions,
    /// What was found last and is not pinned.
    #[serde(default, skip_serializing_if = "Definitions::is_empty")]
    pub found: Definitions,
    /// What is pinned and was missing last.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub missing: BTreeSet<DefinitionKey>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileContent {
    version: u32,
    servers: BTreeMap<String, BTreeMap<String, ServerPins>>,
}

/// Why pins cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum PinFileError {
    /// The file cannot be read.
    #[error("cannot read the pins {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not what we write.
    #[error(
        "the pins {0} are damaged ({message}), so nothing is trusted that is not pinned; restore them, or `mv {0} {0}.damaged` to \
         pin all servers anew",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// Others could pin in the user's name.
    #[error(
        "the pins {} can be written by other users, so nothing is trusted that is not pinned; look at them, then try: chmod 600 {}",
        path.display(), path.display()
    )]
    Writable {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be written.
    #[error("cannot write the pins {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl PinFile {
    /// The file at a path; it need not exist.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All pins; none if there is no file.
    ///
    /// # Errors
    /// If it cannot be read, is not a file of pins, or can be written by others.
    pub fn read(&self) -> Result<Pins, PinFileError> {
        let unreadable = |source| PinFileError::Read { path: self.path.clone(), source };
        let damaged = |message: String| PinFileError::Damaged { path: self.path.clone(), message };
        let metadata = match fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Pins::default()),
            Err(error) => return Err(unreadable(error)),
        };
        let is_ours = metadata.uid() == 0 || metadata.uid() == rustix::process::geteuid().as_raw();
        if !is_ours || metadata.mode() & 0o022 != 0 {
            return Err(PinFileError::Writable { path: self.path.clone() });
        }
        let text = read_small(&self.path, MAX_FILE).map_err(unreadable)?;
        let content: FileContent =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        match content.version {
            VERSION => Ok(Pins { servers: content.servers }),
            other => Err(damaged(format!("unknown version {other}"))),
        }
    }

    /// Changes the pins under the lock, and returns them. Nothing is written where `change` leaves them as they are.
    ///
    /// # Errors
    /// If they cannot be read or written; the file is as it was then.
    pub fn change(&self, change: impl FnOnce(&mut Pins)) -> Result<Pins, PinFileError> {
        let unwritable = |source| PinFileError::Write { path: self.path.clone(), source };
        let _lock = lock_file(&self.path).map_err(unwritable)?; // until the end
        let before = self.read()?;
        let mut pins = before.clone();
        change(&mut pins);
        if pins == before {
            return Ok(pins);
        }
        let content = FileContent { version: VERSION, servers: pins.servers };
        let text = serde_json::to_vec(&content).map_err(|error| unwritable(error.into()))?;
        let mut draft = self.path.as_os_str().to_owned();
        draft.push(".new"); // the lock makes it ours
        replace_file(&self.path, draft.as_ref(), &text, 0o600, Durability::Synced).map_err(unwritable)?;
        Ok(Pins { servers: content.servers })
    }
}

impl Pins {
    /// The pins of a server.
    pub fn get(&self, server: &PinnedServer) -> Option<&ServerPins> {
        self.servers.get(&server.file)?.get(&server.name)
    }

    /// The pins of a server, which may be none yet.
    pub(crate) fn entry(&mut self, server: &PinnedServer) -> &mut ServerPins {
        self.servers.entry(server.file.clone()).or_default().entry(server.name.clone()).or_default()
    }

    /// Approves what waits: it is pinned in place of what was. `shown` is what the user has seen of it; anything that was found
    /// since then still waits.
    pub fn approve(&mut self, server: &PinnedServer, shown: &ServerPins) {
        let servers = self.servers.get_mut(&server.file);
        let Some(known) = servers.and_then(|servers| servers.get_mut(&server.name)) else { return };
        if known.launch != shown.launch {
            return;
        }
        for (key, definition) in shown.found.iter() {
            known.pinned.insert(key.clone(), definition.clone());
            if known.found.get(key) == Some(definition) {
                known.found.remove(key);
            }
        }
        for key in &shown.missing {
            // It may have come back.
            if known.missing.remove(key) {
                known.pinned.remove(key);
            }
        }
    }
}

impl ServerPins {
    /// What waits for a decision of the user.
    pub fn waiting(&self) -> Vec<Change> {
        let mut now = self.pinned.clone();
        for key in &self.missing {
            now.remove(key);
        }
        for (key, definition) in self.found.iter() {
            now.insert(key.clone(), definition.clone());
        }
        judged(&self.pinned, &now)
    }

    /// Whether a definition is pinned as it is.
    pub(crate) fn has(&self, key: &DefinitionKey, hash: &str) -> bool {
        self.pinned.get(key).is_some_and(|known| known.hash == hash)
    }
}

/// The changes between two sets; new ones that look like an attack are named as such.
pub(crate) fn judged(pinned: &Definitions, found: &Definitions) -> Vec<Change> {
    let mut all = changes(pinned, found);
    for change in &mut all {
        let definition = found.get(&change.key);
        if change.kind == ChangeKind::New && definition.is_some_and(|it| !it.suspicions.is_empty()) {
            change.kind = ChangeKind::Suspicious;
        }
    }
    all
}
