//! The session of a legacy client.

pub(crate) mod pending_requests;
pub(crate) mod registry;
pub(crate) mod replay;

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

use parking_lot::Mutex;
use tokio::{
    sync::{Notify, oneshot},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use toolbay_access::Access;
use toolbay_host::{CallerId, CatalogKind, ClientIdentity, LogFilter, ResourceWatch};
use toolbay_protocol::{LogLevel, Notification, RequestId, Response, Revision, ServerName};

use crate::{
    gateway::with_profile,
    session::{
        pending_requests::{PendingServerRequest, PendingServerRequests},
        replay::ReplayStreams,
    },
    tasks::{KnownTasks, Task},
};

/// How many requests of one session may run at once.
const MAX_IN_FLIGHT: usize = 256;
/// How many tools a session may be listed because it searched for them.
const MAX_ACTIVATED: usize = 64;
/// How many resources one session may watch.
const MAX_WATCHED: usize = 1024;

/// The state of a client that sent `initialize`.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) revision: Revision,
    /// When it began.
    pub(crate) since: SystemTime,
    /// Distinguishes its calls from those of other clients.
    pub(crate) caller: CallerId,
    /// Ends with the session.
    pub(crate) ended: CancellationToken,
    /// The profile that it began with, if it had one.
    profile: Option<Arc<str>>,
    /// Streams that can be resumed after a broken connection.
    pub(crate) streams: Arc<ReplayStreams>,
    /// The versions of the lists that the client saw last.
    seen: [AtomicU64; 4],
    /// Woken when its list of tools, and that of no other session, has changed.
    pub(crate) own_list_changed: Notify,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Whose it is, with the token that was used last.
    access: Arc<Access>,
    used: Instant,
    /// Whether it has sent requests since the handshake.
    has_sent_requests: bool,
    /// Running requests with their cancellation; none where that was used already.
    /// Invariant: an entry exists exactly as long as its [`RunningRequest`], so no request is ended in the place of another.
    running: HashMap<RequestId, Option<oneshot::Sender<()>>>,
    /// The tools that it is listed because it searched for them, in the order in which they were found.
    activated: Vec<String>,
    /// What it watches, by the URI that it named.
    watched: HashMap<String, ResourceWatch>,
    identity: Arc<ClientIdentity>,
    logs: LogFilter,
    server_requests: PendingServerRequests,
    tasks: KnownTasks,
    /// The stream that carries what belongs to no request; a newer one ends the older.
    stream: CancellationToken,
}

/// Why a request cannot run in its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EnterError {
    DuplicateId,
    TooMany,
}

impl Session {
    pub(crate) fn new(revision: Revision, identity: ClientIdentity, access: Arc<Access>) -> Arc<Self> {
        Arc::new(Self {
            revision,
            since: SystemTime::now(),
            caller: CallerId::new(),
            ended: CancellationToken::new(),
            profile: access.rights.profile.clone(),
            streams: Arc::default(),
            seen: Default::default(),
            own_list_changed: Notify::new(),
            inner: Mutex::new(Inner {
                access,
                used: Instant::now(),
                has_sent_requests: false,
                running: HashMap::new(),
                activated: Vec::new(),
                watched: HashMap::new(),
                // Modern servers send log messages only to clients that name a level.
                identity: Arc::new(identity.at_level(Some(LogLevel::Info))),
                logs: LogFilter::Everything,
                server_requests: PendingServerRequests::default(),
                tasks: KnownTasks::default(),
                stream: CancellationToken::new(),
            }),
        })
    }

    /// Enters a request; the receiver resolves when the client cancels it.
    pub(crate) fn enter(self: &Arc<Self>, id: &RequestId) -> Result<RunningRequest, EnterError> {
        let mut inner = self.inner.lock();
        inner.used = Instant::now();
        inner.has_sent_requests = true;
        if inner.running.len() >= MAX_IN_FLIGHT {
            return Err(EnterError::TooMany);
        }
        let Entry::Vacant(place) = inner.running.entry(id.clone()) else {
            return Err(EnterError::DuplicateId);
        };
        let (cancel, cancelled) = oneshot::channel();
        place.insert(Some(cancel));
        drop(inner);
        Ok(RunningRequest { session: self.clone(), id: id.clone(), cancelled })
    }

    /// Lists tools that it searched for, and tells the client, unless they are listed already.
    pub(crate) fn activate<'a>(&self, tools: impl Iterator<Item = &'a str>) {
        let mut inner = self.inner.lock();
        let before = inner.activated.len();
        for tool in tools {
            if inner.activated.len() < MAX_ACTIVATED && !inner.activated.iter().any(|known| known == tool) {
                inner.activated.push(tool.to_owned());
            }
        }
        if inner.activated.len() > before {
            self.own_list_changed.notify_one();
        }
    }

    /// The tools that it is listed because it searched for them.
    pub(crate) fn activated(&self) -> Vec<String> {
        self.inner.lock().activated.clone()
    }

    /// Cancels a running request; what is not running needs none.
    pub(crate) fn cancel(&self, id: &RequestId) {
        if let Some(cancel) = self.inner.lock().running.get_mut(id).and_then(Option::take) {
            let _ = cancel.send(()); // it may have ended just now
        }
    }

    /// Adds a server request for the client, unless too many wait already. The caller sends it.
    pub(crate) fn request(&self, method: &str, params: &str) -> Option<PendingServerRequest> {
        self.inner.lock().server_requests.put(method, params)
    }

    /// Takes the client's response to a server request.
    pub(crate) fn on_response(&self, response: &Response) {
        let mut inner = self.inner.lock();
        inner.used = Instant::now();
        inner.server_requests.on_response(response);
    }

    /// Remembers a task that the client got an id for.
    pub(crate) fn add_task(&self, task: Task, id: String) {
        self.inner.lock().tasks.add(task, id);
    }

    /// What a server says of a task, for a client that knows the task.
    pub(crate) fn task_notification(
        &self,
        server: &ServerName,
        notification: &Notification,
    ) -> Option<Box<Notification>> {
        self.inner.lock().tasks.with_client_id(server, notification)
    }

    /// Records a request that is answered at once.
    pub(crate) fn mark_used(&self) {
        let mut inner = self.inner.lock();
        inner.used = Instant::now();
        inner.has_sent_requests = true;
    }

    /// Whether it belongs to the principal of `access`; if so, that is the access it goes on with.
    pub(crate) fn belongs_to(&self, access: &Arc<Access>) -> bool {
        let mut inner = self.inner.lock();
        let is_owned = inner.access.principal == access.principal;
        if is_owned && !Arc::ptr_eq(&inner.access, access) {
            inner.access = access.clone();
        }
        is_owned
    }

    /// The access of a request in it: with its profile, unless the request has another.
    pub(crate) fn access_in(&self, access: Arc<Access>) -> Arc<Access> {
        match &self.profile {
            Some(profile) if access.rights.profile.is_none() => with_profile(&access, profile),
            _ => access,
        }
    }

    /// The access that was used last.
    pub(crate) fn access(&self) -> Arc<Access> {
        self.inner.lock().access.clone()
    }

    pub(crate) fn touch(&self) {
        self.inner.lock().used = Instant::now();
    }

    pub(crate) fn last_used(&self) -> Instant {
        self.inner.lock().used
    }

    /// When it was last used, for a client that sent no request since its handshake.
    pub(crate) fn unused_since(&self) -> Option<Instant> {
        let inner = self.inner.lock();
        (!inner.has_sent_requests).then_some(inner.used)
    }

    /// Takes over as the stream of this session; the token ends when another does.
    pub(crate) fn take_stream(&self) -> CancellationToken {
        let mut inner = self.inner.lock();
        inner.stream.cancel();
        inner.stream = self.ended.child_token();
        inner.stream.clone()
    }

    /// Whether it may watch one more resource.
    pub(crate) fn may_watch(&self) -> Result<(), EnterError> {
        if self.inner.lock().watched.len() >= MAX_WATCHED { Err(EnterError::TooMany) } else { Ok(()) }
    }

    /// Remembers what it watches, unless there is too much.
    pub(crate) fn watch(&self, uri: String, watched: ResourceWatch) -> Result<(), EnterError> {
        let mut inner = self.inner.lock();
        if inner.watched.len() >= MAX_WATCHED {
            return Err(EnterError::TooMany);
        }
        if !self.ended.is_cancelled() {
            inner.watched.insert(uri, watched);
        }
        Ok(())
    }

    pub(crate) fn unwatch(&self, uri: &str) {
        self.inner.lock().watched.remove(uri);
    }

    /// The notifications for a resource that changed, one for every URI under which the client subscribed to it.
    pub(crate) fn updates(
        &self,
        server: &ServerName,
        notification: &Arc<Notification>,
    ) -> Vec<Arc<Notification>> {
        self.inner
            .lock()
            .watched
            .values()
            .filter_map(|watched| watched.updated(server, notification))
            .collect()
    }

    /// The URIs of all it watches.
    pub(crate) fn watched(&self) -> Vec<String> {
        self.inner.lock().watched.keys().cloned().collect()
    }

    /// Ends it, and all that is kept for it.
    pub(crate) fn end(&self) {
        self.ended.cancel();
        self.inner.lock().watched.clear();
    }

    /// Who the client is, and which log messages it wants.
    pub(crate) fn identity(&self) -> (Arc<ClientIdentity>, LogFilter) {
        let inner = self.inner.lock();
        (inner.identity.clone(), inner.logs)
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        let mut inner = self.inner.lock();
        inner.logs = LogFilter::AtLeast(level);
        inner.identity = Arc::new(inner.identity.at_level(Some(level)));
    }

    /// Remembers which version of a list the client has.
    pub(crate) fn saw(&self, kind: CatalogKind, version: u64) {
        self.seen[kind as usize].store(version, Ordering::Relaxed);
    }

    /// The version of a list that the client has; 0 if it never requested the list.
    pub(crate) fn seen(&self, kind: CatalogKind) -> u64 {
        self.seen[kind as usize].load(Ordering::Relaxed)
    }
}

/// A request that runs in a session; dropping it takes it out.
#[derive(Debug)]
pub(crate) struct RunningRequest {
    session: Arc<Session>,
    id: RequestId,
    pub(crate) cancelled: oneshot::Receiver<()>,
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.session.inner.lock().running.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::client::identity;

    /// Otherwise the end of the first would end the second.
    #[test]
    fn the_id_of_a_cancelled_request_is_taken_until_it_has_ended() {
        let identity = identity(Revision::LATEST_LEGACY, None, None);
        let session = Session::new(Revision::LATEST_LEGACY, identity, Access::owner());
        let id = RequestId::from(1);
        let mut first = session.enter(&id).unwrap();
        session.cancel(&id);
        assert_eq!(first.cancelled.try_recv(), Ok(()));
        assert_eq!(session.enter(&id).unwrap_err(), EnterError::DuplicateId);
        drop(first);
        let mut second = session.enter(&id).unwrap();
        assert_eq!(second.cancelled.try_recv(), Err(oneshot::error::TryRecvError::Empty));
    }
}
