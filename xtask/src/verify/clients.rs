//! Published clients against one hub: each lists the tools and calls one, on each transport that it has.
//!
//! Libraries call by themselves (`tests/clients/call.mjs`, `call.py`). Coding agents need a model to call anything: they get
//! one that can do nothing but call the tool (`tests/clients/model.mjs`), so that the whole agent is tried without an account.

pub(super) mod agents;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use super::scene::{Running, Scene, first_line, run_for};
use crate::peers::{self, NPM_PINS, virtual_environment};
use crate::workspace::{command, must, root};

const TOOL: &str = "everything__get-sum";
/// What the tool answers to 1 and 2.
const SUM: &str = "The sum of 1 and 2 is 3.";
pub(super) const LIMIT: Duration = Duration::from_secs(120);
/// The program of the Inspector, below the installed packages.
pub(super) const INSPECTOR: &str = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";

/// One client on one transport.
pub(super) struct Case {
    pub(super) client: &'static str,
    transport: &'static str,
    pub(super) command: Command,
    /// What a client that works prints.
    pub(super) expected: &'static str,
}

/// A hub, the installed clients, and a model for those that need one.
pub(super) struct Stage {
    scene: Scene,
    clients: PathBuf,
    url: String,
    /// The URL of the model.
    pub(super) model: String,
    _running: [Running; 2],
}

/// Tries every client and prints a table; fails if one of them fails.
pub(super) fn run(scene: Scene) -> Result<()> {
    let stage = Stage::new(scene)?;
    println!("| client | transport | result | seconds |\n|---|---|---|---|");
    let mut failed = Vec::new();
    for case in stage.cases()? {
        let ran = run_for(case.command, LIMIT)?;
        let works = ran.in_time && ran.text.contains(case.expected);
        let result = if works { "works" } else { "FAILS" };
        println!("| {} | {} | {result} | {:.1} |", case.client, case.transport, ran.took.as_secs_f64());
        if !works {
            failed.push(format!(
                "{}, {}: no {:?} in:\n{}",
                case.client,
                case.transport,
                case.expected,
                ran.tail()
            ));
        }
    }
    if !failed.is_empty() {
        bail!("{} cases failed\n{}", failed.len(), failed.join("\n"));
    }
    Ok(())
}

impl Stage {
    fn new(scene: Scene) -> Result<Self> {
        Self::with_hub(scene, "")
    }

    /// With settings of the hub.
    pub(super) fn with_hub(scene: Scene, hub: &str) -> Result<Self> {
        peers::run()?;
        let clients = install()?;
        let everything =
            peers::folder()?.join("npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
        let node = node()?;
        let (node_text, everything) = (node.display(), everything.display());
        let servers =
            format!("{hub}[servers.everything]\ncommand = '{node_text}'\nargs = ['{everything}', 'stdio']\n");
        scene.write(".config/toolbay/toolbay.toml", &servers)?;
        let (hub, url) = scene.serve()?;
        let mut model = scene.command(&node);
        model.arg(root().join("tests/clients/model.mjs"));
        let (model, port) = first_line(model)?;
        let model_url = format!("http://127.0.0.1:{port}");
        Ok(Self { scene, clients, url, model: model_url, _running: [hub, model] })
    }

    fn cases(&self) -> Result<Vec<Case>> {
        let mut cases = self.libraries()?;
        cases.extend(self.inspectors()?);
        cases.extend(agents::cases(self)?);
        Ok(cases)
    }

    /// Where a transport of the hub is.
    fn target(&self, transport: &str) -> Vec<String> {
        let base = self.url.trim_end_matches("/mcp");
        match transport {
            "http" => vec![self.url.clone()],
            "sse" => vec![format!("{base}/sse")],
            "ws" => vec![format!("{}/ws", base.replacen("http", "ws", 1))],
            _ => vec![self.toolbay(), "stdio".to_owned()],
        }
    }

    fn toolbay(&self) -> String {
        self.scene.toolbay().display().to_string()
    }

    fn libraries(&self) -> Result<Vec<Case>> {
        let node = node()?;
        let scripts = root().join("tests/clients");
        let python = |name: &str| self.clients.join(name).join("bin/python");
        let libraries = [
            ("TypeScript SDK 1.32.2", node.clone(), "call.mjs", "v1", &["http", "sse", "ws", "stdio"][..]),
            ("TypeScript SDK 2.4.0", node.clone(), "call.mjs", "v2", &["http", "sse", "stdio"]),
            ("@ai-sdk/mcp 1.0.101", node, "call.mjs", "ai", &["http", "sse", "stdio"]),
            ("Python SDK 1.9.0", python("python-1"), "call.py", "mcp", &["http", "sse", "stdio"]),
            ("Python SDK 2.3.0", python("python-2"), "call.py", "mcp", &["http", "sse", "stdio"]),
            ("FastMCP 4.1.2", python("python-2"), "call.py", "fastmcp", &["http", "sse", "stdio"]),
        ];
        let mut cases = Vec::new();
        for (client, program, script, library, transports) in libraries {
            for transport in transports {
                let mut command = self.scene.command(&program);
                command.arg(scripts.join(script)).args([library, transport]).args(self.target(transport));
                command.env("TOOLBAY_TEST_CLIENTS", &self.clients);
                cases.push(Case { client, transport, command, expected: SUM });
            }
        }
        Ok(cases)
    }

    fn inspectors(&self) -> Result<Vec<Case>> {
        let call = ["--method", "tools/call", "--tool-name", TOOL, "--tool-arg", "a=1", "--tool-arg", "b=2"];
        let inspector = |version: &str, options: &[&str], target: Vec<String>| -> Result<Command> {
            let mut command = self.scene.command(node()?);
            command.arg(self.clients.join("npm/node_modules").join(version)).arg("--cli");
            command.args(target).args(options).args(call);
            Ok(command)
        };
        let (new, old) = (INSPECTOR, "inspector-0.15/cli/build/cli.js");
        let remote = self.clients.join("npm/node_modules/.bin/mcp-remote").display().to_string();
        let cases = [
            ("Inspector 2.12.0", "http", inspector(new, &["--transport", "http"], self.target("http"))?),
            (
                "Inspector 2.12.0, modern",
                "http",
                inspector(new, &["--transport", "http", "--protocol-era", "modern"], self.target("http"))?,
            ),
            ("Inspector 2.12.0", "sse", inspector(new, &["--transport", "sse"], self.target("sse"))?),
            ("Inspector 2.12.0", "stdio", inspector(new, &[], self.target("stdio"))?),
            ("Inspector 0.15.0", "http", inspector(old, &["--transport", "http"], self.target("http"))?),
            ("Inspector 0.15.0", "sse", inspector(old, &["--transport", "sse"], self.target("sse"))?),
            ("Inspector 0.15.0", "stdio", inspector(old, &[], self.target("stdio"))?),
            (
                "mcp-remote 0.15.1 (under Inspector)",
                "http",
                inspector(new, &[], vec![remote, self.url.clone()])?,
            ),
        ];
        Ok(cases
            .into_iter()
            .map(|(client, transport, command)| Case { client, transport, command, expected: SUM })
            .collect())
    }
}

/// Where Node.js is that the peers brought.
pub(super) fn node() -> Result<PathBuf> {
    Ok(peers::folder()?.join("bin/node"))
}

/// Installs the clients below `target/clients`.
pub(super) fn install() -> Result<PathBuf> {
    let from = root().join("tests/clients");
    let folder = peers::folder()?.with_file_name("clients");
    peers::install(&from, &folder, "npm", &NPM_PINS, npm)?;
    for name in ["python-1", "python-2"] {
        let requirements = format!("{name}.txt");
        peers::install(&from, &folder, name, &[&requirements], |from, into| {
            virtual_environment(&from.join(&requirements), into)
        })?;
    }
    Ok(folder)
}

/// Scripts of packages do not run at installation; two clients fetch their program from another package in theirs.
fn npm(from: &Path, into: &Path) -> Result<()> {
    peers::npm(from, into)?;
    let packages = into.join("node_modules");
    must(command(node()?).arg("install.cjs").current_dir(packages.join("@anthropic-ai/claude-code")))?;
    must(command(node()?).arg("postinstall.mjs").current_dir(packages.join("opencode-ai")))
}
