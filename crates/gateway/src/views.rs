//! What each principal sees of the host.
//!
//! The owner sees the host itself. Everyone else gets a view of it ([`Host::view`]): with the servers and tools that the rights of
//! the token allow, and with connections of its own to servers that know their users. A view belongs to one principal, so that
//! nothing that a server gives to one of them reaches another.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;
use toolbay_access::{Access, Principal, Rights, Tier};
use toolbay_host::{Host, OwnConnections, ServerConfig, ServerInView, ServerName, ViewPolicy};
use toolbay_protocol::model::Tool;

/// How many views there may be: each has lists of its own.
const MAX_VIEWS: usize = 256;
/// How long a view is kept that no client uses.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// How principals other than the owner use servers that have credentials.
pub trait PrincipalServers: fmt::Debug + Send + Sync {
    /// As whom principals use a server.
    fn identity(&self, config: &ServerConfig) -> ServerIdentity;

    /// How the connections of one principal are made.
    fn connections(&self, principal: &Principal) -> OwnConnections;
}

/// As whom principals other than the owner use a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerIdentity {
    /// As all others: it has no credentials, or those that it has may be shared.
    Shared,
    /// As themselves, with a login of their own.
    OfPrincipal,
    /// Not at all: its credentials are the owner's.
    OfOwner,
}

/// All views.
#[derive(Debug)]
pub(crate) struct Views {
    servers: Option<Arc<dyn PrincipalServers>>,
    by_principal: Mutex<HashMap<Principal, Vec<PrincipalView>>>,
}

#[derive(Debug)]
struct PrincipalView {
    rights: Rights,
    host: Host,
    used: Instant,
}

impl Views {
    pub(crate) fn new(servers: Option<Arc<dyn PrincipalServers>>) -> Self {
        Self { servers, by_principal: Mutex::default() }
    }

    /// Whether a caller has a view already, needs none, or can get one.
    pub(crate) fn has_room_for(&self, access: &Access) -> bool {
        if needs_none(access) {
            return true;
        }
        let mut by_principal = self.by_principal.lock();
        let views = by_principal.get(&access.principal).into_iter().flatten();
        { views }.any(|view| view.rights == access.rights)
            || by_principal.values().map(Vec::len).sum::<usize>() < MAX_VIEWS
            || close_unused(&mut by_principal, Duration::ZERO)
    }

    /// What a caller sees of `host`.
    pub(crate) fn of(&self, host: &Host, access: &Access) -> Host {
        if needs_none(access) {
            return host.clone();
        }
        let mut by_principal = self.by_principal.lock();
        let known = by_principal.get_mut(&access.principal);
        if let Some(view) = known.and_then(|views| views.iter_mut().find(|view| view.rights == access.rights))
        {
            view.used = Instant::now();
            return view.host.clone();
        }
        let policy = PrincipalPolicy { access: access.clone(), servers: self.servers.clone() };
        let own = self.servers.as_ref().map(|servers| servers.connections(&access.principal));
        let view = host.view(Arc::new(policy), own.unwrap_or_default());
        by_principal.entry(access.principal.clone()).or_default().push(PrincipalView {
            rights: access.rights.clone(),
            host: view.clone(),
            used: Instant::now(),
        });
        view
    }

    /// Ends views that no client has used for a while.
    pub(crate) fn sweep(&self) {
        close_unused(&mut self.by_principal.lock(), IDLE);
    }
}

/// The owner sees the host itself.
fn needs_none(access: &Access) -> bool {
    access.principal.is_owner() && access.rights.is_unlimited()
}

/// Closes the views that were not used for so long, and are not in use; returns whether there were any.
fn close_unused(by_principal: &mut HashMap<Principal, Vec<PrincipalView>>, idle: Duration) -> bool {
    let mut has_closed = false;
    by_principal.retain(|_, views| {
        views.retain(|view| {
            let is_unused = view.used.elapsed() >= idle && view.host.is_view_unused();
            if is_unused {
                view.host.close_view();
                has_closed = true;
            }
            !is_unused
        });
        !views.is_empty()
    });
    has_closed
}

/// What one principal sees.
struct PrincipalPolicy {
    access: Access,
    servers: Option<Arc<dyn PrincipalServers>>,
}

impl ViewPolicy for PrincipalPolicy {
    fn server(&self, name: &ServerName, config: Option<&ServerConfig>) -> ServerInView {
        if !self.access.rights.allows_server(name.as_str()) {
            return ServerInView::Hidden;
        }
        let Some((servers, config)) = self.servers.as_ref().zip(config) else { return ServerInView::Shared };
        // A limited token of the owner acts for the owner.
        if self.access.principal.is_owner() {
            return ServerInView::Shared;
        }
        match servers.identity(config) {
            ServerIdentity::Shared => ServerInView::Shared,
            ServerIdentity::OfPrincipal => ServerInView::Own,
            ServerIdentity::OfOwner => ServerInView::Hidden,
        }
    }

    fn shows_tool(&self, _server: &ServerName, tool: &Tool) -> bool {
        self.access.rights.tier == Tier::Destructive || Tier::of(tool) <= self.access.rights.tier
    }
}
