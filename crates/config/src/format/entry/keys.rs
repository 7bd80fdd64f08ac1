//! Keys of entries that were perhaps misspelled.
//!
//! Programs put many keys of their own into entries, and all of them are kept. So a key is only spoken of if it is
//! almost, but not quite, one that matters.

use crate::{problem::Remark, suggest::nearest, syntax::Node};

/// Keys that say what a server is, in the formats that people have.
const KEYS: [&str; 26] = [
    "command",
    "args",
    "env",
    "environment",
    "cwd",
    "workingDirectory",
    "working_directory",
    "envFile",
    "env_file",
    "url",
    "httpUrl",
    "serverUrl",
    "headers",
    "http_headers",
    "env_http_headers",
    "bearer_token_env_var",
    "env_vars",
    "type",
    "transport",
    "disabled",
    "enabled",
    "timeout",
    "includeTools",
    "excludeTools",
    "builtin",
    "toolbay",
];

/// Keys with a meaning of their own that look like one of [`KEYS`].
const OTHERS: [&str; 12] = [
    "cmd",
    "envs",
    "uri",
    "tools",
    "tool",
    "envVars",
    "base_url",
    "baseUrl",
    "transportType",
    "disable",
    "root",
    "era",
];

/// The keys of an entry that look like another one.
pub(super) fn misspelled(node: &Node) -> Vec<Remark> {
    let entries = node.entries().unwrap_or_default();
    let is_there = |meant: &str| entries.iter().any(|(key, _)| key.text == meant);
    let odd = entries.iter().filter_map(|(key, _)| {
        let text = key.text.as_str();
        let is_known = KEYS.contains(&text) || OTHERS.contains(&text);
        // What is there already was not meant.
        let meant = nearest(text, &KEYS).filter(|meant| !is_known && !is_there(meant))?;
        let message = format!("`{text}` is unknown; did you mean `{meant}`?");
        Some(Remark { message, at: Some(key.at) })
    });
    odd.collect()
}
