//! Entries of files that hold settings alone, because an extension knows how to start the server.

use toolbay_config::{Extension, Problem, ServerConfig};
use toolbay_protocol::ServerName;

use crate::{Confirmed, Descriptors, Machine};

/// What such entries come to.
#[derive(Debug, Default)]
pub struct Resolved {
    /// Servers that can be started.
    pub servers: Vec<ServerConfig>,
    /// Entries that cannot be used, and why.
    pub problems: Vec<Problem>,
}

impl Descriptors {
    /// The servers that these entries come to; the name of an entry is the id of its descriptor. `finds` says whether
    /// there is such a command.
    pub fn resolve_all(
        &self,
        extensions: &[Extension],
        here: &Machine,
        finds: impl Fn(&str) -> bool,
    ) -> Resolved {
        let mut resolved = Resolved::default();
        for extension in extensions {
            let name = ServerName::new(extension.name.as_str());
            // A file can ask for what the extension offers, not confirm what reaches beyond.
            match self.resolve(&extension.name, name, &extension.settings, Confirmed::No, here, &finds) {
                Ok(server) => {
                    resolved.servers.push(ServerConfig { permission: extension.permission, ..server });
                }
                Err(error) => resolved.problems.push(Problem {
                    server: Some(extension.name.clone()),
                    message: error.to_string(),
                    location: extension.location,
                }),
            }
        }
        resolved
    }
}
