//! A machine that is small, slow, or stops for a while.

use std::{
    net::TcpStream,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use toolbay_testkit::harness::{Setup, cpu_time, wait_until};

use super::{Scene, folder, programs};

#[test]
fn f26_a_hundred_servers_all_come_up_and_cost_little() -> Result<()> {
    let folder = folder()?;
    let mut setup = Setup::new(programs()?, folder.path());
    for number in 0..100 {
        setup = setup.healthy(&format!("s{number}"));
    }
    let mut hub = setup.start()?;
    wait_until("all are ready", || {
        let health = hub.health()?;
        let servers = health["servers"].as_array().context("no servers")?;
        Ok(servers.iter().all(|server| server["state"] == "ready").then_some(()))
    })?;
    let mut client = hub.client()?;
    for number in [0, 50, 99] {
        ensure!(client.text(&format!("s{number}__echo"), json!({ "text": "x" }))? == "x");
    }
    sleep(Duration::from_secs(2)); // what the start has stirred up settles
    let rss = hub.rss_kib();
    ensure!(rss <= 150 * 1024, "the hub has {rss} KiB");
    let (used, started) = (cpu_time(hub.pid()), Instant::now());
    sleep(Duration::from_secs(2));
    let share = (cpu_time(hub.pid()) - used).div_duration_f64(started.elapsed());
    ensure!(share < 0.2, "the idle hub uses {:.0} % of a core", share * 100.0);
    drop(client);
    hub.stop()?;
    Ok(())
}

/// While it stands still nobody can answer it, so nothing is late.
#[test]
fn f32_a_hub_that_was_stopped_for_a_while_times_nothing_out() -> Result<()> {
    let tuning = json!({ "idle_timeout": "2s", "total_timeout": "2500ms", "heartbeat": "1s" });
    let scene = Scene::new(&[], tuning)?;
    let mut client = scene.client()?;
    client.start_call("bad__late", json!({ "ms": 1000 }))?;
    scene.hub.wait_until("bad", "has a call", |bad| bad["counts"]["in_flight"] == 1)?;
    scene.hub.pause()?;
    sleep(Duration::from_secs(4));
    scene.hub.resume()?;
    let answer = client.receive()?.messages.concat();
    ensure!(answer.contains("result") && !answer.contains("timed out"), "{answer}");
    sleep(Duration::from_secs(2));
    ensure!(scene.bad()?["starts"] == 1, "{}", scene.bad()?);
    drop(client);
    scene.end()
}

#[test]
fn f33_without_files_left_it_waits_and_recovers() -> Result<()> {
    let folder = folder()?;
    let mut hub = Setup::new(programs()?, folder.path()).healthy("good").open_files(64).start()?;
    hub.wait_for("good", "ready")?;
    let crowd: Vec<TcpStream> =
        (0..100).map(|_| TcpStream::connect(hub.address())).collect::<Result<_, _>>()?;
    sleep(Duration::from_millis(500));
    let (used, started) = (cpu_time(hub.pid()), Instant::now());
    sleep(Duration::from_secs(2));
    let share = (cpu_time(hub.pid()) - used).div_duration_f64(started.elapsed());
    ensure!(share < 0.3, "it uses {:.0} % of a core while it has no files left", share * 100.0);
    drop(crowd);
    let mut client = hub.client()?;
    ensure!(client.text("good__echo", json!({ "text": "again" }))? == "again");
    drop(client);
    hub.stop()?;
    Ok(())
}
