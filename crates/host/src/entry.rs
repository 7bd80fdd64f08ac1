//! Servers that a program names itself, checked as those of a file are.

use std::path::Path;

use serde_json::{Map, Value, json};
use toolbay_config::ServerConfig;

use crate::Error;

/// Checks an entry as it would stand in a file.
pub(crate) fn checked(name: &str, entry: Value) -> Result<ServerConfig, Error> {
    let unusable = |reason: String| Error::Setup { server: name.to_owned(), reason };
    let text = json!({ "mcpServers": { name: entry } }).to_string();
    let file = toolbay_config::parse(&text, Path::new(""))?;
    if let Some(problem) = file.problems.into_iter().next() {
        return Err(unusable(problem.message));
    }
    file.servers.into_iter().next().ok_or_else(|| unusable("it is no server".to_owned()))
}

/// A program to run.
pub(crate) fn program<S: Into<String>>(
    name: &str,
    command: &str,
    args: impl IntoIterator<Item = S>,
    env: &[(String, String)],
) -> Result<ServerConfig, Error> {
    let args: Vec<String> = args.into_iter().map(Into::into).collect();
    checked(name, json!({ "command": command, "args": args, "env": object(env) }))
}

/// A server at a URL.
pub(crate) fn remote(name: &str, url: &str, headers: &[(String, String)]) -> Result<ServerConfig, Error> {
    checked(name, json!({ "url": url, "headers": object(headers) }))
}

fn object(pairs: &[(String, String)]) -> Map<String, Value> {
    pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect()
}
