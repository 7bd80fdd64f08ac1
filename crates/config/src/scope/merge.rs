//! Many files as one configuration.

use std::{collections::HashMap, path::PathBuf};

use toolbay_protocol::ServerName;

use super::{Scope, ScopedFile};
use crate::{ConfigFile, Permission, ServerConfig, ToolFilter, WrittenServer, glob};

/// The servers of one file.
#[derive(Debug, Clone)]
pub struct Layer {
    /// The file.
    pub file: ScopedFile,
    /// Its servers; those of a project [judged](crate::Approvals::judge).
    pub servers: Vec<Declared>,
}

/// A server that a file declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// The server.
    pub server: ServerConfig,
    /// What an [approval](crate::Approvals) of it shows and binds.
    pub launch: WrittenServer,
}

impl From<ServerConfig> for Declared {
    fn from(server: ServerConfig) -> Self {
        Self { launch: server.as_written(), server }
    }
}

impl ConfigFile {
    /// Its servers, each with the launch that an approval binds.
    pub(crate) fn declared(&self) -> impl Iterator<Item = Declared> {
        let both = self.servers.iter().zip(&self.launches);
        both.map(|(server, launch)| Declared { server: server.clone(), launch: launch.clone() })
    }
}

/// A server and its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The server.
    pub server: ServerConfig,
    /// What an [approval](crate::Approvals) of it shows and binds.
    pub launch: WrittenServer,
    /// The file that declares it.
    pub file: ScopedFile,
}

/// The servers that count, and the entries that do not.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// The servers, each name once: those that count most first, then as in their files.
    pub servers: Vec<Placed>,
    /// Entries whose name another one has.
    pub overridden: Vec<Overridden>,
}

/// An entry that does not count.
#[derive(Debug, PartialEq, Eq)]
pub struct Overridden {
    /// The entry.
    pub entry: Placed,
    /// The file whose entry counts instead.
    pub by: PathBuf,
    /// The reason.
    pub why: OverrideReason,
}

/// Why an entry does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverrideReason {
    /// The other file ranks higher.
    Rank,
    /// It is from a project and may not run, so it does not override another entry: else any repository could disable the user's servers.
    Inert,
}

/// Merges files. Of two entries with one name the higher one counts, restricted to the tools that the lower one allows.
pub fn merge(layers: impl IntoIterator<Item = Layer>) -> Merged {
    let mut layers: Vec<Layer> = layers.into_iter().collect();
    // Stable: files of one scope keep their order.
    layers.sort_by_key(|layer| layer.file.scope);
    let placed = |Layer { file, servers }: Layer| {
        servers.into_iter().map(move |Declared { server, launch }| Placed {
            server,
            launch,
            file: file.clone(),
        })
    };
    let entries: Vec<Placed> = layers.into_iter().flat_map(placed).collect();
    // What may run, and the file of the first that may.
    let mut runs: HashMap<ServerName, PathBuf> = HashMap::new();
    for entry in entries.iter().filter(|entry| !is_inert(entry)) {
        runs.entry(entry.server.name.clone()).or_insert_with(|| entry.file.path.clone());
    }
    let mut merged = Merged::default();
    let mut places: HashMap<ServerName, usize> = HashMap::new();
    for entry in entries {
        let name = &entry.server.name;
        match (places.get(name), runs.get(name)) {
            (Some(&place), _) => merged.override_entry(place, entry),
            // Not even its place in the order: of two servers with one resource, the first has it.
            (None, Some(by)) if is_inert(&entry) => {
                merged.overridden.push(Overridden { by: by.clone(), entry, why: OverrideReason::Inert });
            }
            (None, _) => {
                places.insert(name.clone(), merged.servers.len());
                merged.servers.push(entry);
            }
        }
    }
    merged
}

impl Merged {
    /// Two entries with one name; `lower` comes from a file that ranks lower than the one that has its place.
    fn override_entry(&mut self, place: usize, lower: Placed) {
        let higher = &mut self.servers[place];
        if !is_inert(&lower) {
            let (ours, theirs) = (&higher.server.tuning.tools, &lower.server.tuning.tools);
            higher.server.tuning.tools = combine_filters(ours, theirs);
        }
        self.overridden.push(Overridden {
            entry: lower,
            by: higher.file.path.clone(),
            why: OverrideReason::Rank,
        });
    }
}

fn is_inert(entry: &Placed) -> bool {
    entry.file.scope == Scope::Project && entry.server.permission != Permission::Enabled
}

/// Allow-lists intersect, deny-lists unite.
pub(super) fn combine_filters(one: &ToolFilter, other: &ToolFilter) -> ToolFilter {
    let allow = match (&one.allow, &other.allow) {
        (Some(one), Some(other)) => Some(intersection(one, other)),
        (Some(only), None) | (None, Some(only)) => Some(only.clone()),
        (None, None) => None,
    };
    let mut deny = one.deny.clone();
    deny.extend(other.deny.iter().filter(|pattern| !one.deny.contains(pattern)).cloned());
    ToolFilter { allow, deny }
}

/// The patterns of each list that lie within one of the other. Two patterns that only overlap (`a*`, `*b`) have no
/// pattern in common that could be written down, so they allow nothing: never more than either list.
fn intersection(one: &[String], other: &[String]) -> Vec<String> {
    let within = |pattern: &String, list: &[String]| list.iter().any(|wider| glob::matches(wider, pattern));
    let mut both: Vec<String> = one.iter().filter(|pattern| within(pattern, other)).cloned().collect();
    let more: Vec<String> =
        other.iter().filter(|pattern| within(pattern, one) && !both.contains(pattern)).cloned().collect();
    both.extend(more);
    both
}
