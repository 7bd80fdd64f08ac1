//! Who is there: the servers of a host at one moment.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use toolbay_config::{ServerConfig, Standing, Tuning};
use toolbay_protocol::ServerName;
use toolbay_upstream::{Catalogue, Observer, UpstreamHandle};

use crate::{
    instances::{Instances, roots::Roots},
    registry::slugs,
};

/// All servers, in the order of the configuration. Never changed, only replaced.
#[derive(Default)]
pub(crate) struct Roster {
    pub(crate) members: Vec<Arc<Member>>,
    /// What the names of their offers begin with, in the same order.
    slugs: Vec<String>,
}

/// One server.
pub(crate) struct Member {
    pub(crate) name: ServerName,
    /// What was asked for; nothing for servers that the program itself brought.
    pub(crate) config: Option<Arc<ServerConfig>>,
    pub(crate) tuning: Arc<Tuning>,
    pub(crate) runner: Arc<Runner>,
}

/// What runs a server. It outlives changes of how the server's offers are presented.
pub(crate) struct Runner {
    pub(crate) handle: UpstreamHandle,
    pub(crate) instances: Instances,
    /// Its instances in projects of clients, if it can be bound to folders.
    pub(crate) roots: Option<Roots>,
    pub(crate) badge: Arc<Badge>,
    /// What it offered on another day.
    pub(crate) kept: Option<Arc<Catalogue>>,
}

/// What others must know about a server to understand its status.
#[derive(Debug)]
pub(crate) struct Badge {
    standing: Mutex<Standing>,
    /// What is wrong with its offers.
    flaw: Mutex<Option<Arc<str>>>,
    /// Another took its place: what still happens to it is nobody's business.
    is_retired: AtomicBool,
    /// Somebody tells it who we are.
    is_authenticating: AtomicBool,
}

impl Roster {
    pub(crate) fn new(members: Vec<Arc<Member>>) -> Self {
        let names: Vec<ServerName> = members.iter().map(|member| member.name.clone()).collect();
        Self { slugs: slugs(&names), members }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Member>> {
        self.members.iter().find(|member| member.name.as_str() == name)
    }

    pub(crate) fn by_slug(&self, slug: &str) -> Option<&Arc<Member>> {
        let index = self.slugs.iter().position(|known| known == slug)?;
        self.members.get(index)
    }
}

impl Member {
    pub(crate) fn handle(&self) -> &UpstreamHandle {
        &self.runner.handle
    }
}

impl Badge {
    pub(crate) fn new(standing: Standing) -> Arc<Self> {
        Arc::new(Self {
            standing: Mutex::new(standing),
            flaw: Mutex::default(),
            is_retired: AtomicBool::default(),
            is_authenticating: AtomicBool::default(),
        })
    }

    pub(crate) fn standing(&self) -> Standing {
        *lock(&self.standing)
    }

    pub(crate) fn set_standing(&self, standing: Standing) {
        *lock(&self.standing) = standing;
    }

    pub(crate) fn flaw(&self) -> Option<Arc<str>> {
        lock(&self.flaw).clone()
    }

    pub(crate) fn set_flaw(&self, flaw: Option<Arc<str>>) {
        *lock(&self.flaw) = flaw;
    }

    pub(crate) fn set_authenticating(&self, is_on: bool) {
        self.is_authenticating.store(is_on, Ordering::Relaxed);
    }

    pub(crate) fn is_authenticating(&self) -> bool {
        self.is_authenticating.load(Ordering::Relaxed)
    }

    pub(crate) fn retire(&self) {
        self.is_retired.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.is_retired.load(Ordering::Relaxed)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Tells a host of every new status of a server.
pub(crate) fn observer(
    badge: Arc<Badge>,
    journal: Arc<crate::journal::Journal>,
    stirred: Arc<tokio::sync::Notify>,
) -> Observer {
    Observer::new(move |status| {
        if !badge.is_retired() {
            let state = crate::ServerState::of(&badge, status);
            journal.state(&status.name, state);
            stirred.notify_one();
        }
    })
}
