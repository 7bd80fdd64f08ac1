//! One cell, played: the server, what stands in front of it, and the suite.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use toolbay_testkit::harness::{Client, wait_until};

use super::Places;
use super::cells::{Cell, ClientPlay, Play, Server, ServerPlay, Suite, TASKS, Upstream, Way};
use super::judge::{self, Verdict};
use crate::peers;
use crate::workspace::{read, root};

/// What the suite says.
const LOG: &str = "suite.log";
/// How many runs of one cell may go on together: they wait more than they work.
const RUNS_AT_ONCE: usize = 4;

/// A process that ends when this is dropped. Those below a hub end with it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have ended by itself
        let _ = self.0.wait();
    }
}

/// Runs a cell from start to end.
pub(super) fn play(places: &Places, cell: &Cell) -> Result<Verdict> {
    let results = places.results.join(cell.name.replace('/', "_"));
    if results.exists() {
        fs::remove_dir_all(&results).with_context(|| format!("cannot empty {}", results.display()))?;
    }
    fs::create_dir_all(&results).with_context(|| format!("cannot make {}", results.display()))?;
    let exit = match cell.play {
        Play::Server(play) => server(places, cell, play, &results)?,
        Play::Client(play) => client(places, cell, play, &results)?,
        Play::AuthorizationServer => authorization_server(places, &results)?,
    };
    Verdict::read(&results, exit)
}

/// The suite as client: starts a server and whatever stands in front of it.
fn server(places: &Places, cell: &Cell, play: ServerPlay, results: &Path) -> Result<i32> {
    let scratch = tempfile::tempdir().context("cannot make a folder")?;
    let over_http =
        || listen(fixture(places, play.server, &["http", "--port", "0"])?, &results.join("fixture.log"));
    let in_front =
        |server: Value, naming| hub(places, &server, naming, scratch.path(), &results.join("hub.log"));
    let mut _server = None;
    let (_front, mut url) = match play.way {
        Way::Direct => over_http()?,
        Way::Hub(Upstream::Stdio, naming) => in_front(child(places, play.server), naming)?,
        Way::Hub(Upstream::Http, naming) => {
            let (running, url) = over_http()?;
            _server = Some(running);
            in_front(json!({ "url": url }), naming)?
        }
    };
    let mut _shim = None;
    if let Some(revision) = play.forced {
        let mut shim = Command::new(places.program("toolbay-fixture"));
        shim.args(["shim", "--to", &url, "--revision", revision]);
        let (running, front) = listen(shim, &results.join("shim.log"))?;
        (_shim, url) = (Some(running), front);
    }
    let runs: Vec<Vec<&str>> = match play.suite {
        Suite::Revision(revision, _) => vec![vec!["--suite", "all", "--spec-version", revision]],
        Suite::Tasks => TASKS.iter().map(|scenario| vec!["--scenario", scenario]).collect(),
    };
    let runs = runs.into_iter().map(|run| [vec!["server", "--url", &url], run].concat());
    suite(places, cell, &runs.collect::<Vec<_>>(), results)
}

/// The fixture as a program of ours.
fn fixture(places: &Places, server: Server, args: &[&str]) -> Result<Command> {
    let Server::Fixture(revisions) = server else { bail!("it serves on stdio alone") };
    let mut command = Command::new(places.program("toolbay-fixture"));
    command.args(["--revisions", revisions]).args(args);
    Ok(command)
}

/// The configuration of a server in a hub.
fn child(places: &Places, server: Server) -> Value {
    match server {
        Server::Fixture(revisions) => {
            json!({ "command": places.program("toolbay-fixture"), "args": ["--revisions", revisions, "stdio"] })
        }
        Server::TypeScript(revisions) => json!({
            "command": places.peers.join("bin/node"),
            "args": [root().join("tests/conformance/server.mjs"), revisions],
            "env": { peers::VARIABLE: places.peers },
        }),
    }
}

/// The suite as server: it starts a client of its own for each scenario.
fn client(places: &Places, cell: &Cell, play: ClientPlay, results: &Path) -> Result<i32> {
    let client = format!("{} --front {}", places.program("toolbay-conformance-client"), play.front);
    let always = ["client", "--command", &client, "--timeout", "60000"];
    // Extensions belong to no revision.
    let revision = ["--spec-version", play.revision];
    let revision = if play.revision.is_empty() { &[] } else { &revision[..] };
    let runs = play.scenarios.iter().map(|scenario| [&always, revision, &["--scenario", scenario]].concat());
    let exit = suite(places, cell, &runs.collect::<Vec<_>>(), results)?;
    // With a baseline, the suite looks at its checks alone, and many of them pass before a client gets stuck.
    let said = read(&results.join(LOG))?;
    let is_stuck = said.contains("Client timed out");
    let failed = said.matches("Client exited with code").count();
    Ok(if is_stuck || failed != play.refusals() { exit.max(1) } else { exit })
}

/// Starts a program that prints its URL as soon as it listens. Some end with their stdin.
fn listen(mut command: Command, log: &Path) -> Result<(Running, String)> {
    let log = File::create(log)?;
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn()?;
    let stdout = child.stdout.take().context("it was piped")?;
    let running = Running(child);
    let mut url = String::new();
    BufReader::new(stdout).read_line(&mut url)?;
    let url = url.trim().to_owned();
    anyhow::ensure!(!url.is_empty(), "{command:?} does not listen");
    Ok((running, url))
}

/// The suite as client of an authorization proxy. People log in at a certified provider, with a browser.
fn authorization_server(places: &Places, results: &Path) -> Result<i32> {
    let scratch = tempfile::tempdir().context("cannot make a folder")?;
    let script = |path: &str| {
        let mut command = Command::new(places.peers.join("bin/node"));
        command.arg(root().join("tests").join(path)).env(peers::VARIABLE, &places.peers);
        command
    };
    let (_issuer, issuer) = listen(script("authorization/issuer.mjs"), &results.join("issuer.log"))?;
    let (_browser, browser) = listen(script("authorization/browser.mjs"), &results.join("browser.log"))?;
    let config = scratch.path().join("toolbay.toml");
    let proxy =
        format!("issuer = '{issuer}'\nclient_id = 'hub'\nscopes = ['openid']\nallow_everyone = true\n");
    fs::write(&config, format!("[auth.proxy]\n{proxy}"))?;
    let (_hub, address) = serve(places, &config, "prefix", scratch.path(), &results.join("hub.log"))?;
    let log = File::create(results.join(LOG))?;
    let mut run = script("conformance/authorization-server.mjs");
    run.arg(places.suite()).args([&format!("http://{address}"), &browser]).arg(results);
    run.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    Ok(run.status().context("the suite does not start")?.code().unwrap_or(i32::MAX))
}

/// Starts a hub with one server, and waits until that is ready.
fn hub(
    places: &Places,
    server: &Value,
    naming: &str,
    folder: &Path,
    log: &Path,
) -> Result<(Running, String)> {
    let config = folder.join("mcp.json");
    fs::write(&config, json!({ "mcpServers": { "fixture": server } }).to_string())?;
    let (running, address) = serve(places, &config, naming, folder, log)?;
    wait_until("the fixture is ready", || {
        let health = Client::new(address).get("/health")?;
        Ok((health["servers"][0]["state"] == "ready").then_some(()))
    })?;
    Ok((running, format!("http://{address}/mcp")))
}

/// Starts a hub, and waits until it listens.
fn serve(
    places: &Places,
    config: &Path,
    naming: &str,
    folder: &Path,
    log: &Path,
) -> Result<(Running, SocketAddr)> {
    let mut command = Command::new(places.program("toolbay"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--naming", naming, "--config"]).arg(config);
    // Sockets and files of its own, so that it never meets a hub of the user.
    command.env("HOME", folder).env("TOOLBAY_RUNTIME_DIR", folder).env("TMPDIR", folder).current_dir(folder);
    command.env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME");
    let stderr = File::create(log)?;
    let running = Running(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr).spawn()?);
    let address = wait_until("the hub listens", || {
        let said = fs::read_to_string(log)?;
        let url = said.lines().find_map(|line| Some(line.split_once("http://")?.1.to_owned()));
        Ok(url.and_then(|url| url.split('/').next()?.parse().ok()))
    })?;
    Ok((running, address))
}

/// Runs the suite, a few runs at a time, and gives the worst of their exit codes.
fn suite(places: &Places, cell: &Cell, runs: &[Vec<&str>], results: &Path) -> Result<i32> {
    let mut worst = 0;
    for some in runs.chunks(RUNS_AT_ONCE) {
        let mut running = Vec::new();
        for run in some {
            let log = File::options().create(true).append(true).open(results.join(LOG))?;
            let mut command = Command::new(places.peers.join("bin/node"));
            command.arg(places.suite()).args(run);
            command.arg("--output-dir").arg(results).arg("--expected-failures").arg(judge::baseline(cell));
            command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
            running.push(Running(command.spawn().context("the suite does not start")?));
        }
        for mut run in running {
            worst = worst.max(run.0.wait()?.code().unwrap_or(i32::MAX));
        }
    }
    Ok(worst)
}

impl Places {
    fn program(&self, name: &str) -> String {
        self.programs.join(name).display().to_string()
    }

    fn suite(&self) -> PathBuf {
        self.peers.join("npm/node_modules/@modelcontextprotocol/conformance/dist/index.js")
    }
}
