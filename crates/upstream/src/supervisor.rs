//! The supervisor of one server: the loop around its connections.

mod backoff;
mod completing;
pub(crate) mod start_gate;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64},
};

use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Duration, Instant, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_protocol::{Notification, ServerName};
use toolbay_supervise::{LogRing, LogSource, ProcessHandle, RestartDecision, RestartMode, RestartPolicy};
use toolbay_transport::Incoming;

use self::backoff::DownState;
use crate::{
    CallError, Catalog, CatalogKind, Endpoint, Failure, Phase, RevisionPolicy, ServerSettings, StartPolicy,
    UpstreamState, UpstreamStatus,
    call::{
        CancelledCalls,
        table::{CallTable, QueuedCall},
    },
    catalog::freshness::Freshness,
    connection::{ConnectionContext, ConnectionEnd, UpstreamConnection},
    endpoint::{
        OpenedConnection,
        detect::{ProtocolDetection, ServerProtocol},
    },
    status::{Gauges, StatusPublisher},
    stderr_tail::StderrTail,
    subscriptions::ResourceSubscriptions,
};

/// How many lines of stderr an error shows.
const STDERR_LINES: usize = 20;
/// How long a process may take to end after it closed its stdout.
const EXIT_TIMEOUT: Duration = Duration::from_millis(200);
/// A remote server that served so long is well: its next failure is a new one.
const HEALTHY_AFTER: Duration = Duration::from_secs(5);
/// From so many failures in a row on, calls to a remote server no longer wait for it.
const MAX_FAILURES: usize = 5;
/// How often a remote server that stays down is looked after, and how soon at the earliest because of a call.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);
const MIN_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The commands of a handle.
#[derive(Debug)]
pub(crate) enum SupervisorCommand {
    Start(CommandDone),
    Restart(CommandDone),
    /// Stop until it is started again.
    Stop(CommandDone),
    /// Finish the running calls, then end.
    Drain {
        until: Instant,
    },
    /// Refresh what may be out of date: a list, or without one the server's identity.
    Refresh(Option<CatalogKind>),
}

/// Dropped once a command took effect: its sender waits for that.
pub(crate) type CommandDone = oneshot::Sender<()>;

/// What the supervisor receives.
#[derive(Debug)]
pub(crate) struct SupervisorInputs {
    pub(crate) queue: mpsc::Receiver<QueuedCall>,
    pub(crate) commands: mpsc::Receiver<SupervisorCommand>,
    pub(crate) cancelled: Arc<CancelledCalls>,
    pub(crate) interests: Arc<ResourceSubscriptions>,
    pub(crate) stop: CancellationToken,
    /// Set once it drains: when it ends at the latest.
    pub(crate) drain_until: Option<Instant>,
    /// Commands that take effect with the next state.
    pub(crate) pending_commands: Vec<CommandDone>,
}

/// What the supervisor publishes.
#[derive(Debug, Clone)]
pub(crate) struct SupervisorOutputs {
    pub(crate) updates: mpsc::Sender<(ServerName, Box<Notification>)>,
    pub(crate) log: Arc<LogRing>,
    pub(crate) gauges: Arc<Gauges>,
    /// Ids of requests, ours and those of calls.
    pub(crate) ids: Arc<AtomicU64>,
    /// Whether a server request came that could have been meant for several clients.
    pub(crate) has_ambiguous_requests: Arc<AtomicBool>,
}

/// Runs one server: starts it, keeps its connection, restarts it.
pub(crate) struct Supervisor {
    settings: ServerSettings,
    endpoint: Endpoint,
    inputs: SupervisorInputs,
    outputs: SupervisorOutputs,
    tasks: TaskTracker,
    calls: CallTable,
    policy: RestartPolicy,
    status: Arc<StatusPublisher>,
    /// The protocol of the server, as far as it is known from earlier connections.
    detection: ProtocolDetection,
    /// What is known of the server's revision from earlier connections.
    revision_policy: RevisionPolicy,
    /// How the last connection ended, if badly.
    failure: Option<Arc<Failure>>,
    /// It stays down, and this start only checks whether it came back.
    is_checking: bool,
    /// When the first attempt of the current start began.
    began: Instant,
    /// The first line of the log that belongs to the current connection.
    log_begins: u64,
}

/// What to do between two connections.
enum NextStep {
    Start,
    Wait { outlook: DownState, failure: Arc<Failure> },
    Idle { wakes: bool },
    Stop,
}

/// The first step of a server.
fn first_step(settings: &ServerSettings) -> NextStep {
    match settings.start {
        StartPolicy::Off => NextStep::Idle { wakes: false },
        StartPolicy::OnDemand if *settings.known != Catalog::default() => NextStep::Idle { wakes: true },
        StartPolicy::OnDemand | StartPolicy::Eager => NextStep::Start,
    }
}

impl Supervisor {
    pub(crate) fn new(
        settings: ServerSettings,
        endpoint: Endpoint,
        inputs: SupervisorInputs,
        outputs: SupervisorOutputs,
        tasks: TaskTracker,
    ) -> (Self, watch::Receiver<UpstreamStatus>) {
        let detection = ProtocolDetection::of(&endpoint);
        let first = UpstreamStatus {
            name: settings.name.clone(),
            transport: detection.name(),
            state: match first_step(&settings) {
                NextStep::Idle { wakes } => UpstreamState::Stopped { wakes },
                _ => UpstreamState::Starting { phase: Phase::Spawning, attempt: 1, failure: None },
            },
            catalog: settings.known.clone(),
            revision: None,
            pid: None,
            starts: 0,
            since: Instant::now(),
            start_took: None,
            freshness: Freshness::default(),
        };
        let (status, seen) = StatusPublisher::new(first, settings.observer.clone());
        let supervisor = Self {
            calls: CallTable::new(&settings, endpoint.is_remote(), outputs.gauges.clone()),
            policy: RestartPolicy::new(settings.restart),
            detection,
            revision_policy: settings.revision,
            failure: None,
            is_checking: false,
            began: Instant::now(),
            log_begins: 0,
            status,
            settings,
            endpoint,
            inputs,
            outputs,
            tasks,
        };
        (supervisor, seen)
    }

    pub(crate) async fn run(mut self) {
        self.find_path().await;
        let mut next = first_step(&self.settings);
        loop {
            next = match next {
                NextStep::Start => self.run_connection().await,
                NextStep::Wait { outlook, failure } => self.wait(outlook, failure).await,
                NextStep::Idle { wakes } => self.idle(wakes).await,
                NextStep::Stop => break,
            };
        }
        let error = CallError::Stopped { server: self.settings.name.clone() };
        self.calls.fail_pending(&error);
        self.calls.fail_waiting(&error);
        self.set(UpstreamState::Stopped { wakes: false });
        self.outputs.log.push(LogSource::Event, "stopped");
    }

    /// Waits until the `PATH` is known. Calls and commands wait, too.
    async fn find_path(&mut self) {
        let Endpoint::Process(endpoint) = &mut self.endpoint else { return };
        let Some(path) = self.settings.path.take() else { return };
        tokio::select! {
            () = self.inputs.stop.cancelled() => {}
            path = path.known() => {
                if let Some(path) = path {
                    endpoint.launch.env.insert("PATH".into(), path);
                }
            }
        }
    }

    /// One connection, from spawning to the end of its process.
    async fn run_connection(&mut self) -> NextStep {
        let started = Instant::now();
        let attempt = self.next_attempt();
        if attempt == 1 {
            self.began = started;
        }
        self.log_begins = *self.outputs.log.subscribe().borrow();
        // Observers need not see every check.
        let is_checking = std::mem::take(&mut self.is_checking);
        self.status.modify(|status| {
            if !is_checking {
                status.state = self.starting(Phase::Spawning);
            }
            status.starts += u64::from(!self.detection.goes_on());
        });
        self.inputs.pending_commands.clear();
        // Before its turn: others must not wait for its lookup.
        let endpoint = match self.completed_endpoint().await {
            Ok(endpoint) => endpoint,
            Err(instead) => return instead,
        };
        let protocol = self.detection.current();
        let turn = self.settings.start_gate.taken().await;
        let opened = endpoint.open(protocol, &self.outputs.log, &self.tasks);
        let OpenedConnection { connection, process, rules } = match opened {
            Ok(opened) => opened,
            Err(failure) => return self.start_failed(failure),
        };
        drop(turn);
        if !is_checking {
            self.set(self.starting(Phase::Handshaking));
        }
        let revision_policy = match protocol {
            // Older than modern revisions, and never used with them.
            ServerProtocol::Sse if self.revision_policy == RevisionPolicy::Auto => RevisionPolicy::Legacy,
            _ => self.revision_policy,
        };
        let context = ConnectionContext {
            settings: &self.settings,
            inputs: &mut self.inputs,
            calls: &mut self.calls,
            status: &self.status,
            outputs: &self.outputs,
            process: process.as_ref(),
            rules,
            protocol,
            started,
        };
        let (end, incoming) = UpstreamConnection::hold(context, connection, revision_policy).await;
        let was_ready = matches!(self.status.borrow().state, UpstreamState::Running);
        if was_ready {
            self.policy.on_healthy(started.into_std());
            self.failure = None;
            self.detection.found();
            self.learn(started);
        }
        self.status.modify(|status| {
            status.pid = None;
            if matches!(
                end,
                ConnectionEnd::Stop
                    | ConnectionEnd::Restart
                    | ConnectionEnd::StopRequested
                    | ConnectionEnd::Unused
            ) {
                status.state = UpstreamState::Stopping;
            }
        });
        match end {
            ConnectionEnd::Stop | ConnectionEnd::StopRequested | ConnectionEnd::Unused => {
                self.fail_pending(Failure::Stopped);
                reap(process, incoming, ExitWait::Long).await;
                match end {
                    ConnectionEnd::StopRequested => NextStep::Idle { wakes: false },
                    ConnectionEnd::Unused => NextStep::Idle { wakes: true },
                    _ => NextStep::Stop,
                }
            }
            ConnectionEnd::Restart => {
                self.fail_pending(Failure::Closed { phase: Phase::Serving });
                reap(process, incoming, ExitWait::Long).await;
                self.policy.reset();
                self.failure = None;
                self.outputs.log.push(LogSource::Event, "restarting on request");
                NextStep::Start
            }
            ConnectionEnd::Failed { failure, probing } => {
                reap(process, incoming, ExitWait::None).await;
                if probing && failure.is_hang_up() {
                    return self.start_with_handshake();
                }
                let failure = self.with_stderr_tail(failure);
                match if was_ready { Some(failure) } else { self.try_other_protocol(failure) } {
                    Some(failure) if was_ready => self.crashed(failure),
                    Some(failure) => self.start_failed(failure),
                    None => {
                        self.is_checking = is_checking;
                        NextStep::Start
                    }
                }
            }
            ConnectionEnd::Closed { phase, probing } => {
                let exit = reap(process, incoming, ExitWait::Short).await;
                if probing {
                    return self.start_with_handshake();
                }
                let failure = match exit {
                    Some(exit) => Failure::Exited { exit, phase, stderr: self.stderr_tail() },
                    None => Failure::Closed { phase },
                };
                if was_ready { self.crashed(failure) } else { self.start_failed(failure) }
            }
        }
    }

    /// Servers built on old SDKs exit on a request before the handshake.
    fn start_with_handshake(&mut self) -> NextStep {
        self.revision_policy = RevisionPolicy::Legacy;
        let note = "it exited on `server/discover`; restarting with the legacy handshake";
        self.outputs.log.push(LogSource::Event, note);
        NextStep::Start
    }

    /// Tries the next protocol. Returns the failure if it is not about the protocol.
    fn try_other_protocol(&mut self, failure: Failure) -> Option<Failure> {
        let (tried, reason) = (self.detection.current(), failure.to_string());
        let failure = self.detection.failed(failure);
        let name = self.detection.name();
        self.status.modify_if(|status| std::mem::replace(&mut status.transport, name) != name);
        if failure.is_none() {
            let next = self.detection.current().name();
            let note = format!("no response over {} ({reason}); trying {next}", tried.name());
            self.outputs.log.push(LogSource::Event, &note);
        }
        failure
    }

    /// Learns from a connection that went well. A remote server outlives its connections, so its revision is remembered.
    fn learn(&mut self, started: Instant) {
        if !self.endpoint.is_remote() {
            return;
        }
        if started.elapsed() >= HEALTHY_AFTER {
            self.policy.reset();
        }
        if self.settings.revision == RevisionPolicy::Auto {
            let revision = self.status.borrow().revision;
            self.revision_policy = match revision.is_none_or(|revision| revision.features().has_sessions()) {
                true => RevisionPolicy::Legacy,
                false => RevisionPolicy::Modern,
            };
        }
    }

    /// It ended after it had been ready.
    fn crashed(&mut self, failure: Failure) -> NextStep {
        self.failed(failure, RestartPolicy::on_exit)
    }

    /// It never became ready. Attempts that begin within the start timeout count as one start.
    fn start_failed(&mut self, failure: Failure) -> NextStep {
        let is_time = self.began.elapsed() < self.settings.timeouts.start;
        self.failed(failure, |policy, now| policy.on_start_failed(now, is_time))
    }

    fn failed(
        &mut self,
        failure: Failure,
        decide: impl FnOnce(&mut RestartPolicy, std::time::Instant) -> RestartDecision,
    ) -> NextStep {
        if failure.is_about_handshake() {
            // What an earlier connection seemed to show of its revision was wrong: find out anew.
            self.revision_policy = self.settings.revision;
        }
        let failure = match failure {
            Failure::Handshake { reason } => {
                let reason = self.settings.known_secrets.hide(&reason).into_owned();
                Failure::Handshake { reason }
            }
            Failure::Remote { why } if why.is_loop() => {
                Failure::Cycle { reason: "it is this hub itself, or leads back to it".to_owned() }
            }
            Failure::Remote { why } if why.is_login_required() => {
                Failure::LoginRequired { server: self.settings.name.clone() }
            }
            failure => failure,
        };
        if let Failure::Cycle { .. } = failure {
            // What it offered before was ours.
            self.status.modify(|status| status.catalog = Arc::default());
        }
        let hopeless = failure.is_hopeless();
        let is_new = self.is_new(&failure);
        let failure = self.record_failure(failure);
        if hopeless {
            return NextStep::Wait { outlook: DownState::Hopeless, failure };
        }
        let now = Instant::now();
        let decision = decide(&mut self.policy, now.into_std());
        if self.endpoint.is_remote() && self.policy.failures() >= MAX_FAILURES {
            if is_new || self.policy.failures() == MAX_FAILURES {
                let note = format!("it stays down; checking again every {} s", CHECK_INTERVAL.as_secs());
                self.outputs.log.push(LogSource::Event, &note);
            }
            return NextStep::Wait {
                outlook: DownState::CheckAgain { since: now, until: now + CHECK_INTERVAL },
                failure,
            };
        }
        match decision {
            RestartDecision::Retry { after } => {
                NextStep::Wait { outlook: DownState::Retry(now + after), failure }
            }
            RestartDecision::Restart { after } if after.is_zero() => NextStep::Start,
            RestartDecision::Restart { after } => {
                self.outputs
                    .log
                    .push(LogSource::Event, &format!("restarting in {:.1} s", after.as_secs_f32()));
                NextStep::Wait { outlook: DownState::Restart(now + after), failure }
            }
            RestartDecision::GiveUp => {
                let note = match self.settings.restart {
                    RestartMode::Never => "it is not restarted automatically",
                    _ => "it keeps failing; giving up until it is restarted manually",
                };
                self.outputs.log.push(LogSource::Event, note);
                NextStep::Wait { outlook: DownState::Hopeless, failure }
            }
        }
    }

    fn is_new(&self, failure: &Failure) -> bool {
        self.failure.as_deref().map(ToString::to_string) != Some(failure.to_string())
    }

    /// Logs a failure, and fails the calls that are at the server. The same again is not logged where it may be repeated for ever.
    fn record_failure(&mut self, failure: Failure) -> Arc<Failure> {
        let repeats = self.endpoint.is_remote() || matches!(failure, Failure::Incomplete(_));
        if !repeats || self.is_new(&failure) {
            self.outputs.log.push(LogSource::Event, &failure.summary());
        }
        let failure = self.fail_pending(failure);
        self.failure = Some(failure.clone());
        failure
    }

    fn fail_pending(&mut self, failure: Failure) -> Arc<Failure> {
        let failure = Arc::new(failure);
        self.calls
            .fail_pending(&CallError::Died { server: self.settings.name.clone(), failure: failure.clone() });
        failure
    }

    fn stderr_tail(&self) -> StderrTail {
        let lines = self.outputs.log.since(self.log_begins);
        let stderr: Vec<_> =
            lines.into_iter().filter(|line| line.source == LogSource::Stderr).map(|line| line.text).collect();
        StderrTail(stderr[stderr.len().saturating_sub(STDERR_LINES)..].into())
    }

    fn with_stderr_tail(&self, failure: Failure) -> Failure {
        match failure {
            Failure::StartTimeout { after, phase, .. } => {
                Failure::StartTimeout { after, phase, stderr: self.stderr_tail() }
            }
            other => other,
        }
    }

    /// Which attempt since it was last well the next one is, from 1.
    fn next_attempt(&self) -> u32 {
        u32::try_from(self.policy.attempts()).unwrap_or(u32::MAX).saturating_add(1)
    }

    fn starting(&self, phase: Phase) -> UpstreamState {
        UpstreamState::Starting { phase, attempt: self.next_attempt(), failure: self.failure.clone() }
    }

    fn set(&self, state: UpstreamState) {
        self.status.modify(|status| status.state = state);
    }
}

enum ExitWait {
    /// Stop it as the specification says: close stdin, wait, then signals.
    Long,
    /// It closed its stdout: it should be gone in a moment.
    Short,
    /// It had its time.
    None,
}

/// Waits for the end of a process, reading what it still writes, so that it cannot hang.
async fn reap(
    process: Option<ProcessHandle>,
    mut incoming: mpsc::Receiver<Incoming>,
    wait: ExitWait,
) -> Option<toolbay_supervise::Exit> {
    let process = process?;
    match wait {
        ExitWait::Long => process.stop(),
        ExitWait::Short => {
            if let Ok(exit) = timeout(EXIT_TIMEOUT, process.exited()).await {
                return Some(exit);
            }
            process.kill();
        }
        ExitWait::None => process.kill(),
    }
    let exited = process.exited();
    tokio::pin!(exited);
    loop {
        tokio::select! {
            exit = &mut exited => return Some(exit),
            message = incoming.recv() => if message.is_none() {
                return Some(exited.await);
            },
        }
    }
}
