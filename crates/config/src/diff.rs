//! What changed between two readings of the configuration.

use std::collections::{BTreeMap, HashSet};

use toolbay_protocol::ServerName;

use crate::{ServerConfig, ServerOptions};

/// What changed. Each list is in the order of the new configuration (`removed`: of the old); a new order alone
/// changes nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ConfigDiff {
    /// Servers that were not there.
    pub added: Vec<ServerConfig>,
    /// Servers that are gone.
    pub removed: Vec<ServerName>,
    /// Servers that differ.
    pub changed: Vec<ChangedServer>,
    /// Servers that are as they were.
    pub unchanged: Vec<ServerName>,
}

impl ConfigDiff {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

/// A server that differs.
#[derive(Debug, PartialEq, Eq)]
pub struct ChangedServer {
    /// As it is now.
    pub server: ServerConfig,
    /// The most that the change asks for.
    pub effect: Effect,
}

/// What a change asks for, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Only how its offers are shown and called changes: `tools`, `tool`, `validate`. The process stays.
    Offers,
    /// It was switched on or off, or approved; how it is started is the same.
    Standing,
    /// It must be started anew.
    Restart,
}

/// Compares two readings. Names are unique in each, as the reader sees to.
pub fn diff(old: &[ServerConfig], new: &[ServerConfig]) -> ConfigDiff {
    let before: BTreeMap<&ServerName, &ServerConfig> =
        old.iter().map(|server| (&server.name, server)).collect();
    let mut diff = ConfigDiff::default();
    for server in new {
        match before.get(&server.name) {
            None => diff.added.push(server.clone()),
            Some(was) => match effect(was, server) {
                None => diff.unchanged.push(server.name.clone()),
                Some(effect) => diff.changed.push(ChangedServer { server: server.clone(), effect }),
            },
        }
    }
    let now: HashSet<&ServerName> = new.iter().map(|server| &server.name).collect();
    diff.removed =
        old.iter().map(|server| &server.name).filter(|name| !now.contains(name)).cloned().collect();
    diff
}

fn effect(was: &ServerConfig, is: &ServerConfig) -> Option<Effect> {
    if was == is {
        None
    } else if was.endpoint != is.endpoint || runs_otherwise(&was.tuning, &is.tuning) {
        Some(Effect::Restart)
    } else if was.permission != is.permission {
        Some(Effect::Standing)
    } else {
        Some(Effect::Offers)
    }
}

/// Whether the two differ in anything but their offers. Written so that a setting added later means a restart until
/// somebody says that it need not.
fn runs_otherwise(was: &ServerOptions, is: &ServerOptions) -> bool {
    let with_the_new_offers = ServerOptions {
        tools: is.tools.clone(),
        tool: is.tool.clone(),
        validate: is.validate,
        ..was.clone()
    };
    with_the_new_offers != *is
}
