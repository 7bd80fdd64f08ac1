//! One client on a connection: a pipe, a socket, a WebSocket, or a stream of events and its POSTs.

use std::{path::Path, pin::Pin, sync::Arc, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use toolbay_access::Access;
use toolbay_host::CallerId;
use toolbay_policy::Exposure;
use toolbay_protocol::{
    ErrorCode, ErrorObject, Message, Notification, Request, RequestId, Rope, meta, method,
};
use toolbay_transport::{Connection, Incoming, RejectionLog};

use crate::{
    capture::{ClientCapture, ClientSender},
    client_roots::ClientRoots,
    connected_clients::{ATTACH, ConnectedGuard, GOODBYE},
    error,
    gateway::Gateway,
    request::{
        call::{CallStep, ClientCall, FinalResponse},
        client::{RequestClient, open_session},
        revision,
        serve::Served,
        subscription::{SessionStream, Subscription},
    },
    session::Session,
};

/// How long running requests may take to end after the client closed its end.
const DRAIN: Duration = Duration::from_secs(5);

type Running = FuturesUnordered<Pin<Box<dyn Future<Output = ()> + Send>>>;

/// One client.
struct ClientConnection<'a> {
    gateway: &'a Arc<Gateway>,
    outgoing: ClientSender,
    running: Running,
    session: Option<Arc<Session>>,
    /// What others see of the client.
    client: ConnectedGuard,
    /// As whom it calls, and with which profile; an error if there is no such profile.
    access: Result<Arc<Access>, ErrorObject>,
    /// Whether the client has identified itself.
    is_introduced: bool,
    project: ClientProject,
    /// Which tools it is listed, where `toolbay stdio` says so.
    exposure: Option<Exposure>,
    roots: ClientRoots,
    caller: CallerId,
    stream: Option<SessionStream>,
    /// Running requests of all revisions, each with its cancellation; closed where one has ended.
    cancels: std::collections::HashMap<RequestId, oneshot::Sender<()>>,
    refusals: RejectionLog,
    /// Ends what would never end by itself.
    ending: CancellationToken,
    stop: CancellationToken,
}

/// The project in which the client works.
enum ClientProject {
    /// Not known: the client is connected directly.
    Unknown,
    /// Named by `toolbay stdio`, which stands in front of the client.
    Attached(Arc<Path>),
    /// `toolbay stdio` stands in front of the client and named none: one of the client's roots, if it has any.
    Roots(Option<Arc<Path>>),
}

impl ClientProject {
    fn root(&self) -> Option<Arc<Path>> {
        match self {
            Self::Unknown => None,
            Self::Attached(root) => Some(root.clone()),
            Self::Roots(root) => root.clone(),
        }
    }

    /// Whether `toolbay stdio` stands in front of the client.
    fn is_attached(&self) -> bool {
        !matches!(self, Self::Unknown)
    }
}

/// Serves until the client closes its end, or until `stop`. When the client does not read any more, everything that runs is
/// cancelled at once.
pub(crate) async fn run(
    gateway: &Arc<Gateway>,
    Connection { outgoing, mut incoming }: Connection,
    client: ConnectedGuard,
    stop: CancellationToken,
) {
    let reader = outgoing.clone();
    let gone = reader.closed();
    tokio::pin!(gone);
    let capture = ClientCapture::new(&gateway.host, client.captured());
    let access = gateway.enter(client.access().clone(), None);
    let mut connection = ClientConnection {
        gateway,
        outgoing: ClientSender::new(outgoing, capture),
        running: FuturesUnordered::new(),
        session: None,
        client,
        access,
        is_introduced: false,
        project: ClientProject::Unknown,
        exposure: None,
        roots: ClientRoots::default(),
        caller: CallerId::new(),
        stream: None,
        cancels: Default::default(),
        refusals: RejectionLog::default(),
        ending: CancellationToken::new(),
        stop: stop.clone(),
    };
    loop {
        let changed = async {
            match &mut connection.stream {
                Some(stream) => stream.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            message = incoming.recv() => match message {
                Some(message) => connection.take(message).await,
                None => break,
            },
            Some(()) = connection.running.next() => {}
            roots = connection.roots.answered() => {
                if let Some(roots) = roots {
                    connection.works_in(roots.folder);
                }
                connection.release().await;
            }
            change = changed => match change {
                Some(change) => connection.send(change).await,
                None => break,
            },
            () = &mut gone => return,
            () = stop.cancelled() => break,
        }
    }
    connection.release().await;
    connection.ending.cancel();
    let is_attached = connection.project.is_attached();
    let drained = async {
        while connection.running.next().await.is_some() {}
        if is_attached && stop.is_cancelled() {
            // Not a crash: `toolbay stdio` need not hurry to find another hub.
            let goodbye = toolbay_protocol::notification(GOODBYE, None);
            let _ = connection.outgoing.send(goodbye.into()).await; // it may be gone already
        }
    };
    // What is left is cancelled by being dropped.
    tokio::select! {
        () = drained => {}
        () = gone => {}
        () = tokio::time::sleep(DRAIN) => {}
    }
}

impl ClientConnection<'_> {
    async fn take(&mut self, incoming: Incoming) {
        match &incoming {
            // Sent by `toolbay stdio`, not by the client.
            Incoming::Message(Message::Notification(attach)) if attach.method() == ATTACH => {}
            Incoming::Message(message) => self.outgoing.capture().received(message),
            Incoming::Refused(refusal) => self.outgoing.capture().received_excerpt(&refusal.excerpt),
            Incoming::About(..) | Incoming::Failed { .. } | Incoming::Lost { .. } => {}
        }
        match incoming {
            Incoming::Message(Message::Request(request)) => {
                if let Some(request) = self.roots.keep(request) {
                    self.request(request).await;
                }
            }
            Incoming::Message(Message::Notification(notification)) => self.notification(&notification),
            Incoming::Message(Message::Response(response)) => {
                if let Some(session) = &self.session {
                    session.on_response(&response);
                }
            }
            // Only connections to servers have these.
            Incoming::About(..) | Incoming::Failed { .. } | Incoming::Lost { .. } => {}
            Incoming::Refused(refusal) => {
                if let Some(line) = self.refusals.line(&refusal) {
                    let name = self.client.name();
                    tracing::warn!(client = name.as_deref().unwrap_or("not introduced"), "{line}");
                }
                let error = error::malformed(&refusal.why);
                self.send(toolbay_protocol::error(refusal.id.as_ref(), &error).into()).await;
            }
        }
    }

    async fn request(&mut self, request: Box<Request>) {
        let id = request.id.clone();
        match self.start(request) {
            Ok(Some(served)) => self.serve(id, served).await,
            Ok(None) => {}
            Err(error) => self.send(toolbay_protocol::error(Some(&id), &error).into()).await,
        }
    }

    /// Determines the revision and starts to respond.
    fn start(&mut self, request: Box<Request>) -> Result<Option<Served>, ErrorObject> {
        if self.cancels.get(&request.id).is_some_and(|cancel| !cancel.is_closed()) {
            return Err(error::not_entered(crate::session::EnterError::DuplicateId));
        }
        let access = self.access.clone()?;
        if request.call.meta(meta::PROTOCOL_VERSION).is_some() {
            revision::check_meta(&request.call)?;
            let client = RequestClient::of_request(self.gateway, &request.call, access)
                .with_caller(self.caller)
                .in_project(self.project.root())
                .with_exposure(self.exposure);
            if !std::mem::replace(&mut self.is_introduced, true) {
                self.client.identify(client.identity.info());
            }
            return Ok(Some(self.gateway.serve(&client, request.into())));
        }
        if request.call.method() == method::INITIALIZE {
            return self.initialize(&request).map(Some);
        }
        let Some(session) = &self.session else {
            if request.call.method() == method::PING {
                return Ok(Some(Served::Known(FinalResponse::result(&request.id, "{}"))));
            }
            // The message also helps a modern client that forgot `_meta`.
            let message = "Not initialized: send `initialize` first, or `_meta` with a protocol version";
            return Err(ErrorObject::new(ErrorCode::SERVER_ERROR, message));
        };
        let client = RequestClient::of_session(self.gateway, session.clone(), access)
            .in_project(self.project.root())
            .with_exposure(self.exposure);
        Ok(Some(self.gateway.serve(&client, request.into())))
    }

    fn initialize(&mut self, request: &Request) -> Result<Served, ErrorObject> {
        if self.session.is_some() {
            return Err(ErrorObject::new(ErrorCode::SERVER_ERROR, "Already initialized"));
        }
        let access = match request.call.param("clientInfo") {
            Some(info) => self.gateway.access_of_client(self.access.clone()?, request.call.raw(info)),
            None => self.access.clone()?,
        };
        let session = open_session(&request.call, access.clone())?;
        self.client.identify(session.identity().0.info());
        let result = self.gateway.initialize_result(&access, session.revision, &request.call, self.exposure);
        self.stream = Some(SessionStream::open(&self.gateway.host_for(&access), session.clone()));
        self.session = Some(session);
        Ok(Served::Known(FinalResponse::result(&request.id, &result)))
    }

    async fn serve(&mut self, id: RequestId, served: Served) {
        let outgoing = self.outgoing.clone();
        match served {
            Served::Known(known) => self.send(known.text).await,
            Served::Running(call) => self.run(id, notify(call, outgoing)),
            Served::Listening(subscription) => {
                // A client behind `toolbay stdio` listens on at the next hub.
                let goes_on = self.project.is_attached().then(|| self.stop.clone());
                self.run(id, listen(subscription, outgoing, self.ending.clone(), goes_on))
            }
            Served::Soon(answer) => self.run(id, async move { drop(outgoing.send(answer.await.text).await) }),
            Served::Later(later) => {
                let gateway = self.gateway.clone();
                self.run(id, async move {
                    let served = later.serve(&gateway).await;
                    respond(served, gateway, outgoing).await;
                });
            }
            Served::Recorded(recorded) => {
                let gateway = self.gateway.clone();
                self.run(id, respond(Served::Recorded(recorded), gateway, outgoing));
            }
        }
    }

    /// Runs a request beside the others, until it ends or the client cancels it.
    fn run(&mut self, id: RequestId, answer: impl Future<Output = ()> + Send + 'static) {
        let cancelled = self.cancellable(id);
        self.running.push(Box::pin(async move {
            tokio::select! {
                () = answer => {}
                () = cancelled => {}
            }
        }));
    }

    /// Resolves when the client cancels the request; never when it does not.
    fn cancellable(&mut self, id: RequestId) -> impl Future<Output = ()> + Send + 'static {
        // Only when they would need more room, so that a request does not cost as much as there are requests.
        if self.cancels.len() == self.cancels.capacity() {
            self.cancels.retain(|_, cancel| !cancel.is_closed());
        }
        let (cancel, cancelled) = oneshot::channel();
        self.cancels.insert(id, cancel);
        async move {
            if cancelled.await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    fn notification(&mut self, notification: &Notification) {
        match notification.method() {
            method::CANCELLED => self.cancel(notification),
            method::INITIALIZED | method::ROOTS_CHANGED => self.request_roots(),
            ATTACH => {
                let profile = notification.string_param("profile");
                self.access = self.gateway.enter(self.client.access().clone(), profile.as_deref());
                let (root, exposure) = self.client.attach(notification);
                self.exposure = exposure;
                if exposure.is_some_and(|exposure| exposure != Exposure::All) {
                    self.gateway.hub_tools.switch_on();
                }
                self.project = match root {
                    Some(root) => ClientProject::Attached(root),
                    None => ClientProject::Roots(None),
                };
            }
            _ => {}
        }
    }

    fn cancel(&mut self, notification: &Notification) {
        let id = notification.param("requestId").map(|span| notification.raw(span));
        let Some(id) = id.and_then(|id| RequestId::from_raw(id.as_bytes())) else { return };
        self.roots.cancel(&id);
        if let Some(cancel) = self.cancels.remove(&id) {
            let _ = cancel.send(()); // it may have ended just now
        }
    }

    /// Asks a client for its roots that works in no project of this machine otherwise.
    fn request_roots(&mut self) {
        let (Some(session), ClientProject::Roots(_)) = (&self.session, &self.project) else { return };
        let client = RequestClient::of_session(self.gateway, session.clone(), self.client.access().clone());
        if client.supports(method::ROOTS_LIST, None) {
            self.roots.ask(session, self.outgoing.clone());
        }
    }

    fn works_in(&mut self, folder: Option<Arc<Path>>) {
        self.client.works_in(folder.clone());
        self.project = ClientProject::Roots(folder);
    }

    /// Serves the requests that waited for the client's roots.
    async fn release(&mut self) {
        for request in self.roots.release() {
            self.request(Box::new(request)).await;
        }
    }

    async fn send(&mut self, text: Rope) {
        // When the client is gone, its connection ends; one that does not read does not delay a shutdown.
        tokio::select! {
            biased;
            _ = self.outgoing.send(text) => {}
            () = self.stop.cancelled() => {}
        }
    }
}

/// Responds to a request that has waited.
async fn respond(mut served: Served, gateway: Arc<Gateway>, outgoing: ClientSender) {
    loop {
        return match served {
            Served::Recorded(recorded) => {
                served = recorded.serve(&gateway).await;
                continue;
            }
            Served::Running(call) => notify(call, outgoing).await,
            Served::Known(known) => drop(outgoing.send(known.text).await),
            Served::Soon(response) => drop(outgoing.send(response.await.text).await),
            Served::Listening(_) | Served::Later(_) => {} // only calls wait, and only once
        };
    }
}

/// Tells a client everything about its call.
async fn notify(mut call: ClientCall, outgoing: ClientSender) {
    loop {
        let (text, last) = match call.next().await {
            CallStep::Event(text) => (text, false),
            CallStep::Final(known) => (known.text, true),
        };
        if outgoing.send(text).await.is_err() || last {
            return;
        }
    }
}

/// Tells a client what changes, until the connection is about to end.
async fn listen(
    mut subscription: Box<Subscription>,
    outgoing: ClientSender,
    ending: CancellationToken,
    goes_on: Option<CancellationToken>,
) {
    loop {
        let next = tokio::select! {
            text = subscription.next() => text,
            () = ending.cancelled() => None,
        };
        let Some(text) = next else { break };
        if outgoing.send(text).await.is_err() {
            return;
        }
    }
    if goes_on.is_some_and(|stop| stop.is_cancelled()) {
        return;
    }
    for text in [subscription.final_result(), subscription.cancellation()] {
        let _ = outgoing.send(text).await; // it may be gone already
    }
}
