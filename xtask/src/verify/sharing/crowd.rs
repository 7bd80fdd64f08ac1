//! Clients that are there at the same time.

use std::collections::BTreeMap;
use std::process::Command;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::{Value, json};
use toolbay_testkit::harness::{Pipe, wait_until};

use super::super::clients::{self, INSPECTOR};
use super::super::scene::{Ran, run_for};
use super::{SUM, SUM_TOOL, Stage, call};
use crate::workspace::root;

/// Ten clients start at once on few cores.
const LIMIT: Duration = Duration::from_secs(120);
/// How the handshake is numbered where we make it.
const HANDSHAKE: u64 = 0;

/// A kind of client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    TypeScript,
    Python,
    /// Connects, calls, and goes.
    Inspector,
    /// A pipe, with lines of JSON-RPC.
    Shell,
}

/// Clients that stay, and some that come and go.
pub(super) struct Crowd {
    clients: Vec<Client>,
    inspectors: Vec<JoinHandle<Result<Ran>>>,
}

/// A client that stays connected, with what it got.
struct Client {
    kind: Kind,
    pipe: Pipe,
    last_id: u64,
    /// By the id of the request: all responses to it.
    responses: BTreeMap<u64, Vec<Value>>,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::TypeScript, Self::Python, Self::Inspector, Self::Shell];
    /// Ten in all: two generations of each SDK among them.
    const CROWD: [(Self, &'static str); 10] = [
        (Self::TypeScript, "v1"),
        (Self::Python, "python-1"),
        (Self::Inspector, ""),
        (Self::Shell, ""),
        (Self::TypeScript, "v2"),
        (Self::Python, "python-2"),
        (Self::Inspector, ""),
        (Self::Shell, ""),
        (Self::TypeScript, "v1"),
        (Self::Python, "python-2"),
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::TypeScript => "TypeScript SDK",
            Self::Python => "Python SDK",
            Self::Inspector => "MCP Inspector",
            Self::Shell => "shell",
        }
    }
}

impl Crowd {
    /// Starts ten clients: all at once, or one of a kind and the others as soon as that one has started Toolbay.
    pub(super) fn start(stage: &Stage, first: Option<Kind>) -> Result<Self> {
        let mut crowd = Self { clients: Vec::new(), inspectors: Vec::new() };
        let mut kinds = Kind::CROWD.to_vec();
        // Those of that kind first, the others in their order.
        kinds.sort_by_key(|(kind, _)| Some(*kind) != first);
        for (number, (kind, version)) in kinds.into_iter().enumerate() {
            if number == 1 && first.is_some() {
                wait_until("the first client has started Toolbay", || {
                    Ok((!stage.relays().is_empty()).then_some(()))
                })?;
            }
            crowd.add(stage, kind, version)?;
        }
        Ok(crowd)
    }

    fn add(&mut self, stage: &Stage, kind: Kind, version: &str) -> Result<()> {
        let scripts = root().join("tests/clients");
        let mut command = match kind {
            Kind::Inspector => return self.add_inspector(stage),
            Kind::TypeScript => {
                let mut command = stage.scene.command(clients::node()?);
                command.arg(scripts.join("call.mjs")).args(["--requests", version, "stdio"]);
                command
            }
            Kind::Python => {
                let mut command = stage.scene.command(stage.clients.join(version).join("bin/python"));
                command.arg(scripts.join("call.py")).args(["--requests", "mcp", "stdio"]);
                command
            }
            Kind::Shell => {
                let mut command = stage.scene.command("sh");
                command.args(["-c", r#"cat | "$@""#, "sh"]);
                command
            }
        };
        command.args(stage.target()).env("TOOLBAY_TEST_CLIENTS", &stage.clients);
        self.clients.push(Client::start(command, kind)?);
        Ok(())
    }

    /// One more client that connects, calls, and goes.
    pub(super) fn add_inspector(&mut self, stage: &Stage) -> Result<()> {
        let mut command = stage.scene.command(clients::node()?);
        command.arg(stage.clients.join("npm/node_modules").join(INSPECTOR)).arg("--cli");
        command.args(stage.target()).args(["--method", "tools/call", "--tool-name", SUM_TOOL]);
        command.args(["--tool-arg", "a=1", "--tool-arg", "b=2"]);
        self.inspectors.push(std::thread::spawn(move || run_for(command, LIMIT)));
        Ok(())
    }

    /// Waits for those that come and go, and gives how many there were.
    pub(super) fn inspectors_work(&mut self) -> Result<usize> {
        let count = self.inspectors.len();
        for inspector in self.inspectors.drain(..) {
            let ran = inspector.join().map_err(|_| anyhow!("the thread of an Inspector failed"))??;
            ensure!(ran.text.contains(SUM), "the Inspector does not print {SUM:?}:\n{}", ran.tail());
        }
        Ok(count)
    }

    /// Sends a call from each client that stays, and gives their ids.
    pub(super) fn all_send(&mut self, tool: &str, arguments: &Value) -> Result<Vec<u64>> {
        self.clients.iter_mut().map(|client| client.send(tool, arguments)).collect()
    }

    /// Calls from each client that stays, at the same time, and gives how many there are.
    pub(super) fn all_call(
        &mut self,
        tool: &str,
        arguments: &Value,
        mut is_right: impl FnMut(&str) -> bool,
    ) -> Result<usize> {
        let ids = self.all_send(tool, arguments)?;
        for (client, id) in self.clients.iter_mut().zip(&ids) {
            let response = client.response(*id)?;
            let text = response["result"]["content"][0]["text"].as_str();
            ensure!(text.is_some_and(&mut is_right), "{}: `{tool}` gives {response}", client.kind.name());
        }
        Ok(ids.len())
    }

    /// Waits until the calls with these ids, one of each client, have failed, and gives how many there are.
    pub(super) fn all_fail(&mut self, ids: &[u64]) -> Result<usize> {
        for (client, id) in self.clients.iter_mut().zip(ids) {
            let response = client.response(*id)?;
            let message = response["error"]["message"].as_str().unwrap_or_default();
            ensure!(message.contains("the hub ended"), "{}: no error but {response}", client.kind.name());
        }
        Ok(ids.len())
    }

    /// Ends all clients. Each has got one response to each request, and nothing else.
    pub(super) fn leave(self) -> Result<()> {
        for mut client in self.clients {
            while let Ok(line) = client.pipe.line_within(Duration::ZERO) {
                client.take(&line)?;
            }
            for (id, responses) in client.responses {
                ensure!(
                    responses.len() == 1,
                    "{}: {} responses to request {id}: {responses:?}",
                    client.kind.name(),
                    responses.len()
                );
            }
        }
        Ok(())
    }
}

impl Client {
    fn start(command: Command, kind: Kind) -> Result<Self> {
        let mut pipe = Pipe::start(command)?;
        if kind == Kind::Shell {
            let params = json!({
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "shell", "version": "1" },
            });
            let initialize =
                json!({ "jsonrpc": "2.0", "id": HANDSHAKE, "method": "initialize", "params": params });
            pipe.send(&initialize.to_string())?;
            pipe.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string())?;
        }
        Ok(Self { kind, pipe, last_id: HANDSHAKE, responses: BTreeMap::new() })
    }

    fn send(&mut self, tool: &str, arguments: &Value) -> Result<u64> {
        self.last_id += 1;
        self.pipe.send(&call(self.last_id, tool, arguments))?;
        Ok(self.last_id)
    }

    /// The response to a request.
    fn response(&mut self, id: u64) -> Result<Value> {
        loop {
            if let Some(response) = self.responses.get(&id).and_then(|responses| responses.first()) {
                return Ok(response.clone());
            }
            let line = self.pipe.line_within(LIMIT);
            self.take(&line.with_context(|| format!("{}: no response to {id}", self.kind.name()))?)?;
        }
    }

    fn take(&mut self, line: &str) -> Result<()> {
        let message: Value = serde_json::from_str(line)
            .with_context(|| format!("{}: a line that is not valid JSON: {line}", self.kind.name()))?;
        ensure!(message.get("problem").is_none(), "{}: {message}", self.kind.name());
        if message.get("method").is_some() {
            // Only the shell sees notifications here.
            return Ok(());
        }
        let id = message["id"].as_u64().filter(|id| *id <= self.last_id);
        let id = id.with_context(|| format!("{}: nobody asked for {message}", self.kind.name()))?;
        self.responses.entry(id).or_default().push(message);
        Ok(())
    }
}
