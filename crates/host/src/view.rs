//! Views: what one caller sees of a host.
//!
//! A view is a [`Host`] of its own: it has a registry, a route table and changes, so that lists, calls and subscriptions of a
//! caller are right by construction and cost what they cost elsewhere. Most of its servers are those of the host that it was
//! made of, with the same connections. A [`ViewPolicy`] hides some of them, hides tools, and says which servers the caller
//! has a connection of its own to, as one who is logged in there.
//!
//! The names in a view are those in the host, also where the server that made a prefix ambiguous is hidden.

use std::{collections::HashMap, sync::Arc};

use arc_swap::ArcSwap;
use bytes::Bytes;
use tokio::sync::{
    broadcast::{self, error::RecvError},
    mpsc, watch,
};
use toolbay_config::ServerConfig;
use toolbay_policy::{Naming, ToolIdentity, ToolRules};
use toolbay_protocol::{Notification, ServerName, Tier, model::Tool};
use toolbay_upstream::{Catalog, CatalogKind};

use crate::{
    Connector, Host, HostChange,
    catalog::{
        CheckedTool,
        builder::{build_first_table, maintain_table},
        exposed,
    },
    events::EventLog,
    host::{CHANGES, HostInner, TableInputs},
    reconcile::ServerCommand,
    servers::{
        auth::Authorizers,
        registry::{RegisteredServer, ServerRegistry},
    },
};

/// Decides what a view shows.
pub trait ViewPolicy: Send + Sync {
    /// How a server is seen. Servers that the program itself brought have no configuration.
    fn server(&self, name: &ServerName, config: Option<&ServerConfig>) -> ServerInView;

    /// How a tool of a server that is shown is seen.
    fn tool(&self, tool: &ToolIdentity<'_>) -> ToolInView;

    /// Whether resources and prompts of a server that is shown are shown, too.
    fn shows_resources(&self, _server: &ServerName) -> bool {
        true
    }

    /// How tools and prompts are named, if not as in the host.
    fn naming(&self) -> Option<Naming> {
        None
    }
}

/// How a view shows a tool.
#[derive(Debug, Clone)]
pub enum ToolInView {
    /// As if it did not exist.
    Hidden,
    /// As in the host.
    Shown,
    /// Each call of it has to be decided about.
    Checked(Arc<ToolRules>),
}

/// How a view shows a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerInView {
    /// As if it did not exist.
    Hidden,
    /// With the connection that all callers share.
    Shared,
    /// With a connection of the view's own. Servers without a configuration cannot have one, and are hidden.
    Own,
}

/// How the connections that are a view's own are made.
#[derive(Debug, Clone, Default)]
pub struct OwnConnections {
    /// Overrides how servers are reached.
    pub connector: Option<Connector>,
    /// Brings the authorization of servers at a URL.
    pub authorizers: Option<Authorizers>,
}

/// What makes a host a view.
pub(crate) struct ViewOrigin {
    base: Arc<HostInner>,
    policy: Arc<dyn ViewPolicy>,
}

/// What a host offers of a server.
pub(crate) struct OfferedCatalog {
    pub(crate) catalog: Arc<Catalog>,
    /// What is left to decide about calls of tools, by their definitions.
    pub(crate) rules: HashMap<Bytes, Arc<ToolRules>>,
    /// Whether resources and prompts are offered.
    pub(crate) has_resources: bool,
}

/// What a view follows of its base.
pub(crate) struct BaseFeed {
    inputs: watch::Receiver<TableInputs>,
    changes: broadcast::Receiver<HostChange>,
    notifications: broadcast::Receiver<(ServerName, Arc<Notification>)>,
}

impl Host {
    /// What a caller sees of this host. The logins of this host are not those of a view: `own` brings its own.
    ///
    /// The view ends with [`Host::close_view`], and with this host.
    pub fn view(&self, policy: Arc<dyn ViewPolicy>, own: OwnConnections) -> Self {
        let base = self.shared.clone();
        let (updates, updated) = mpsc::channel(CHANGES);
        // Before anything is read, so that no change is missed.
        let feed = BaseFeed {
            inputs: base.made_of.subscribe(),
            changes: base.changes.subscribe(),
            notifications: base.notifications.subscribe(),
        };
        let shared = Arc::new(HostInner {
            servers: Default::default(),
            applying: Default::default(),
            table: ArcSwap::from_pointee(base.table.load().without_offers()),
            made_of: watch::Sender::default(),
            changes: broadcast::Sender::new(CHANGES),
            notifications: broadcast::Sender::new(CHANGES),
            events: Arc::new(EventLog::new()),
            servers_changed: Arc::default(),
            policy_changed: Arc::default(),
            updates,
            // What one caller gets from a server is not for others.
            cache: None,
            naming: base.naming,
            base_env: base.base_env.clone(),
            path: base.path.clone(),
            shim: base.shim.clone(),
            connector: own.connector.or_else(|| base.connector.clone()),
            authorizers: own.authorizers,
            chain: base.chain.clone(),
            client: base.client.clone(),
            secrets: base.secrets.clone(),
            review: base.review.clone(),
            known_secrets: base.known_secrets.clone(),
            capture: base.capture.clone(),
            start_gate: base.start_gate.clone(),
            budget: base.budget.clone(),
            credentials: Default::default(),
            stop: base.stop.child_token(),
            tasks: base.tasks.clone(),
            view: Some(ViewOrigin { base, policy }),
        });
        shared.follow_base();
        let parts = build_first_table(&shared);
        shared.tasks.spawn(maintain_table(shared.clone(), parts, updated, Some(feed)));
        Self { shared }
    }

    /// Makes a view ask its policy again, which may decide otherwise now. Does nothing to a host that is no view.
    pub fn refresh_view(&self) {
        self.shared.policy_changed.notify_one();
    }

    /// Ends a view: its own connections end, and nothing of it changes any more. Does nothing to a host that is no view.
    pub fn close_view(&self) {
        if self.shared.view.is_some() {
            self.shared.stop.cancel();
        }
    }

    /// Whether a view has no holder but the caller, who holds it once: no session, stream or call goes on with it.
    pub fn is_view_unused(&self) -> bool {
        // The other one is the task that follows the host.
        self.shared.view.is_some() && Arc::strong_count(&self.shared) <= 2
    }
}

impl HostInner {
    /// Whether a server has its connection from this host, and not from the base of this view.
    pub(crate) fn is_own(&self, entry: &RegisteredServer) -> bool {
        match &self.view {
            None => true,
            Some(view) => entry.config.is_some() && view.visibility(entry) == ServerInView::Own,
        }
    }

    /// How tools and prompts are named.
    pub(crate) fn naming(&self) -> Naming {
        self.view.as_ref().and_then(|view| view.policy.naming()).unwrap_or(self.naming)
    }

    /// What this host offers of a server whose names begin with `slug`.
    pub(crate) fn offered(
        &self,
        entry: &RegisteredServer,
        slug: &str,
        catalog: &Arc<Catalog>,
    ) -> OfferedCatalog {
        let mut offered =
            OfferedCatalog { catalog: catalog.clone(), rules: HashMap::new(), has_resources: true };
        let Some(view) = &self.view else { return offered };
        let tools = catalog.list(CatalogKind::Tools);
        let mut is_shown = |text: &&Bytes| {
            // One that cannot be parsed is not offered anyway; the table says why.
            let Ok(tool) = Tool::parse((*text).clone()) else { return true };
            let (qualified, exposed) = (format!("{slug}__{}", tool.name()), exposed(slug, tool.name()));
            let identity = ToolIdentity {
                server: entry.name.as_str(),
                name: tool.name(),
                qualified: &qualified,
                exposed: &exposed,
                tier: Tier::of(&tool),
            };
            match view.policy.tool(&identity) {
                ToolInView::Hidden => false,
                ToolInView::Shown => true,
                ToolInView::Checked(rules) => {
                    offered.rules.insert((*text).clone(), rules);
                    true
                }
            }
        };
        let shown: Vec<Bytes> = tools.iter().filter(&mut is_shown).cloned().collect();
        offered.has_resources = view.policy.shows_resources(&entry.name);
        if shown.len() < tools.len() || !offered.has_resources {
            let mut catalog = Catalog::clone(catalog);
            catalog.replace(CatalogKind::Tools, shown);
            if !offered.has_resources {
                for kind in [CatalogKind::Resources, CatalogKind::ResourceTemplates, CatalogKind::Prompts] {
                    catalog.replace(kind, Vec::new());
                }
            }
            offered.catalog = Arc::new(catalog);
        }
        offered
    }

    /// What the base of a view has found out about a tool.
    pub(crate) fn checked_by_base(&self, tool: &Bytes) -> Option<CheckedTool> {
        self.view.as_ref()?.base.table.load().checked(tool).cloned()
    }

    /// Makes the servers of a view equal to those of its base; returns what that takes.
    pub(crate) fn follow_base(&self) -> Vec<ServerCommand> {
        let Some(view) = &self.view else { return Vec::new() };
        let (old, mut commands) = (self.servers.load_full(), Vec::new());
        let registry = view.base.servers.load().filter_map(|entry| match view.visibility(entry) {
            ServerInView::Hidden => None,
            ServerInView::Shared => Some(entry.clone()),
            ServerInView::Own => self.own_entry(&old, entry, &mut commands),
        });
        let is_kept =
            |entry: &Arc<RegisteredServer>| registry.servers.iter().any(|other| Arc::ptr_eq(entry, other));
        for entry in old.servers.iter().filter(|entry| self.is_own(entry) && !is_kept(entry)) {
            entry.runner.status_context.drain();
            commands.push(ServerCommand::Drain(entry.clone()));
        }
        let is_same = registry.servers.len() == old.servers.len()
            && registry.servers.iter().zip(&old.servers).all(|(now, before)| Arc::ptr_eq(now, before));
        if !is_same {
            self.servers.store(Arc::new(registry));
        }
        commands
    }

    /// The view's own server in the place of one of the base: the one that runs, unless its configuration has changed.
    fn own_entry(
        &self,
        old: &ServerRegistry,
        of_base: &RegisteredServer,
        commands: &mut Vec<ServerCommand>,
    ) -> Option<Arc<RegisteredServer>> {
        let config = of_base.config.as_deref()?;
        let permission = of_base.runner.status_context.permission();
        let known = old.get(of_base.name.as_str()).filter(|entry| {
            self.is_own(entry)
                && entry.config.as_deref().is_some_and(|known| {
                    ServerConfig { permission: known.permission, ..config.clone() } == *known
                })
        });
        let Some(entry) = known else {
            return Some(self.admit(&ServerConfig { permission, ..config.clone() }, None));
        };
        commands.extend(self.set_permission_of(entry, permission));
        Some(entry.clone())
    }

    /// Stops the servers that are a view's own.
    pub(crate) fn stop_own(&self) {
        if self.view.is_some() {
            for entry in self.servers.load().servers.iter().filter(|entry| self.is_own(entry)) {
                entry.runner.instances.stop();
            }
        }
    }
}

impl ViewOrigin {
    fn visibility(&self, entry: &RegisteredServer) -> ServerInView {
        match self.policy.server(&entry.name, entry.config.as_deref()) {
            ServerInView::Own if entry.config.is_none() => ServerInView::Hidden,
            visibility => visibility,
        }
    }
}

/// Something that happened in the base of a view.
pub(crate) enum BaseEvent {
    /// Its servers or their catalogs may have changed.
    Servers,
    Change(HostChange),
    Notification(ServerName, Arc<Notification>),
    /// Some changes were missed.
    Missed,
}

impl BaseFeed {
    /// The next event. Pending once the base is gone: its token stops the view.
    pub(crate) async fn next(&mut self) -> BaseEvent {
        tokio::select! {
            changed = self.inputs.changed() => match changed {
                Ok(()) => BaseEvent::Servers,
                Err(_) => std::future::pending().await,
            },
            change = self.changes.recv() => match change {
                Ok(change) => BaseEvent::Change(change),
                Err(RecvError::Lagged(_)) => BaseEvent::Missed,
                Err(RecvError::Closed) => std::future::pending().await,
            },
            notification = self.notifications.recv() => match notification {
                Ok((server, notification)) => BaseEvent::Notification(server, notification),
                Err(RecvError::Lagged(_)) => BaseEvent::Missed,
                Err(RecvError::Closed) => std::future::pending().await,
            },
        }
    }
}

impl HostInner {
    /// Passes on what happened at servers that the view shares with its base. Lists change with the view's own table.
    pub(crate) fn forward(&self, event: BaseEvent) {
        let is_shared = |server: &ServerName| {
            self.servers.load().get(server.as_str()).is_some_and(|entry| !self.is_own(entry))
        };
        match event {
            BaseEvent::Change(HostChange::List(_)) | BaseEvent::Servers => {}
            BaseEvent::Change(change) => {
                let (HostChange::Resource { server, .. } | HostChange::Task { server, .. }) = &change else {
                    return;
                };
                if is_shared(server) {
                    let _ = self.changes.send(change); // there may be no listeners
                }
            }
            BaseEvent::Notification(server, notification) if is_shared(&server) => {
                let _ = self.notifications.send((server, notification)); // there may be no listeners
            }
            BaseEvent::Notification(..) => {}
            // As for listeners that fall behind: they look at everything again.
            BaseEvent::Missed => {
                for kind in CatalogKind::ALL {
                    let _ = self.changes.send(HostChange::List(kind));
                }
            }
        }
    }
}
