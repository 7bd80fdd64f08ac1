//! Servers at a URL behind a bad network.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use toolbay_testkit::{
    FaultProxy,
    harness::{Disconnect, Hub, Setup, WebServer, wait_until},
};

use super::{Bystander, folder, programs, says};
use crate::remote::Beside;

const REVISIONS: [&str; 2] = ["legacy", "modern"];

/// A hub with a server `far` at a URL, a bad network in between, and `good` beside it.
pub(super) struct Far {
    pub(super) hub: Hub,
    pub(super) server: WebServer,
    pub(super) network: FaultProxy,
    bystander: Bystander,
    folder: TempDir,
    _beside: Beside,
}

impl Far {
    fn new(revision: &str, tuning: Value) -> Result<Self> {
        let folder = folder()?;
        let received = folder.path().join("received").display().to_string();
        let program = programs()?.path("toolbay-test-server");
        let server =
            WebServer::run(&program, &["--revisions", revision, "--log-received", &received], "--http")?;
        let address = server.address()?;
        let (beside, network) = Beside::start(async move |tasks, _| FaultProxy::start(tasks, address).await);
        let url = format!("http://{}/mcp", network.address());
        let setup = Setup::new(programs()?, folder.path()).healthy("good").remote("far", &url);
        let hub = setup.tuned("far", tuning).start()?;
        hub.wait_for("good", "ready")?;
        hub.wait_for("far", "ready")?;
        let bystander = Bystander::start(&hub)?;
        Ok(Self { hub, server, network, bystander, folder, _beside: beside })
    }

    /// Messages with this method that reached `far` so far.
    fn received(&self, method: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("received")).unwrap_or_default();
        let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        messages.filter(|message| message["method"] == method).collect()
    }

    fn wait_for_call(&self) -> Result<()> {
        wait_until("the call reaches `far`", || Ok((!self.received("tools/call").is_empty()).then_some(())))
    }

    /// Nobody else noticed, and no call is left.
    fn end(mut self) -> Result<()> {
        self.hub.wait_until("far", "has no calls", |far| {
            far["counts"]["in_flight"] == 0 && far["counts"]["waiting"] == 0
        })?;
        self.bystander.leave()?;
        self.hub.stop()?;
        Ok(())
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        // Shown only when the test fails.
        eprintln!("the hub said:\n{}", self.hub.stderr());
    }
}

#[test]
fn f20_a_client_that_goes_away_cancels_its_call_at_a_url() -> Result<()> {
    for revision in REVISIONS {
        for how in [Disconnect::Fin, Disconnect::Reset] {
            let far = Far::new(revision, json!({}))?;
            let mut client = far.hub.client()?;
            client.start_call("far__hang", json!({ "key": "gone" }))?;
            far.wait_for_call()?;
            client.disconnect(how)?;
            // The old revision is told, the new one sees the end of the stream; the tool learns it in either.
            let mut other = far.hub.client()?;
            wait_until("the tool learns it", || {
                let fate = other.call("far__fate", json!({ "key": "gone" }))?;
                Ok(fate.to_string().contains("cancelled").then_some(()))
            })
            .context(revision)?;
            let told = far.received("notifications/cancelled").len();
            ensure!(told == usize::from(revision == "legacy"), "{revision}: {told} notifications");
            drop(other);
            far.end()?;
        }
    }
    Ok(())
}

#[test]
fn f23_a_frozen_server_costs_one_call_its_deadline() -> Result<()> {
    for revision in REVISIONS {
        let far = Far::new(revision, json!({ "idle_timeout": "1s" }))?;
        let mut client = far.hub.client()?;
        ensure!(client.text("far__echo", json!({ "text": "before" }))? == "before");
        far.server.freeze()?;
        times_out(&far)?;
        far.server.thaw()?;
        ensure!(client.text("far__echo", json!({ "text": "after" }))? == "after");
        drop(client);
        far.end().context(revision)?;
    }
    Ok(())
}

#[test]
fn f23_after_a_black_hole_calls_go_over_new_connections() -> Result<()> {
    for revision in REVISIONS {
        let far = Far::new(revision, json!({ "idle_timeout": "1s" }))?;
        let mut client = far.hub.client()?;
        keep_connections(&far)?;
        far.network.black_hole();
        times_out(&far)?;
        let before = far.network.accepted();
        far.network.heal();
        ensure!(client.text("far__echo", json!({ "text": "after" }))? == "after");
        ensure!(far.network.accepted() > before, "{revision}: a connection that was dead is used again");
        drop(client);
        far.end().context(revision)?;
    }
    Ok(())
}

/// Makes several calls at once, so that there are connections to spare.
fn keep_connections(far: &Far) -> Result<()> {
    let mut clients = Vec::new();
    for _ in 0..4 {
        let mut client = far.hub.client()?;
        client.start_call("far__sleep", json!({ "ms": 200 }))?;
        clients.push(client);
    }
    clients.iter_mut().try_for_each(|client| says(&client.receive()?.messages.concat(), &["slept"]))
}

fn times_out(far: &Far) -> Result<()> {
    let (mut client, asked) = (far.hub.client()?, Instant::now());
    let error = client.error("far__echo", json!({ "text": "lost" }))?;
    let took = asked.elapsed();
    says(&error, &["`far`", "1 s"])?;
    ensure!(took >= Duration::from_secs(1) && took < Duration::from_secs(6), "after {took:?}");
    Ok(())
}

#[test]
fn f24_a_stream_that_is_reset_fails_its_call_which_is_not_sent_again() -> Result<()> {
    for revision in REVISIONS {
        let far = Far::new(revision, json!({}))?;
        let mut client = far.hub.client()?;
        let asked = Instant::now();
        client.start_call("far__sleep", json!({ "ms": 30_000, "progress_ms": 20 }))?;
        far.wait_for_call()?;
        // So that the answer has begun.
        std::thread::sleep(Duration::from_millis(300));
        far.network.reset_all();
        says(&client.receive()?.messages.concat(), &["`far`", "was lost before the response"])
            .context(revision)?;
        ensure!(asked.elapsed() < Duration::from_secs(20), "after {:?}", asked.elapsed());
        ensure!(client.text("far__echo", json!({ "text": "after" }))? == "after");
        let calls = far.received("tools/call");
        let sleeps = calls.iter().filter(|call| call["params"]["name"] == "sleep").count();
        ensure!(sleeps == 1, "{revision}: the call was made {sleeps} times");
        drop(client);
        far.end()?;
    }
    Ok(())
}

/// A hub behind a hub: one that numbers its events, so that a broken stream can be taken up.
#[test]
fn f24_a_stream_that_is_reset_is_taken_up_where_the_server_keeps_it() -> Result<()> {
    let (back, front) = (folder()?, folder()?);
    let log = back.path().join("received");
    let args = ["--log-received".to_owned(), log.display().to_string()];
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let behind = Setup::new(programs()?, back.path());
    let mut behind = behind.server("real", "toolbay-test-server", &args, json!({})).start()?;
    behind.wait_for("real", "ready")?;
    let address = behind.address();
    let (_beside, network) = Beside::start(async move |tasks, _| FaultProxy::start(tasks, address).await);
    let url = format!("http://{}/mcp", network.address());
    let setup = Setup::new(programs()?, front.path()).remote("far", &url);
    let mut hub = setup.tuned("far", json!({ "revision": "legacy" })).start()?;
    hub.wait_for("far", "ready")?;

    let mut client = hub.client()?;
    client.start_call("far__real__sleep", json!({ "ms": 3000, "progress_ms": 100 }))?;
    wait_until("the call reaches the server", || Ok(calls(&log)?.gt(&0).then_some(())))?;
    std::thread::sleep(Duration::from_millis(500));
    network.reset_all();
    says(&client.receive()?.messages.concat(), &["slept 3000 ms"])?;
    ensure!(calls(&log)? == 1, "the call was made again");
    drop(client);
    hub.stop()?;
    behind.stop()?;
    Ok(())
}

fn calls(log: &PathBuf) -> Result<usize> {
    Ok(std::fs::read_to_string(log)?.lines().filter(|line| line.contains("\"tools/call\"")).count())
}
