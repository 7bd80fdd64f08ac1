//! Events of servers, in order and numbered.
//!
//! Every transition is recorded when it happens, by the task that makes it, and sent to all listeners. A
//! listener that is too slow misses events and learns how many; it never blocks the sender. Numbers have no gaps, so that a
//! snapshot and the events after it fit together.

use std::{collections::HashMap, fmt, sync::Arc};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::{self, error::RecvError};
use toolbay_protocol::{Notification, ServerName};
use toolbay_upstream::CatalogKind;

use crate::ServerState;

/// How many events a listener may lag behind.
const MAX_LAG: usize = 1024;

/// Something that happened.
#[derive(Debug, Clone)]
pub struct HostEvent {
    /// Counts up from 1, without gaps.
    pub revision: u64,
    /// What happened.
    pub kind: HostEventKind,
}

/// What may happen.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum HostEventKind {
    /// A server is in another state.
    State {
        /// The server.
        server: ServerName,
        /// The state it is in now.
        state: ServerState,
    },
    /// A server is no longer configured.
    Removed {
        /// The server.
        server: ServerName,
    },
    /// There is something else to know about the catalog of a server, by its review.
    Reviewed {
        /// The server.
        server: ServerName,
        /// What.
        note: Arc<str>,
    },
    /// A configuration was read and is in force.
    Applied(Arc<crate::ApplyReport>),
    /// A configuration was read and cannot be used; the one before it stays in force.
    Rejected {
        /// Why.
        problems: Arc<[ConfigProblem]>,
    },
    /// The configuration can be used again.
    Accepted,
    /// This listener was too slow for some events; look at [`Host::statuses`](crate::Host::statuses).
    Missed {
        /// How many.
        count: u64,
    },
}

/// Why a configuration, or one entry of it, cannot be used; what was there before stays in effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigProblem {
    /// The entry; none if it is about a whole file, or all of them.
    pub server: Option<String>,
    /// What is wrong, with file, line and column where there are such, and with the name of the entry.
    pub message: String,
}

impl ConfigProblem {
    /// A problem that is about no single entry.
    pub fn general(message: impl Into<String>) -> Self {
        Self { server: None, message: message.into() }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// A receiver of events.
#[derive(Debug)]
pub struct HostEvents {
    events: broadcast::Receiver<HostEvent>,
    seen: u64,
}

impl HostEvents {
    /// The next event; nothing once the host is gone. Cancel safe.
    pub async fn next(&mut self) -> Option<HostEvent> {
        match self.events.recv().await {
            Ok(event) => {
                self.seen = event.revision;
                Some(event)
            }
            Err(RecvError::Lagged(count)) => {
                self.seen += count;
                Some(HostEvent { revision: self.seen, kind: HostEventKind::Missed { count } })
            }
            Err(RecvError::Closed) => None,
        }
    }
}

/// The log that numbers events and sends them to listeners.
#[derive(Debug)]
pub(crate) struct EventLog {
    log: Mutex<EventLogState>,
    events: broadcast::Sender<HostEvent>,
}

#[derive(Debug, Default)]
struct EventLogState {
    revision: u64,
    states: HashMap<ServerName, ServerState>,
    /// Why the configuration as it stands now cannot be used.
    rejected: Option<Arc<[ConfigProblem]>>,
}

impl EventLog {
    pub(crate) fn new() -> Self {
        Self { log: Mutex::default(), events: broadcast::Sender::new(MAX_LAG) }
    }

    pub(crate) fn listen(&self) -> HostEvents {
        let log = self.log.lock();
        HostEvents { events: self.events.subscribe(), seen: log.revision }
    }

    /// The number of the last event.
    pub(crate) fn revision(&self) -> u64 {
        self.log.lock().revision
    }

    /// Records the state of a server, if it has changed.
    pub(crate) fn state(&self, server: &ServerName, state: ServerState) {
        let mut log = self.log.lock();
        if log.states.get(server).is_some_and(|known| known.is_same(&state)) {
            return;
        }
        log.states.insert(server.clone(), state.clone());
        self.write(&mut log, HostEventKind::State { server: server.clone(), state });
    }

    pub(crate) fn removed(&self, server: &ServerName) {
        let mut log = self.log.lock();
        if log.states.remove(server).is_some() {
            self.write(&mut log, HostEventKind::Removed { server: server.clone() });
        }
    }

    /// Records that the configuration cannot be used, or that it can be again, if that has changed.
    pub(crate) fn set_config_problems(&self, rejected: Option<Arc<[ConfigProblem]>>) {
        let mut log = self.log.lock();
        if log.rejected == rejected {
            return;
        }
        log.rejected = rejected.clone();
        self.write(
            &mut log,
            rejected.map_or(HostEventKind::Accepted, |problems| HostEventKind::Rejected { problems }),
        );
    }

    /// Why the configuration as it stands now cannot be used.
    pub(crate) fn rejected(&self) -> Option<Arc<[ConfigProblem]>> {
        self.log.lock().rejected.clone()
    }

    /// Records an event that is about no single server.
    pub(crate) fn note(&self, kind: HostEventKind) {
        self.write(&mut self.log.lock(), kind);
    }

    /// The number is given and the event sent under one lock, so that all listeners see them in order.
    fn write(&self, log: &mut EventLogState, kind: HostEventKind) {
        log.revision += 1;
        // There may be no listeners.
        let _ = self.events.send(HostEvent { revision: log.revision, kind });
    }
}

/// A change that clients may be notified of.
#[derive(Debug, Clone)]
pub enum HostChange {
    /// A merged list has changed.
    List(CatalogKind),
    /// A resource was updated; the server's own notification.
    Resource { server: ServerName, notification: Arc<Notification> },
    /// A task of 2025-11-25 changed its status; the server's own notification.
    Task { server: ServerName, notification: Arc<Notification> },
}

/// A receiver of changes. One that falls behind learns how many it missed.
pub type HostChanges = broadcast::Receiver<HostChange>;
