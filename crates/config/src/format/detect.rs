//! Detection of a file's format and of the place of its servers: by its content first, then by its name.

use std::{ffi::OsStr, path::Path};

use crate::{Format, Syntax, problem::Position, syntax::Node};

/// Servers in a file.
pub(crate) struct DetectedServers<'a> {
    pub(crate) format: Format,
    /// The keys that lead to the servers.
    pub(crate) home: Vec<&'static str>,
    pub(crate) entries: Vec<DetectedEntry<'a>>,
    /// The inputs of VS Code.
    pub(crate) inputs: Option<&'a Node>,
}

/// One entry.
#[derive(Clone)]
pub(crate) struct DetectedEntry<'a> {
    pub(crate) name: String,
    pub(crate) at: Position,
    pub(crate) node: &'a Node,
    /// The project that it belongs to, where a file holds several.
    pub(crate) project: Option<&'a str>,
}

/// Finds the servers. The error describes the file, if it is known to be something else.
pub(crate) fn detect<'a>(
    root: &'a Node,
    syntax: Syntax,
    path: &Path,
) -> Result<DetectedServers<'a>, Option<String>> {
    let found = |format, home: &[&'static str], servers| {
        Ok(DetectedServers { format, home: home.to_vec(), entries: entries(servers), inputs: None })
    };
    let holds = |path: &[&str]| root.at(path).filter(|node| holds_entries(node));

    if syntax == Syntax::Toml {
        if let Some(servers) = holds(&["mcp_servers"]) {
            return found(Format::Codex, &["mcp_servers"], servers);
        }
        let is_ours = path.file_name().is_some_and(|name| name == "toolbay.toml");
        if is_ours || super::native::TOP.iter().any(|section| root.has(section)) {
            return found(Format::Toolbay, &["servers"], root.get("servers").unwrap_or(&Node::Null));
        }
    }
    if let Some(servers) = holds(&["mcpServers"]) {
        let all = DetectedServers {
            format: dialect(root, servers, path),
            ..found(Format::McpServers, &["mcpServers"], servers)?
        };
        return Ok(DetectedServers {
            entries: all.entries.iter().cloned().chain(of_projects(root)).collect(),
            ..all
        });
    }
    for (home, format) in [
        (&["mcp_servers"][..], Format::McpServers),
        (&["servers"], Format::VsCode),
        (&["context_servers"], Format::Zed),
        (&["project", "context_servers"], Format::Zed),
        (&["amp.mcpServers"], Format::Amp),
        (&["mcp", "servers"], Format::VsCode),
        (&["mcp.servers"], Format::VsCode),
        (&["customizations", "vscode", "mcp", "servers"], Format::VsCode),
        (&["mcp"], Format::OpenCode),
    ] {
        let servers = holds(home).filter(|node| format != Format::OpenCode || all_are_tables(node));
        if let Some(servers) = servers {
            // VS Code has its inputs beside the servers.
            let inputs = root.at(&home[..home.len() - 1]).and_then(|beside| beside.get("inputs"));
            let format = if is_opencode(servers) { Format::OpenCode } else { format };
            return Ok(DetectedServers { inputs, ..found(format, home, servers)? });
        }
    }
    if let Some(servers) = holds(&["extensions"]).filter(|_| syntax == Syntax::Yaml || is_goose(root)) {
        return found(Format::Goose, &["extensions"], servers);
    }
    let of_projects = of_projects(root);
    if !of_projects.is_empty() {
        return Ok(DetectedServers {
            entries: of_projects,
            ..found(Format::ClaudeUser, &["mcpServers"], &Node::Null)?
        });
    }
    match something_else(root) {
        Some(what) => Err(Some(what.to_owned())),
        None if is_bare_map(root) => found(Format::ClaudePlugin, &[], root),
        None => Err(None),
    }
}

/// Servers are a map by name, or a list of such as know their names.
fn holds_entries(node: &Node) -> bool {
    matches!(node, Node::Map(_) | Node::List(_))
}

/// Other programs have settings of their own under `mcp`.
fn all_are_tables(node: &Node) -> bool {
    node.entries().is_some_and(|entries| entries.iter().all(|(_, node)| node.entries().is_some()))
}

fn entries(servers: &Node) -> Vec<DetectedEntry<'_>> {
    match servers {
        Node::Map(entries) => entries
            .iter()
            .map(|(key, node)| DetectedEntry { name: key.text.clone(), at: key.at, node, project: None })
            .collect(),
        Node::List(items) => items.iter().map(named).collect(),
        _ => Vec::new(),
    }
}

/// An entry of a list.
fn named(node: &Node) -> DetectedEntry<'_> {
    let name = ["id", "name"].iter().find_map(|key| node.get(key)?.text()).unwrap_or_default();
    let at = node.entries().and_then(<[_]>::first).map_or(Position::Byte(0), |(key, _)| key.at);
    DetectedEntry { name: name.to_owned(), at, node, project: None }
}

/// Servers of single projects, in the file of a user of Claude Code.
fn of_projects(root: &Node) -> Vec<DetectedEntry<'_>> {
    let projects = root.get("projects").and_then(Node::entries).unwrap_or_default();
    let servers = projects.iter().filter_map(|(key, project)| Some((key, project.get("mcpServers")?)));
    servers
        .flat_map(|(key, servers)| {
            entries(servers).into_iter().map(|entry| DetectedEntry { project: Some(&key.text), ..entry })
        })
        .collect()
}

/// Newer versions of opencode have their servers where VS Code has its own.
fn is_opencode(servers: &Node) -> bool {
    let entries = servers.entries().unwrap_or_default();
    let is_its = |node: &Node| {
        let kind = node.get("type").and_then(Node::text);
        kind == Some("remote")
            || (kind == Some("local") && node.get("command").and_then(Node::list).is_some())
    };
    entries.iter().any(|(_, node)| is_its(node))
}

fn is_goose(root: &Node) -> bool {
    let extensions = root.get("extensions").and_then(Node::entries).unwrap_or_default();
    extensions
        .iter()
        .any(|(_, node)| node.has("type") && (node.has("cmd") || node.has("uri") || node.has("enabled")))
}

/// Descriptions of servers to install, which are no configuration.
fn something_else(root: &Node) -> Option<&'static str> {
    if (root.has("manifest_version") || root.has("dxt_version")) && root.has("server") {
        return Some("it is the manifest of an MCPB bundle, which describes a server to install");
    }
    let name = root.get("name").and_then(Node::text).unwrap_or_default();
    if name.contains('/') && (root.has("packages") || root.has("remotes")) {
        return Some("it is a `server.json` of the MCP registry, which describes a server to install");
    }
    None
}

fn is_bare_map(root: &Node) -> bool {
    let is_server = |node: &Node| node.has("command") || node.has("url");
    root.entries()
        .is_some_and(|entries| !entries.is_empty() && entries.iter().all(|(_, node)| is_server(node)))
}

fn dialect(root: &Node, servers: &Node, path: &Path) -> Format {
    by_root(root, path).or_else(|| by_path(path)).or_else(|| by_entries(servers)).unwrap_or_default()
}

/// Keys beside the servers.
fn by_root(root: &Node, path: &Path) -> Option<Format> {
    let has = |key| root.has(key);
    if has("projects") || path.file_name().is_some_and(|name| name == ".claude.json") {
        return Some(Format::ClaudeUser);
    }
    if has("allowedMcpServers") || has("deniedMcpServers") {
        return Some(Format::ClaudeManaged);
    }
    let is_gemini = root.get("mcp").is_some_and(|mcp| mcp.has("allowed") || mcp.has("excluded"));
    is_gemini.then_some(Format::Gemini)
}

fn by_path(path: &Path) -> Option<Format> {
    let file = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let folder = |name: &str| path.iter().any(|part| part == name);
    let by_name = match file {
        "claude_desktop_config.json" => Some(Format::ClaudeDesktop),
        "managed-mcp.json" => Some(Format::ClaudeManaged),
        "plugin.json" => Some(Format::ClaudePlugin),
        "cline_mcp_settings.json" => Some(Format::Cline),
        "mcp_settings.json" => Some(Format::Roo),
        "mcp-config.json" => Some(Format::CopilotCli),
        "gemini-extension.json" => Some(Format::Gemini),
        "mcp_config.json" if folder(".gemini") || folder(".agents") => Some(Format::Antigravity),
        _ => None,
    };
    let by_folder = || {
        [
            (".cursor", Format::Cursor),
            (".claude", Format::ClaudeCode),
            (".vscode", Format::VsCode),
            (".copilot", Format::CopilotCli),
            (".github", Format::CopilotCli),
            (".gemini", Format::Gemini),
            (".codeium", Format::Windsurf),
            (".roo", Format::Roo),
            (".junie", Format::JetBrains),
            (".ai", Format::JetBrains),
            (".air", Format::JetBrains),
            (".kiro", Format::Kiro),
            (".warp", Format::Warp),
            (".rovodev", Format::Rovo),
            (".devin", Format::Devin),
            (".factory", Format::Factory),
            (".amp", Format::Amp),
        ]
        .into_iter()
        .find(|(name, _)| folder(name))
        .map(|(_, format)| format)
    };
    by_name.or_else(by_folder).or_else(|| (file == ".mcp.json").then_some(Format::ClaudeCode))
}

/// Keys that one program alone puts into entries.
fn by_entries(servers: &Node) -> Option<Format> {
    let nodes: Vec<&Node> = match servers {
        Node::Map(entries) => entries.iter().map(|(_, node)| node).collect(),
        Node::List(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    let any = |keys: &[&str]| nodes.iter().any(|node| keys.iter().any(|key| node.has(key)));
    let is_text = |key| nodes.iter().any(|node| node.get(key).and_then(Node::text).is_some());
    let is_map = |key| nodes.iter().any(|node| node.get(key).and_then(Node::entries).is_some());
    let is_list = |key| nodes.iter().any(|node| node.get(key).and_then(Node::list).is_some());
    let has_type = |kind| nodes.iter().any(|node| node.get("type").and_then(Node::text) == Some(kind));
    let signs = [
        (any(&["httpUrl", "includeTools", "excludeTools", "trust", "authProviderType"]), Format::Gemini),
        (any(&["alwaysAllow", "watchPaths"]), Format::Roo),
        (any(&["transportType", "remoteConfigured", "oauthClient"]), Format::Cline),
        (is_map("transport") || has_type("streamableHttp"), Format::Cline),
        (any(&["serverUrl"]), Format::Windsurf),
        (any(&["working_directory"]), Format::Warp),
        (is_text("transport"), Format::Rovo),
        (any(&["deferTools"]) || is_list("tools"), Format::CopilotCli),
        (any(&["autoApprove"]) && any(&["disabledTools"]), Format::Kiro),
        (any(&["autoApprove"]), Format::Cline),
        (any(&["envFile", "auth"]), Format::Cursor),
        (any(&["alwaysLoad", "headersHelper", "request_timeout_ms"]), Format::ClaudeCode),
    ];
    signs.into_iter().find(|(seen, _)| *seen).map(|(_, format)| format)
}
