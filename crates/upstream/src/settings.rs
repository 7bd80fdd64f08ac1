//! The settings of one server.

use std::{sync::Arc, time::Duration};

use toolbay_protocol::{ServerName, redact::KnownSecrets};
use toolbay_supervise::RestartMode;
use toolbay_translate::ClientIdentity;

use crate::{
    ByteBudget, Catalog, Completion, HubChain, PendingPath, StartGate, StatusObserver, capture::Capture,
};

/// The settings of one server.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// The configured name.
    pub name: ServerName,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// Which revision to use.
    pub revision: RevisionPolicy,
    /// Calls at the server at once.
    pub max_in_flight: usize,
    /// Calls that may wait for that.
    pub max_waiting: usize,
    /// Whether calls of tools that are not annotated as read-only are at the server one at a time.
    pub serialize_writes: bool,
    /// Bytes of long calls to this server at once.
    pub max_bytes: usize,
    /// The same for all servers together.
    pub budget: ByteBudget,
    /// What happens after a crash.
    pub restart: RestartMode,
    /// The roots of the server, a JSON array; without it `roots/list` returns an error.
    pub roots: Option<String>,
    /// When it is started.
    pub start: StartPolicy,
    /// How long it stays up without calls; without it, always.
    pub idle_stop: Option<Duration>,
    /// The interval of keep-alive pings on a quiet connection; without it, there are none.
    pub heartbeat: Option<Duration>,
    /// Whether its clients never share a process.
    pub is_separate: bool,
    /// What it offered when it was last seen.
    pub known: Arc<Catalog>,
    /// Through which hubs it is reached; without it, hubs behind it are not noticed.
    pub chain: Option<HubChain>,
    /// The client that the server sees in handshakes and in requests of our own; without it, Toolbay.
    pub client: Option<Arc<ClientIdentity>>,
    /// The `PATH` for its program, if that is not known yet.
    pub path: Option<PendingPath>,
    /// What its endpoint needs for each start, such as secrets.
    pub completion: Option<Completion>,
    /// Values that are never shown.
    pub known_secrets: KnownSecrets,
    /// The observer of its status.
    pub observer: Option<StatusObserver>,
    /// Where its messages can be seen.
    pub capture: Capture,
    /// Shared with the servers that are not started all in the same moment.
    pub start_gate: StartGate,
}

/// When a server is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartPolicy {
    /// At once.
    #[default]
    Eager,
    /// With the first call; at once if its catalog is unknown.
    OnDemand,
    /// When it is started explicitly.
    Off,
}

impl ServerSettings {
    /// The defaults of ARCHITECTURE.md.
    pub fn new(name: ServerName) -> Self {
        Self {
            name,
            timeouts: Timeouts::default(),
            revision: RevisionPolicy::Auto,
            max_in_flight: 256,
            max_waiting: 1024,
            serialize_writes: false,
            max_bytes: ByteBudget::PER_SERVER,
            budget: ByteBudget::new(ByteBudget::IN_ALL),
            restart: RestartMode::default(),
            roots: None,
            start: StartPolicy::Eager,
            idle_stop: None,
            heartbeat: None,
            is_separate: false,
            known: Arc::default(),
            chain: None,
            client: None,
            path: None,
            completion: None,
            known_secrets: KnownSecrets::default(),
            observer: None,
            capture: Capture::default(),
            start_gate: StartGate::default(),
        }
    }
}

/// Timeouts of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From spawning to ready.
    pub start: Duration,
    /// A call without any activity.
    pub idle: Duration,
    /// A call in all.
    pub total: Duration,
    /// The probe for modern revisions.
    pub probe: Duration,
}

impl Timeouts {
    /// Time to start for commands that fetch packages first.
    pub const PACKAGE_RUNNER_START: Duration = Duration::from_secs(120);
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(30),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(600),
            probe: Duration::from_secs(3),
        }
    }
}

/// Which revision a server is spoken to in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RevisionPolicy {
    /// Probe for modern revisions, then fall back.
    #[default]
    Auto,
    /// Handshake at once.
    Legacy,
    /// Stateless, or not at all.
    Modern,
}
