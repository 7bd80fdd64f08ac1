//! The pins of a running hub: kept in memory, compared with every new catalog, and written when something is found.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use toolbay_config::PinMode;

use crate::{
    changes::{Change, ChangeKind, changes},
    definitions::{Definition, DefinitionKey, Definitions},
    file::{PinFile, PinFileError, PinnedServer, Pins, ServerPins, judged},
};

/// How many changes a note names.
const MAX_NAMED: usize = 5;
/// Some servers list a part of their tools first, and the others when they know what their client can do. Within this time, what
/// joins at the first use is pinned, too, and what is missing is not removed.
const SETTLE: Duration = Duration::from_secs(3);

/// What is reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinSubject {
    /// The entry of the server.
    pub server: PinnedServer,
    /// Its launch, as it is written.
    pub launch: String,
    /// What is done with changes.
    pub mode: PinMode,
}

/// What a review comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Review {
    /// Definitions that are not offered.
    pub hidden: Vec<HiddenDefinition>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// When the same catalog should be reviewed again.
    pub again_in: Option<Duration>,
}

/// A definition that is not offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenDefinition {
    /// Which one.
    pub key: DefinitionKey,
    /// Why, and what to do.
    pub reason: String,
}

/// The pins of all servers of a hub.
#[derive(Debug)]
pub struct PinStore {
    file: PinFile,
    state: ArcSwap<PinState>,
    generation: AtomicU64,
    settle: Duration,
    /// Since when definitions of servers are missing that were not before.
    missing_since: Mutex<HashMap<PinnedServer, Instant>>,
}

#[derive(Debug, Default)]
struct PinState {
    /// As they were when they could last be read.
    pins: Pins,
    /// Why they cannot be read now.
    problem: Option<String>,
}

impl PinStore {
    /// Reads the file.
    pub fn open(file: PinFile) -> Self {
        Self::open_with(file, SETTLE)
    }

    /// As [`PinStore::open`], for servers that take at most so long until they have listed everything.
    pub fn open_with(file: PinFile, settle: Duration) -> Self {
        let state = ArcSwap::default();
        let (generation, missing_since) = (AtomicU64::new(0), Mutex::default());
        let mut store = Self { file, state, generation, settle, missing_since };
        store.reload();
        // What is read first is no change.
        *store.generation.get_mut() = 0;
        store
    }

    /// Reads the file again. Returns whether anything changed, so that catalogs must be reviewed again.
    pub fn reload(&self) -> bool {
        let before = self.state.load_full();
        let now = match self.file.read() {
            Ok(pins) => PinState { pins, problem: None },
            Err(error) => PinState { pins: before.pins.clone(), problem: Some(error.to_string()) },
        };
        let is_same = now.pins == before.pins && now.problem == before.problem;
        if !is_same {
            self.state.store(Arc::new(now));
            self.generation.fetch_add(1, Ordering::Relaxed);
        }
        !is_same
    }

    /// Another number whenever the pins that were read are others.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Reviews a catalog that was cached: nothing is pinned, and nothing is read or written. What is not pinned exactly so is hidden
    /// where changes are hidden, until the server is up.
    pub fn review_cached(&self, subject: &PinSubject, found: &Definitions) -> Review {
        let state = self.state.load();
        let pins = state.pins.get(&subject.server).filter(|pins| pins.launch == subject.launch);
        let mut review = Review::default();
        review.notes.extend(state.problem.clone());
        if let Some(pins) = pins {
            review.notes.extend(notes(subject, &pins.waiting(), pins));
        }
        if subject.mode == PinMode::Quarantine {
            let is_hidden =
                |(key, hash): &(&DefinitionKey, &str)| !pins.is_some_and(|pins| pins.has(key, hash));
            let found = found.iter().map(|(key, definition)| (key, definition.hash.as_str()));
            let reason = "it was not pinned when the server was last seen".to_owned();
            review.hidden = found
                .filter(is_hidden)
                .map(|(key, _)| HiddenDefinition { key: key.clone(), reason: reason.clone() })
                .collect();
        }
        review
    }

    /// Reviews a catalog that a server has now. Definitions of a launch that is used for the first time are pinned; what differs from
    /// the pins is written down, so that it can be shown and approved. May wait for the disk.
    ///
    /// `is_complete` says whether everything could be listed: otherwise nothing counts as removed.
    pub fn review(&self, subject: &PinSubject, found: &Definitions, is_complete: bool) -> Review {
        if subject.mode == PinMode::Off {
            return Review::default();
        }
        let state = self.state.load();
        if let Some(problem) = &state.problem {
            let pins = state.pins.get(&subject.server).filter(|pins| pins.launch == subject.launch);
            let none = ServerPins::default();
            return untrusted(subject, found, pins.unwrap_or(&none), problem);
        }
        let known = state.pins.get(&subject.server);
        let again_in = known.filter(|_| is_complete).and_then(|known| self.missing(subject, known, found));
        let look = Look { launch: &subject.launch, found, is_complete: is_complete && again_in.is_none() };
        let mut next = known.cloned().unwrap_or_default();
        next.follow(&look, self.settle);
        if known == Some(&next) {
            return Review { again_in, ..judge(subject, &next) };
        }
        // Another process may have written meanwhile: what counts is the file.
        let changed = self.file.change(|pins| pins.entry(&subject.server).follow(&look, self.settle));
        match changed {
            Ok(pins) => {
                let review = judge(subject, pins.get(&subject.server).unwrap_or(&next));
                let review = Review { again_in, ..review };
                self.state.store(Arc::new(PinState { pins, problem: None }));
                review
            }
            Err(error @ (PinFileError::Damaged { .. } | PinFileError::Writable { .. })) => {
                let pins = known.filter(|pins| pins.launch == subject.launch).cloned().unwrap_or_default();
                untrusted(subject, found, &pins, &error.to_string())
            }
            Err(error) => {
                let pins = known.filter(|pins| pins.launch == subject.launch).cloned().unwrap_or_default();
                untrusted(
                    subject,
                    found,
                    &pins,
                    &format!("{error}; nothing is pinned until that is possible"),
                )
            }
        }
    }
}

impl PinStore {
    /// How long to wait until what is missing counts as removed; none if it does, or nothing is missing.
    fn missing(&self, subject: &PinSubject, known: &ServerPins, found: &Definitions) -> Option<Duration> {
        let mut gone = known.pinned.iter().map(|(key, _)| key).filter(|key| found.get(key).is_none());
        let is_new = known.launch == subject.launch && gone.any(|key| !known.missing.contains(key));
        let mut missing_since = self.missing_since.lock();
        if !is_new {
            missing_since.remove(&subject.server);
            return None;
        }
        let since = missing_since.entry(subject.server.clone()).or_insert_with(Instant::now);
        self.settle.checked_sub(since.elapsed()).filter(|left| !left.is_zero())
    }
}

/// What is seen of a server now.
struct Look<'a> {
    launch: &'a str,
    found: &'a Definitions,
    is_complete: bool,
}

impl ServerPins {
    /// Takes note of what a server has now.
    fn follow(&mut self, look: &Look<'_>, settle: Duration) {
        let &Look { launch, found, is_complete } = look;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        if self.launch != launch {
            // What looks like an attack is not pinned by itself, unless it was approved before.
            let (mut pinned, mut suspicious) = (Definitions::default(), Definitions::default());
            for (key, definition) in found.iter() {
                let is_approved = definition.suspicions.is_empty() || self.has(key, &definition.hash);
                let to = if is_approved { &mut pinned } else { &mut suspicious };
                to.insert(key.clone(), definition.clone());
            }
            let since = now.as_secs();
            *self = Self { launch: launch.to_owned(), since, pinned, found: suspicious, ..Self::default() };
            return;
        }
        if now.saturating_sub(Duration::from_secs(self.since)) < settle {
            let joins = |(key, definition): &(&DefinitionKey, &Definition)| {
                self.pinned.get(key).is_none() && definition.suspicions.is_empty()
            };
            let joined: Vec<_> =
                found.iter().filter(joins).map(|(key, it)| (key.clone(), it.clone())).collect();
            joined.into_iter().for_each(|(key, definition)| self.pinned.insert(key, definition));
        }
        let mut waiting = Definitions::default();
        for (key, definition) in found.iter().filter(|(key, definition)| !self.has(key, &definition.hash)) {
            waiting.insert(key.clone(), definition.clone());
        }
        self.found = waiting;
        if is_complete {
            let gone = self.pinned.iter().map(|(key, _)| key).filter(|key| found.get(key).is_none());
            self.missing = gone.cloned().collect();
        }
    }
}

/// What a server with these pins offers, and what is said about it.
fn judge(subject: &PinSubject, pins: &ServerPins) -> Review {
    let waiting = pins.waiting();
    let mut review = Review { notes: notes(subject, &waiting, pins), ..Review::default() };
    if subject.mode == PinMode::Quarantine {
        let offers = waiting.iter().filter(|change| change.is_offer());
        review.hidden = offers
            .map(|change| HiddenDefinition { key: change.key.clone(), reason: reason(subject, change) })
            .collect();
    }
    review
}

/// The review where pins cannot be read or written: nothing is trusted that is not known to be pinned.
fn untrusted(subject: &PinSubject, found: &Definitions, pins: &ServerPins, problem: &str) -> Review {
    let mut review = Review { notes: vec![problem.to_owned()], ..Review::default() };
    if subject.mode == PinMode::Quarantine {
        let all = changes(&pins.pinned, found);
        let offers = all.into_iter().filter(Change::is_offer);
        review.hidden = offers
            .map(|change| HiddenDefinition { key: change.key, reason: "the pins cannot be used".to_owned() })
            .collect();
    } else {
        let known = judged(&pins.pinned, found);
        let suspicious = found.iter().filter(|(_, definition)| !definition.suspicions.is_empty());
        let is_unknown = |key: &DefinitionKey| known.iter().any(|change| change.key == *key);
        for (key, definition) in suspicious.filter(|(key, _)| is_unknown(key)) {
            review.notes.push(format!("{key}: {}", listed(&definition.suspicions)));
        }
    }
    review
}

/// Why a definition is hidden.
fn reason(subject: &PinSubject, change: &Change) -> String {
    let what = match &change.kind {
        ChangeKind::New => "it is new".to_owned(),
        ChangeKind::Renamed { from } => format!("it is new, and was called `{from}`"),
        ChangeKind::Changed { fields } if fields.is_empty() => "it changed since it was pinned".to_owned(),
        ChangeKind::Changed { fields } => format!("it changed since it was pinned ({})", fields.join(", ")),
        ChangeKind::Suspicious | ChangeKind::Removed => "it was never approved".to_owned(),
    };
    format!("{what}; `toolbay approve {}` shows it", subject.server.name())
}

/// What the user should know about changes.
fn notes(subject: &PinSubject, waiting: &[Change], pins: &ServerPins) -> Vec<String> {
    let server = subject.server.name();
    let mut notes = Vec::new();
    let is_suspicious = |change: &&Change| change.kind == ChangeKind::Suspicious;
    // What is hidden is listed as such.
    let is_told = |change: &&Change| {
        !is_suspicious(change) && (subject.mode != PinMode::Quarantine || !change.is_offer())
    };
    let told: Vec<&Change> = waiting.iter().filter(is_told).collect();
    if !told.is_empty() {
        let mut named: Vec<String> = told.iter().take(MAX_NAMED).map(ToString::to_string).collect();
        if told.len() > MAX_NAMED {
            named.push(format!("and {} more", told.len() - MAX_NAMED));
        }
        notes.push(format!(
            "definitions differ from those that were pinned: {}; `toolbay approve {server}` shows and approves them",
            named.join(", ")
        ));
    }
    for change in waiting.iter().filter(|change| change.is_offer()).take(MAX_NAMED) {
        let suspicions = pins.found.get(&change.key).map(|it| it.suspicions.as_slice()).unwrap_or_default();
        if !suspicions.is_empty() {
            notes.push(format!(
                "{}: {}; `toolbay approve {server}` shows and accepts it",
                change.key,
                listed(suspicions)
            ));
        }
    }
    notes
}

fn listed(suspicions: &[crate::Suspicion]) -> String {
    suspicions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
