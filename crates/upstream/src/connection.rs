//! One connection to a server: the loop that reads, writes and correlates.

pub(crate) mod handshake;
mod idle;
mod inbound;
mod outbound;
mod refresh;
pub(crate) mod requester;
pub(crate) mod server_requests;

use std::{collections::BTreeSet, future::Future, pin::Pin, sync::Arc, time::Duration};

use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};
use toolbay_protocol::Revision;
use toolbay_supervise::{LogSource, ProcessHandle};
use toolbay_transport::{Connection, Incoming, Outgoing, RejectionLog, http::client::HeaderRules};

use self::{idle::IdleState, server_requests::ServerRequests};
use crate::{
    Catalog, CatalogKind, Failure, ServerSettings, UpstreamState,
    call::table::CallTable,
    capture::ConnectionId,
    catalog::{
        freshness::Freshness,
        list::{ListResult, announced, catalog, declared, sort},
    },
    connection::{
        handshake::{ServerIdentity, identify},
        requester::{Requester, RequesterCommand},
    },
    endpoint::detect::ServerProtocol,
    log_filter::ServerLogLevel,
    status::{Phase, StatusPublisher},
    subscriptions::subscriber::{Acknowledged, Subscriber},
    supervisor::{SupervisorCommand, SupervisorInputs, SupervisorOutputs},
};

/// How long `list_changed` notifications are gathered before the list is requested again.
const GATHER: Duration = Duration::from_millis(300);
/// How many acknowledgements may wait; a server has no reason to send more.
const ACKNOWLEDGED: usize = 16;
/// A timer that is later than this did not fire because the process was suspended.
const LATE: Duration = Duration::from_secs(1);
/// How many messages are taken before others get their turn.
const BURST: usize = 64;
/// How many lines of noise are shown.
const NOISE_SHOWN: u64 = 20;

/// How a connection ended.
#[derive(Debug)]
pub(crate) enum ConnectionEnd {
    /// The supervisor stops.
    Stop,
    /// A restart was requested.
    Restart,
    /// A stop was requested.
    StopRequested,
    /// It was idle for too long.
    Unused,
    /// It failed, perhaps because of the probe for its revision.
    Failed { failure: Failure, probing: bool },
    /// The connection ended; the process may know why.
    Closed { phase: Phase, probing: bool },
}

/// Work of our own beside the calls: setting up, or listing again.
type BackgroundWork = Pin<Box<dyn Future<Output = WorkOutput> + Send>>;

enum WorkOutput {
    /// Boxed: it is far larger than the others.
    Ready(Box<Result<(ServerIdentity, Catalog), Failure>>),
    Listed(Vec<(CatalogKind, ListResult)>, Option<ServerIdentity>),
}

/// What outlives a connection, lent to it.
pub(crate) struct ConnectionContext<'a> {
    pub(crate) settings: &'a ServerSettings,
    pub(crate) inputs: &'a mut SupervisorInputs,
    pub(crate) calls: &'a mut CallTable,
    pub(crate) status: &'a Arc<StatusPublisher>,
    pub(crate) outputs: &'a SupervisorOutputs,
    /// The process at the other end, if there is one.
    pub(crate) process: Option<&'a ProcessHandle>,
    /// Where arguments are repeated in headers, which ones.
    pub(crate) rules: Option<Arc<HeaderRules>>,
    pub(crate) protocol: ServerProtocol,
    pub(crate) started: Instant,
}

pub(crate) struct UpstreamConnection<'a> {
    context: ConnectionContext<'a>,
    outgoing: mpsc::Sender<Outgoing>,
    peer: Requester,
    commands: mpsc::Receiver<RequesterCommand>,
    /// Known once the server introduced itself; calls flow from then on.
    revision: Option<Revision>,
    phase: Phase,
    work: Option<BackgroundWork>,
    /// Lists that changed, and when to look.
    changed: BTreeSet<CatalogKind>,
    refresh_at: Option<Instant>,
    server_requests: ServerRequests,
    /// The transport lost the server.
    lost: Option<Failure>,
    /// Whether the server shall introduce itself again, too.
    refresh_identity: bool,
    /// When something was last requested because it expired.
    refreshed: [Option<Instant>; 5],
    /// Keeps the server's subscriptions, once it is ready.
    subscriber: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    acknowledged: mpsc::Sender<Acknowledged>,
    /// Its other end, until the subscriber takes it.
    to_subscriber: Option<mpsc::Receiver<Acknowledged>>,
    /// The newest subscription that the server acknowledged and has not ended.
    subscription: Option<u64>,
    verbosity: ServerLogLevel,
    refusals: RejectionLog,
    idle: IdleState,
    /// Among those whose messages can be seen.
    connection: ConnectionId,
}

impl<'a> UpstreamConnection<'a> {
    /// Runs the connection until it ends. Returns the receiving half, so that a stopping server is still
    /// read.
    pub(crate) async fn hold(
        context: ConnectionContext<'a>,
        connection: Connection,
        revision_policy: crate::RevisionPolicy,
    ) -> (ConnectionEnd, mpsc::Receiver<Incoming>) {
        let (peer, commands) = Requester::new(
            context.outputs.ids.clone(),
            context.settings.chain.clone(),
            context.settings.client.clone(),
        );
        let (acknowledged, to_subscriber) = mpsc::channel(ACKNOWLEDGED);
        let Connection { outgoing, mut incoming } = connection;
        let timeouts = &context.settings.timeouts;
        // Over HTTP every request is answered, so there is no need to guess what silence means.
        let probe = if context.rules.is_some() { timeouts.start } else { timeouts.probe };
        let work = set_up(peer.clone(), revision_policy, probe, context.status.clone());
        let mut conversation = UpstreamConnection {
            idle: IdleState::new(context.settings),
            connection: context.settings.capture.connection(),
            context,
            outgoing,
            peer,
            commands,
            revision: None,
            phase: Phase::Handshaking,
            work: Some(Box::pin(work)),
            changed: BTreeSet::new(),
            refresh_at: None,
            server_requests: ServerRequests::default(),
            lost: None,
            refresh_identity: false,
            refreshed: Default::default(),
            subscriber: None,
            acknowledged,
            to_subscriber: Some(to_subscriber),
            subscription: None,
            verbosity: ServerLogLevel::default(),
            refusals: RejectionLog::default(),
        };
        let end = conversation.run(&mut incoming, revision_policy).await;
        (end, incoming)
    }

    /// Invariant: this awaits only in the `select!`; what each arm does never blocks.
    async fn run(
        &mut self,
        incoming: &mut mpsc::Receiver<Incoming>,
        revision_policy: crate::RevisionPolicy,
    ) -> ConnectionEnd {
        let mut start_deadline = self.context.started + self.context.settings.timeouts.start;
        // Made once and polled often: making these anew for every message would cost more than the message.
        let stopped = self.context.inputs.stop.clone().cancelled_owned();
        let cancelled = self.context.inputs.cancelled.clone();
        let deadline_timer = sleep_until(start_deadline);
        let mut next_rest = self.first_look();
        let idle_timer = sleep_until(next_rest.unwrap_or(start_deadline));
        let given_up = cancelled.arrived.notified();
        tokio::pin!(stopped, deadline_timer, idle_timer, given_up);
        loop {
            let ready = self.revision.is_some();
            let may_send = ready
                && self.context.calls.has_sendable()
                && self.context.calls.in_flight() < self.context.settings.max_in_flight;
            let next_expiry = self.context.calls.next_expiry();
            if let Some(at) = next_expiry
                && at != deadline_timer.deadline()
            {
                deadline_timer.as_mut().reset(at);
            }
            if let Some(at) = next_rest
                && at != idle_timer.deadline()
            {
                idle_timer.as_mut().reset(at);
            }
            // Not biased: a server that floods us must not keep calls, deadlines or the end from their turn.
            tokio::select! {
                message = incoming.recv() => match message {
                    Some(message) => {
                        self.take(message);
                        for _ in 0..BURST {
                            let Ok(message) = incoming.try_recv() else { break };
                            self.take(message);
                        }
                        if let Some(failure) = self.lost.take() {
                            return ConnectionEnd::Failed { failure, probing: self.is_probing(revision_policy) };
                        }
                    }
                    None => return ConnectionEnd::Closed { phase: self.phase, probing: self.is_probing(revision_policy) },
                },
                queued = self.context.inputs.queue.recv() => match queued {
                    Some(queued) => {
                        self.context.calls.wait(queued);
                        for _ in 0..BURST {
                            let Ok(queued) = self.context.inputs.queue.try_recv() else { break };
                            self.context.calls.wait(queued);
                        }
                        if ready {
                            self.send_waiting();
                        }
                    }
                    None => return ConnectionEnd::Stop,
                },
                is_open = capacity(&self.outgoing), if may_send && self.idle.exit_by.is_none() => {
                    if is_open {
                        self.send_waiting();
                    } else {
                        next_rest = Some(self.idle.is_deaf());
                    }
                }
                Some(command) = next_command(&self.outgoing, &mut self.commands) => self.execute(command),
                () = &mut given_up => {
                    given_up.set(cancelled.arrived.notified());
                    self.cancel();
                }
                () = &mut deadline_timer, if next_expiry.is_some() => match stood_still(deadline_timer.deadline()) {
                    Some(time) => self.context.calls.stood_still(time),
                    None => self.expire(),
                },
                () = &mut idle_timer, if next_rest.is_some() => {
                    if stood_still(idle_timer.deadline()).is_some() {
                        self.idle.received = true;
                    }
                    match self.check_idle() {
                        Ok(next) => next_rest = next,
                        Err(end) => return end,
                    }
                }
                () = &mut stopped => return ConnectionEnd::Stop,
                Some(command) = self.context.inputs.commands.recv() => match command {
                    SupervisorCommand::Restart(done) => {
                        self.context.inputs.pending_commands.push(done);
                        return ConnectionEnd::Restart;
                    }
                    SupervisorCommand::Stop(done) => {
                        self.context.inputs.pending_commands.push(done);
                        return ConnectionEnd::StopRequested;
                    }
                    SupervisorCommand::Start(_) => {}
                    SupervisorCommand::Drain { until } => {
                        self.context.inputs.drain_until = Some(until);
                        next_rest = Some(Instant::now());
                    }
                    SupervisorCommand::Refresh(kind) => self.refresh(kind),
                },
                done = async { self.work.as_mut().expect("checked").await }, if self.work.is_some() => {
                    self.work = None;
                    if let Some(end) = self.done(done) {
                        return end;
                    }
                }
                () = async { self.subscriber.as_mut().expect("checked").await }, if self.subscriber.is_some() => {
                    self.subscriber = None;
                }
                came = async { self.idle.keep_alive.as_mut().expect("checked").await }, if self.idle.keep_alive.is_some() => {
                    self.idle.felt(came);
                }
                (id, reply) = self.server_requests.next() => self.replied(&id, reply),
                () = sleep_until(self.refresh_at.unwrap_or(start_deadline)),
                    if self.refresh_at.is_some() && self.work.is_none() => self.list_again(),
                () = sleep_until(start_deadline), if !ready => {
                    if let Some(time) = stood_still(start_deadline) {
                        start_deadline += time;
                        continue;
                    }
                    let failure = Failure::StartTimeout {
                        after: self.context.settings.timeouts.start,
                        phase: self.phase,
                        stderr: Default::default(),
                    };
                    return ConnectionEnd::Failed { failure, probing: false };
                }
            }
            if !ready {
                self.note_phase();
            }
        }
    }

    /// Whether an end now may be caused by the probe for its revision.
    fn is_probing(&self, revision_policy: crate::RevisionPolicy) -> bool {
        revision_policy == crate::RevisionPolicy::Auto && self.phase == Phase::Handshaking
    }

    fn done(&mut self, done: WorkOutput) -> Option<ConnectionEnd> {
        match done {
            WorkOutput::Ready(outcome) => match *outcome {
                Ok((identity, catalog)) => self.ready(identity, catalog),
                Err(failure) => return Some(self.setup_failed(failure)),
            },
            WorkOutput::Listed(lists, identity) => self.listed(lists, identity),
        }
        None
    }

    fn setup_failed(&self, failure: Failure) -> ConnectionEnd {
        match failure {
            Failure::Closed { phase } => ConnectionEnd::Closed { phase, probing: false },
            failure => ConnectionEnd::Failed { failure, probing: false },
        }
    }

    fn ready(&mut self, identity: ServerIdentity, mut catalog: Catalog) {
        let ServerIdentity { revision, because, .. } = identity;
        let features = revision.features();
        self.revision = Some(revision);
        self.apply_header_rules(&mut catalog);
        self.context.calls.learn(&catalog);
        self.phase = Phase::Serving;
        let took = self.context.started.elapsed();
        for problem in &catalog.problems {
            self.context.outputs.log.push(LogSource::Event, problem);
        }
        let protocol = self.context.protocol.name();
        let note = format!(
            "ready after {:.2} s over {protocol}, speaking {revision} ({because})",
            took.as_secs_f32()
        );
        self.context.outputs.log.push(LogSource::Event, &note);
        let capabilities = catalog.capabilities.as_deref();
        self.verbosity.can_be_set = features.has_set_level() && declares_logging(capabilities);
        let now = Instant::now();
        let mut freshness = Freshness { identified: Some(now), ..Freshness::default() };
        for kind in declared(capabilities) {
            freshness.listed[kind as usize] = Some(now);
        }
        if !features.has_listen() {
            freshness.announced = announced(capabilities);
        }
        self.context.status.modify(|status| {
            status.state = UpstreamState::Running;
            status.transport = protocol;
            status.revision = Some(revision);
            status.pid = self.context.process.and_then(ProcessHandle::pid);
            status.catalog = Arc::new(catalog);
            status.freshness = freshness;
        });
        if let Some(acknowledged) = self.to_subscriber.take() {
            let interests = self.context.inputs.interests.clone();
            let (status, log) = (self.context.status.clone(), self.context.outputs.log.clone());
            let subscriber = Subscriber::new(self.peer.clone(), interests, acknowledged, status, log);
            self.subscriber = Some(Box::pin(subscriber.keep(revision)));
        }
        self.send_waiting();
    }

    /// Where arguments are repeated in headers, finds out which, and leaves out tools that want it wrongly.
    fn apply_header_rules(&mut self, catalog: &mut Catalog) {
        if !self.revision.is_some_and(|revision| revision.features().has_mirrored_headers()) {
            return;
        }
        let Some(rules) = self.context.rules.as_ref() else { return };
        let sorted = sort(catalog.list(CatalogKind::Tools));
        rules.replace(sorted.rules);
        catalog.replace(CatalogKind::Tools, sorted.tools);
        for problem in sorted.problems {
            let problem = format!("{}: {problem}", CatalogKind::Tools.list_method());
            let problem = self.context.settings.known_secrets.hide(&problem).into_owned();
            tracing::warn!(server = %self.context.settings.name, "{problem}");
            catalog.problems.push(problem);
        }
    }

    fn note_phase(&mut self) {
        if let UpstreamState::Starting { phase, .. } = self.context.status.borrow().state {
            self.phase = phase;
        }
    }
}

/// For how long this process did not run, if a timer is so late that it cannot have: it was stopped, or its machine slept.
fn stood_still(deadline: Instant) -> Option<Duration> {
    let late = deadline.elapsed();
    (late > LATE).then_some(late)
}

/// Returns the next command, taken only when there is capacity to send.
async fn next_command(
    outgoing: &mpsc::Sender<Outgoing>,
    commands: &mut mpsc::Receiver<RequesterCommand>,
) -> Option<RequesterCommand> {
    if outgoing.capacity() == 0 {
        capacity(outgoing).await;
    }
    commands.recv().await
}

/// Waits until a message may be sent; says whether one ever may again.
async fn capacity(outgoing: &mpsc::Sender<Outgoing>) -> bool {
    outgoing.reserve().await.is_ok()
}

fn declares_logging(capabilities: Option<&str>) -> bool {
    let declared: serde_json::Value =
        capabilities.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    declared.get("logging").is_some()
}

async fn set_up(
    peer: Requester,
    revision_policy: crate::RevisionPolicy,
    probe: Duration,
    status: Arc<StatusPublisher>,
) -> WorkOutput {
    WorkOutput::Ready(Box::new(
        async {
            let identity = identify(&peer, revision_policy, probe).await?;
            status.modify(|status| {
                if let UpstreamState::Starting { phase, .. } = &mut status.state {
                    *phase = Phase::Discovering;
                }
            });
            let catalog = catalog(&peer, &identity).await;
            Ok((identity, catalog))
        }
        .await,
    ))
}
