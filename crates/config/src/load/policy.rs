//! Lists beside the servers that disable some servers or tools.

use serde_json::{Value, json};

use crate::{Format, Permission, WrittenServer, syntax::Node};

/// Applies such lists to a server. Returns a note with the list if the server was disabled.
pub(crate) fn apply(
    root: &Node,
    format: Format,
    project: Option<&str>,
    server: &mut WrittenServer,
) -> Option<String> {
    let by = match format {
        Format::Gemini => gemini(root, &server.name),
        Format::ClaudeManaged => managed(root, server),
        Format::ClaudeUser => claude(root, project, &server.name),
        Format::OpenCode => {
            tools(root, server);
            None
        }
        _ => None,
    };
    let by = by.filter(|_| server.permission == Permission::Enabled)?;
    server.permission = Permission::Disabled;
    Some(format!("disabled by `{by}`"))
}

fn lists(node: Option<&Node>, name: &str) -> bool {
    node.and_then(Node::texts).is_some_and(|names| names.contains(&name))
}

fn gemini(root: &Node, name: &str) -> Option<&'static str> {
    let mcp = root.get("mcp")?;
    if lists(mcp.get("excluded"), name) {
        return Some("mcp.excluded");
    }
    (mcp.has("allowed") && !lists(mcp.get("allowed"), name)).then_some("mcp.allowed")
}

fn claude(root: &Node, project: Option<&str>, name: &str) -> Option<&'static str> {
    let home = match project {
        Some(project) => root.get("projects")?.get(project)?,
        None => root,
    };
    ["disabledMcpServers", "disabledMcpjsonServers"].into_iter().find(|key| lists(home.get(key), name))
}

/// The policy of an organization. A list that denies takes precedence over one that allows.
fn managed(root: &Node, server: &WrittenServer) -> Option<&'static str> {
    let rules = |key| root.get(key).and_then(Node::list);
    let names_it = |rules: &[Node]| rules.iter().any(|rule| matches(rule, server));
    if rules("deniedMcpServers").is_some_and(names_it) {
        return Some("deniedMcpServers");
    }
    rules("allowedMcpServers").is_some_and(|rules| !names_it(rules)).then_some("allowedMcpServers")
}

fn matches(rule: &Node, server: &WrittenServer) -> bool {
    if let Some(name) = rule.get("serverName").and_then(Node::text) {
        return name == server.name;
    }
    if let Some(words) = rule.get("serverCommand").and_then(Node::texts) {
        let command = server.command.iter().chain(&server.args).map(|word| word.shown());
        return server.command.is_some() && command.eq(words.iter().map(|word| (*word).to_owned()));
    }
    let pattern = rule.get("serverUrl").and_then(Node::text);
    pattern.zip(server.url.as_ref()).is_some_and(|(pattern, url)| fits(pattern, &url.shown()))
}

/// Whether a text matches a pattern, in which `*` matches any characters, and `?` itself, as in URLs.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let tail = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match text.split_once(piece) {
            Some((_, after)) => text = after,
            None => return false,
        }
    }
    text.ends_with(tail)
}

/// opencode switches single tools at the root, by `<server>_<tool>`.
fn tools(root: &Node, server: &mut WrittenServer) {
    let switches = root.get("tools").and_then(Node::entries).unwrap_or_default();
    let prefix = format!("{}_", server.name);
    let off = switches.iter().filter(|(_, node)| node.flag() == Some(false));
    let deny: Vec<&str> = off.filter_map(|(key, _)| key.text.strip_prefix(&prefix)).collect();
    if !deny.is_empty() && !server.tuning.contains_key("tools") {
        let filter: Value = json!({ "deny": deny });
        server.tuning.insert("tools".to_owned(), filter);
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, text, is_so) in [
            ("https://a/?x", "https://a/?x", true),
            ("https://a/?x", "https://a/yx", false),
            ("https://*.a.com/*", "https://b.a.com/mcp", true),
            ("https://*.a.com/*", "https://b.a.com.evil/mcp", false),
            ("*", "", true),
            ("a*a", "a", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
        ] {
            assert_eq!(fits(pattern, text), is_so, "{pattern} {text}");
        }
        assert!(!fits(&"*a".repeat(40), &"a".repeat(39)), "and takes no time for that");
    }
}
