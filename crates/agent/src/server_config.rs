//! Servers that a program names itself, checked as those of a file are.

use std::path::Path;

use serde_json::{Map, Value, json};
use toolbay_config::{Command, ServerConfig, ServerEndpoint};

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
    // What a program says is meant as it is: only the name is judged, and no variable is looked for.
    let mut config = checked(name, json!({ "command": "program" }))?;
    if command.trim().is_empty() {
        return Err(Error::Setup { server: name.to_owned(), reason: "its command is empty".to_owned() });
    }
    config.endpoint = ServerEndpoint::Command(Command {
        command: command.to_owned(),
        args: args.into_iter().map(Into::into).collect(),
        env: env.iter().cloned().collect(),
        cwd: None,
    });
    Ok(config)
}

/// A server at a URL.
pub(crate) fn remote(name: &str, url: &str, headers: &[(String, String)]) -> Result<ServerConfig, Error> {
    let headers: Map<String, Value> =
        headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    checked(name, json!({ "url": url, "headers": headers }))
}
