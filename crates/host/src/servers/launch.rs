//! From a checked configuration to a running server.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::Path,
    time::Duration,
};

use http::{HeaderName, HeaderValue};
use toolbay_config::{
    Command, Remote, Restart, RevisionSetting, ServerConfig, ServerEndpoint, Sharing, Stderr, Transport,
    environment_names, server_environment,
};
use toolbay_protocol::{ErrorCode, ErrorObject, Message, error};
use toolbay_transport::{
    Incoming, Outgoing,
    http::client::{ConnectOptions, HttpTimeouts, Proxies, Target},
    memory,
    stdio::MAX_MESSAGE,
};
use toolbay_upstream::{
    Endpoint, HubChain, Launch, ProcessEndpoint, RestartMode, RevisionPolicy, ServerSettings, Shim,
    StderrPolicy, StopGrace, Timeouts,
};

use crate::InProcess;

/// Commands that fetch packages before anything starts.
const PACKAGE_RUNNERS: [&str; 10] =
    ["npx", "uvx", "bunx", "pnpx", "pipx", "uv", "npm", "pnpm", "docker", "podman"];

/// The keep-alive interval of an idle connection; 0 in a configuration means none.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// How many messages besides calls may be sent to a server at a URL at once: lists, responses, cancellations.
const BESIDE_CALLS: usize = 256;

/// How to reach a configured server. `base_env` is our own environment; it names proxies, too. The server gets the
/// hubs in `chain`.
pub fn server_endpoint(
    config: &ServerConfig,
    base_env: &BTreeMap<OsString, OsString>,
    shim: &Shim,
    chain: Option<&HubChain>,
) -> Endpoint {
    let max_message = config.tuning.max_message.unwrap_or(MAX_MESSAGE);
    match &config.endpoint {
        ServerEndpoint::Command(command) => {
            let mut process = process(config, command, max_message, base_env, shim);
            if let Some(chain) = chain {
                process.launch.env.insert(HubChain::VARIABLE.into(), chain.to_string().into());
            }
            Endpoint::Process(Box::new(process))
        }
        // Built-in servers come from a `Connector`.
        ServerEndpoint::BuiltIn(_) => Endpoint::InProcess(refusing(NO_BUILT_IN)),
        ServerEndpoint::Url(remote) => {
            let mut headers = remote.headers.clone();
            let via = chain.and_then(|chain| HeaderValue::from_str(&chain.to_string()).ok());
            headers.extend(via.map(|via| (HeaderName::from_static(HubChain::HEADER), via)));
            let target = Box::new(Target {
                url: remote.url.clone(),
                headers,
                max_message,
                max_running: server_settings(config).max_in_flight.saturating_add(BESIDE_CALLS),
                route: connect_options(config, remote, base_env),
                authorizer: None,
            });
            match remote.transport {
                Transport::Auto => Endpoint::Auto(target),
                Transport::Http => Endpoint::Http(target),
                Transport::Sse => Endpoint::Sse(target),
                Transport::WebSocket => Endpoint::WebSocket(target),
            }
        }
    }
}

/// Whether a server inherits `PATH`.
pub(crate) fn inherits_path(base_env: &BTreeMap<OsString, OsString>, config: &ServerConfig) -> bool {
    environment_names(base_env, config).iter().any(|variable| variable.name == "PATH" && !variable.declared)
}

/// How connections to a server at a URL come about. `base_env` names proxies.
pub fn connect_options(
    config: &ServerConfig,
    remote: &Remote,
    base_env: &BTreeMap<OsString, OsString>,
) -> ConnectOptions {
    let tuning = &config.tuning;
    ConnectOptions {
        ca: remote.ca.clone(),
        proxies: Proxies::from_variables(|name| base_env.get(OsStr::new(name)).map(OsString::as_os_str)),
        timeouts: HttpTimeouts {
            connect: tuning.connect_timeout.unwrap_or(HttpTimeouts::default().connect),
            // Calls end at their own deadlines; this must not be sooner unless it is configured.
            first_byte: tuning.first_byte_timeout.unwrap_or(server_settings(config).timeouts.total),
            stream_idle: tuning.stream_idle_timeout,
        },
        ..ConnectOptions::default()
    }
}

fn process(
    config: &ServerConfig,
    command: &Command,
    max_message: usize,
    base_env: &BTreeMap<OsString, OsString>,
    shim: &Shim,
) -> ProcessEndpoint {
    let grace = config
        .tuning
        .stop_grace
        .map_or_else(StopGrace::default, |grace| StopGrace { after_stdin: grace, after_term: grace });
    ProcessEndpoint {
        launch: Launch {
            name: config.name.as_str().to_owned(),
            command: command.command.clone().into(),
            args: command.args.iter().map(OsString::from).collect(),
            env: server_environment(base_env, config),
            cwd: command.cwd.clone(),
            stderr: match &config.tuning.stderr {
                Stderr::Capture => StderrPolicy::Capture,
                Stderr::Inherit => StderrPolicy::Inherit,
                Stderr::Null => StderrPolicy::Null,
                Stderr::File(path) => StderrPolicy::File(path.clone()),
            },
        },
        shim: shim.clone(),
        grace,
        max_message,
    }
}

/// The settings of a configured server.
pub fn server_settings(config: &ServerConfig) -> ServerSettings {
    let tuning = &config.tuning;
    let defaults = ServerSettings::new(config.name.clone());
    let start = match &config.endpoint {
        ServerEndpoint::Command(command) if is_package_runner(&command.command) => {
            Timeouts::PACKAGE_RUNNER_START
        }
        _ => defaults.timeouts.start,
    };
    ServerSettings {
        timeouts: Timeouts {
            start: tuning.startup_timeout.unwrap_or(start),
            idle: tuning.idle_timeout.unwrap_or(defaults.timeouts.idle),
            total: tuning.total_timeout.unwrap_or(defaults.timeouts.total),
            probe: tuning.probe_timeout.unwrap_or(defaults.timeouts.probe),
        },
        revision: match tuning.revision {
            RevisionSetting::Auto => RevisionPolicy::Auto,
            RevisionSetting::Legacy => RevisionPolicy::Legacy,
            RevisionSetting::Modern => RevisionPolicy::Modern,
        },
        max_in_flight: tuning.max_in_flight.unwrap_or(defaults.max_in_flight),
        max_waiting: tuning.max_waiting.unwrap_or(defaults.max_waiting),
        serialize_writes: tuning.serialize_writes,
        restart: match (tuning.restart, tuning.restart_delay) {
            (Restart::Never, _) => RestartMode::Never,
            (Restart::Automatic, Some(delay)) => RestartMode::Fixed { delay },
            (Restart::Automatic, None) => RestartMode::Backoff,
        },
        roots: tuning.roots.as_ref().map(|roots| {
            let roots: Vec<_> = roots.iter().map(|uri| serde_json::json!({ "uri": uri })).collect();
            serde_json::Value::from(roots).to_string()
        }),
        idle_stop: tuning.idle_stop,
        heartbeat: Some(tuning.heartbeat.unwrap_or(HEARTBEAT)).filter(|pause| !pause.is_zero()),
        is_separate: tuning.instances != Sharing::Shared,
        ..defaults
    }
}

fn is_package_runner(command: &str) -> bool {
    let name = Path::new(command).file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| PACKAGE_RUNNERS.contains(&name))
}

/// Why a built-in server is not there.
const NO_BUILT_IN: &str =
    "this program has no built-in servers; run `toolbay`, or give the host a `Connector` that brings them";

/// Stands in for a built-in server that cannot be had: refuses everything and says why, which is then what its status tells.
pub fn refusing(why: impl Into<String>) -> InProcess {
    let why = ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, why.into());
    std::sync::Arc::new(move |tasks| {
        let (mut inside, outside) = memory::pair(tasks);
        let why = why.clone();
        tasks.spawn(async move {
            while let Some(message) = inside.incoming.recv().await {
                if let Incoming::Message(Message::Request(request)) = message
                    && inside
                        .outgoing
                        .send(Outgoing::to_client(error(Some(&request.id), &why)))
                        .await
                        .is_err()
                {
                    return;
                }
            }
        });
        outside
    })
}
