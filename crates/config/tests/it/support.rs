//! Servers to test with.

use std::path::Path;

use toolbay_config::{ServerConfig, WrittenServer, parse};

/// The server that an entry comes to.
pub(crate) fn server(name: &str, entry: &str) -> ServerConfig {
    let mut servers = servers(&format!("{name:?}: {entry}"));
    assert_eq!(servers.len(), 1);
    servers.remove(0)
}

/// The servers that some entries come to.
pub(crate) fn servers(entries: &str) -> Vec<ServerConfig> {
    let file = parse(&format!("{{\"mcpServers\": {{{entries}}}}}"), Path::new("/etc/mcp.json")).unwrap();
    assert_eq!(file.problems, []);
    file.servers
}

/// What an approval binds of an entry.
pub(crate) fn launch(name: &str, entry: &str) -> WrittenServer {
    let text = format!("{{\"mcpServers\": {{{name:?}: {entry}}}}}");
    let mut file = parse(&text, Path::new("/etc/mcp.json")).unwrap();
    assert_eq!(file.problems, []);
    file.launches.remove(0)
}
