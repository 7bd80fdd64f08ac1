//! What others see of a server.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};

use serde::Serialize;
use tokio::{
    sync::watch,
    time::{Duration, Instant},
};
use toolbay_protocol::{Revision, ServerName};

use crate::{Catalog, Failure, catalog::freshness::Freshness};

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The process is being made.
    Spawning,
    /// The revision is being detected.
    Handshaking,
    /// Tools, resources and prompts are being listed.
    Discovering,
    /// Calls are being served.
    Serving,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Spawning => "while spawning",
            Self::Handshaking => "during the handshake",
            Self::Discovering => "while listing its catalog",
            Self::Serving => "while serving",
        })
    }
}

/// The state of a server.
#[derive(Debug, Clone)]
pub enum UpstreamState {
    /// It is being started.
    Starting {
        phase: Phase,
        attempt: u32,
        /// Why the attempt before this one failed.
        failure: Option<Arc<Failure>>,
    },
    /// Up.
    Running,
    /// Down, and will be tried again.
    Backoff { until: Instant, failure: Arc<Failure> },
    /// Down until it is started again.
    Failed { failure: Arc<Failure> },
    /// It is being stopped.
    Stopping,
    /// Stopped on request, or because it was idle: then a call starts it.
    Stopped { wakes: bool },
}

impl UpstreamState {
    /// Returns the state as one word, for tables.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Starting { .. } => "starting",
            Self::Running => "ready",
            Self::Backoff { .. } => "restarting",
            Self::Failed { .. } => "failed",
            Self::Stopping => "stopping",
            Self::Stopped { .. } => "stopped",
        }
    }

    /// What went wrong, if something did; for a server that is tried again, what went wrong last.
    pub fn failure(&self) -> Option<&Arc<Failure>> {
        match self {
            Self::Backoff { failure, .. } | Self::Failed { failure } => Some(failure),
            Self::Starting { failure, .. } => failure.as_ref(),
            Self::Running | Self::Stopping | Self::Stopped { .. } => None,
        }
    }

    /// Whether calls are refused until it is started again.
    pub fn is_down(&self) -> bool {
        matches!(self, Self::Failed { .. } | Self::Stopping | Self::Stopped { wakes: false })
    }
}

/// A snapshot of one server.
#[derive(Debug, Clone)]
pub struct UpstreamStatus {
    /// Its configured name.
    pub name: ServerName,
    /// Its state.
    pub state: UpstreamState,
    /// How it is reached: `stdio`, `http`, `http+sse`, `websocket`, `in process`, what a transport of others calls itself, or
    /// `auto` until that was found out.
    pub transport: &'static str,
    /// What it offers; kept while it restarts, so that its tools do not flicker.
    pub catalog: Arc<Catalog>,
    /// Its revision, once known.
    pub revision: Option<Revision>,
    /// Its process.
    pub pid: Option<u32>,
    /// How often it was started.
    pub starts: u64,
    /// Since when it is in this state.
    pub since: Instant,
    /// How long its last start took.
    pub start_took: Option<Duration>,
    /// How current all this is.
    pub(crate) freshness: Freshness,
}

/// Observes every new status of a server, in order and before it is published. It must not block.
#[derive(Clone)]
pub struct StatusObserver(Arc<dyn Fn(&UpstreamStatus) + Send + Sync>);

impl StatusObserver {
    /// An observer that calls a function.
    pub fn new(observe: impl Fn(&UpstreamStatus) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }
}

impl fmt::Debug for StatusObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

/// Where a task writes its status.
#[derive(Debug)]
pub(crate) struct StatusPublisher {
    status: watch::Sender<UpstreamStatus>,
    observer: Option<StatusObserver>,
}

impl StatusPublisher {
    pub(crate) fn new(
        status: UpstreamStatus,
        observer: Option<StatusObserver>,
    ) -> (Arc<Self>, watch::Receiver<UpstreamStatus>) {
        let (status, seen) = watch::channel(status);
        let board = Self { status, observer };
        board.modify(|_| {});
        (Arc::new(board), seen)
    }

    pub(crate) fn modify(&self, change: impl FnOnce(&mut UpstreamStatus)) {
        self.modify_if(|status| {
            change(status);
            true
        });
    }

    /// As [`StatusPublisher::modify`], where the change says whether there was one.
    pub(crate) fn modify_if(&self, change: impl FnOnce(&mut UpstreamStatus) -> bool) {
        self.status.send_if_modified(|status| {
            let before = std::mem::discriminant(&status.state);
            let is_new = change(status);
            if std::mem::discriminant(&status.state) != before {
                let now = Instant::now();
                if matches!(status.state, UpstreamState::Running) {
                    status.start_took = Some(now - status.since);
                }
                status.since = now;
            }
            if let Some(StatusObserver(observe)) = self.observer.as_ref().filter(|_| is_new) {
                observe(status);
            }
            is_new
        });
    }

    pub(crate) fn borrow(&self) -> watch::Ref<'_, UpstreamStatus> {
        self.status.borrow()
    }
}

/// What happened so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Calls sent to the server.
    pub calls: u64,
    /// Lines on its stdout that were no messages.
    pub noise: u64,
    /// Responses to calls that were given up.
    pub stray_answers: u64,
    /// Calls at the server now.
    pub in_flight: usize,
    /// Calls that wait for it now.
    pub waiting: usize,
}

/// Counters that may be read while the supervisor counts. They order nothing, so they cost next to nothing.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    pub(crate) calls: AtomicU64,
    pub(crate) noise: AtomicU64,
    pub(crate) stray_answers: AtomicU64,
    pub(crate) in_flight: AtomicUsize,
    pub(crate) waiting: AtomicUsize,
}

impl Gauges {
    pub(crate) fn read(&self) -> Counts {
        Counts {
            calls: self.calls.load(Relaxed),
            noise: self.noise.load(Relaxed),
            stray_answers: self.stray_answers.load(Relaxed),
            in_flight: self.in_flight.load(Relaxed),
            waiting: self.waiting.load(Relaxed),
        }
    }

    /// Adds one and says which it is, counted from 1.
    pub(crate) fn next(counter: &AtomicU64) -> u64 {
        counter.fetch_add(1, Relaxed) + 1
    }
}
