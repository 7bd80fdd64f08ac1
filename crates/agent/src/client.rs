//! One connection to one server, without an agent around it.

mod builder;
pub(crate) mod notifications;

use std::{fmt, sync::Arc, time::Duration};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{broadcast, mpsc};
use tokio_util::task::TaskTracker;
use toolbay_protocol::ServerName;
use toolbay_upstream::{CallError, Failure, ServerHandle, UpstreamState, start};

pub use builder::{ClientBuilder, Embedded};
pub use notifications::{Notifications, ServerNotification};

use self::{builder::ClientSettings, notifications::forward};
use crate::{
    CallOptions, CallToolResult, Error, ServerInfo,
    call::CallSender,
    peer::{Peer, peer_requests},
};

/// How many notifications may wait to be passed on.
const UPDATES: usize = 256;
/// How long a server may take to end: stdin closed, SIGTERM, SIGKILL, and some more.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection to one server. Clones share the connection; it ends with [`Client::close`], or when the last clone is
/// dropped.
///
/// ```no_run
/// use serde_json::json;
/// use toolbay_agent::Client;
///
/// # async fn example() -> Result<(), toolbay_agent::Error> {
/// let client = Client::stdio("uvx").arg("mcp-server-git").inherit_env().connect().await?;
/// eprintln!("{:?}", client.server_info());
/// let status = client.call_tool("git_status", json!({"repo_path": "."})).await?;
/// eprintln!("{}", status.to_text());
/// client.close().await;
/// # Ok(())
/// # }
/// ```
///
/// A server that crashes is started again, and calls wait for it. Calls run concurrently.
#[derive(Clone)]
pub struct Client {
    shared: Arc<ClientInner>,
    sender: Arc<CallSender>,
}

struct ClientInner {
    name: ServerName,
    settings: ClientSettings,
    slot: Mutex<ConnectionSlot>,
    notifications: broadcast::Sender<(ServerName, ServerNotification)>,
}

/// Whether there is a connection.
enum ConnectionSlot {
    Idle,
    Starting,
    Ready(Arc<OpenClient>),
}

impl Client {
    /// Opens the connection, performs the handshake and lists what the server offers.
    ///
    /// # Errors
    ///
    /// When the server cannot be started or reached, after which this may be called again, or when the client is initialized.
    pub async fn initialize(&self) -> Result<ServerInfo, Error> {
        let starting = self.begin()?;
        // A legacy server may request roots at any time, not only in the middle of a call.
        let roots = self.sender.handlers.roots_of(&self.shared.name).await;
        let open = OpenClient::start(&self.shared, &self.sender, roots)?;
        if let Err(failure) = open.settled().await {
            open.stop().await;
            let server = self.shared.name.clone();
            return Err(match failure {
                Some(failure) => Error::Init { server, failure },
                None => Error::Connection(CallError::Stopped { server }),
            });
        }
        let info = open.info();
        starting.done(open);
        Ok(info)
    }

    /// Ends the connection: the process with its descendants, or the session at a URL. The client may be initialized again.
    pub async fn close(&self) {
        let slot = std::mem::replace(&mut *self.shared.slot.lock(), ConnectionSlot::Idle);
        if let ConnectionSlot::Ready(open) = slot {
            open.stop().await;
        }
    }

    /// Returns the same connection with options for calls.
    pub fn with(&self, options: CallOptions) -> Self {
        let sender = (*self.sender).clone().with_options(options);
        Self { sender: Arc::new(sender), ..self.clone() }
    }

    /// Calls a tool. `arguments` is an object, or null for none. Dropping the future cancels the call.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or returns an error. A tool that fails is a result with `isError`.
    pub async fn call_tool(&self, name: &str, arguments: Value) -> Result<CallToolResult, Error> {
        self.peer()?.call_tool(name, arguments).await
    }

    /// Whether the server is up.
    pub fn is_connected(&self) -> bool {
        self.open().is_ok_and(|open| matches!(open.handle.status().borrow().state, UpstreamState::Running))
    }

    /// What the server says about itself; none before [`Client::initialize`].
    pub fn server_info(&self) -> Option<ServerInfo> {
        self.open().ok().map(|open| open.info())
    }

    /// The capabilities of the server, as declared; none before [`Client::initialize`].
    pub fn capabilities(&self) -> Option<Value> {
        self.server_info().map(|info| info.capabilities)
    }

    /// The engine's handle to the server, for its state, log and counts; none before [`Client::initialize`].
    pub fn handle(&self) -> Option<ServerHandle> {
        self.open().ok().map(|open| open.handle.clone())
    }

    /// All notifications of the server from now on.
    pub fn notifications(&self) -> Notifications {
        Notifications::of_client(self.shared.notifications.subscribe())
    }

    fn peer(&self) -> Result<Peer, Error> {
        let open = self.open()?;
        Ok(Peer { handle: open.handle.clone(), tasks: open.tasks.clone(), sender: self.sender.clone() })
    }

    fn open(&self) -> Result<Arc<OpenClient>, Error> {
        match &*self.shared.slot.lock() {
            ConnectionSlot::Ready(open) => Ok(open.clone()),
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

peer_requests!(Client);

/// A connection that is being opened; dropped before it is done, the client is idle again.
struct Starting<'a> {
    shared: &'a ClientInner,
}

impl Starting<'_> {
    fn done(self, open: OpenClient) {
        *self.shared.slot.lock() = ConnectionSlot::Ready(Arc::new(open));
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

/// A connection that was opened.
struct OpenClient {
    handle: ServerHandle,
    tasks: TaskTracker,
}

impl OpenClient {
    /// `roots` is the response to `roots/list` outside of calls, as JSON text of an array.
    fn start(shared: &ClientInner, sender: &CallSender, roots: Option<String>) -> Result<Self, Error> {
        let (mut settings, endpoint) = shared.settings.ready(&shared.name)?;
        settings.roots = roots.or(settings.roots);
        settings.client = Some(sender.identity());
        let tasks = TaskTracker::new();
        let (updates, updated) = mpsc::channel(UPDATES);
        let handle = start(settings, endpoint, updates, &tasks);
        let listeners = shared.notifications.clone();
        tasks.spawn(forward(updated, handle.status(), listeners, shared.name.clone()));
        Ok(Self { handle, tasks })
    }

    /// Waits until the server is up, or known not to come up; then why, unless it was stopped.
    async fn settled(&self) -> Result<(), Option<Arc<Failure>>> {
        let mut status = self.handle.status();
        let settled = status.wait_for(|status| !matches!(status.state, UpstreamState::Starting { .. })).await;
        match settled.as_deref().map(|status| &status.state) {
            Ok(UpstreamState::Running) => Ok(()),
            Ok(state) => Err(state.failure().cloned()),
            Err(_) => Err(None),
        }
    }

    fn info(&self) -> ServerInfo {
        let status = self.handle.status();
        let status = status.borrow();
        ServerInfo::of(&status.catalog, status.revision)
    }

    async fn stop(&self) {
        self.handle.stop();
        self.tasks.close();
        if tokio::time::timeout(STOP_TIMEOUT, self.tasks.wait()).await.is_err() {
            tracing::warn!(server = %self.handle.name(), "it did not end in time");
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.shared.name).finish_non_exhaustive()
    }
}
