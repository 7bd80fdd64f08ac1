//! What all connections of one server share.

use std::{
    collections::{HashMap, HashSet},
    fs::OpenOptions,
    io::Write,
    path::PathBuf,
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::broadcast;

use super::{
    SupportedRevisions,
    change::Change,
    offers::{Offers, at_once},
    revisions::RevisionSet,
    session::Session,
};

/// Invariant: each lock is held for a few lines, never across an await.
pub(super) struct Shared {
    pub(super) name: String,
    pub(super) changes: broadcast::Sender<Change>,
    settings: Mutex<Settings>,
    offers: Mutex<Offers>,
    received: Mutex<Vec<String>>,
    /// Legacy sessions over HTTP, by id.
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    /// Pages that people were sent to.
    visited: Mutex<HashSet<String>>,
}

#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) spoken: RevisionSet,
    pub(super) page_size: usize,
    /// `ttlMs`, and whether `cacheScope` is `public`.
    pub(super) caching: (u64, bool),
    pub(super) instructions: Option<String>,
    pub(super) received_file: Option<PathBuf>,
}

impl Shared {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            changes: broadcast::Sender::new(1024),
            settings: Mutex::new(Settings {
                spoken: RevisionSet::new(SupportedRevisions::default()),
                page_size: usize::MAX,
                caching: (0, false),
                instructions: None,
                received_file: None,
            }),
            offers: Mutex::default(),
            received: Mutex::default(),
            sessions: Mutex::default(),
            visited: Mutex::default(),
        }
    }

    pub(super) fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock()
    }

    pub(super) fn offers(&self) -> MutexGuard<'_, Offers> {
        self.offers.lock()
    }

    /// Adds or replaces a resource with a text.
    pub(super) fn put_text(&self, uri: String, text: String) {
        self.offers().put_resource(uri, at_once(move |_| Ok(text.clone().into())));
    }

    pub(super) fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.sessions.lock()
    }

    pub(super) fn received(&self) -> Vec<String> {
        self.received.lock().clone()
    }

    /// Writes down what arrived.
    pub(super) fn record(&self, text: &[u8]) {
        let text = String::from_utf8_lossy(text).into_owned();
        let file = self.settings().received_file.clone();
        if let Some(path) = file {
            let opened = OpenOptions::new().create(true).append(true).open(&path);
            if let Err(error) = opened.and_then(|mut file| file.write_all(format!("{text}\n").as_bytes())) {
                eprintln!("cannot write {}: {error}", path.display());
            }
        }
        self.received.lock().push(text);
    }

    /// Sends someone to a page: gives its number, and nothing if that was done before.
    pub(super) fn visit(&self, url: &str) -> Option<u64> {
        let mut visited = self.visited.lock();
        visited.insert(url.to_owned()).then_some(visited.len() as u64)
    }

    /// Notifies all subscribers, if there are any.
    pub(super) fn tell(&self, change: Change) {
        if self.offers().announces_tools_only && matches!(change, Change::Resources | Change::Prompts) {
            return;
        }
        let _ = self.changes.send(change);
    }
}
