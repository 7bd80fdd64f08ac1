//! Servers that do what a test wants, reached through the configuration.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_config::{Command, Permission, ServerConfig, ServerEndpoint, ServerOptions};
use toolbay_host::{Connector, Endpoint, HostOptions};
use toolbay_protocol::{Message, Request, Rope, ServerName, method};
use toolbay_transport::{Connection, Incoming, Outgoing, memory};

/// What all servers of a test have in common.
#[derive(Debug, Default)]
pub(crate) struct Troupe {
    /// How many processes were ever started, by the name of the server.
    pub(crate) lives: std::sync::Mutex<BTreeMap<String, u64>>,
    /// How many `initialize` take how long.
    pub(crate) start_ms: AtomicU64,
    /// Whether servers answer nothing at all.
    pub(crate) is_mute: AtomicBool,
    /// Whether servers end when they are asked anything.
    pub(crate) is_broken: AtomicBool,
    /// How many lives end when they are asked anything.
    pub(crate) broken_lives: AtomicU64,
    pub(crate) pings: AtomicU64,
}

impl Troupe {
    pub(crate) fn options(self: &Arc<Self>) -> HostOptions {
        let troupe = self.clone();
        let connector = Connector::new(move |config| {
            let (troupe, config) = (troupe.clone(), Arc::new(config.clone()));
            Some(Endpoint::InProcess(Arc::new(move |tasks| troupe.connect(&config, tasks))))
        });
        HostOptions { connector: Some(connector), ..HostOptions::default() }
    }

    /// A server of its own.
    pub(crate) fn in_process(self: &Arc<Self>, config: ServerConfig) -> toolbay_host::InProcess {
        let (troupe, config) = (self.clone(), Arc::new(config));
        Arc::new(move |tasks| troupe.connect(&config, tasks))
    }

    pub(crate) fn lives(&self, server: &str) -> u64 {
        self.lives.lock().unwrap().get(server).copied().unwrap_or_default()
    }

    fn connect(self: &Arc<Self>, config: &Arc<ServerConfig>, tasks: &TaskTracker) -> Connection {
        let (inside, outside) = memory::pair(tasks);
        let life = {
            let mut lives = self.lives.lock().unwrap();
            let life = lives.entry(config.name.as_str().to_owned()).or_default();
            *life += 1;
            *life
        };
        tasks.spawn(act(self.clone(), config.clone(), life, inside, tasks.clone()));
        outside
    }
}

/// A server: its arguments are the names of its tools.
pub(crate) fn config(name: &str, tools: &[&str]) -> ServerConfig {
    let command = Command {
        command: "actor".to_owned(),
        args: tools.iter().map(ToString::to_string).collect(),
        env: BTreeMap::new(),
        cwd: None,
    };
    ServerConfig {
        secrets: Vec::new(),
        name: ServerName::new(name),
        endpoint: ServerEndpoint::Command(command),
        permission: Permission::Enabled,
        tuning: ServerOptions { heartbeat: Some(Duration::ZERO), ..ServerOptions::default() },
    }
}

async fn act(
    troupe: Arc<Troupe>,
    config: Arc<ServerConfig>,
    life: u64,
    wire: Connection,
    tasks: TaskTracker,
) {
    let Connection { outgoing, mut incoming } = wire;
    while let Some(message) = incoming.recv().await {
        let Incoming::Message(Message::Request(request)) = message else { continue };
        if troupe.is_broken.load(Ordering::Relaxed) || life <= troupe.broken_lives.load(Ordering::Relaxed) {
            return;
        }
        if troupe.is_mute.load(Ordering::Relaxed) {
            continue;
        }
        let result = match request.call.method() {
            method::INITIALIZE => {
                tokio::time::sleep(Duration::from_millis(troupe.start_ms.load(Ordering::Relaxed))).await;
                let info = json!({ "name": "actor", "version": "1" });
                json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": info })
            }
            method::TOOLS_LIST => json!({ "tools": tools(&config) }),
            method::PING => {
                troupe.pings.fetch_add(1, Ordering::Relaxed);
                json!({})
            }
            method::TOOLS_CALL => {
                let name = request.call.string_param("name").unwrap_or_default().into_owned();
                match name.as_str() {
                    "crash" => return,
                    "hang" => continue,
                    _ => {
                        let outgoing = outgoing.clone();
                        let who = format!("{name} of life {life} of {}", config.name);
                        tasks.spawn(async move {
                            tokio::time::sleep(patience(&request)).await;
                            let result = json!({ "content": [{ "type": "text", "text": who }] });
                            let _ = outgoing.send(Outgoing::to_client(answer(&request, &result))).await;
                        });
                        continue;
                    }
                }
            }
            _ => {
                let text = toolbay_protocol::error(
                    Some(&request.id),
                    &toolbay_protocol::ErrorObject::new(toolbay_protocol::ErrorCode::METHOD_NOT_FOUND, "no"),
                );
                let _ = outgoing.send(text.into()).await;
                continue;
            }
        };
        let _ = outgoing.send(Outgoing::to_client(answer(&request, &result))).await;
    }
}

fn tools(config: &ServerConfig) -> Vec<Value> {
    let ServerEndpoint::Command(command) = &config.endpoint else { return Vec::new() };
    let tool = |name: &String| json!({ "name": name, "inputSchema": { "type": "object" } });
    command.args.iter().map(tool).collect()
}

fn patience(request: &Request) -> Duration {
    let arguments = request.call.param("arguments").map_or("{}", |span| request.call.raw(span));
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    Duration::from_millis(arguments["ms"].as_u64().unwrap_or_default())
}

fn answer(request: &Request, result: &Value) -> Rope {
    toolbay_protocol::result(&request.id, &result.to_string()).into()
}
