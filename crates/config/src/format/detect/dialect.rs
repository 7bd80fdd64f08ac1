//! Many programs write `mcpServers`; whose it is shows in the place of the file, and in keys that only they use.

use std::{ffi::OsStr, path::Path};

use crate::{Format, syntax::Node};

pub(super) fn tell(root: &Node, servers: &Node, path: &Path) -> Format {
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
    let says = |kind| nodes.iter().any(|node| node.get("type").and_then(Node::text) == Some(kind));
    let signs = [
        (any(&["httpUrl", "includeTools", "excludeTools", "trust", "authProviderType"]), Format::Gemini),
        (any(&["alwaysAllow", "watchPaths"]), Format::Roo),
        (any(&["transportType", "remoteConfigured", "oauthClient"]), Format::Cline),
        (is_map("transport") || says("streamableHttp"), Format::Cline),
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
