//! Built-in servers in place of published ones.

use std::path::Path;

use serde_json::{Value, json};
use toolbay_config::{Variables, parse};

/// The entry that takes the place of another one, and its notes.
fn replaced(entry: &Value) -> Option<(Value, Vec<String>)> {
    let text = json!({ "mcpServers": { "it": entry } }).to_string();
    let mut file = parse(&text, Path::new("/p/.mcp.json")).unwrap();
    let (_, replacement) = file.prefer_built_in(&Variables::default()).pop()?;
    let mut shown = file.portable[0].normalized();
    let general = ["name", "transport", "command", "args", "env", "url", "headers", "enabled"];
    shown.as_object_mut().unwrap().retain(|key, _| !general.contains(&key.as_str()));
    assert_eq!(file.servers[0].as_written().normalized()["builtin"], shown["builtin"]);
    Some((shown, replacement.notes))
}

#[test]
fn known_launches_are_replaced_with_their_arguments_and_variables() {
    for (entry, expected) in [
        (
            json!({ "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem@2025.8.21", "/a", "${HOME}/b"] }),
            json!({ "builtin": "filesystem", "directories": ["/a", "${HOME}/b"] }),
        ),
        (
            json!({ "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "src"] }),
            json!({ "builtin": "filesystem", "directories": ["/p/src"] }),
        ),
        (
            json!({ "command": "bunx", "args": ["@modelcontextprotocol/server-memory"], "env": { "MEMORY_FILE_PATH": "/m.jsonl" } }),
            json!({ "builtin": "memory", "memory_file": "/m.jsonl" }),
        ),
        (
            json!({ "command": "npx", "args": ["-y", "@brave/brave-search-mcp-server", "--transport", "stdio"], "env": { "BRAVE_API_KEY": "${KEY}", "BRAVE_MCP_ENABLED_TOOLS": "a,b" } }),
            json!({ "builtin": "brave-search", "api_key": "${KEY}", "enabled_tools": ["a", "b"] }),
        ),
        (
            json!({ "command": "docker", "args": ["run", "-i", "--rm", "-e", "BRAVE_API_KEY", "mcp/brave-search"] }),
            json!({ "builtin": "brave-search", "api_key": "${BRAVE_API_KEY}" }),
        ),
        (
            json!({ "command": "docker", "args": ["run", "-i", "--rm", "--mount", "type=bind,src=/a,dst=/projects/a", "-v", "/b:/projects/b", "mcp/filesystem", "/projects"] }),
            json!({ "builtin": "filesystem", "directories": ["/a", "/b"] }),
        ),
        (
            json!({ "command": "uvx", "args": ["mcp-server-fetch", "--ignore-robots-txt", "--user-agent=me", "--proxy-url", "http://p:1/"] }),
            json!({ "builtin": "fetch", "user_agent": "me", "ignore_robots_txt": true, "proxy_url": "http://p:1/" }),
        ),
        (
            json!({ "command": "uvx", "args": ["--from", "mcp-server-time==1.2", "mcp-server-time", "--local-timezone", "Asia/Tokyo"] }),
            json!({ "builtin": "time", "local_timezone": "Asia/Tokyo" }),
        ),
        (json!({ "command": "python3", "args": ["-m", "mcp_server_time"] }), json!({ "builtin": "time" })),
        (
            json!({ "command": "npx", "args": ["-y", "mcp-ripgrep@0.4.0"] }),
            json!({ "builtin": "grep", "directories": ["/p"], "toolset": "ripgrep" }),
        ),
        (
            json!({ "command": "uvx", "args": ["mcp-text-editor"], "cwd": "/w" }),
            json!({ "builtin": "text-editor", "directories": ["/w"], "toolset": "hashes" }),
        ),
        (
            json!({ "command": "uvx", "args": ["mcp-shell-server"], "env": { "ALLOW_COMMANDS": "ls, cat" }, "cwd": "/w" }),
            json!({ "builtin": "shell", "root": "/w", "toolset": "shell-server", "allow_commands": ["ls", "cat"] }),
        ),
        (
            json!({ "command": "npx", "args": ["mcp-server-commands"], "cwd": "/w" }),
            json!({ "builtin": "shell", "root": "/w", "toolset": "commands" }),
        ),
    ] {
        let (shown, _) = replaced(&entry).unwrap_or_else(|| panic!("{entry}"));
        assert_eq!(shown, expected, "{entry}");
    }
}

#[test]
fn what_would_be_lost_is_said() {
    let entry = json!({ "command": "npx", "args": ["@modelcontextprotocol/server-memory"], "env": { "NODE_OPTIONS": "x" } });
    let (_, notes) = replaced(&entry).unwrap();
    assert!(notes[0].contains("stays in the directory of the package"), "{notes:?}");
    assert!(notes[1].contains("not used by the built-in server `memory`: NODE_OPTIONS"), "{notes:?}");
}

#[test]
fn what_is_not_understood_stays() {
    for entry in [
        json!({ "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem"] }),
        json!({ "command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything"] }),
        json!({ "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "--flag", "/a"] }),
        json!({ "command": "npx", "args": ["-y", "@brave/brave-search-mcp-server", "--transport", "http"] }),
        json!({ "command": "uvx", "args": ["mcp-server-fetch", "--verbose"] }),
        json!({ "command": "uvx", "args": ["mcp-server-time"], "envFile": "x.env" }),
        json!({ "command": "docker", "args": ["run", "-i", "--network=host", "mcp/fetch"] }),
        // What must not be changed would be.
        json!({ "command": "docker", "args": ["run", "-i", "-v", "/a:/projects:ro", "mcp/filesystem", "/projects"] }),
        // A volume is no directory of this machine.
        json!({ "command": "docker", "args": ["run", "-i", "-v", "memory:/app/dist", "mcp/memory"] }),
        json!({ "url": "https://h/mcp" }),
    ] {
        assert!(replaced(&entry).is_none(), "{entry}");
    }
}
