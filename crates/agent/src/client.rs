//! One connection to one server, without a host.

mod builder;
mod calls;
mod notifications;
mod server_info;

use std::{fmt, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::sync::{broadcast, mpsc};
use tokio_util::task::TaskTracker;
use toolbay_host::{HostRequest, Routed};
use toolbay_protocol::ServerName;
use toolbay_upstream::{Call, CallError, Failure, ServerHandle, UpstreamState, UpstreamStatus, start};

pub use builder::ClientBuilder;
pub use notifications::{Notifications, ServerNotification};
pub use server_info::ServerInfo;

use self::{builder::ClientSettings, notifications::forward};
use crate::{
    CallOptions, Error,
    call::{CallSender, CallTarget},
};

/// How many notifications may wait for being passed on.
const UPDATES: usize = 256;
/// How long a server may take to end: stdin closed, SIGTERM, SIGKILL, and some more.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// A connection to one server. Clones are cheap and mean the same connection; it ends with [`Client::close`], or when the
/// last clone is dropped.
///
/// ```no_run
/// use serde_json::json;
/// use toolbay_agent::Client;
///
/// # async fn example() -> Result<(), toolbay_agent::Error> {
/// let client = Client::stdio("uvx", ["mcp-server-git"]).environment(std::env::vars_os()).connect().await?;
/// eprintln!("{:?}", client.server_info());
/// let status = client.call_tool("git_status", json!({"repo_path": "."})).await?;
/// eprintln!("{}", status.to_text());
/// client.close().await;
/// # Ok(())
/// # }
/// ```
///
/// The connection is kept up: a server that dies is started again, and calls wait for it. Calls run beside each other;
/// none waits for another.
#[derive(Clone)]
pub struct Client {
    shared: Arc<ClientInner>,
    sender: Arc<CallSender>,
}

struct ClientInner {
    name: ServerName,
    setup: ClientSettings,
    slot: Mutex<ConnectionSlot>,
    notifications: broadcast::Sender<ServerNotification>,
}

/// Whether there is a connection.
enum ConnectionSlot {
    Idle,
    Starting,
    Ready(Arc<OpenClient>),
}

impl Client {
    /// Opens the connection, shakes hands and lists what the server offers.
    ///
    /// # Errors
    ///
    /// When the server does not come up, which may be tried again, or when that was done already.
    pub async fn initialize(&self) -> Result<ServerInfo, Error> {
        let starting = self.begin()?;
        // A server with a handshake may ask for them at any time, not only in the middle of a call.
        let roots = self.sender.handlers.roots_of(&self.shared.name).await;
        let running = OpenClient::start(&self.shared, roots)?;
        if let Err(failure) = running.settled().await {
            running.stop().await;
            let server = self.shared.name.clone();
            return Err(match failure {
                Some(failure) => Error::Init { server, failure },
                None => Error::Connection(CallError::Stopped { server }),
            });
        }
        let info = ServerInfo::of(&running.handle.status().borrow());
        starting.done(running);
        Ok(info)
    }

    /// Ends the connection: the process with everything below it, or the session at a URL. Afterwards the client may be
    /// initialized anew.
    pub async fn close(&self) {
        let slot = std::mem::replace(&mut *self.shared.slot.lock(), ConnectionSlot::Idle);
        if let ConnectionSlot::Ready(running) = slot {
            running.stop().await;
        }
    }

    /// The same connection, for calls of which this is wanted.
    pub fn with(&self, options: CallOptions) -> Self {
        let sender = (*self.sender).clone().with_options(options);
        Self { sender: Arc::new(sender), ..self.clone() }
    }

    /// Whether the server is up.
    pub fn is_connected(&self) -> bool {
        self.status().is_some_and(|status| matches!(status.state, UpstreamState::Running))
    }

    /// What the server said about itself; nothing before [`Client::initialize`].
    pub fn server_info(&self) -> Option<ServerInfo> {
        self.status().map(|status| ServerInfo::of(&status))
    }

    /// What the server can do, as it said; nothing before [`Client::initialize`].
    pub fn capabilities(&self) -> Option<serde_json::Value> {
        serde_json::from_str(self.status()?.catalog.capabilities.as_deref()?).ok()
    }

    /// The server behind it, for whoever wants its state, log or counts; nothing before [`Client::initialize`].
    pub fn handle(&self) -> Option<ServerHandle> {
        self.running().ok().map(|running| running.handle.clone())
    }

    /// What the server says from now on that belongs to no call.
    pub fn notifications(&self) -> Notifications {
        Notifications::new(self.shared.notifications.subscribe())
    }

    fn status(&self) -> Option<UpstreamStatus> {
        self.running().ok().map(|running| running.handle.status().borrow().clone())
    }

    fn running(&self) -> Result<Arc<OpenClient>, Error> {
        match &*self.shared.slot.lock() {
            ConnectionSlot::Ready(running) => Ok(running.clone()),
            ConnectionSlot::Idle | ConnectionSlot::Starting => {
                Err(Error::NotInitialized { server: self.shared.name.clone() })
            }
        }
    }

    fn begin(&self) -> Result<Starting<'_>, Error> {
        let mut slot = self.shared.slot.lock();
        match *slot {
            ConnectionSlot::Idle => {
                *slot = ConnectionSlot::Starting;
                Ok(Starting { shared: &self.shared })
            }
            ConnectionSlot::Starting | ConnectionSlot::Ready(_) => {
                Err(Error::AlreadyInitialized { server: self.shared.name.clone() })
            }
        }
    }
}

/// A connection that is being made; dropped before it is done, there is none.
struct Starting<'a> {
    shared: &'a ClientInner,
}

impl Starting<'_> {
    fn done(self, running: OpenClient) {
        *self.shared.slot.lock() = ConnectionSlot::Ready(Arc::new(running));
    }
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        let mut slot = self.shared.slot.lock();
        if matches!(*slot, ConnectionSlot::Starting) {
            *slot = ConnectionSlot::Idle;
        }
    }
}

struct OpenClient {
    handle: ServerHandle,
    tasks: TaskTracker,
}

impl OpenClient {
    /// `roots` is what the server is told about its folders whenever it asks, as JSON text of an array.
    fn start(shared: &ClientInner, roots: Option<String>) -> Result<Self, Error> {
        let (mut settings, source) = shared.setup.ready(&shared.name)?;
        settings.roots = roots.or(settings.roots);
        let tasks = TaskTracker::new();
        let (updates, updated) = mpsc::channel(UPDATES);
        let handle = start(settings, source, updates, &tasks);
        tasks.spawn(forward(updated, handle.status(), shared.notifications.clone()));
        Ok(Self { handle, tasks })
    }

    /// Waits until the server is up, or known not to be; then why, unless it was stopped.
    async fn settled(&self) -> Result<(), Option<Arc<Failure>>> {
        let mut status = self.handle.status();
        let settled = status.wait_for(|status| !matches!(status.state, UpstreamState::Starting { .. })).await;
        match settled.as_deref().map(|status| &status.state) {
            Ok(UpstreamState::Running) => Ok(()),
            Ok(state) => Err(state.failure().cloned()),
            Err(_) => Err(None),
        }
    }

    async fn stop(&self) {
        self.handle.stop();
        self.tasks.close();
        if tokio::time::timeout(STOP_PATIENCE, self.tasks.wait()).await.is_err() {
            tracing::warn!(server = %self.handle.name(), "it did not end in time");
        }
    }
}

impl CallTarget for OpenClient {
    fn send(&self, asked: HostRequest) -> Routed {
        let HostRequest { request, caller, events, resumes: _ } = asked;
        let only_as_task = request.call.param("task").is_some();
        Routed::Sent(self.handle.call(Call {
            request,
            caller,
            renamed: Default::default(),
            events,
            only_as_task,
            timeouts: None,
        }))
    }

    fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.shared.name).finish_non_exhaustive()
    }
}
