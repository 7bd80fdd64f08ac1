//! `toolbay add` and `add-json`: adding a server to a file.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use toolbay_config::{DirectoryKey, built_in_keys};

use crate::{
    app::{codebases, context::Context, default_servers::usual_folder, error::CliError},
    args::{AddArgs, AddJsonArgs, TransportArg, pairs},
    configured::edit::put,
};

/// Longer names leave too little of the 64 characters that clients allow for a tool.
const MAX_NAME: usize = 40;

/// `toolbay add`: a server by its command or URL, with the options that `claude mcp add` and `codex mcp add` have.
pub(crate) async fn run(context: &Context, args: &AddArgs) -> Result<(), CliError> {
    let typed: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(option) = swallowed(args, &typed) {
        return Err(CliError::Usage {
            message: format!("`{option}` after the command was read as an option of toolbay"),
            hint: Some(format!("put `--` before the command: toolbay add {} -- …", args.name)),
        });
    }
    check_name(&args.name)?;
    put(context, &args.put, &args.name, &entry(context, args)?).await
}

/// An option of ours after the command without a `--`, which many programs have, too.
fn swallowed<'a>(args: &AddArgs, typed: &'a [String]) -> Option<&'a String> {
    let target = args.target.as_ref().filter(|target| !is_url(target))?;
    let before_dashes = typed.iter().take_while(|word| *word != "--");
    let mut behind = before_dashes.skip_while(|word| *word != target);
    behind.find(|word| matches!(word.as_str(), "-q" | "-v" | "-vv"))
}

/// The arguments as an entry of `mcpServers`.
fn entry(context: &Context, args: &AddArgs) -> Result<Value, CliError> {
    let target = args.url.as_ref().or(args.target.as_ref()).map(String::as_str).unwrap_or_default();
    let is_url = args.url.is_some() || is_url(target);
    if !is_url && args.builtin.is_none() {
        check_scheme(target)?;
    }
    let mut entry = match (is_url, args.transport) {
        _ if let Some(name) = &args.builtin => built_in(context, args, name)?,
        (true, Some(TransportArg::Stdio)) => {
            return Err(CliError::usage(format!(
                "the transport stdio requires a command, but {target} is a URL"
            )));
        }
        (true, transport) => remote(args, target, transport)?,
        (false, None | Some(TransportArg::Stdio)) => program(args, target)?,
        (false, Some(_)) => {
            return Err(CliError::Usage {
                message: format!("this transport requires a URL, but `{target}` is not one"),
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
        return Err(CliError::usage("headers and tokens apply to servers at a URL; use --env for a command"));
    }
    if command.contains(char::is_whitespace) && args.args.is_empty() && !Path::new(command).exists() {
        return Err(CliError::Usage {
            message: format!("`{command}` is used as the name of one program; it is not split by a shell"),
            hint: Some(format!("separate the words: toolbay add {} -- {command}", args.name)),
        });
    }
    let mut entry = json!({ "command": command, "args": args.args });
    let env = pairs::variables(&args.env)?;
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
        return Err(CliError::usage(format!(
            "a server at a URL takes no arguments: {}",
            args.args.join(" ")
        )));
    }
    if !args.env.is_empty() || args.cwd.is_some() {
        return Err(CliError::usage("--env and --cwd apply to commands; use --header for a server at a URL"));
    }
    let mut headers = pairs::headers(&args.header)?;
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

/// A server that is a part of Toolbay.
fn built_in(context: &Context, args: &AddArgs, name: &str) -> Result<Value, CliError> {
    let typed: Vec<&String> = args.target.iter().chain(&args.args).collect();
    let mut entry = json!({ "builtin": name });
    match (DirectoryKey::of(name), &typed[..]) {
        (Some(DirectoryKey::One(_)), [_, _, ..]) => {
            return Err(CliError::usage(format!("the built-in server `{name}` takes one directory")));
        }
        (Some(DirectoryKey::One(key)), typed) => {
            entry[key] = json!(match typed {
                [directory, ..] => codebases::folder(Some(Path::new(directory)))?,
                [] => usual_directory(context, args, name)?,
            });
        }
        (Some(DirectoryKey::Several(key)), []) => {
            entry[key] = json!([usual_directory(context, args, name)?]);
        }
        (Some(DirectoryKey::Several(key)), typed) => {
            let directories = typed.iter().map(|directory| codebases::folder(Some(Path::new(directory))));
            entry[key] = json!(directories.collect::<Result<Vec<PathBuf>, _>>()?);
        }
        // One that is unknown is reported when the entry is read.
        (None, []) => {}
        (None, _) if built_in_keys(name).is_none() => {}
        (None, _) => return Err(CliError::usage(format!("the built-in server `{name}` takes no directory"))),
    }
    for setting in &args.set {
        let (key, value) = setting
            .split_once('=')
            .ok_or_else(|| CliError::usage(format!("`--set {setting}` must have the form KEY=VALUE")))?;
        if let Some(known) = built_in_keys(name).filter(|known| !known.contains(&key)) {
            let known = known.join(", ");
            return Err(CliError::usage(format!("`{key}` is unknown; `{name}` has the keys: {known}")));
        }
        entry[key] = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    }
    Ok(entry)
}

/// The current directory, unless it is one that is hardly intended.
fn usual_directory(context: &Context, args: &AddArgs, name: &str) -> Result<PathBuf, CliError> {
    let here = std::env::current_dir()?;
    usual_folder(context.env.home.as_deref(), &here).ok_or_else(|| CliError::Usage {
        message: format!("{} is not served by default", here.display()),
        hint: Some(format!("name the directory: toolbay add {} --builtin {name} DIR", args.name)),
    })
}

/// Names become a part of the names of tools, and are typed.
pub(super) fn check_name(name: &str) -> Result<(), CliError> {
    let is_allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_long = name.chars().count() > MAX_NAME;
    if !name.is_empty() && name.chars().all(is_allowed) && !is_long {
        return Ok(());
    }
    let plain: String = name.chars().map(|c| if is_allowed(c) { c } else { '-' }).take(MAX_NAME).collect();
    let plain = plain.trim_matches('-');
    Err(CliError::Usage {
        message: format!("`{name}` is not a valid server name"),
        hint: Some(match plain {
            "" => format!("a name has up to {MAX_NAME} letters, digits, `-`, `_` and `.`"),
            plain => format!(
                "a name has up to {MAX_NAME} letters, digits, `-`, `_` and `.`: `{plain}`, for example"
            ),
        }),
    })
}

/// A URL that no server is reached at.
fn check_scheme(target: &str) -> Result<(), CliError> {
    let Some((scheme, _)) = target.split_once("://") else { return Ok(()) };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    if !is_scheme {
        return Ok(());
    }
    Err(CliError::Usage {
        message: format!("`{scheme}://` is not supported"),
        hint: Some("a URL begins with https://, http://, wss:// or ws://".to_owned()),
    })
}

fn is_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| matches!(scheme.as_str(), "https" | "http" | "wss" | "ws"))
}

/// The keys under which files have their servers.
const HOMES: [&str; 4] = ["mcpServers", "servers", "mcp_servers", "context_servers"];

/// Keys of which an entry has one.
const REACHES: [&str; 6] = ["command", "url", "httpUrl", "serverUrl", "builtin", "cmd"];

/// `toolbay add-json`: a server as an entry in JSON.
pub(crate) async fn run_json(context: &Context, args: &AddJsonArgs) -> Result<(), CliError> {
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

/// Finds the entry in pasted JSON: the value itself, or one in a map of servers as files have it.
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
