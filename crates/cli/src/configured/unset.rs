//! Variables that a configuration refers to, that are set for a client, and that are not set for the hub.
//!
//! A hub in the background has the environment of the login shell. A client may have been started with more.

use std::{collections::BTreeSet, fs, io::Read, path::PathBuf, time::Duration};

use toolbay_control::HubHandle;
use toolbay_gateway::Gateway;

use crate::app::context::Context;

/// Only so much of a file is looked at.
const MAX_FILE: u64 = 4 * 1024 * 1024;
/// Clients that come together are looked at together.
const TOGETHER: Duration = Duration::from_millis(100);

/// Looks for such variables.
#[derive(Debug)]
pub(crate) struct UnsetVariables {
    files: Vec<PathBuf>,
    set: BTreeSet<String>,
    reported: BTreeSet<String>,
}

impl UnsetVariables {
    /// Of a hub with these files.
    pub(crate) fn new(context: &Context, files: &[PathBuf]) -> Self {
        let set = names(context).into_iter().collect();
        Self { files: files.to_vec(), set, reported: BTreeSet::new() }
    }

    /// Reports those that clients bring to light, in the log and to commands; never ends.
    pub(crate) async fn follow(&mut self, gateway: &Gateway, hub: &HubHandle) {
        let mut count = gateway.client_count();
        loop {
            if count.changed().await.is_err() {
                return std::future::pending().await;
            }
            tokio::time::sleep(TOGETHER).await;
            count.mark_unchanged();
            let unset = self.look(&gateway.client_variables());
            for name in unset.iter().filter(|name| !self.reported.contains(*name)) {
                tracing::warn!(
                    "variable {name} is set for a client, but not for this hub; set it in a start-up file of your \
                     login shell, or use `toolbay stdio --alone`"
                );
            }
            self.reported.extend(unset.iter().cloned());
            hub.set_unset_variables(unset);
        }
    }

    fn look(&self, set_for_clients: &BTreeSet<String>) -> Vec<String> {
        if set_for_clients.iter().all(|name| self.set.contains(name)) {
            return Vec::new();
        }
        let mut referenced = BTreeSet::new();
        for file in &self.files {
            let mut text = Vec::new();
            let read = fs::File::open(file).and_then(|file| file.take(MAX_FILE).read_to_end(&mut text));
            if read.is_ok() {
                references(&String::from_utf8_lossy(&text), &mut referenced);
            }
        }
        let is_unset = |name: &String| set_for_clients.contains(name) && !self.set.contains(name);
        referenced.into_iter().filter(is_unset).collect()
    }
}

/// The variables that a text refers to as `${NAME}`, `${env:NAME}` or `${NAME:-default}`.
fn references(text: &str, found: &mut BTreeSet<String>) {
    for part in text.split("${").skip(1) {
        let part = part.strip_prefix("env:").unwrap_or(part);
        let length = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(part.len());
        let (name, rest) = part.split_at(length);
        if !name.is_empty() && (rest.starts_with('}') || rest.starts_with(":-")) {
            found.insert(name.to_owned());
        }
    }
}

/// The names of all variables that are set for this process.
pub(crate) fn names(context: &Context) -> Vec<String> {
    let set = context.env.variables.iter().filter(|(_, value)| !value.is_empty());
    set.filter_map(|(name, _)| name.to_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_found_in_every_syntax() {
        let mut found = BTreeSet::new();
        references("a ${A} ${env:B_2} ${C:-x} ${input:d} ${} ${E ${file:f} $G ${H", &mut found);
        assert_eq!(Vec::from_iter(found), ["A", "B_2", "C"]);
    }
}
