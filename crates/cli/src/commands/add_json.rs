//! `toolbay add-json`: a server as others write it.

use std::io::Read;

use serde_json::Value;

use super::add::check_name;
use crate::{
    app::{context::Context, error::CliError},
    args::AddJsonArgs,
    configured::edit::put,
};

/// Where files have their servers.
const HOMES: [&str; 4] = ["mcpServers", "servers", "mcp_servers", "context_servers"];

/// Keys of which an entry has one.
const REACHES: [&str; 6] = ["command", "url", "httpUrl", "serverUrl", "builtin", "cmd"];

pub(crate) async fn run(context: &Context, args: &AddJsonArgs) -> Result<(), CliError> {
    let text = match args.entry.as_str() {
        "-" => {
            let mut text = String::new();
            std::io::stdin().lock().read_to_string(&mut text)?;
            text
        }
        text => text.to_owned(),
    };
    let value: Value =
        serde_json::from_str(&text).map_err(|error| bad(format!("this is not valid JSON: {error}")))?;
    check_name(&args.name)?;
    put(context, &args.put, &args.name, unwrapped(&args.name, &value)?).await
}

/// The entry in what was pasted: itself, or one in a map of servers as files have it.
fn unwrapped<'a>(name: &str, value: &'a Value) -> Result<&'a Value, CliError> {
    let object = value.as_object().ok_or_else(|| bad("an entry must be a JSON object".to_owned()))?;
    let wrapped = HOMES.iter().find_map(|home| object.get(*home)?.as_object());
    let is_server = |value: &Value| REACHES.iter().any(|key| value.get(key).is_some());
    let is_bare_map = !object.is_empty() && !is_server(value) && object.values().all(is_server);
    let Some(servers) = wrapped.or_else(|| is_bare_map.then_some(object)) else { return Ok(value) };
    let names: Vec<&String> = servers.keys().collect();
    match (servers.get(name), &names[..]) {
        (Some(entry), _) => Ok(entry),
        (None, [only]) => Ok(&servers[only.as_str()]),
        (None, []) => Err(bad("it contains no servers".to_owned())),
        (None, names) => {
            let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
            Err(CliError::Usage {
                message: format!(
                    "it contains several servers, none of which is named `{name}`: {}",
                    names.join(", ")
                ),
                hint: Some(
                    "use one of these names, or save it to a file and `toolbay import FILE`".to_owned(),
                ),
            })
        }
    }
}

fn bad(message: String) -> CliError {
    let hint = r#"for example '{"command": "npx", "args": ["-y", "x@1.2.3"]}' or '{"url": "https://…"}'"#;
    CliError::Usage { message, hint: Some(hint.to_owned()) }
}
