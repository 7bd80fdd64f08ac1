//! Servers at a URL that fall silent or die.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;
use toolbay_testkit::harness::{Setup, WebServer};

use super::stage::{Figure, Stage, timed_call};

const ECHO: &str = "far__echo";

pub(super) fn frozen(stage: &Stage) -> Result<Vec<Figure>> {
    let server = WebServer::run(&stage.program("toolbay-test-server"), &[], "--http")?;
    let folder = tempfile::Builder::new().prefix("toolbay-").tempdir()?;
    let setup = Setup::new(stage.programs(), folder.path()).remote("far", server.url());
    let hub = setup.tuned("far", json!({ "idle_timeout": "2s" })).start()?;
    hub.wait_for("far", "ready")?;
    let mut client = hub.client()?;
    server.freeze()?;
    let lost = timed_call(&mut client, ECHO, json!({ "text": "x" }))?;
    server.thaw()?;
    let after = Instant::now();
    client.text(ECHO, json!({ "text": "x" }))?;
    Ok(vec![
        Figure::ms("timeout of 2 s", lost, "2000 ± 200 ms"),
        Figure::ms("the next call, once it goes on", after.elapsed(), ""),
    ])
}

pub(super) fn killed(stage: &Stage) -> Result<Vec<Figure>> {
    let program = stage.program("toolbay-test-server");
    let mut server = WebServer::run(&program, &[], "--http")?;
    let folder = tempfile::Builder::new().prefix("toolbay-").tempdir()?;
    let hub = Setup::new(stage.programs(), folder.path()).remote("far", server.url()).start()?;
    hub.wait_for("far", "ready")?;
    let mut client = hub.client()?;
    client.start_call("far__hang", json!({ "key": "k" }))?;
    hub.wait_until("far", "has a call", |far| far["counts"]["in_flight"] == 1)?;
    let killed = Instant::now();
    server.kill()?;
    let reply = client.receive()?;
    let error = killed.elapsed();
    ensure!(reply.messages.concat().contains("error"), "{reply:?}");
    std::thread::sleep(Duration::from_millis(300)); // so long it is down
    let _server = WebServer::run_on(&program, server.address()?.port(), &[], "--http")?;
    let back = Instant::now();
    client.text(ECHO, json!({ "text": "x" }))?;
    Ok(vec![
        Figure::ms("error after the kill", error, ""),
        Figure::ms("a call is answered after the restart", back.elapsed(), "≤ 2 s"),
    ])
}
