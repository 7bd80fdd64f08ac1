//! The handle of a server.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Duration, Instant},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_protocol::{
    Notification, ServerName, printable,
    redact::{self, KnownSecrets},
};
use toolbay_supervise::{LineFilter, LogRing};
use toolbay_transport::http::client::RequestAuthorizer;

use crate::{
    ByteBudget, Call, CallError, CatalogKind, Endpoint, InFlight, ResourceSubscription, ServerSettings,
    SubscribeError, Timeouts, UpstreamState, UpstreamStatus,
    call::{
        CancelledCalls,
        budget::{CallSize, OverBudget},
        table::QueuedCall,
    },
    status::Counts,
    subscriptions::ResourceSubscriptions,
    supervisor::{CommandDone, Supervisor, SupervisorCommand, SupervisorInputs, SupervisorOutputs},
};

/// A server that can be called. Clones are cheap and mean the same server; it survives restarts.
#[derive(Debug, Clone)]
pub struct ServerHandle {
    shared: Arc<HandleInner>,
}

#[derive(Debug)]
struct HandleInner {
    name: ServerName,
    outputs: SupervisorOutputs,
    queue: mpsc::Sender<QueuedCall>,
    commands: mpsc::Sender<SupervisorCommand>,
    cancelled: Arc<CancelledCalls>,
    interests: Arc<ResourceSubscriptions>,
    status: watch::Receiver<UpstreamStatus>,
    max_waiting: usize,
    timeouts: Timeouts,
    /// What long calls to it hold, and those to all servers.
    budgets: (ByteBudget, ByteBudget),
    /// Authorizes its requests, if it is at a URL.
    authorizer: Option<Arc<dyn RequestAuthorizer>>,
    /// Ends the server when the last handle is gone.
    stop: tokio_util::sync::DropGuard,
}

/// Starts a server and gives its handle at once.
///
/// `updates` gets every notification of the server that belongs to no call (`notifications/resources/updated`,
/// `notifications/tasks/status`).
pub fn start(
    settings: ServerSettings,
    endpoint: Endpoint,
    updates: mpsc::Sender<(ServerName, Box<Notification>)>,
    tasks: &TaskTracker,
) -> ServerHandle {
    let stop = CancellationToken::new();
    let (queue, queued) = mpsc::channel(settings.max_waiting.clamp(1, 1024));
    let (commands, command_queue) = mpsc::channel(4);
    let cancelled = Arc::new(CancelledCalls::default());
    let interests = Arc::new(ResourceSubscriptions::default());
    let outputs = SupervisorOutputs {
        updates,
        log: Arc::new(LogRing::with_filter(shown_line(settings.known_secrets.clone()))),
        gauges: Arc::default(),
        ids: Arc::new(AtomicU64::new(1)),
        has_ambiguous_requests: Arc::new(AtomicBool::new(settings.is_separate)),
    };
    let inputs = SupervisorInputs {
        queue: queued,
        commands: command_queue,
        cancelled: cancelled.clone(),
        interests: interests.clone(),
        stop: stop.clone(),
        drain_until: None,
        pending_commands: Vec::new(),
    };
    let name = settings.name.clone();
    let (max_waiting, timeouts) = (settings.max_waiting, settings.timeouts);
    let budgets = (ByteBudget::new(settings.max_bytes), settings.budget.clone());
    let authorizer = endpoint.authorizer().cloned();
    let (supervisor, status) = Supervisor::new(settings, endpoint, inputs, outputs.clone(), tasks.clone());
    tasks.spawn(supervisor.run());
    let stop = stop.drop_guard();
    let shared = HandleInner {
        name,
        outputs,
        queue,
        commands,
        cancelled,
        interests,
        status,
        max_waiting,
        timeouts,
        budgets,
        authorizer,
        stop,
    };
    ServerHandle { shared: Arc::new(shared) }
}

impl ServerHandle {
    /// Whether both mean the same server, with the same connection.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Begins a login at the server, unless one is in progress, and returns the URL that the user has to open; nothing if the
    /// server has no logins.
    ///
    /// # Errors
    /// If there is no such page. The text says why.
    pub async fn login_page(&self) -> Option<Result<String, String>> {
        match &self.shared.authorizer {
            Some(authorizer) => Some(authorizer.login_page().await),
            None => None,
        }
    }

    /// Resolves when the user may have logged in; never if the server has no logins.
    pub async fn logged_in(&self) {
        match &self.shared.authorizer {
            Some(authorizer) => authorizer.changed().await,
            None => std::future::pending().await,
        }
    }

    /// Calls the server. Never waits: the call is queued, or its outcome says why not.
    pub fn call(&self, call: Call) -> InFlight {
        let shared = &self.shared;
        let id = shared.outputs.ids.fetch_add(1, Ordering::Relaxed);
        let (reply, response) = oneshot::channel();
        let mut in_flight = InFlight {
            id,
            server: shared.name.clone(),
            response,
            cancelled: Some(shared.cancelled.clone()),
            keeps: None,
            weight: None,
        };
        let (of_server, of_all) = &shared.budgets;
        match CallSize::of(call.request.call.text.len(), of_server, of_all) {
            Ok(weight) => in_flight.weight = weight,
            Err(OverBudget { in_use, limit }) => {
                in_flight.cancelled = None;
                let full = CallError::Full { server: shared.name.clone(), in_use, limit };
                QueuedCall::new(id, call, reply).fail(full);
                return in_flight;
            }
        }
        if let Err(refused) = shared.queue.try_send(QueuedCall::new(id, call, reply)) {
            in_flight.cancelled = None;
            let error = match refused {
                mpsc::error::TrySendError::Full(_) => {
                    let in_flight = shared.outputs.gauges.read().in_flight;
                    CallError::Busy { server: shared.name.clone(), in_flight, waiting: shared.max_waiting }
                }
                mpsc::error::TrySendError::Closed(_) => CallError::Stopped { server: shared.name.clone() },
            };
            refused.into_inner().fail(error);
        }
        in_flight
    }

    /// Its configured name.
    pub fn name(&self) -> &ServerName {
        &self.shared.name
    }

    /// How it is reached, as in [`UpstreamStatus::transport`].
    pub fn transport(&self) -> &'static str {
        self.shared.status.borrow().transport
    }

    /// Timeouts.
    pub fn timeouts(&self) -> Timeouts {
        self.shared.timeouts
    }

    /// Its state now and from now on.
    pub fn status(&self) -> watch::Receiver<UpstreamStatus> {
        self.shared.status.clone()
    }

    /// What happened so far.
    pub fn counts(&self) -> Counts {
        self.shared.outputs.gauges.read()
    }

    /// Whether its clients must not share a process: it sent server requests while calls of several clients were running, so
    /// that they could not be assigned, or its settings say so.
    pub fn needs_own_process_per_client(&self) -> bool {
        self.shared.outputs.has_ambiguous_requests.load(Ordering::Relaxed)
    }

    /// What it wrote to stderr, and what happened to it.
    pub fn log(&self) -> &Arc<LogRing> {
        &self.shared.outputs.log
    }

    /// Subscribes to a resource until the subscription is dropped. Waits until the server has agreed, on this connection or a
    /// later one.
    ///
    /// Changes are sent to the `updates` given to [`start`].
    pub async fn watch(&self, uri: &str) -> Result<ResourceSubscription, SubscribeError> {
        let interest = self.shared.interests.add(uri)?;
        let mut status = self.status();
        if matches!(status.borrow().state, UpstreamState::Stopped { wakes: true }) {
            self.start().await;
        }
        let is_down = |status: &UpstreamStatus| status.state.is_down();
        let settled = tokio::select! {
            biased;
            settled = interest.settled() => settled,
            down = status.wait_for(is_down) => Err(SubscribeError::Down(self.why_down(down.ok().as_deref()))),
            () = tokio::time::sleep(self.shared.timeouts.idle) => Err(SubscribeError::Unanswered),
        };
        settled.map(|()| interest)
    }

    fn why_down(&self, status: Option<&UpstreamStatus>) -> CallError {
        let server = self.shared.name.clone();
        match status.and_then(|status| status.state.failure().cloned()) {
            Some(failure) => CallError::Down { server, failure },
            None => CallError::Stopped { server },
        }
    }

    /// Refreshes what may be out of date: a list, or without one the identity. Never waits; a refresh that
    /// is running already is not repeated.
    pub fn refresh(&self, kind: Option<CatalogKind>) {
        // A full queue means that the same was requested already.
        let _ = self.shared.commands.try_send(SupervisorCommand::Refresh(kind));
    }

    /// Stops it and starts it anew, with a clean record. Returns once the old process is gone and the new one is being
    /// started, which takes as long as a stop may take, but no longer.
    pub async fn restart(&self) {
        self.command(SupervisorCommand::Restart).await;
    }

    /// Starts it if it is stopped, with a clean record. Returns once it is being started.
    pub async fn start(&self) {
        self.command(SupervisorCommand::Start).await;
    }

    /// Stops it until it is started again; calls fail until then. Returns once its process is gone.
    pub async fn stop_until_started(&self) {
        self.command(SupervisorCommand::Stop).await;
    }

    /// Sends a command and waits until it took effect. Dropping the future does not withdraw it.
    async fn command(&self, command: impl FnOnce(CommandDone) -> SupervisorCommand) {
        let (done, finished) = oneshot::channel();
        // The only failure is a server that is gone for good.
        if self.shared.commands.send(command(done)).await.is_ok() {
            let _ = finished.await;
        }
    }

    /// Lets it finish what it has, but no longer than `limit`, and stops it for good.
    pub async fn drain(self, limit: Duration) {
        let _ = self.shared.commands.send(SupervisorCommand::Drain { until: Instant::now() + limit }).await;
        let mut status = self.status();
        while status.changed().await.is_ok() {}
    }

    /// Stops it for good; its task ends once the process is gone.
    pub fn stop(&self) {
        self.shared.stop.token().cancel();
    }
}

/// What is kept of a line that a server wrote: it goes into errors that every caller gets, and is shown to people.
fn shown_line(known: KnownSecrets) -> LineFilter {
    Box::new(move |line| {
        let cleaned = match known.hide(line) {
            Cow::Borrowed(line) => printable::clean(line),
            Cow::Owned(line) => Cow::Owned(printable::clean(&line).into_owned()),
        };
        match cleaned {
            Cow::Borrowed(line) => redact::line(line),
            // What begins anew at the beginning of its line (`\r`) is still one line.
            Cow::Owned(line) => Cow::Owned(redact::line(&line.replace('\n', " ")).into_owned()),
        }
    })
}
