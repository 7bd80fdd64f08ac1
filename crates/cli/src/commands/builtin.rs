//! `toolbay builtin`: one of the built-in servers alone, with the arguments and variables of the original.

mod catalog;

use std::{
    ffi::OsStr,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use toolbay_config::{
    BraveSearchSettings, BuiltIn, FetchSettings, FileSettings, GrepSettings, MemorySettings, RootsSetting,
    Secret, ShellLimits, ShellSettings, TimeSettings, ToolsetName, scope::find_project,
};

use super::{alone, codebase};
use crate::{
    app::{
        built_in::BuiltInServers,
        codebases::{OpenTrees, folder},
        context::Context,
        default_servers::usual_folder,
        env::Env,
        error::CliError,
    },
    args::{BraveSearchArgs, BuiltinArgs, BuiltinServer, FileArgs, ServingArgs, ShellArgs},
    configured::files::Configuration,
};

/// The port of the original of the server for web searches.
const BRAVE_PORT: u16 = 8080;

pub(crate) async fn run(context: &Context, args: &BuiltinArgs) -> Result<(), CliError> {
    let Some(server) = &args.server else { return catalog::print(context) };
    let (name, settings) = match server {
        BuiltinServer::Filesystem(args) => {
            let directories = existing(&args.directories);
            let settings =
                FileSettings { delete: args.delete, ..files(directories, args.toolset, &args.files) };
            ("filesystem", BuiltIn::Filesystem(settings))
        }
        BuiltinServer::TextEditor(args) => {
            let directories = here_unless(&args.directories)?;
            ("text-editor", BuiltIn::TextEditor(files(directories, args.toolset, &args.files)))
        }
        BuiltinServer::Grep(args) => {
            let settings = GrepSettings {
                directories: here_unless(&args.directories)?,
                toolset: args.toolset,
                client_roots: client_roots(args.ignore_roots),
                secrets: args.secrets,
                time_limit: None,
            };
            ("grep", BuiltIn::Grep(settings))
        }
        BuiltinServer::Shell(args) => ("shell", BuiltIn::Shell(shell(&context.env, args)?)),
        BuiltinServer::Memory(args) => {
            let file = variable(&context.env, "MEMORY_FILE_PATH").map(PathBuf::from).map(std::path::absolute);
            let settings = MemorySettings {
                memory_file: file.transpose()?,
                toolset: args.toolset,
                ..MemorySettings::default()
            };
            ("memory", BuiltIn::Memory(settings))
        }
        BuiltinServer::BraveSearch(args) => {
            ("brave-search", BuiltIn::BraveSearch(brave(context, args).await?))
        }
        BuiltinServer::Fetch(args) => {
            let settings = FetchSettings {
                user_agent: args.user_agent.clone(),
                ignore_robots_txt: args.ignore_robots_txt,
                proxy_url: args.proxy_url.clone(),
                private_addresses: args.private_addresses,
            };
            ("fetch", BuiltIn::Fetch(settings))
        }
        BuiltinServer::Time(args) => {
            ("time", BuiltIn::Time(TimeSettings { local_timezone: args.local_timezone.clone() }))
        }
        BuiltinServer::Codebase(args) => return codebase::run(context, args).await,
    };
    let serving = match server {
        BuiltinServer::BraveSearch(args) => brave_serving(&context.env, args)?,
        other => other.serving().clone(),
    };
    let here = std::env::current_dir()?;
    let home = context.env.home.as_deref();
    let project = usual_folder(home, &find_project(&here, home));
    let servers = BuiltInServers::new(context, OpenTrees::new(context), project);
    let connect = servers.connect(&settings).map_err(|why| CliError::Absent {
        message: format!("the built-in server `{name}` cannot be started: {why}"),
        hint: None,
    })?;
    alone::serve(context, &serving, name, connect).await
}

fn files(directories: Vec<PathBuf>, toolset: ToolsetName, args: &FileArgs) -> FileSettings {
    FileSettings {
        directories,
        toolset,
        client_roots: client_roots(args.ignore_roots),
        secrets: args.secrets,
        protect: !args.no_protect,
        write_in_place: args.write_in_place,
        ..FileSettings::default()
    }
}

fn client_roots(are_ignored: bool) -> RootsSetting {
    if are_ignored { RootsSetting::Ignore } else { RootsSetting::Narrow }
}

/// The directories in full; those that cannot be read are reported by the server.
fn existing(directories: &[PathBuf]) -> Vec<PathBuf> {
    directories.iter().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone())).collect()
}

fn here_unless(directories: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    if directories.is_empty() { Ok(vec![folder(None)?]) } else { Ok(existing(directories)) }
}

fn shell(env: &Env, args: &ShellArgs) -> Result<ShellSettings, CliError> {
    let allowed = variable(env, "ALLOW_COMMANDS").or_else(|| variable(env, "ALLOWED_COMMANDS"));
    Ok(ShellSettings {
        root: folder(args.directory.as_deref())?,
        toolset: args.toolset,
        read: existing(&args.read),
        write: existing(&args.write),
        network: args.network(),
        sandbox: args.sandbox,
        protect: !args.no_protect,
        allow_commands: allowed.map(list),
        limits: ShellLimits::default(),
    })
}

async fn brave(context: &Context, args: &BraveSearchArgs) -> Result<BraveSearchSettings, CliError> {
    let env = &context.env;
    let tools = |typed: &[String], name: &str| match typed {
        [] => variable(env, name).map(list),
        typed => Some(typed.to_vec()),
    };
    let key = args.brave_api_key.as_deref().or_else(|| variable(env, "BRAVE_API_KEY"));
    let key = match key {
        Some(key) => Some(secret(context, key).await?),
        None => None,
    };
    Ok(BraveSearchSettings {
        api_key: key,
        api_key_file: variable(env, "BRAVE_API_KEY_FILE").map(PathBuf::from),
        base_url: args.base_url.clone(),
        enabled_tools: tools(&args.enabled_tools, "BRAVE_MCP_ENABLED_TOOLS"),
        disabled_tools: tools(&args.disabled_tools, "BRAVE_MCP_DISABLED_TOOLS").unwrap_or_default(),
        ..BraveSearchSettings::default()
    })
}

/// A key, or the secret that `${secret:NAME}` refers to.
async fn secret(context: &Context, key: &str) -> Result<Secret, CliError> {
    let name = key.strip_prefix("${secret:").and_then(|rest| rest.strip_suffix('}'));
    let Some(name) = name.and_then(|name| name.parse().ok()) else { return Ok(Secret::new(key)) };
    let mut configuration = Configuration::find(context)?;
    // For the commands that print secrets.
    drop(configuration.read());
    Ok(Secret::new(configuration.secrets.find(&name).await?.expose()))
}

/// The address that the options and variables of the original name.
fn brave_serving(env: &Env, args: &BraveSearchArgs) -> Result<ServingArgs, CliError> {
    let transport = args.transport.as_deref().or_else(|| variable(env, "BRAVE_MCP_TRANSPORT"));
    if args.serving.http.is_some() || transport != Some("http") {
        return Ok(args.serving.clone());
    }
    let host = args.host.as_deref().or_else(|| variable(env, "BRAVE_MCP_HOST"));
    let host = match host.map(str::parse) {
        None => IpAddr::V4(Ipv4Addr::LOCALHOST),
        Some(Ok(host)) => host,
        Some(Err(_)) => return Err(CliError::usage("the host must be an IP address, such as 127.0.0.1")),
    };
    let port = match (args.port, variable(env, "BRAVE_MCP_PORT").map(str::parse)) {
        (Some(port), _) | (None, Some(Ok(port))) => port,
        (None, None) => BRAVE_PORT,
        (None, Some(Err(_))) => return Err(CliError::usage("BRAVE_MCP_PORT must be a port")),
    };
    Ok(ServingArgs { http: Some(SocketAddr::new(host, port)), ..args.serving.clone() })
}

/// A variable that is set and not empty.
fn variable<'a>(env: &'a Env, name: &str) -> Option<&'a str> {
    env.variables.get(OsStr::new(name)).and_then(|value| value.to_str()).filter(|value| !value.is_empty())
}

/// Names that are separated by commas or spaces.
fn list(text: &str) -> Vec<String> {
    text.split([',', ' ']).map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
