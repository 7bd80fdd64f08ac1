//! Who is there: the servers of a host at one moment.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use parking_lot::Mutex;
use toolbay_config::{Permission, ServerConfig, ServerOptions};
use toolbay_protocol::ServerName;
use toolbay_upstream::{Catalog, ServerHandle, StatusObserver};

use crate::{
    catalog::slugs,
    servers::instances::{Instances, roots::RootInstances},
};

/// All servers, in the order of the configuration. Never changed, only replaced.
#[derive(Default)]
pub(crate) struct ServerRegistry {
    pub(crate) servers: Vec<Arc<RegisteredServer>>,
    /// What the names of their offers begin with, in the same order.
    slugs: Vec<String>,
}

/// One server.
pub(crate) struct RegisteredServer {
    pub(crate) name: ServerName,
    /// What was asked for; nothing for servers that the program itself brought.
    pub(crate) config: Option<Arc<ServerConfig>>,
    pub(crate) tuning: Arc<ServerOptions>,
    pub(crate) runner: Arc<ServerRunner>,
}

/// What runs a server. It outlives changes of how the server's offers are presented.
pub(crate) struct ServerRunner {
    pub(crate) handle: ServerHandle,
    pub(crate) instances: Instances,
    /// Its instances in projects of clients, if it can be bound to folders.
    pub(crate) roots: Option<RootInstances>,
    pub(crate) status_context: Arc<StatusContext>,
    /// What it offered on another day.
    pub(crate) kept: Option<Arc<Catalog>>,
}

/// What others must know about a server to understand its status.
#[derive(Debug)]
pub(crate) struct StatusContext {
    permission: Mutex<Permission>,
    /// What is wrong with its offers.
    flaw: Mutex<Option<Arc<str>>>,
    /// Another took its place: what still happens to it is nobody's business.
    is_retired: AtomicBool,
    /// Somebody tells it who we are.
    is_authenticating: AtomicBool,
}

impl ServerRegistry {
    pub(crate) fn new(members: Vec<Arc<RegisteredServer>>) -> Self {
        let names: Vec<ServerName> = members.iter().map(|member| member.name.clone()).collect();
        Self { slugs: slugs(&names), servers: members }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<RegisteredServer>> {
        self.servers.iter().find(|member| member.name.as_str() == name)
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
            is_retired: AtomicBool::default(),
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
        self.is_retired.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.is_retired.load(Ordering::Relaxed)
    }
}

/// Tells a host of every new status of a server.
pub(crate) fn observer(
    badge: Arc<StatusContext>,
    journal: Arc<crate::events::EventLog>,
    stirred: Arc<tokio::sync::Notify>,
) -> StatusObserver {
    StatusObserver::new(move |status| {
        if !badge.is_draining() {
            let state = crate::ServerState::of(&badge, status);
            journal.state(&status.name, state);
            stirred.notify_one();
        }
    })
}
