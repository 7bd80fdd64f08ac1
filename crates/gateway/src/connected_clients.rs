//! The connected clients: for `toolbay hub status`, and for a hub that ends after its last client.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use toolbay_access::{Access, Principal};
use toolbay_policy::Exposure;
use toolbay_protocol::Notification;

use crate::capture::CapturedClient;

/// The notification with which `toolbay stdio` introduces its client, before the client's first message. Its `params` are an
/// [`Attach`].
pub const ATTACH: &str = "notifications/toolbay/attach";
/// The notification with which a hub that is about to end on request takes leave of those that introduced themselves with [`ATTACH`].
pub const GOODBYE: &str = "notifications/toolbay/goodbye";

/// How many names of variables one client may send.
const MAX_VARIABLES: usize = 2048;
/// How many names of variables are kept of all clients.
const MAX_KNOWN_VARIABLES: usize = 8192;
/// The longest name of a client that is shown.
const MAX_NAME: usize = 128;

/// What `toolbay stdio` says of its client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attach {
    /// The project of the client: the directory in which it started `toolbay stdio`. Where that is none, the client's roots
    /// name it, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    /// The version of that `toolbay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The profile that it asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The names of the environment variables that are set for the client, never their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
    /// Which tools it is listed: the name of an [`Exposure`], where that is not for the hub to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposure: Option<String>,
}

/// How a client is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientTransport {
    Stdio,
    Unix,
    Sse,
    WebSocket,
    /// Streamable HTTP, with a session.
    Http,
}

/// A connected client at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedClient {
    /// What it calls itself, and its version.
    pub name: Option<String>,
    /// How it is connected.
    pub transport: ClientTransport,
    /// As whom it is connected.
    pub principal: Principal,
    /// Its process, or that of the `toolbay stdio` in front of it.
    pub pid: Option<u32>,
    /// Its project.
    pub root: Option<Arc<Path>>,
    /// When it connected.
    pub since: SystemTime,
}

/// All clients that have a connection of their own.
#[derive(Debug)]
pub(crate) struct Clients {
    inner: Mutex<Inner>,
    count: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Inner {
    last: u64,
    connected: BTreeMap<u64, ConnectedClient>,
    /// The names of variables that are set for some client.
    variables: BTreeSet<String>,
}

/// A client for as long as it is connected.
#[derive(Debug)]
pub(crate) struct ConnectedGuard {
    clients: Arc<Clients>,
    id: u64,
    access: Arc<Access>,
}

impl Clients {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { inner: Mutex::default(), count: watch::Sender::new(0) })
    }

    /// Enters a client until the returned value is dropped.
    pub(crate) fn enter(
        self: &Arc<Self>,
        transport: ClientTransport,
        access: Arc<Access>,
        pid: Option<u32>,
    ) -> ConnectedGuard {
        let (principal, since) = (access.principal.clone(), SystemTime::now());
        let client = ConnectedClient { name: None, transport, principal, pid, root: None, since };
        let mut inner = self.inner.lock();
        inner.last += 1;
        let id = inner.last;
        inner.connected.insert(id, client);
        self.count.send_replace(inner.connected.len());
        ConnectedGuard { clients: self.clone(), id, access }
    }

    /// The clients, in the order in which they came.
    pub(crate) fn list(&self) -> Vec<ConnectedClient> {
        self.inner.lock().connected.values().cloned().collect()
    }

    /// What a client calls itself.
    pub(crate) fn name(&self, id: u64) -> Option<String> {
        self.inner.lock().connected.get(&id)?.name.clone()
    }

    /// How many there are.
    pub(crate) fn count(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }

    /// The names of the environment variables that are set for some client that is or was here.
    pub(crate) fn variables(&self) -> BTreeSet<String> {
        self.inner.lock().variables.clone()
    }
}

impl ConnectedGuard {
    /// As whom it is connected, and what that allows.
    pub(crate) fn access(&self) -> &Arc<Access> {
        &self.access
    }

    /// Notes what the client calls itself; `info` is its `clientInfo` as JSON text.
    pub(crate) fn identify(&self, info: &str) {
        let Some(name) = name_of(info) else { return };
        if let Some(client) = self.clients.inner.lock().connected.get_mut(&self.id) {
            client.name = Some(name);
        }
    }

    /// Notes the client's project.
    pub(crate) fn works_in(&self, root: Option<Arc<Path>>) {
        if let Some(client) = self.clients.inner.lock().connected.get_mut(&self.id) {
            client.root = root;
        }
    }

    /// What the client calls itself, if it did so.
    pub(crate) fn name(&self) -> Option<String> {
        self.clients.name(self.id)
    }

    /// For those who watch its messages.
    pub(crate) fn captured(&self) -> CapturedClient {
        CapturedClient::Connected(self.clients.clone(), self.id)
    }

    /// Notes what `toolbay stdio` says of its client, and returns the client's project and which tools it is listed.
    pub(crate) fn attach(&self, notification: &Notification) -> (Option<Arc<Path>>, Option<Exposure>) {
        let text = notification.params_text().unwrap_or("{}");
        let mut attach: Attach = match serde_json::from_str(text) {
            Ok(attach) => attach,
            Err(error) => {
                tracing::warn!(%error, "cannot parse the introduction of a client");
                return (None, None);
            }
        };
        attach.variables.truncate(MAX_VARIABLES);
        let root: Option<Arc<Path>> = attach.root.filter(|root| root.is_absolute()).map(Into::into);
        let mut inner = self.clients.inner.lock();
        for variable in attach.variables {
            if inner.variables.len() < MAX_KNOWN_VARIABLES {
                inner.variables.insert(variable);
            }
        }
        if let Some(client) = inner.connected.get_mut(&self.id) {
            client.transport = ClientTransport::Stdio;
            client.root = root.clone();
        }
        (root, attach.exposure.and_then(|exposure| exposure.parse().ok()))
    }
}

/// What a client calls itself, and its version; `info` is its `clientInfo` as JSON text.
pub(crate) fn name_of(info: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Info {
        name: String,
        version: Option<String>,
    }
    let Info { name, version } = serde_json::from_str(info).ok()?;
    let name = match version {
        Some(version) => format!("{name} {version}"),
        None => name,
    };
    Some(name.chars().take(MAX_NAME).collect())
}

impl Drop for ConnectedGuard {
    fn drop(&mut self) {
        let mut inner = self.clients.inner.lock();
        inner.connected.remove(&self.id);
        self.clients.count.send_replace(inner.connected.len());
    }
}
