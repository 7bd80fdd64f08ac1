//! What each principal sees of the host.
//!
//! The owner sees the host itself, unless a profile or a rule says otherwise. Everyone else gets a view of it ([`Host::view`]): with
//! the servers and tools that the rights of the token, the profile and the rules allow, and with connections of its own to servers that
//! know their users. A view belongs to one principal, so that nothing that a server gives to one of them reaches another.
//!
//! What a view hides is not in its table, so nothing that is made of the table can name it: lists, search, completions, errors.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::time::Instant;
use toolbay_access::{Access, Principal, Rights};
use toolbay_host::{
    Host, Naming, OwnConnections, ServerConfig, ServerInView, ServerName, ToolInView, ViewPolicy,
};
use toolbay_policy::{PolicySet, Profile, RateLimits, ServerDecision, Subject, ToolDecision, ToolIdentity};

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
    rules: HubRules,
    by_principal: Mutex<HashMap<Principal, Vec<PrincipalView>>>,
}

/// The profiles and rules of the hub, which may change, and what was counted by them.
#[derive(Debug, Clone, Default)]
struct HubRules {
    set: Arc<ArcSwap<PolicySet>>,
    limits: Arc<RateLimits>,
}

#[derive(Debug)]
struct PrincipalView {
    rights: Rights,
    host: Host,
    used: Instant,
}

impl Views {
    pub(crate) fn new(servers: Option<Arc<dyn PrincipalServers>>, policy: PolicySet) -> Self {
        let rules = HubRules { set: Arc::new(ArcSwap::from_pointee(policy)), ..HubRules::default() };
        Self { servers, rules, by_principal: Mutex::default() }
    }

    /// The profiles and rules.
    pub(crate) fn policy(&self) -> arc_swap::Guard<Arc<PolicySet>> {
        self.rules.set.load()
    }

    /// Replaces the profiles and rules. Clients that are connected see what they say within a moment.
    pub(crate) fn set_policy(&self, policy: PolicySet) {
        self.rules.set.store(Arc::new(policy));
        for view in self.by_principal.lock().values().flatten() {
            view.host.refresh_view();
        }
    }

    /// Whether more than the rights of a token may hide something from a caller.
    pub(crate) fn has_rules_for(&self, access: &Access) -> bool {
        access.rights.profile.is_some() || self.policy().rules().concerns(&subject(access))
    }

    /// The owner sees the host itself, unless rules say otherwise.
    fn needs_none(&self, access: &Access) -> bool {
        access.principal.is_owner()
            && access.rights.is_unlimited()
            && !self.policy().rules().concerns(&subject(access))
    }

    /// Whether a caller has a view already, needs none, or can get one.
    pub(crate) fn has_room_for(&self, access: &Access) -> bool {
        if self.needs_none(access) {
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
        if self.needs_none(access) {
            return host.clone();
        }
        let mut by_principal = self.by_principal.lock();
        let known = by_principal.get_mut(&access.principal);
        if let Some(view) = known.and_then(|views| views.iter_mut().find(|view| view.rights == access.rights))
        {
            view.used = Instant::now();
            return view.host.clone();
        }
        let policy = PrincipalPolicy {
            access: access.clone(),
            servers: self.servers.clone(),
            rules: self.rules.clone(),
        };
        let servers = self.servers.as_ref().filter(|_| !access.principal.is_owner());
        let own = servers.map(|servers| servers.connections(&access.principal));
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

/// Who calls, as rules see it.
fn subject(access: &Access) -> Subject<'_> {
    Subject { principal: access.principal.as_str(), profile: access.rights.profile.as_deref() }
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
    rules: HubRules,
}

impl PrincipalPolicy {
    /// The profile, if there is one; an error if it does not exist any more, so that nothing is seen with it.
    fn profile(&self) -> Result<Option<Arc<Profile>>, UnknownProfile> {
        let Some(name) = self.access.rights.profile.as_deref() else { return Ok(None) };
        self.rules.set.load().profile(name).cloned().map(Some).ok_or(UnknownProfile)
    }

    fn server_by_rules(&self, name: &ServerName) -> ServerDecision {
        self.rules.set.load().rules().server(&subject(&self.access), name.as_str())
    }
}

/// There is no such profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnknownProfile;

impl ViewPolicy for PrincipalPolicy {
    fn server(&self, name: &ServerName, config: Option<&ServerConfig>) -> ServerInView {
        let in_profile = match self.profile() {
            Ok(profile) => profile.is_none_or(|profile| profile.has_server(name.as_str())),
            Err(UnknownProfile) => false,
        };
        let is_allowed = in_profile && self.access.rights.allows_server(name.as_str());
        if !is_allowed || self.server_by_rules(name) == ServerDecision::Hidden {
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

    fn tool(&self, tool: &ToolIdentity<'_>) -> ToolInView {
        let in_profile = match self.profile() {
            Ok(profile) => profile.is_none_or(|profile| profile.has_tool(tool)),
            Err(UnknownProfile) => false,
        };
        if !in_profile || tool.tier > self.access.rights.tier {
            return ToolInView::Hidden;
        }
        let set = self.rules.set.load();
        match set.rules().tool(&subject(&self.access), tool, &self.rules.limits) {
            ToolDecision::Allow => ToolInView::Shown,
            ToolDecision::Deny(_) => ToolInView::Hidden,
            ToolDecision::Check(rules) => ToolInView::Checked(Arc::from(rules)),
        }
    }

    fn shows_resources(&self, server: &ServerName) -> bool {
        self.server_by_rules(server) == ServerDecision::Shown
    }

    fn naming(&self) -> Option<Naming> {
        self.profile().ok().flatten().and_then(|profile| profile.naming)
    }
}
