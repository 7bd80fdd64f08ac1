//! The registry of the servers of a host.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use parking_lot::Mutex;
use toolbay_config::{Permission, ServerConfig, ServerOptions};
use toolbay_protocol::ServerName;
use toolbay_upstream::{Catalog, ServerHandle, StatusObserver};

use crate::{
    catalog::{review::ReviewSlot, slugs},
    servers::instances::{Instances, roots::RootInstances},
};

/// All servers, in the order of the configuration. Never changed, only replaced.
#[derive(Default)]
pub(crate) struct ServerRegistry {
    pub(crate) servers: Vec<Arc<RegisteredServer>>,
    /// The prefixes of their names, in the same order.
    slugs: Vec<String>,
}

/// One server.
pub(crate) struct RegisteredServer {
    pub(crate) name: ServerName,
    /// Its configuration; none for servers that the program itself brought.
    pub(crate) config: Option<Arc<ServerConfig>>,
    pub(crate) tuning: Arc<ServerOptions>,
    pub(crate) runner: Arc<ServerRunner>,
}

/// The running part of a server. It stays when only the presentation of its catalog changes.
pub(crate) struct ServerRunner {
    pub(crate) handle: ServerHandle,
    pub(crate) instances: Instances,
    /// Its instances in projects of clients, if it can be bound to folders.
    pub(crate) roots: Option<RootInstances>,
    pub(crate) status_context: Arc<StatusContext>,
    /// Its catalog from the cache.
    pub(crate) kept: Option<Arc<Catalog>>,
    /// The last review of its catalog, where catalogs are reviewed.
    pub(crate) review: Option<ReviewSlot>,
}

/// What the state of a server depends on besides its connection.
#[derive(Debug)]
pub(crate) struct StatusContext {
    permission: Mutex<Permission>,
    /// What is wrong with its catalog.
    flaw: Mutex<Option<Arc<str>>>,
    /// It was replaced or removed: no more events.
    is_draining: AtomicBool,
    /// Authorization is being obtained.
    is_authenticating: AtomicBool,
}

impl ServerRegistry {
    pub(crate) fn new(entries: Vec<Arc<RegisteredServer>>) -> Self {
        let names: Vec<ServerName> = entries.iter().map(|entry| entry.name.clone()).collect();
        Self { slugs: slugs(&names), servers: entries }
    }

    /// A registry with some of these entries, or others in their place, under the same prefixes.
    pub(crate) fn filter_map(
        &self,
        entry_for: impl FnMut(&Arc<RegisteredServer>) -> Option<Arc<RegisteredServer>>,
    ) -> Self {
        let entries = self.servers.iter().map(entry_for).zip(&self.slugs);
        let (servers, slugs) = entries.filter_map(|(entry, slug)| Some((entry?, slug.clone()))).unzip();
        Self { servers, slugs }
    }

    /// The prefix of each server's names, in order.
    pub(crate) fn slugs(&self) -> &[String] {
        &self.slugs
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<RegisteredServer>> {
        self.servers.iter().find(|entry| entry.name.as_str() == name)
    }

    pub(crate) fn by_slug(&self, slug: &str) -> Option<&Arc<RegisteredServer>> {
        let index = self.slugs.iter().position(|known| known == slug)?;
        self.servers.get(index)
    }
}

impl RegisteredServer {
    pub(crate) fn handle(&self) -> &ServerHandle {
        &self.runner.handle
    }
}

impl StatusContext {
    pub(crate) fn new(permission: Permission) -> Arc<Self> {
        Arc::new(Self {
            permission: Mutex::new(permission),
            flaw: Mutex::default(),
            is_draining: AtomicBool::default(),
            is_authenticating: AtomicBool::default(),
        })
    }

    pub(crate) fn permission(&self) -> Permission {
        *self.permission.lock()
    }

    pub(crate) fn set_permission(&self, permission: Permission) {
        *self.permission.lock() = permission;
    }

    pub(crate) fn flaw(&self) -> Option<Arc<str>> {
        self.flaw.lock().clone()
    }

    pub(crate) fn set_flaw(&self, flaw: Option<Arc<str>>) {
        *self.flaw.lock() = flaw;
    }

    pub(crate) fn set_authenticating(&self, is_on: bool) {
        self.is_authenticating.store(is_on, Ordering::Relaxed);
    }

    pub(crate) fn is_authenticating(&self) -> bool {
        self.is_authenticating.load(Ordering::Relaxed)
    }

    pub(crate) fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }
}

/// Records every new status of a server as an event.
pub(crate) fn observer(
    context: Arc<StatusContext>,
    events: Arc<crate::events::EventLog>,
    servers_changed: Arc<tokio::sync::Notify>,
) -> StatusObserver {
    StatusObserver::new(move |status| {
        if !context.is_draining() {
            let state = crate::ServerState::of(&context, status);
            events.state(&status.name, state);
            servers_changed.notify_one();
        }
    })
}
