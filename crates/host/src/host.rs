//! The host: starts the configured servers and offers them as one.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use arc_swap::ArcSwap;
use http::HeaderValue;
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, broadcast, mpsc, watch},
    time::Duration,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_config::ServerConfig;
use toolbay_protocol::{Notification, ServerName, redact::KnownSecrets};
use toolbay_transport::Connection;
use toolbay_upstream::{
    ByteBudget, CallerId, Catalog, ClientIdentity, Endpoint, HubChain, HubsBehind, PendingPath, ServerHandle,
    Shim, StartGate, capture::Capture,
};

use crate::{
    CatalogReview, HostChange, HostChanges, Naming, RouteTable, SecretLookup,
    catalog::{
        builder::{TablePart, build_first_table, maintain_table},
        cache::CatalogCache,
    },
    events::EventLog,
    router::wait_for_server::is_starting,
    servers::{
        auth::Authorizers,
        instances::{Lease, roots::RootInstances},
        registry::{RegisteredServer, ServerRegistry},
    },
    view::ViewOrigin,
};

/// How many changes a reader may fall behind.
pub(crate) const CHANGES: usize = 256;

/// Opens a connection to a server in this process; called for every connection.
pub type InProcess = Arc<dyn Fn(&TaskTracker) -> Connection + Send + Sync>;

/// Options of a host.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// How the names of tools and prompts are made.
    pub naming: Naming,
    /// The environment of the host. Servers inherit the variables that programs need to run and no secrets, unless their entries say
    /// otherwise.
    pub base_env: BTreeMap<OsString, OsString>,
    /// The `PATH` that servers inherit instead of that in `base_env`, if it is not known yet.
    pub path: Option<PendingPath>,
    /// How process trees are kept together.
    pub shim: Shim,
    /// The folder in which catalogs are cached, so that they are known before their servers are up.
    pub cache: Option<PathBuf>,
    /// Overrides how configured servers are reached.
    pub connector: Option<Connector>,
    /// Brings the authorization of servers at a URL.
    pub authorizers: Option<Authorizers>,
    /// This hub and those that it was started through. Servers get this chain, and one that leads back to any of them is
    /// refused.
    pub chain: Option<HubChain>,
    /// The client info that servers get; without it, that of Toolbay.
    pub client: Option<Arc<ClientIdentity>>,
    /// How the values of `${secret:NAME}` are found; without it, servers that refer to secrets are not started.
    pub secrets: Option<SecretLookup>,
    /// Reviews the catalogs of configured servers before they are offered.
    pub review: Option<Arc<dyn CatalogReview>>,
}

/// Overrides how configured servers are reached: inside this program, or in a test.
#[derive(Clone)]
pub struct Connector {
    connect: Arc<Connect>,
    in_root: Option<Arc<ConnectInRoot>>,
}

type Connect = dyn Fn(&ServerConfig) -> Option<Endpoint> + Send + Sync;
pub(crate) type ConnectInRoot = dyn Fn(&ServerConfig, &Path) -> Option<Endpoint> + Send + Sync;

impl Connector {
    /// A connector that calls a function; servers for which it returns none are reached as their entries say.
    pub fn new(connect: impl Fn(&ServerConfig) -> Option<Endpoint> + Send + Sync + 'static) -> Self {
        Self { connect: Arc::new(connect), in_root: None }
    }

    /// The same connector, with servers that are bound to a folder: `connect` returns how such a server is reached for clients
    /// that work in a project, and none for servers that are the same everywhere.
    pub fn with_roots(
        self,
        connect: impl Fn(&ServerConfig, &Path) -> Option<Endpoint> + Send + Sync + 'static,
    ) -> Self {
        Self { in_root: Some(Arc::new(connect)), ..self }
    }

    pub(crate) fn connect(&self, config: &ServerConfig) -> Option<Endpoint> {
        (self.connect)(config)
    }

    pub(crate) fn in_root(&self) -> Option<Arc<ConnectInRoot>> {
        self.in_root.clone()
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

impl Default for HostOptions {
    /// Prefixed names; servers inherit nothing, their trees are not kept together by a shim, and nothing is kept on disk.
    fn default() -> Self {
        Self {
            naming: Naming::Prefix,
            base_env: BTreeMap::new(),
            path: None,
            shim: Shim::none(),
            cache: None,
            connector: None,
            authorizers: None,
            chain: None,
            client: None,
            secrets: None,
            review: None,
        }
    }
}

/// Many servers as one. Clones are cheap and mean the same host.
#[derive(Clone)]
pub struct Host {
    pub(crate) shared: Arc<HostInner>,
}

/// What the host and its tasks have in common.
pub(crate) struct HostInner {
    pub(crate) servers: ArcSwap<ServerRegistry>,
    /// Held while the registry is replaced.
    pub(crate) applying: Mutex<()>,
    pub(crate) table: ArcSwap<RouteTable>,
    pub(crate) made_of: watch::Sender<TableInputs>,
    pub(crate) changes: broadcast::Sender<HostChange>,
    pub(crate) notifications: broadcast::Sender<(ServerName, Arc<Notification>)>,
    pub(crate) events: Arc<EventLog>,
    /// Notified when a server or its catalog may have changed.
    pub(crate) servers_changed: Arc<Notify>,
    /// Notified when the policy of a view may decide otherwise.
    pub(crate) policy_changed: Arc<Notify>,
    /// Notifications of servers that belong to no call.
    pub(crate) updates: mpsc::Sender<(ServerName, Box<Notification>)>,
    pub(crate) cache: Option<Arc<CatalogCache>>,
    pub(crate) naming: Naming,
    pub(crate) base_env: BTreeMap<OsString, OsString>,
    pub(crate) path: Option<PendingPath>,
    pub(crate) shim: Shim,
    pub(crate) connector: Option<Connector>,
    pub(crate) authorizers: Option<Authorizers>,
    pub(crate) chain: Option<HubChain>,
    pub(crate) client: Option<Arc<ClientIdentity>>,
    pub(crate) secrets: Option<SecretLookup>,
    pub(crate) review: Option<Arc<dyn CatalogReview>>,
    /// Values of secrets that servers were started with.
    pub(crate) known_secrets: KnownSecrets,
    /// Captures messages of clients and servers.
    pub(crate) capture: Capture,
    /// Bounds how many servers start at once.
    pub(crate) start_gate: StartGate,
    /// Bounds the bytes of large calls to all servers.
    pub(crate) budget: ByteBudget,
    /// Values of `Authorization`, by server.
    pub(crate) credentials: Mutex<HashMap<ServerName, HeaderValue>>,
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: TaskTracker,
    /// Set when it is a view of another host.
    pub(crate) view: Option<ViewOrigin>,
}

/// The inputs from which the table was built.
#[derive(Clone, Default)]
pub(crate) struct TableInputs {
    pub(crate) servers: Option<Arc<ServerRegistry>>,
    /// One per server.
    pub(crate) parts: Vec<TablePart>,
}

impl Host {
    /// Starts all servers at once, in the background, and returns before any of them is up.
    pub fn start(
        servers: &[ServerConfig],
        in_process: Vec<(ServerName, InProcess)>,
        options: &HostOptions,
    ) -> Self {
        let embedded = in_process.into_iter().map(|(name, connect)| (name, Endpoint::InProcess(connect)));
        Self::start_with(servers, embedded.collect(), options)
    }

    /// As [`Host::start`], with servers that no configuration can name: in this process, or behind a transport of one's own
    /// ([`Endpoint::Custom`]).
    pub fn start_with(
        servers: &[ServerConfig],
        embedded: Vec<(ServerName, Endpoint)>,
        options: &HostOptions,
    ) -> Self {
        let (updates, updated) = mpsc::channel(CHANGES);
        let known_secrets = KnownSecrets::default();
        let shared = Arc::new(HostInner {
            servers: ArcSwap::default(),
            applying: Mutex::default(),
            table: ArcSwap::default(),
            made_of: watch::Sender::default(),
            changes: broadcast::Sender::new(CHANGES),
            notifications: broadcast::Sender::new(CHANGES),
            events: Arc::new(EventLog::new()),
            servers_changed: Arc::default(),
            policy_changed: Arc::default(),
            updates,
            cache: options.cache.clone().map(|folder| Arc::new(CatalogCache::new(folder))),
            naming: options.naming,
            base_env: options.base_env.clone(),
            path: options.path.clone(),
            shim: options.shim.clone(),
            connector: options.connector.clone(),
            authorizers: options.authorizers.clone(),
            chain: options.chain.clone(),
            client: options.client.clone(),
            secrets: options.secrets.clone(),
            review: options.review.clone(),
            capture: Capture::new(known_secrets.clone()),
            known_secrets,
            start_gate: StartGate::default(),
            budget: ByteBudget::new(ByteBudget::IN_ALL),
            credentials: Mutex::default(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            view: None,
        });
        let embedded = embedded.into_iter().map(|(name, source)| shared.embed(name, source));
        let mut entries: Vec<Arc<RegisteredServer>> = embedded.collect();
        entries.extend(servers.iter().map(|config| shared.admit(config, None)));
        shared.servers.store(Arc::new(ServerRegistry::new(entries)));
        let parts = build_first_table(&shared);
        shared.tasks.spawn(maintain_table(shared.clone(), parts, updated, None));
        Self { shared }
    }

    /// The current route table.
    pub fn table(&self) -> Arc<RouteTable> {
        self.shared.table.load_full()
    }

    /// As [`Host::table`], for a short use: cheaper, but must not be held.
    pub(crate) fn peek_table(&self) -> arc_swap::Guard<Arc<RouteTable>> {
        self.shared.table.load()
    }

    /// Has all catalogs reviewed again whose review is of another [generation](CatalogReview::generation), in the background.
    pub fn review_again(&self) {
        self.shared.servers_changed.notify_one();
    }

    /// Subscribes to changes.
    pub fn changes(&self) -> HostChanges {
        self.shared.changes.subscribe()
    }

    /// The notifications of all servers from now on that belong to no call, and those that the protocol does not know.
    /// They are apart from [`Host::changes`], so that a server that sends many does not make listeners miss changes.
    pub fn notifications(&self) -> broadcast::Receiver<(ServerName, Arc<Notification>)> {
        self.shared.notifications.subscribe()
    }

    /// All servers, in the order of the configuration.
    pub fn servers(&self) -> Vec<ServerHandle> {
        self.shared.servers.load().servers.iter().map(|entry| entry.handle().clone()).collect()
    }

    /// The server of that name.
    pub fn server(&self, name: &str) -> Option<ServerHandle> {
        self.shared.servers.load().get(name).map(|entry| entry.handle().clone())
    }

    /// Whether any server is starting.
    pub fn is_starting(&self) -> bool {
        self.servers().iter().any(|server| is_starting(&server.status().borrow()))
    }

    /// The server whose names begin with that slug.
    pub fn by_slug(&self, slug: &str) -> Option<ServerHandle> {
        self.shared.servers.load().by_slug(slug).map(|entry| entry.handle().clone())
    }

    /// The instance of a server that serves the calls of `caller`, who works in `root`.
    pub(crate) fn instance(
        &self,
        server: &ServerHandle,
        caller: CallerId,
        root: Option<&Path>,
    ) -> (ServerHandle, Option<Lease>) {
        if let Some(root) = root
            && let Some(entry) = self.shared.servers.load().get(server.name().as_str())
            && let Some(instance) = entry.runner.roots.as_ref().and_then(|roots| roots.instance(root))
        {
            return (instance, None);
        }
        if server.needs_own_process_per_client()
            && let Some(entry) = self.shared.servers.load().get(server.name().as_str())
        {
            return entry.runner.instances.lease(caller);
        }
        (server.clone(), None)
    }

    /// Whether calls may use the bare names of tools and prompts.
    pub(crate) fn has_bare_names(&self) -> bool {
        self.shared.naming() != Naming::Prefix
    }

    /// Waits until no server is starting: each is ready, or has failed.
    pub async fn settled(&self) {
        self.settled_among(&self.servers()).await;
    }

    /// As [`Host::settled`], for some servers only.
    pub(crate) async fn settled_among(&self, awaited: &[ServerHandle]) {
        for server in awaited {
            // The watch closes only with the server, which then is not starting.
            let _ = server.status().wait_for(|status| !is_starting(status)).await;
        }
        self.table_updated().await;
    }

    /// Waits until the table was rebuilt from the current catalogs, which takes a moment only.
    pub async fn table_updated(&self) {
        let mut made_of = self.shared.made_of.subscribe();
        let follows = |made_of: &TableInputs| {
            let registry = self.shared.servers.load();
            let is_newest =
                |(entry, known): (&Arc<RegisteredServer>, &TablePart)| TablePart::of(entry).is_same(known);
            made_of.servers.as_ref().is_some_and(|known| Arc::ptr_eq(known, &registry))
                && registry.servers.iter().zip(&made_of.parts).all(is_newest)
                && made_of.parts.iter().all(TablePart::is_settled)
        };
        tokio::select! {
            _ = made_of.wait_for(follows) => {}
            () = self.shared.stop.cancelled() => {}
        }
    }

    /// The hubs that this one consists of, itself first; none where it has no id.
    pub fn hubs(&self) -> Option<HubsBehind> {
        let chain = self.shared.chain.as_ref()?;
        let catalogs: Vec<Arc<Catalog>> =
            self.servers().iter().map(|server| server.status().borrow().catalog.clone()).collect();
        Some(chain.behind(catalogs.iter().map(|catalog| &catalog.hubs)))
    }

    /// This hub and those that it was reached through.
    pub fn chain(&self) -> Option<&HubChain> {
        self.shared.chain.as_ref()
    }

    /// The capture of messages between clients and servers.
    pub fn capture(&self) -> &Capture {
        &self.shared.capture
    }

    /// A text without the values of secrets that servers were started with.
    pub fn hide_secrets<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.shared.known_secrets.hide(text)
    }

    /// Tokio tasks of listeners of this host; they end with it.
    pub fn tasks(&self) -> &TaskTracker {
        &self.shared.tasks
    }

    /// Resolves when [`Host::stop`] is called.
    pub fn stopping(&self) -> impl Future<Output = ()> + Send + use<> {
        self.shared.stop.clone().cancelled_owned()
    }

    /// Stops every server and waits until all are gone, but no longer than `grace`.
    pub async fn stop(&self, grace: Duration) {
        self.shared.stop.cancel();
        for entry in &self.shared.servers.load().servers {
            entry.runner.instances.stop();
            entry.runner.roots.iter().for_each(RootInstances::stop);
        }
        self.shared.tasks.close();
        if tokio::time::timeout(grace, self.shared.tasks.wait()).await.is_err() {
            tracing::warn!("some tasks did not end in time");
        }
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("servers", &self.servers().len()).finish_non_exhaustive()
    }
}
