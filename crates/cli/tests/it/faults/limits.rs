//! Peers that try to exhaust the memory or the time of the hub.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use toolbay_testkit::{
    PingFlood,
    harness::{Hub, Setup, WebServer, wait_until},
};

use super::{Bystander, Scene, folder, programs, says};

const PINGS: usize = 200_000;
/// What the hub may grow by while it is flooded, in KiB.
const GROWTH: u64 = 2 * 1024;

/// The most that the hub has had since [`Hub::forget_peak`] is not much more than before.
fn has_not_grown(hub: &Hub, before: u64) -> Result<()> {
    let peak = hub.peak_kib();
    ensure!(peak <= before + GROWTH, "it grew from {before} to {peak} KiB");
    Ok(())
}

#[test]
fn pings_of_a_client_that_does_not_read_take_no_memory() -> Result<()> {
    let folder = folder()?;
    let hub = Setup::new(programs()?, folder.path()).healthy("good").start()?;
    hub.wait_for("good", "ready")?;
    let mut bystander = Bystander::start(&hub)?;
    drop(PingFlood::start(hub.address(), 100)?); // what a first WebSocket needs is there
    hub.reset_peak();
    let before = hub.rss_kib();
    let flood = PingFlood::start(hub.address(), PINGS)?;
    has_not_grown(&hub, before)?;
    ensure!(flood.sent < PINGS, "the hub read all pings though nobody took the pongs");
    bystander.leave()
}

#[test]
fn pings_of_a_server_that_does_not_read_take_no_memory() -> Result<()> {
    let folder = folder()?;
    let log = folder.path().join("log");
    let pings = PINGS.to_string();
    let flags = ["--ws-pings", &pings, "--received", log.to_str().context("no UTF-8")?];
    let hostile = programs()?.path("toolbay-hostile");
    let (calm, flooding) =
        (WebServer::run(&hostile, &[], "--ws")?, WebServer::run(&hostile, &flags, "--ws")?);
    // What a first server on WebSocket needs is there before the flood.
    let setup = Setup::new(programs()?, folder.path()).healthy("good").remote("calm", calm.url());
    let hub = setup.start()?;
    hub.wait_for("good", "ready")?;
    hub.wait_for("calm", "ready")?;
    let mut bystander = Bystander::start(&hub)?;
    hub.reset_peak();
    let before = hub.rss_kib();
    let file = folder.path().join("mcp.json");
    let mut config: Value = serde_json::from_slice(&std::fs::read(&file)?)?;
    config["mcpServers"]["bad"] = json!({ "url": flooding.url() });
    std::fs::write(&file, config.to_string())?;
    wait_until("the pings are sent", || {
        Ok(std::fs::read_to_string(&log).ok().filter(|log| log.contains("pings: ")))
    })?;
    has_not_grown(&hub, before)?;
    bystander.leave()
}

/// Schemas that take for ever to check, called with arguments that make them so.
#[test]
fn schemas_that_take_for_ever_to_check_block_no_client() -> Result<()> {
    let scene = Scene::new(&["--endless-schemas"], json!({}))?;
    let items = vec![json!({}); 80_000];
    let calls = [("bad__plain_doubling", json!({ "x": {} })), ("bad__plain_wide", json!({ "list": items }))];
    for (tool, arguments) in calls {
        let mut client = scene.client()?;
        let calling = thread::spawn(move || client.text(tool, arguments));
        // A machine that does much else is slow now and then; a hub that checks for ever never answers.
        let mut took = Vec::new();
        while !calling.is_finished() || took.len() < 9 {
            let asked = Instant::now();
            scene.hub.health()?;
            took.push(asked.elapsed());
        }
        took.sort_unstable();
        let usual = took[took.len() / 2];
        ensure!(usual < Duration::from_millis(50), "/health takes {usual:?} while {tool} is called");
        let answer = calling.join().expect("it returns its failures")?;
        ensure!(Some(answer.as_str()) == tool.strip_prefix("bad__"), "{tool} answers {answer}");
    }
    let reason = "arguments are not checked: its schema is too large with its references unfolded";
    says(&scene.hub.run(&["status"])?, &[&format!("bad: tool `plain_doubling`: {reason}")])?;
    says(&scene.hub.run(&["status", "--json"])?, &["\"notes\":[", reason])?;
    scene.end()
}
