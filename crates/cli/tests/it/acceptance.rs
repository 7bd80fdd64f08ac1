//! What every user may rely on, each with the real hub and real servers. Those that need hours or a clock of their own are in
//! the tests of `host`; that all formats come to the same servers (12) in those of `config`.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use toolbay_testkit::harness::{Client, Hub, Programs, Setup, kill, wait_until};

fn setup(folder: &tempfile::TempDir) -> Result<Setup> {
    let programs = Programs::beside(std::path::Path::new(env!("CARGO_BIN_EXE_toolbay")))?;
    Ok(Setup::new(programs, folder.path()))
}

fn folder() -> Result<tempfile::TempDir> {
    Ok(tempfile::Builder::new().prefix("toolbay-").tempdir()?)
}

#[test]
fn a01_ten_megabytes_of_stderr_during_a_call() -> Result<()> {
    let folder = folder()?;
    let mut hub = setup(&folder)?.hostile("loud", &[], json!({})).start()?;
    hub.wait_for("loud", "ready")?;
    let before = hub.rss_kib();
    let mut client = hub.client()?;
    let answer = client.call("loud__stderr_flood", json!({ "bytes": 10_000_000 }))?;
    ensure!(answer.get("result").is_some(), "{answer}");
    let grown = hub.rss_kib().saturating_sub(before);
    ensure!(grown < 8 * 1024, "the hub grew by {grown} KiB");
    let log = hub.run(&["logs", "loud"])?;
    ensure!(!log.is_empty() && log.len() < 3_000_000, "{} bytes of log", log.len());
    drop(client);
    hub.stop()?;
    Ok(())
}

#[test]
fn a02_eight_calls_on_one_server_run_side_by_side() -> Result<()> {
    let folder = folder()?;
    let mut hub = setup(&folder)?.healthy("slow").start()?;
    hub.wait_for("slow", "ready")?;
    let mut clients = (0..8).map(|_| hub.client()).collect::<Result<Vec<Client>>>()?;
    let started = Instant::now();
    for client in &mut clients {
        client.start_call("slow__sleep", json!({ "ms": 500 }))?;
    }
    for client in &mut clients {
        ensure!(client.receive()?.messages.concat().contains("result"));
    }
    // One after the other they would take four seconds.
    ensure!(started.elapsed() < Duration::from_secs(3), "they took {:?}", started.elapsed());
    drop(clients);
    hub.stop()?;
    Ok(())
}

#[test]
fn a03_one_bad_tool_takes_nothing_from_the_others() -> Result<()> {
    let folder = folder()?;
    let mut hub = setup(&folder)?.hostile("mixed", &["--bad-schema"], json!({})).start()?;
    hub.wait_for("mixed", "degraded")?;
    let tools = hub.client()?.tools()?;
    let offered = hub.server("mixed")?["offers"]["tools"].as_u64().context("no number")?;
    ensure!(offered > 19 && tools.len() as u64 + 1 == offered, "{} of {offered} are listed", tools.len());
    let status = hub.run(&["status"])?;
    ensure!(status.contains("`bad_schema` is not offered"), "{status}");
    hub.stop()?;
    Ok(())
}

#[test]
fn a04_bad_arguments_never_reach_the_server() -> Result<()> {
    let folder = folder()?;
    let mut hub = setup(&folder)?.healthy("strict").start()?;
    hub.wait_for("strict", "ready")?;
    let mut client = hub.client()?;
    let answer = client.call("strict__add", json!({ "a": "one", "b": 2 }))?;
    ensure!(answer["result"]["isError"] == true, "{answer}");
    ensure!(answer.to_string().contains("/a"), "the place is not named: {answer}");
    ensure!(hub.server("strict")?["counts"]["calls"] == 0, "{}", hub.server("strict")?);
    drop(client);
    hub.stop()?;
    Ok(())
}

#[test]
fn a05_a_killed_server_fails_its_call_at_once_and_serves_the_next() -> Result<()> {
    let folder = folder()?;
    let mut hub = setup(&folder)?.hostile("victim", &[], json!({})).start()?;
    hub.wait_for("victim", "ready")?;
    let mut client = hub.client()?;
    client.call("victim__stderr_flood", json!({ "bytes": 1000 }))?;
    client.start_call("victim__hang", json!({}))?;
    hub.wait_until("victim", "has a call", |server| server["counts"]["in_flight"] == 1)?;
    let server = hub.server("victim")?["pid"].as_u64().context("no pid")?;
    let child = children(server).first().copied().unwrap_or(server);
    let killed = Instant::now();
    kill(u32::try_from(child)?)?;
    let answer = client.receive()?.messages.concat();
    ensure!(killed.elapsed() < Duration::from_secs(4), "after {:?}", killed.elapsed());
    ensure!(answer.contains("`victim`") && answer.contains("signal 9"), "{answer}");
    ensure!(answer.contains("last stderr output"), "without the end of stderr: {answer}");
    ensure!(client.text("victim__ok", json!({}))? == "ok");
    drop(client);
    hub.stop()?;
    Ok(())
}

fn children(pid: u64) -> Vec<u64> {
    let file = format!("/proc/{pid}/task/{pid}/children");
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

#[test]
fn a06_nothing_survives_a_killed_hub() -> Result<()> {
    let folder = folder()?;
    let mut hub =
        setup(&folder)?.hostile("tree", &["--grandchildren"], json!({})).healthy("other").start()?;
    hub.wait_for("tree", "ready")?;
    hub.wait_for("other", "ready")?;
    hub.kill()?;
    wait_until("everything is gone", || Ok(hub.processes().is_empty().then_some(())))
}

#[test]
fn a08_names_that_look_alike_are_distinguished() -> Result<()> {
    let folder = folder()?;
    let mut hub = setup(&folder)?.healthy("git").healthy("git-hub").start()?;
    hub.wait_for("git", "ready")?;
    hub.wait_for("git-hub", "ready")?;
    let mut client = hub.client()?;
    for (server, tool) in [("git", "hub_x"), ("git-hub", "x")] {
        let change = json!({ "list": "tools", "name": tool });
        client.call(&format!("{server}__change"), change)?;
    }
    let listed = |client: &mut Client| -> Result<bool> {
        let tools = client.tools()?;
        let has = |name: &str| tools.iter().any(|tool| tool["name"] == name);
        Ok(has("git__hub_x") && has("git-hub__x"))
    };
    wait_until("both are listed", || Ok(listed(&mut client)?.then_some(())))?;
    for name in ["git__hub_x", "git-hub__x"] {
        let answer: Value = client.call(name, json!({}))?;
        ensure!(answer.get("result").is_some(), "{name}: {answer}");
    }
    drop(client);
    hub.stop()?;
    Ok(())
}

/// Starting many takes as long as the slowest, not as long as all of them.
#[test]
fn servers_start_side_by_side() -> Result<()> {
    let folder = folder()?;
    let mut setup = setup(&folder)?;
    for number in 0..30 {
        setup = setup.hostile(
            &format!("s{number}"),
            &["--start-delay-ms", "1000"],
            json!({ "probe_timeout": "10s" }),
        );
    }
    let started = Instant::now();
    let mut hub: Hub = setup.start()?;
    for number in 0..30 {
        hub.wait_for(&format!("s{number}"), "ready")?;
    }
    // One after the other they would take half a minute.
    ensure!(started.elapsed() < Duration::from_secs(20), "they took {:?}", started.elapsed());
    hub.stop()?;
    Ok(())
}
