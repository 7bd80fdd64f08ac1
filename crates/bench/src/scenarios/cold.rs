//! `cargo xtask bench cold`: how soon a hub that was just started lists what all of its servers offer, with and without what it
//! remembers of them.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};
use toolbay_testkit::harness::Client;

use super::{cargo_build, measure::median, process};
use crate::workspace::root;

const SERVERS: usize = 30;
/// How long each server takes until it answers anything, as one in Node or Python does.
const SLOWNESS_MS: u64 = 1000;
const ROUNDS: usize = 5;

/// What one start took.
struct Start {
    listening: Duration,
    /// Until the list was whole.
    whole: Duration,
}

pub(super) fn run() -> Result<()> {
    cargo_build("toolbay-testkit")?;
    cargo_build("toolbay")?;
    let load = process::busy().map_or(String::new(), |load| format!("; the machine is busy (load {load})"));
    println!("{SERVERS} servers that take {SLOWNESS_MS} ms to start, {ROUNDS} rounds, medians{load}\n");
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let home = tempfile::tempdir()?;
        let config = write_config(home.path())?;
        let tools = start(home.path(), &config, 1, &mut without)?;
        ensure!(tools > SERVERS, "only {tools} tools");
        start(home.path(), &config, tools, &mut with)?;
    }
    let of = |starts: &[Start], part: fn(&Start) -> Duration| {
        median(starts.iter().map(|start| part(start).as_secs_f64() * 1000.0)).unwrap_or_default()
    };
    println!("{:<28}{:>14}{:>24}", "", "listening ms", "whole tools/list ms");
    for (name, starts) in [("nothing remembered", &without), ("remembered", &with)] {
        println!("{name:<28}{:>14.1}{:>24.1}", of(starts, |it| it.listening), of(starts, |it| it.whole));
    }
    let (slow, fast) = (of(&without, |it| it.whole), of(&with, |it| it.whole));
    println!(
        "\nwhole list: {:.3}× of the time without; goal: 50 ms ({})",
        fast / slow,
        if fast <= 50.0 { "✓" } else { "✗" }
    );
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let sum = (SERVERS as u64 * SLOWNESS_MS) as f64;
    println!("starting all: {:.2}× of the slowest, {:.3}× of the sum", slow / SLOWNESS_MS as f64, slow / sum);
    Ok(())
}

fn write_config(home: &Path) -> Result<std::path::PathBuf> {
    let hostile = root().join("target/release/toolbay-hostile");
    let args = ["--start-delay-ms".to_owned(), SLOWNESS_MS.to_string()];
    let entry = json!({ "command": hostile, "args": args, "toolbay": { "probe_timeout": "10s" } });
    let servers: Map<String, Value> =
        (0..SERVERS).map(|number| (format!("s{number}"), entry.clone())).collect();
    let config = home.join("mcp.json");
    std::fs::write(&config, json!({ "mcpServers": servers }).to_string())?;
    Ok(config)
}

/// Starts a hub and asks until the list is whole: `expected` tools at least, and all servers up if that is not known yet.
fn start(home: &Path, config: &Path, expected: usize, starts: &mut Vec<Start>) -> Result<usize> {
    #[expect(clippy::disallowed_methods, reason = "the program that is measured")]
    let mut command = Command::new(root().join("target/release/toolbay"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(config).current_dir(home);
    command.env_clear().env("HOME", home).env("TOOLBAY_RUNTIME_DIR", home).env("PATH", "/usr/bin:/bin");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let began = Instant::now();
    let mut child = command.spawn().context("the hub does not start")?;
    let measured = ask(&mut child, began, expected);
    process::end(&mut child);
    let (start, tools) = measured?;
    starts.push(start);
    Ok(tools)
}

fn ask(child: &mut Child, began: Instant, expected: usize) -> Result<(Start, usize)> {
    let stderr = child.stderr.take().context("it was piped")?;
    let mut lines = BufReader::new(stderr).lines();
    let address: SocketAddr = loop {
        let Some(line) = lines.next() else { bail!("the hub does not listen") };
        if let Some((_, url)) = line?.split_once("http://") {
            break url.split('/').next().unwrap_or_default().parse()?;
        }
    };
    let listening = began.elapsed();
    // Its words are not waited for, but it must be able to say them.
    std::thread::spawn(move || lines.for_each(drop));
    let mut client = Client::open(address)?;
    loop {
        let tools = client.tools()?.len();
        let whole = began.elapsed();
        let is_whole = match expected {
            1 => is_settled(&mut client)?,
            _ => tools >= expected,
        };
        if is_whole {
            return Ok((Start { listening, whole }, tools));
        }
        ensure!(whole < Duration::from_secs(120), "the list is never whole: {tools} of {expected}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn is_settled(client: &mut Client) -> Result<bool> {
    let health = client.get("/health")?;
    let servers = health["servers"].as_array().context("no servers")?;
    Ok(servers.iter().all(|server| server["state"] == "ready"))
}
