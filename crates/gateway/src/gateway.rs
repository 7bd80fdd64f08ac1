//! The gateway as a whole.

use std::{collections::BTreeSet, path::PathBuf, str::FromStr, sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_access::{Access, Authenticator, PublicUrl, ServerLogins, proxy::AuthorizationProxy};
use toolbay_audit::AuditLog;
use toolbay_code::CodeRunner;
use toolbay_host::{CatalogKind, Host, SchemaView};
use toolbay_policy::{PolicySet, Profile, ProfileName};
use toolbay_protocol::{ErrorObject, model::Item};
use toolbay_results::LazyResultStore;
use toolbay_transport::{
    Connection,
    http::{ConnectionLimits, Tls, serve, serve_tls},
};

use crate::{
    connected_clients::{ClientTransport, Clients, ConnectedClient},
    error,
    hub_tools::{HubTools, exposure::ExposureOptions},
    listener::{
        connection,
        http::{HttpListener, legacy_sse::SseInboxes},
        send_queue::SendLimits,
    },
    pending_calls::{PendingCall, PendingCalls},
    request::serve::FirstList,
    seal::StateSeal,
    security::{
        local_user::LocalUsers,
        origin::{Origin, OriginGuard},
        principal_usage::{PrincipalLimits, PrincipalUsage},
        protected_resource::ProtectedResource,
        token_failures::TokenFailures,
    },
    session::registry::Sessions,
    suspended::SuspendedCalls,
    tasks::TaskSeal,
    views::{PrincipalServers, Views},
};

/// Options of a gateway.
#[derive(Debug, Clone)]
pub struct GatewayOptions {
    /// The version we claim to be.
    pub version: &'static str,
    /// The URL under which clients reach us.
    pub public_url: Option<PublicUrl>,
    /// Other host names besides the loopback ones under which clients may reach us, each with a port if pages come from another
    /// port than the listener's, 80 and 443.
    pub public_names: Vec<String>,
    /// Whose pages may use us, besides our own.
    pub allowed_origins: Vec<Origin>,
    /// Who may use listeners on loopback addresses without a token.
    pub local_users: LocalUsers,
    /// Who knows the tokens of clients on HTTP, in the order in which they are asked. While none is in use, everyone who reaches
    /// us is the owner.
    pub authenticators: Vec<Arc<dyn Authenticator>>,
    /// Where clients get tokens, if they can find that out by themselves.
    pub protected_resource: Option<ProtectedResource>,
    /// The authorization server that clients get tokens from, if the hub is its own. It is one of the authenticators, too.
    pub authorization_proxy: Option<Arc<AuthorizationProxy>>,
    /// Whether requests without a token are the owner's, although tokens are in use.
    pub allow_unauthenticated: bool,
    /// The pages on which principals log in at servers.
    pub server_logins: Option<Arc<ServerLogins>>,
    /// How principals other than the owner use servers with credentials; without it, as the owner.
    pub principal_servers: Option<Arc<dyn PrincipalServers>>,
    /// What callers see and may do, besides their rights.
    pub policy: PolicySet,
    /// The profile of all clients; without it, the one that they ask for.
    pub profile: Option<ProfileName>,
    /// How long a response is held back to clients that show wrong tokens again and again.
    pub wrong_token_delay: Duration,
    /// What one HTTP connection may take.
    pub limits: ConnectionLimits,
    /// How many sessions there may be, and how many clients each on HTTP+SSE and WebSocket, and how many
    /// subscriptions of clients without a session.
    pub max_sessions: usize,
    /// How much of it one principal may take.
    pub principal_limits: PrincipalLimits,
    /// How many bytes may wait for a client on HTTP+SSE or WebSocket that does not read.
    pub max_unread: usize,
    /// When an unused session ends.
    pub session_idle: Duration,
    /// Where the key is kept that seals ids of tasks; without it they end with this process.
    pub task_key: Option<PathBuf>,
    /// The server as which it presents itself; without it, the hub.
    pub identity: Option<GatewayIdentity>,
    /// The log in which calls are recorded.
    pub audit: Option<Arc<AuditLog>>,
    /// Where results are kept that are longer than clients get; without it, no result is cut.
    pub results: Option<Arc<LazyResultStore>>,
    /// How tools are listed to clients that reject more than the specification does.
    pub schema_view: SchemaViewSetting,
    /// How long the first requests for a list wait for servers that are starting, where no catalog is cached; zero for not at all.
    pub first_list_wait: Duration,
    /// Which tools clients are listed.
    pub exposure: ExposureOptions,
    /// Runs code of clients; without it, they are not offered to.
    pub code: Option<Arc<CodeRunner>>,
}

impl Default for GatewayOptions {
    fn default() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            public_url: None,
            public_names: Vec::new(),
            allowed_origins: Vec::new(),
            local_users: LocalUsers::default(),
            authenticators: Vec::new(),
            protected_resource: None,
            authorization_proxy: None,
            allow_unauthenticated: false,
            server_logins: None,
            principal_servers: None,
            policy: PolicySet::default(),
            profile: None,
            wrong_token_delay: Duration::from_secs(1),
            limits: ConnectionLimits::default(),
            max_sessions: 10_000,
            principal_limits: PrincipalLimits::default(),
            max_unread: 4 * 1024 * 1024,
            session_idle: Duration::from_secs(3600),
            task_key: None,
            identity: None,
            audit: None,
            results: None,
            schema_view: SchemaViewSetting::default(),
            first_list_wait: Duration::from_secs(2),
            exposure: ExposureOptions::default(),
            code: None,
        }
    }
}

impl GatewayOptions {
    /// Whether clients on HTTP need a token.
    pub(crate) fn requires_token(&self) -> bool {
        self.uses_tokens() && !self.allow_unauthenticated
    }

    /// Whether tokens of clients on HTTP mean anything.
    pub(crate) fn uses_tokens(&self) -> bool {
        self.authenticators.iter().any(|authenticator| authenticator.is_in_use())
    }

    /// The access of everyone while no tokens are in use.
    fn open_access(&self) -> Arc<Access> {
        let mut put_in_use =
            self.authenticators.iter().filter_map(|authenticator| authenticator.put_in_use());
        match put_in_use.next().filter(|_| !self.allow_unauthenticated) {
            Some(put_in_use) => Access::owner_until(put_in_use),
            None => Access::owner(),
        }
    }

    pub(crate) fn send_limits(&self) -> SendLimits {
        SendLimits { bytes: self.max_unread, standstill: self.limits.standstill }
    }
}

/// One host, offered to clients.
#[derive(Debug)]
pub struct Gateway {
    pub(crate) host: Host,
    pub(crate) options: GatewayOptions,
    /// The access of everyone on HTTP while no tokens are in use. What they opened ends when the first one is.
    pub(crate) open_access: Arc<Access>,
    pub(crate) sessions: Sessions,
    pub(crate) clients: Arc<Clients>,
    /// Connections over HTTP.
    connections: TaskTracker,
    pub(crate) sse_inboxes: Arc<SseInboxes>,
    /// Room for clients on WebSocket.
    pub(crate) web_sockets: Arc<Semaphore>,
    /// Room for subscriptions over HTTP: they take as much as sessions.
    pub(crate) listening: Arc<Semaphore>,
    pub(crate) seal: Arc<StateSeal>,
    pub(crate) suspended: SuspendedCalls,
    pub(crate) task_seal: TaskSeal,
    pub(crate) first_list: FirstList,
    pub(crate) wrong_tokens: TokenFailures,
    pub(crate) views: Views,
    /// Calls that wait for a person.
    pub(crate) pending: Arc<PendingCalls>,
    /// What each principal takes.
    pub(crate) usage: PrincipalUsage,
    pub(crate) hub_tools: HubTools,
}

impl Gateway {
    /// Offers `host`.
    ///
    /// # Panics
    ///
    /// When the system has no randomness: then nothing that must not be guessed can be made.
    pub fn new(host: Host, options: GatewayOptions) -> Arc<Self> {
        let sessions = Sessions::new(options.max_sessions, options.session_idle);
        let room = || Arc::new(Semaphore::new(options.max_sessions.min(Semaphore::MAX_PERMITS)));
        let (web_sockets, listening) = (room(), room());
        let sse_inboxes = SseInboxes::new(options.max_sessions);
        let seal = Arc::new(StateSeal::new().expect("the system has randomness"));
        let suspended = SuspendedCalls::new(seal.clone());
        let task_seal = TaskSeal::new(options.task_key.clone());
        let first_list = FirstList::new(options.first_list_wait);
        let (clients, connections) = (Clients::new(), TaskTracker::new());
        let wrong_tokens = TokenFailures::new(options.wrong_token_delay);
        let views = Views::new(options.principal_servers.clone(), options.policy.clone());
        let usage = PrincipalUsage::new(options.principal_limits.clone());
        let hub_tools = HubTools::new(&options);
        if let Some(audit) = &options.audit {
            let (confirm, stopping) = (audit.confirm(), host.stopping());
            host.tasks().spawn(async move {
                tokio::select! {
                    () = confirm => {}
                    () = stopping => {}
                }
            });
        }
        Arc::new(Self {
            host,
            open_access: options.open_access(),
            options,
            sessions,
            clients,
            connections,
            sse_inboxes,
            web_sockets,
            listening,
            seal,
            suspended,
            task_seal,
            first_list,
            wrong_tokens,
            views,
            pending: Arc::default(),
            usage,
            hub_tools,
        })
    }

    /// Serves HTTP until `stop`, then lets running requests finish.
    pub async fn serve_http(self: &Arc<Self>, listener: TcpListener, stop: CancellationToken) {
        self.serve_on(listener, None, stop).await;
    }

    /// As [`Gateway::serve_http`], with TLS.
    pub async fn serve_https(self: &Arc<Self>, listener: TcpListener, tls: Tls, stop: CancellationToken) {
        self.serve_on(listener, Some(tls), stop).await;
    }

    async fn serve_on(self: &Arc<Self>, listener: TcpListener, tls: Option<Tls>, stop: CancellationToken) {
        let address = match listener.local_addr() {
            Ok(address) => address,
            Err(error) => return tracing::error!(%error, "a listener has no address and is not served"),
        };
        let mut names = self.options.public_names.clone();
        names.extend(self.options.public_url.iter().map(|url| url.authority().to_owned()));
        let guard = OriginGuard::new(address, &names, self.options.allowed_origins.clone());
        // A listener beyond this machine has tokens, or the user allowed unauthenticated clients.
        let is_loopback = address.ip().to_canonical().is_loopback();
        let users = if is_loopback { self.options.local_users } else { LocalUsers::Anyone };
        let scheme = if tls.is_some() { "https" } else { "http" };
        let http = Arc::new(HttpListener::new(self.clone(), guard, users, scheme, stop.clone()));
        let tasks = self.connections.clone();
        let sweep = async {
            loop {
                tokio::time::sleep(Duration::from_secs(60)).await;
                self.sessions.sweep();
                self.views.sweep();
                self.usage.sweep();
            }
        };
        let limits = self.options.limits.clone();
        let serving = async {
            match tls {
                Some(tls) => serve_tls(listener, tls, http, limits, stop, tasks.clone()).await,
                None => serve(listener, http, limits, stop, tasks.clone()).await,
            }
        };
        tokio::select! {
            () = serving => {}
            () = sweep => {}
        }
        tasks.close();
        tasks.wait().await;
    }

    /// Serves one client on a connection until it closes its end, or until `stop`.
    pub async fn serve_connection(self: &Arc<Self>, connection: Connection, stop: CancellationToken) {
        let client = self.clients.enter(ClientTransport::Stdio, Access::owner(), None);
        connection::run(self, connection, client, stop).await;
    }

    /// Replaces the profiles and rules. Clients that are connected see what they say within a moment.
    pub fn set_policy(&self, policy: PolicySet) {
        self.hub_tools.follow(&policy);
        self.views.set_policy(policy);
    }

    /// What the owner sees of the servers, with a profile or without; an error if there is no such profile.
    pub fn owner_view(&self, profile: Option<&str>) -> Result<Host, String> {
        let access = self.enter(Access::owner(), profile).map_err(|error| error.message)?;
        Ok(self.host_for(&access))
    }

    /// The profiles, in the order of the configuration.
    pub fn profiles(&self) -> Vec<Arc<Profile>> {
        self.views.policy().profiles().to_vec()
    }

    /// The calls that wait for the owner, the oldest first.
    pub fn pending_calls(&self) -> Vec<PendingCall> {
        self.pending.list()
    }

    /// Decides about a call that waits for the owner; returns whether it waited.
    pub fn decide_pending(&self, id: u64, is_allowed: bool) -> bool {
        self.pending.decide(id, is_allowed)
    }

    /// The access of a caller who asks for a profile, or for none. A token or an option that names one binds: no other can be asked for.
    pub(crate) fn enter(
        &self,
        access: Arc<Access>,
        requested: Option<&str>,
    ) -> Result<Arc<Access>, ErrorObject> {
        let bound = self.options.profile.as_ref().map(ProfileName::as_str);
        let of_token = access.rights.profile.clone();
        let mut names = [of_token.as_deref(), bound, requested].into_iter().flatten();
        let Some(first) = names.next() else { return Ok(access) };
        let is_one = names.all(|other| other == first);
        if is_one && self.views.policy().profile(first).is_some() {
            return Ok(with_profile(&access, first));
        }
        let may_know = access.principal.is_owner() && access.rights.is_unlimited() && bound.is_none();
        let set = self.views.policy();
        let known: Vec<&str> = set.profiles().iter().map(|profile| profile.name.as_str()).collect();
        Err(error::unknown_profile(requested.unwrap_or(first), may_know.then_some(&known)))
    }

    /// The access of a client, with the profile that it gets by its name if it has none; `info` is its `clientInfo`.
    pub(crate) fn access_of_client(&self, access: Arc<Access>, info: &str) -> Arc<Access> {
        let set = self.views.policy();
        if access.rights.profile.is_some() || !set.is_by_client() {
            return access;
        }
        let name = Item::parse(Bytes::copy_from_slice(info.as_bytes())).ok();
        let name = name.as_ref().and_then(|info| info.string("name"));
        match name.and_then(|name| set.profile_of_client(&name)) {
            Some(profile) => with_profile(&access, profile.name.as_str()),
            None => access,
        }
    }

    /// The profile of a caller.
    pub(crate) fn profile(&self, access: &Access) -> Option<Arc<Profile>> {
        self.views.policy().profile(access.rights.profile.as_deref()?).cloned()
    }

    /// What a client sees of the servers.
    pub(crate) fn host_for(&self, access: &Access) -> Host {
        self.views.of(&self.host, access)
    }

    /// The clients that have a connection of their own (on stdio, on a Unix socket, over HTTP+SSE or WebSocket), then those that have
    /// a session over Streamable HTTP.
    pub fn clients(&self) -> Vec<ConnectedClient> {
        let mut clients = self.clients.list();
        clients.extend(self.sessions.clients());
        clients
    }

    /// How many clients have a connection of their own.
    pub fn client_count(&self) -> watch::Receiver<usize> {
        self.clients.count()
    }

    /// How many connections over HTTP are open, whether or not a request runs on them.
    pub fn http_connections(&self) -> usize {
        self.connections.len()
    }

    /// The names of the environment variables that are set for some client on stdio.
    pub fn client_variables(&self) -> BTreeSet<String> {
        self.clients.variables()
    }
}

/// The same access, with a profile.
pub(crate) fn with_profile(access: &Arc<Access>, profile: &str) -> Arc<Access> {
    if access.rights.profile.as_deref() == Some(profile) {
        return access.clone();
    }
    let mut access = Access::clone(access);
    access.rights.profile = Some(profile.into());
    Arc::new(access)
}

/// How tools are listed to clients that reject more than the specification does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SchemaViewSetting {
    /// As the client is known to need it, by its name.
    #[default]
    Auto,
    /// As they are.
    Off,
    /// So for all clients.
    Always(SchemaView),
}

impl FromStr for SchemaViewSetting {
    type Err = UnknownSchemaView;

    fn from_str(text: &str) -> Result<Self, UnknownSchemaView> {
        Ok(match text {
            "auto" => Self::Auto,
            "off" => Self::Off,
            "anthropic" => Self::Always(SchemaView::ANTHROPIC),
            "openai" => Self::Always(SchemaView::OPENAI),
            "gemini" => Self::Always(SchemaView::GEMINI),
            _ => return Err(UnknownSchemaView),
        })
    }
}

/// Not the name of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be one of auto, off, anthropic, openai, gemini")]
pub struct UnknownSchemaView;

/// One server with a gateway of its own: clients see that server, and nothing of a hub.
#[derive(Debug, Clone)]
pub struct GatewayIdentity {
    /// Its name and version, as in `serverInfo`.
    pub server_info: Value,
    /// What it can do.
    pub capabilities: Value,
    /// What it tells models about itself.
    pub instructions: Option<String>,
    /// What `GET /health` says.
    pub health: Value,
}

impl Gateway {
    /// Ok, the version, and each server's state.
    pub(crate) fn health(&self, access: &Arc<Access>) -> Value {
        if let Some(identity) = &self.options.identity {
            return identity.health.clone();
        }
        let servers: Vec<Value> = self
            .host_for(access)
            .statuses()
            .iter()
            .map(|status| {
                let offers: serde_json::Map<String, Value> = CatalogKind::ALL
                    .into_iter()
                    .map(|kind| (kind.field().to_owned(), status.catalog.list(kind).len().into()))
                    .collect();
                json!({
                    "name": status.name.as_str(),
                    "state": status.state.word(),
                    "transport": status.transport,
                    "revision": status.revision.map(|revision| revision.as_str()),
                    "offers": offers,
                    "counts": status.counts,
                    "starts": status.starts,
                    "pid": status.pid,
                    "error": status.state.failure().map(ToString::to_string),
                })
            })
            .collect();
        json!({
            "status": "ok",
            "service": "toolbay",
            "version": self.options.version,
            "sessions": self.sessions.len(),
            "servers": servers,
        })
    }
}
