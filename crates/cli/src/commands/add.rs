//! `toolbay add`: a server by its command or URL, in the words that people know from `claude mcp add` and `codex mcp add`.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::{
    args::{AddArgs, TransportArg},
    context::Context,
    error::CliError,
    put::put,
};

pub(crate) async fn run(context: &Context, args: &AddArgs) -> Result<(), CliError> {
    let typed: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(option) = swallowed(args, &typed) {
        return Err(CliError::Usage {
            message: format!(
                "`{option}` behind the command is an option of ours, and was perhaps meant for it"
            ),
            hint: Some(format!("put `--` before the command: toolbay add {} -- …", args.name)),
        });
    }
    put(context, &args.put, &args.name, &entry(args)?).await
}

/// An option of ours that stands behind the command without a `--`, and that many programs have, too.
fn swallowed<'a>(args: &AddArgs, typed: &'a [String]) -> Option<&'a String> {
    let target = args.target.as_ref().filter(|target| !is_url(target))?;
    let before_dashes = typed.iter().take_while(|word| *word != "--");
    let mut behind = before_dashes.skip_while(|word| *word != target);
    behind.find(|word| matches!(word.as_str(), "-q" | "-v" | "-vv"))
}

/// What was typed as an entry of `mcpServers`.
fn entry(args: &AddArgs) -> Result<Value, CliError> {
    let target = args.url.as_ref().or(args.target.as_ref()).map(String::as_str).unwrap_or_default();
    let is_url = args.url.is_some() || is_url(target);
    let mut entry = match (is_url, args.transport) {
        (true, Some(TransportArg::Stdio)) => {
            return Err(CliError::usage(format!("stdio is spoken with a command, and {target} is a URL")));
        }
        (true, transport) => remote(args, target, transport)?,
        (false, None | Some(TransportArg::Stdio)) => program(args, target)?,
        (false, Some(_)) => {
            return Err(CliError::Usage {
                message: format!("that is spoken with a server at a URL, and `{target}` is none"),
                hint: Some("a URL begins with https://, http://, wss:// or ws://".to_owned()),
            });
        }
    };
    for (key, tools) in [("allow", &args.include_tools), ("deny", &args.exclude_tools)] {
        if !tools.is_empty() {
            entry["toolbay"]["tools"][key] = json!(tools);
        }
    }
    if args.disabled {
        entry["disabled"] = true.into();
    }
    Ok(entry)
}

fn program(args: &AddArgs, command: &str) -> Result<Value, CliError> {
    if !args.header.is_empty() || args.bearer_token_env_var.is_some() {
        return Err(CliError::usage("headers and tokens are sent to servers at a URL; a command gets --env"));
    }
    if command.contains(char::is_whitespace) && args.args.is_empty() && !Path::new(command).exists() {
        return Err(CliError::Usage {
            message: format!("`{command}` is taken for the name of one program: no shell splits it"),
            hint: Some(format!("write it in words: toolbay add {} -- {command}", args.name)),
        });
    }
    let mut entry = json!({ "command": command, "args": args.args });
    let env = pairs(&args.env, '=', "--env KEY=VALUE")?;
    if !env.is_empty() {
        entry["env"] = env.into();
    }
    if let Some(cwd) = &args.cwd {
        entry["cwd"] = json!(std::path::absolute(cwd)?);
    }
    Ok(entry)
}

fn remote(args: &AddArgs, url: &str, transport: Option<TransportArg>) -> Result<Value, CliError> {
    if !args.args.is_empty() {
        return Err(CliError::usage(format!("a server at a URL has no arguments: {}", args.args.join(" "))));
    }
    if !args.env.is_empty() || args.cwd.is_some() {
        return Err(CliError::usage("--env and --cwd are for commands; a server at a URL gets --header"));
    }
    let mut headers = pairs(&args.header, ':', "--header \"NAME: VALUE\"")?;
    if let Some(variable) = &args.bearer_token_env_var {
        headers.insert("Authorization".to_owned(), format!("Bearer ${{{variable}}}").into());
    }
    let mut entry = json!({ "url": url });
    if !headers.is_empty() {
        entry["headers"] = headers.into();
    }
    let kind = match transport {
        Some(TransportArg::Http) => Some("http"),
        Some(TransportArg::Sse) => Some("sse"),
        Some(TransportArg::Ws) => Some("ws"),
        Some(TransportArg::Stdio) | None => None,
    };
    if let Some(kind) = kind {
        entry["type"] = kind.into();
    }
    Ok(entry)
}

fn pairs(typed: &[String], separator: char, form: &str) -> Result<Map<String, Value>, CliError> {
    let pair = |text: &String| match text.split_once(separator) {
        Some((name, value)) if !name.trim().is_empty() => {
            let value = if separator == ':' { value.trim() } else { value };
            Ok((name.trim().to_owned(), Value::from(value)))
        }
        // The text may be a secret, so it is not repeated.
        _ => Err(CliError::usage(format!("a value is missing; write {form}"))),
    };
    typed.iter().map(pair).collect()
}

fn is_url(text: &str) -> bool {
    ["https://", "http://", "wss://", "ws://"].iter().any(|scheme| text.starts_with(scheme))
}
