//! A server at a URL that is killed and started again while it is used.

use std::{
    collections::HashSet,
    net::SocketAddr,
    path::Path,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use toolbay_testkit::harness::{Client, Setup, WebServer, wait_until};

use super::{Bystander, folder, programs};

const CALLERS: usize = 8;
const KILLS: usize = 3;

/// What all callers share.
#[derive(Default)]
struct Load {
    is_over: AtomicBool,
    good: AtomicUsize,
    failed: AtomicUsize,
}

#[test]
fn f23_a_server_restarted_under_load_mixes_up_and_loses_no_response() -> Result<()> {
    let transports = [
        ("--http", "legacy"),
        ("--http", "modern"),
        ("--sse", "legacy"),
        ("--ws", "legacy"),
        ("--ws", "modern"),
    ];
    for (flag, revision) in transports {
        let folder = folder()?;
        let program = programs()?.path("toolbay-test-server");
        let log = folder.path().join("received");
        let arguments =
            ["--revisions", revision, "--log-received", log.to_str().context("a path of ours is text")?];
        let mut server = WebServer::run(&program, &arguments, flag)?;
        let (port, url) = (server.address()?.port(), server.url().to_owned());
        let setup = Setup::new(programs()?, folder.path()).healthy("good").remote("far", &url);
        let mut hub = setup.tuned("far", json!({ "idle_timeout": "10s" })).start()?;
        hub.wait_for("good", "ready")?;
        hub.wait_for("far", "ready")?;
        let mut bystander = Bystander::start(&hub)?;
        let load = Load::default();
        let outcome = thread::scope(|scope| -> Result<()> {
            let (load, address) = (&load, hub.address());
            let callers: Vec<_> =
                (0..CALLERS).map(|caller| scope.spawn(move || call(load, address, caller))).collect();
            let killing = (0..KILLS).try_for_each(|_| -> Result<()> {
                wait_for_responses(load, 50)?;
                server.kill()?;
                // So long nobody answers; what is called meanwhile waits, or fails with a reason.
                thread::sleep(Duration::from_millis(300));
                server = WebServer::run_on(&program, port, &arguments, flag)?;
                Ok(())
            });
            let recovered = killing.and_then(|()| wait_for_responses(load, 200));
            load.is_over.store(true, Relaxed);
            for caller in callers {
                caller.join().expect("it returns its failures")?;
            }
            recovered
        });
        outcome.with_context(|| format!("{flag} {revision}\nthe hub said:\n{}", hub.stderr()))?;
        // What a server had when it was killed is lost; what it had not is not.
        let (good, failed) = (load.good.load(Relaxed), load.failed.load(Relaxed));
        ensure!(failed <= KILLS * CALLERS, "{flag} {revision}: {failed} calls failed, {good} did not");
        never_twice(&log).with_context(|| format!("{flag} {revision}"))?;
        hub.wait_until("far", "has no calls", |far| far["counts"]["in_flight"] == 0)?;
        bystander.leave()?;
        hub.stop()?;
    }
    Ok(())
}

/// No call reached the server more than once, in whichever of its lives.
fn never_twice(log: &Path) -> Result<()> {
    let mut seen = HashSet::new();
    for line in std::fs::read_to_string(log)?.lines() {
        // A life that was killed may have left half a line.
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        if message["method"] == "tools/call" {
            let text = message["params"]["arguments"]["text"].to_string();
            ensure!(seen.insert(text), "it was called twice: {line}");
        }
    }
    ensure!(!seen.is_empty(), "nothing was called");
    Ok(())
}

/// Waits for so many more good answers.
fn wait_for_responses(load: &Load, count: usize) -> Result<()> {
    let wanted = load.good.load(Relaxed) + count;
    wait_until("calls are answered again", || Ok((load.good.load(Relaxed) >= wanted).then_some(())))
}

/// Calls until it is over. Every call is answered; every answer is right or an error with a reason.
fn call(load: &Load, address: SocketAddr, caller: usize) -> Result<()> {
    let mut client = Client::open(address)?;
    for number in 0.. {
        if load.is_over.load(Relaxed) {
            break;
        }
        let text = format!("{caller} {number}");
        let answer: Value = client.call("far__echo", json!({ "text": text }))?;
        if answer.get("error").is_some() {
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            ensure!(message.contains("`far`"), "no reason: {answer}");
            load.failed.fetch_add(1, Relaxed);
        } else {
            ensure!(answer["result"]["content"][0]["text"] == text, "sent {text}, received {answer}");
            load.good.fetch_add(1, Relaxed);
        }
    }
    Ok(())
}
