//! Processes that ignore requests to stop.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use toolbay_testkit::harness::{kill, wait_until};

use super::Scene;

/// What `--grandchildren` starts: one in the group, one in a session of its own, one whose parents are dead.
const SLEEPERS: usize = 3;

impl Scene {
    /// Waits until the grandchildren of `bad` are there, which are expected from then on.
    fn await_sleepers(&mut self) -> Result<()> {
        wait_until("three sleepers", || {
            let family = self.hub.processes();
            let sleepers = family.iter().filter(|one| one.arguments.iter().any(|it| it == "--descendant"));
            Ok((sleepers.count() == SLEEPERS).then_some(()))
        })?;
        self.expected.as_mut().context("a scene must settle first")?.others = SLEEPERS;
        Ok(())
    }
}

#[test]
fn f13_ignored_sigterm_is_followed_by_sigkill() -> Result<()> {
    let tuning = json!({ "stop_grace": "300ms" });
    let mut scene = Scene::new(&["--ignore-sigterm", "--ignore-eof"], tuning)?;
    scene.bystander.leave()?;
    scene.hub.expect_idle(scene.expected.context("it has settled")?)?;
    let took = scene.hub.stop()?;
    ensure!(took >= Duration::from_millis(600), "it had no time to end: {took:?}");
    ensure!(took < Duration::from_secs(6), "it took {took:?}");
    Ok(())
}

#[test]
fn f13_the_default_grace_is_four_seconds() -> Result<()> {
    let mut scene = Scene::new(&["--ignore-sigterm", "--ignore-eof"], json!({}))?;
    scene.bystander.leave()?;
    let took = scene.hub.stop()?;
    ensure!(took >= Duration::from_secs(4) && took < Duration::from_secs(9), "it took {took:?}");
    Ok(())
}

#[test]
fn f14_grandchildren_end_with_the_hub() -> Result<()> {
    let mut scene = Scene::new(&["--grandchildren"], json!({}))?;
    scene.await_sleepers()?;
    scene.end()
}

#[test]
fn f14_grandchildren_end_with_their_server() -> Result<()> {
    let mut scene = Scene::new(&["--grandchildren"], json!({}))?;
    scene.await_sleepers()?;
    let mut client = scene.client()?;
    client.error("bad__crash", json!({}))?;
    // The next life has three of its own, and only those are left.
    ensure!(client.text("bad__ok", json!({}))? == "ok");
    drop(client);
    scene.end()
}

#[test]
fn f15_a_killed_hub_leaves_nothing() -> Result<()> {
    let mut scene = Scene::new(&["--grandchildren", "--ignore-sigterm", "--ignore-eof"], json!({}))?;
    scene.await_sleepers()?;
    scene.bystander.leave()?;
    let took = scene.hub.kill()?;
    ensure!(took < Duration::from_millis(2500), "it took {took:?}");
    Ok(())
}

#[test]
fn f15_a_hub_killed_in_the_middle_of_calls_leaves_nothing() -> Result<()> {
    let mut scene = Scene::new(&["--stderr-flood", "forever"], json!({}))?;
    let mut client = scene.client()?;
    client.start_call("bad__hang", json!({}))?;
    scene.hub.wait_until("bad", "has a call", |bad| bad["counts"]["in_flight"] == 1)?;
    scene.bystander.leave()?;
    let took = scene.hub.kill()?;
    ensure!(took < Duration::from_millis(2500), "it took {took:?}");
    ensure!(client.receive().is_err());
    Ok(())
}

#[test]
fn f16_a_killed_shim_is_noticed_and_swept() -> Result<()> {
    let mut scene = Scene::new(&["--grandchildren", "--ignore-sigterm", "--ignore-eof"], json!({}))?;
    scene.await_sleepers()?;
    let before: Vec<u32> = scene.hub.processes().iter().map(|one| one.pid).collect();
    let mut client = scene.client()?;
    client.start_call("bad__hang", json!({}))?;
    scene.hub.wait_until("bad", "has a call", |bad| bad["counts"]["in_flight"] == 1)?;

    let family = scene.hub.processes();
    let shim = family.iter().find(|one| one.is_shim() && one.arguments.iter().any(|it| it == "bad"));
    let shim = shim.context("`bad` has a shim")?.pid;
    kill(shim)?;
    let lost = client.receive()?.messages.concat();
    super::says(&lost, &["`bad`", "error"])?;
    scene.hub.wait_until("bad", "is ready again", |bad| bad["starts"] == 2 && bad["state"] == "ready")?;
    ensure!(client.text("bad__ok", json!({}))? == "ok");
    // `good` and its shim are the same; of `bad` nothing is.
    let after: Vec<u32> = scene.hub.processes().iter().map(|one| one.pid).collect();
    let kept = before.iter().filter(|pid| after.contains(pid)).count();
    ensure!(kept == 2, "{kept} processes of before are still there");
    drop(client);
    scene.end()
}

#[test]
fn f16_no_zombies_while_the_hub_is_busy() -> Result<()> {
    let scene = Scene::new(&["--grandchildren"], json!({}))?;
    let mut clients = Vec::new();
    for _ in 0..4 {
        let mut client = scene.client()?;
        client.start_call("bad__late", json!({ "ms": 2000 }))?;
        clients.push(client);
    }
    kill(super::server_pid(&scene.hub)?)?;
    for client in &mut clients {
        super::says(&client.receive()?.messages.concat(), &["`bad`", "SIGKILL"])?;
    }
    scene.hub.wait_until("bad", "is ready again", |bad| bad["starts"] == 2 && bad["state"] == "ready")?;
    wait_until("no zombies", || Ok((scene.hub.zombies() == 0).then_some(())))?;
    drop(clients);
    let mut scene = scene;
    scene.await_sleepers()?;
    scene.end()
}
