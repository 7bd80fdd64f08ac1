//! One life of a server: the loop that owns its connection.

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
use toolbay_protocol::{Revision, Rope};
use toolbay_supervise::{LogSource, ProcessHandle};
use toolbay_transport::{Connection, Incoming, RejectionLog, http::client::HeaderRules};

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

/// How long `list_changed` may gather before the list is asked for again.
const GATHER: Duration = Duration::from_millis(300);
/// How many acknowledgements may wait; a server has no reason to send more.
const ACKNOWLEDGED: usize = 16;
/// A timer that is later than this did not fire because nobody ran.
const LATE: Duration = Duration::from_secs(1);
/// How many messages are taken before others get their turn.
const BURST: usize = 64;
/// How many lines of noise are shown.
const NOISE_SHOWN: u64 = 20;

/// How a life ended.
#[derive(Debug)]
pub(crate) enum ConnectionEnd {
    /// Someone wants it to stop.
    Stop,
    /// Someone wants it to start anew.
    Restart,
    /// Someone wants it to rest until someone wants it back.
    StopRequested,
    /// Nobody needs it now.
    Unused,
    /// It failed, perhaps because of the question for its era.
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

/// What outlives a life, lent to its conversation.
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
    around: ConnectionContext<'a>,
    outgoing: mpsc::Sender<Rope>,
    peer: Requester,
    orders: mpsc::Receiver<RequesterCommand>,
    /// Known once the server introduced itself; calls flow from then on.
    revision: Option<Revision>,
    phase: Phase,
    chore: Option<BackgroundWork>,
    /// Lists that changed, and when to look.
    changed: BTreeSet<CatalogKind>,
    look_again: Option<Instant>,
    server_requests: ServerRequests,
    /// The transport lost the server.
    lost: Option<Failure>,
    /// Whether the server shall introduce itself again, too.
    introduce_again: bool,
    /// When something was last asked for because it ran out.
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
    /// Speaks with the server until its life ends. Gives back the receiving half, so that a stopping server is still
    /// read.
    pub(crate) async fn hold(
        around: ConnectionContext<'a>,
        wire: Connection,
        era: crate::RevisionPolicy,
    ) -> (ConnectionEnd, mpsc::Receiver<Incoming>) {
        let (peer, orders) = Requester::new(
            around.outputs.ids.clone(),
            around.settings.chain.clone(),
            around.settings.client.clone(),
        );
        let (acknowledged, to_subscriber) = mpsc::channel(ACKNOWLEDGED);
        let Connection { outgoing, mut incoming } = wire;
        let timeouts = &around.settings.timeouts;
        // Over HTTP every request is answered, so there is no need to guess what silence means.
        let probe = if around.rules.is_some() { timeouts.start } else { timeouts.probe };
        let chore = set_up(peer.clone(), era, probe, around.status.clone());
        let mut conversation = UpstreamConnection {
            idle: IdleState::new(around.settings),
            connection: around.settings.capture.connection(),
            around,
            outgoing,
            peer,
            orders,
            revision: None,
            phase: Phase::Handshaking,
            chore: Some(Box::pin(chore)),
            changed: BTreeSet::new(),
            look_again: None,
            server_requests: ServerRequests::default(),
            lost: None,
            introduce_again: false,
            refreshed: Default::default(),
            subscriber: None,
            acknowledged,
            to_subscriber: Some(to_subscriber),
            subscription: None,
            verbosity: ServerLogLevel::default(),
            refusals: RejectionLog::default(),
        };
        let end = conversation.run(&mut incoming, era).await;
        (end, incoming)
    }

    /// Invariant: this awaits only in the `select!`; what each arm does never blocks.
    async fn run(
        &mut self,
        incoming: &mut mpsc::Receiver<Incoming>,
        era: crate::RevisionPolicy,
    ) -> ConnectionEnd {
        let mut start_deadline = self.around.started + self.around.settings.timeouts.start;
        // Made once and polled often: making these anew for every message would cost more than the message.
        let stopped = self.around.inputs.stop.clone().cancelled_owned();
        let cancelled = self.around.inputs.cancelled.clone();
        let look = sleep_until(start_deadline);
        let mut next_rest = self.first_look();
        let rest = sleep_until(next_rest.unwrap_or(start_deadline));
        let given_up = cancelled.arrived.notified();
        tokio::pin!(stopped, look, rest, given_up);
        loop {
            let ready = self.revision.is_some();
            let may_send = ready
                && self.around.calls.has_sendable()
                && self.around.calls.in_flight() < self.around.settings.max_in_flight;
            let next_look = self.around.calls.next_look();
            if let Some(at) = next_look
                && at != look.deadline()
            {
                look.as_mut().reset(at);
            }
            if let Some(at) = next_rest
                && at != rest.deadline()
            {
                rest.as_mut().reset(at);
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
                            return ConnectionEnd::Failed { failure, probing: self.is_probing(era) };
                        }
                    }
                    None => return ConnectionEnd::Closed { phase: self.phase, probing: self.is_probing(era) },
                },
                queued = self.around.inputs.queue.recv() => match queued {
                    Some(queued) => {
                        self.around.calls.wait(queued);
                        for _ in 0..BURST {
                            let Ok(queued) = self.around.inputs.queue.try_recv() else { break };
                            self.around.calls.wait(queued);
                        }
                        if ready {
                            self.send_waiting();
                        }
                    }
                    None => return ConnectionEnd::Stop,
                },
                is_open = capacity(&self.outgoing), if may_send && self.idle.deaf.is_none() => {
                    if is_open {
                        self.send_waiting();
                    } else {
                        next_rest = Some(self.idle.is_deaf());
                    }
                }
                Some(order) = next_order(&self.outgoing, &mut self.orders) => self.execute(order),
                () = &mut given_up => {
                    given_up.set(cancelled.arrived.notified());
                    self.cancel();
                }
                () = &mut look, if next_look.is_some() => match stood_still(look.deadline()) {
                    Some(time) => self.around.calls.stood_still(time),
                    None => self.expire(),
                },
                () = &mut rest, if next_rest.is_some() => {
                    if stood_still(rest.deadline()).is_some() {
                        self.idle.heard = true;
                    }
                    match self.look_after() {
                        Ok(next) => next_rest = next,
                        Err(end) => return end,
                    }
                }
                () = &mut stopped => return ConnectionEnd::Stop,
                Some(command) = self.around.inputs.commands.recv() => match command {
                    SupervisorCommand::Restart(obeyed) => {
                        self.around.inputs.orders.push(obeyed);
                        return ConnectionEnd::Restart;
                    }
                    SupervisorCommand::Stop(obeyed) => {
                        self.around.inputs.orders.push(obeyed);
                        return ConnectionEnd::StopRequested;
                    }
                    SupervisorCommand::Start(_) => {}
                    SupervisorCommand::Drain { until } => {
                        self.around.inputs.retire_by = Some(until);
                        next_rest = Some(Instant::now());
                    }
                    SupervisorCommand::Refresh(kind) => self.refresh(kind),
                },
                done = async { self.chore.as_mut().expect("checked").await }, if self.chore.is_some() => {
                    self.chore = None;
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
                () = sleep_until(self.look_again.unwrap_or(start_deadline)),
                    if self.look_again.is_some() && self.chore.is_none() => self.list_again(),
                () = sleep_until(start_deadline), if !ready => {
                    if let Some(time) = stood_still(start_deadline) {
                        start_deadline += time;
                        continue;
                    }
                    let failure = Failure::StartTimeout {
                        after: self.around.settings.timeouts.start,
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

    /// Whether an end now may be about the question for its era.
    fn is_probing(&self, era: crate::RevisionPolicy) -> bool {
        era == crate::RevisionPolicy::Auto && self.phase == Phase::Handshaking
    }

    fn done(&mut self, done: WorkOutput) -> Option<ConnectionEnd> {
        match done {
            WorkOutput::Ready(outcome) => match *outcome {
                Ok((introduction, catalogue)) => self.ready(introduction, catalogue),
                Err(failure) => return Some(self.setup_failed(failure)),
            },
            WorkOutput::Listed(lists, introduction) => self.listed(lists, introduction),
        }
        None
    }

    fn setup_failed(&self, failure: Failure) -> ConnectionEnd {
        match failure {
            Failure::Closed { phase } => ConnectionEnd::Closed { phase, probing: false },
            failure => ConnectionEnd::Failed { failure, probing: false },
        }
    }

    fn ready(&mut self, introduction: ServerIdentity, mut catalogue: Catalog) {
        let ServerIdentity { revision, because, .. } = introduction;
        let features = revision.features();
        self.revision = Some(revision);
        self.mind_headers(&mut catalogue);
        self.around.calls.learn(&catalogue);
        self.phase = Phase::Serving;
        let took = self.around.started.elapsed();
        for problem in &catalogue.problems {
            self.around.outputs.log.push(LogSource::Event, problem);
        }
        let way = self.around.protocol.name();
        let note =
            format!("ready after {:.2} s over {way}, speaking {revision} ({because})", took.as_secs_f32());
        self.around.outputs.log.push(LogSource::Event, &note);
        let capabilities = catalogue.capabilities.as_deref();
        self.verbosity.can_be_set = features.has_set_level() && declares_logging(capabilities);
        let now = Instant::now();
        let mut freshness = Freshness { introduced: Some(now), ..Freshness::default() };
        for kind in declared(capabilities) {
            freshness.listed[kind as usize] = Some(now);
        }
        if !features.has_listen() {
            freshness.announced = announced(capabilities);
        }
        self.around.status.modify(|status| {
            status.state = UpstreamState::Running;
            status.transport = way;
            status.revision = Some(revision);
            status.pid = self.around.process.and_then(ProcessHandle::pid);
            status.catalog = Arc::new(catalogue);
            status.freshness = freshness;
        });
        if let Some(acknowledged) = self.to_subscriber.take() {
            let interests = self.around.inputs.interests.clone();
            let (status, log) = (self.around.status.clone(), self.around.outputs.log.clone());
            let subscriber = Subscriber::new(self.peer.clone(), interests, acknowledged, status, log);
            self.subscriber = Some(Box::pin(subscriber.keep(revision)));
        }
        self.send_waiting();
    }

    /// Where arguments are repeated in headers, finds out which, and leaves out tools that want it wrongly.
    fn mind_headers(&mut self, catalogue: &mut Catalog) {
        if !self.revision.is_some_and(|revision| revision.features().has_mirrored_headers()) {
            return;
        }
        let Some(rules) = self.around.rules.as_ref() else { return };
        let sorted = sort(catalogue.list(CatalogKind::Tools));
        rules.replace(sorted.rules);
        catalogue.replace(CatalogKind::Tools, sorted.tools);
        for problem in sorted.problems {
            let problem = format!("{}: {problem}", CatalogKind::Tools.list_method());
            tracing::warn!(server = %self.around.settings.name, "{problem}");
            catalogue.problems.push(problem);
        }
    }

    fn note_phase(&mut self) {
        if let UpstreamState::Starting { phase, .. } = self.around.status.borrow().state {
            self.phase = phase;
        }
    }
}

/// For how long this process did not run, if a timer is so late that it cannot have: it was stopped, or its machine slept.
fn stood_still(deadline: Instant) -> Option<Duration> {
    let late = deadline.elapsed();
    (late > LATE).then_some(late)
}

/// The next thing of our own to send, taken only when it can be sent.
async fn next_order(
    outgoing: &mpsc::Sender<Rope>,
    orders: &mut mpsc::Receiver<RequesterCommand>,
) -> Option<RequesterCommand> {
    if outgoing.capacity() == 0 {
        capacity(outgoing).await;
    }
    orders.recv().await
}

/// Waits until a message may be sent; says whether one ever may again.
async fn capacity(outgoing: &mpsc::Sender<Rope>) -> bool {
    outgoing.reserve().await.is_ok()
}

fn declares_logging(capabilities: Option<&str>) -> bool {
    let declared: serde_json::Value =
        capabilities.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    declared.get("logging").is_some()
}

async fn set_up(
    peer: Requester,
    era: crate::RevisionPolicy,
    probe: Duration,
    status: Arc<StatusPublisher>,
) -> WorkOutput {
    WorkOutput::Ready(Box::new(
        async {
            let introduction = identify(&peer, era, probe).await?;
            status.modify(|status| {
                if let UpstreamState::Starting { phase, .. } = &mut status.state {
                    *phase = Phase::Discovering;
                }
            });
            let catalogue = catalog(&peer, &introduction).await;
            Ok((introduction, catalogue))
        }
        .await,
    ))
}
