//! Many files as one configuration.

use std::{collections::HashMap, path::PathBuf};

use toolbay_protocol::ServerName;

use super::{Scope, ScopedFile, filters};
use crate::{ServerConfig, Standing};

/// What one file says.
#[derive(Debug, Clone)]
pub struct Layer {
    /// The file.
    pub file: ScopedFile,
    /// Its servers; those of a project [judged](crate::Approvals::judge).
    pub servers: Vec<ServerConfig>,
}

/// A server, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The server.
    pub server: ServerConfig,
    /// The file that says so.
    pub file: ScopedFile,
}

/// What counts, and what does not.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// The servers, each name once: those that count most first, then as in their files.
    pub servers: Vec<Placed>,
    /// Entries whose name another one has.
    pub outranked: Vec<Outranked>,
}

/// An entry that does not count.
#[derive(Debug, PartialEq, Eq)]
pub struct Outranked {
    /// The entry.
    pub entry: Placed,
    /// The file whose entry counts instead.
    pub by: PathBuf,
    /// The reason.
    pub why: Why,
}

/// Why an entry does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The other file ranks higher.
    Rank,
    /// It came with a project and may not run, so it takes nobody's place: else any repository could switch off the user's own servers.
    Inert,
}

/// Puts files together. Of two entries with one name the higher counts, and keeps within what the lower one allows of
/// its tools.
pub fn merge(layers: impl IntoIterator<Item = Layer>) -> Merged {
    let mut layers: Vec<Layer> = layers.into_iter().collect();
    // Stable: files of one scope keep their order.
    layers.sort_by_key(|layer| layer.file.scope);
    let entries = layers.into_iter().flat_map(|layer| {
        let file = layer.file;
        layer.servers.into_iter().map(move |server| Placed { server, file: file.clone() })
    });
    let mut merged = Merged::default();
    let mut places: HashMap<ServerName, usize> = HashMap::new();
    for entry in entries {
        match places.get(&entry.server.name) {
            None => {
                places.insert(entry.server.name.clone(), merged.servers.len());
                merged.servers.push(entry);
            }
            Some(&place) => merged.settle(place, entry),
        }
    }
    merged
}

impl Merged {
    /// Two entries with one name; `lower` comes from a file that ranks lower.
    fn settle(&mut self, place: usize, lower: Placed) {
        let higher = &mut self.servers[place];
        if is_inert(higher) {
            let by = lower.file.path.clone();
            let entry = std::mem::replace(higher, lower);
            self.outranked.push(Outranked { entry, by, why: Why::Inert });
            return;
        }
        if !is_inert(&lower) {
            higher.server.tuning.tools =
                filters::both(&higher.server.tuning.tools, &lower.server.tuning.tools);
        }
        let by = higher.file.path.clone();
        self.outranked.push(Outranked { entry: lower, by, why: Why::Rank });
    }
}

fn is_inert(entry: &Placed) -> bool {
    entry.file.scope == Scope::Project && entry.server.standing != Standing::Enabled
}
