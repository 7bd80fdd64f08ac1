//! Servers that a program names itself, checked as those of a file are.

use std::path::Path;

use serde_json::{Value, json};
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
) -> Result<ServerConfig, Error> {
    let args: Vec<String> = args.into_iter().map(Into::into).collect();
    checked(name, json!({ "command": command, "args": args }))
}

/// A server at a URL.
pub(crate) fn remote(name: &str, url: &str, headers: &[(String, String)]) -> Result<ServerConfig, Error> {
    let headers: serde_json::Map<String, Value> =
        headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    checked(name, json!({ "url": url, "headers": headers }))
}
