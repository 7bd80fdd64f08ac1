//! Servers that send invalid messages or floods, or do not read.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;
use toolbay_testkit::harness::wait_until;

use super::{AT_ONCE, Scene, says};

const MIB: u64 = 1024;

#[test]
fn f06_garbage_on_stdout_is_dropped_counted_and_explained() -> Result<()> {
    let scene = Scene::new(&["--garbage"], json!({}))?;
    let mut client = scene.client()?;
    let mut events = client.listen()?;
    for number in 0..20 {
        let text = format!("call {number}");
        let reply = client.call("bad__ok", json!({ "text": text }))?;
        ensure!(reply["result"]["content"][0]["text"] == text, "{reply}");
    }
    let noise = scene.bad()?["counts"]["noise"].as_u64().unwrap_or(0);
    ensure!(noise >= 20 * 5, "{noise} lines of noise");
    says(&scene.hub.run(&["logs", "bad"])?, &["Hostile Server v1.0", "prints to stdout"])?;
    let said = scene.hub.stderr();
    says(&said, &["WARN", "cannot read a message", "Hostile Server v1.0"])?;
    let logged = said.matches("cannot read a message").count();
    ensure!(logged <= 10, "{noise} lines of noise are {logged} lines of log: {said}");
    let told = events.until_quiet(Duration::from_millis(500))?;
    ensure!(!told.concat().contains("Hostile"), "{told:?}");
    drop((events, client));
    scene.end()
}

#[test]
fn f07_a_line_of_100_mb_fails_one_call() -> Result<()> {
    let scene = Scene::new(&[], json!({}))?;
    let (mut client, mut other) = (scene.client()?, scene.client()?);
    other.start_call("bad__late", json!({ "ms": 10 }))?;
    scene.hub.reset_peak();
    let (before, asked) = (scene.hub.rss_kib(), Instant::now());
    let error = client.error("bad__big_line", json!({ "bytes": 100_000_000 }))?;
    let (took, rise) = (asked.elapsed(), scene.hub.peak_kib().saturating_sub(before));
    says(&error, &["`bad`", "16777216", "max_message"])?;
    ensure!(took < Duration::from_secs(20), "it took {took:?}");
    ensure!(rise <= 40 * MIB, "memory rose by {rise} KiB");
    // The one with its id at the end, too.
    says(&client.error("bad__big_line", json!({ "bytes": 20_000_000, "id_last": true }))?, &["`bad`"])?;
    says(&other.receive()?.messages.concat(), &["late"])?;
    ensure!(client.text("bad__ok", json!({}))? == "ok");
    ensure!(scene.bad()?["starts"] == 1, "{}", scene.bad()?);
    drop((client, other));
    scene.end()
}

#[test]
fn f08_an_endless_line_ends_its_server() -> Result<()> {
    let scene = Scene::new(&[], json!({}))?;
    let mut client = scene.client()?;
    scene.hub.reset_peak();
    let before = scene.hub.rss_kib();
    says(&client.error("bad__endless_line", json!({}))?, &["`bad`", "16777216"])?;
    ensure!(client.text("bad__ok", json!({}))? == "ok");
    let rise = scene.hub.peak_kib().saturating_sub(before);
    ensure!(rise <= 40 * MIB, "memory rose by {rise} KiB");
    ensure!(scene.bad()?["starts"] == 2, "{}", scene.bad()?);
    drop(client);
    scene.end()
}

#[test]
fn f09_split_characters_arrive_whole_and_broken_ones_fail_one_call() -> Result<()> {
    let scene = Scene::new(&[], json!({}))?;
    let mut client = scene.client()?;
    for pause in [0, 20, 100] {
        let text = client.text("bad__split_utf8", json!({ "ms": pause }))?;
        ensure!(text == "grüße 😀", "{text}");
    }
    let asked = Instant::now();
    says(&client.error("bad__invalid_utf8", json!({}))?, &["`bad`", "UTF-8"])?;
    ensure!(asked.elapsed() < AT_ONCE, "it took {:?}", asked.elapsed());
    ensure!(client.text("bad__ok", json!({}))? == "ok");
    ensure!(scene.bad()?["starts"] == 1, "{}", scene.bad()?);
    drop(client);
    scene.end()
}

#[test]
fn f10_a_flood_on_stderr_blocks_no_call() -> Result<()> {
    let scene = Scene::new(&[], json!({}))?;
    let (mut client, mut other) = (scene.client()?, scene.client()?);
    // Fills the ring first.
    client.text("bad__stderr_flood", json!({ "bytes": 10_000_000 }))?;
    scene.hub.reset_peak();
    let (before, asked) = (scene.hub.rss_kib(), Instant::now());
    other.start_call("bad__stderr_flood", json!({ "bytes": 200_000_000 }))?;
    for _ in 0..20 {
        ensure!(client.text("bad__ok", json!({}))? == "ok");
    }
    says(&other.receive()?.messages.concat(), &["\"ok\""])?;
    let (took, rise) = (asked.elapsed(), scene.hub.peak_kib().saturating_sub(before));
    ensure!(took < Duration::from_secs(20), "it took {took:?}");
    ensure!(rise <= 4 * MIB, "memory rose by {rise} KiB");
    says(&scene.hub.run(&["logs", "bad"])?, &["eeee"])?;
    drop((client, other));
    scene.end()
}

#[test]
fn f10_a_flood_on_stderr_without_end_is_no_hindrance() -> Result<()> {
    let scene = Scene::new(&["--stderr-flood", "forever"], json!({}))?;
    let mut client = scene.client()?;
    for number in 0..50 {
        let text = format!("call {number}");
        ensure!(client.text("bad__ok", json!({ "text": text }))? == text);
    }
    drop(client);
    scene.end()
}

#[test]
fn f11_unread_stdin_holds_up_only_its_own_calls() -> Result<()> {
    let scene = Scene::new(&["--stop-reading-after", "tools/list"], json!({ "idle_timeout": "1s" }))?;
    // More than the pipe holds, so that the writes block.
    let long = "x".repeat(100_000);
    let mut clients = Vec::new();
    for _ in 0..8 {
        let mut client = scene.client()?;
        client.start_call("bad__ok", json!({ "text": long }))?;
        clients.push(client);
    }
    let asked = Instant::now();
    for client in &mut clients {
        says(&client.receive()?.messages.concat(), &["`bad`", "error"])?;
    }
    ensure!(asked.elapsed() < Duration::from_secs(11), "it took {:?}", asked.elapsed());
    wait_until("nothing waits", || {
        let counts = scene.bad()?["counts"].take();
        Ok((counts["in_flight"] == 0 && counts["waiting"] == 0).then_some(()))
    })?;
    drop(clients);
    scene.end()
}

#[test]
fn f11_many_calls_to_one_that_does_not_read_do_not_pile_up() -> Result<()> {
    let tuning = json!({ "idle_timeout": "2s", "max_in_flight": 4, "max_waiting": 8 });
    let scene = Scene::new(&[], tuning)?;
    let mut client = scene.client()?;
    ensure!(client.text("bad__stop_reading", json!({}))? == "ok");
    let mut clients = Vec::new();
    for _ in 0..30 {
        let mut client = scene.client()?;
        client.start_call("bad__ok", json!({}))?;
        clients.push(client);
    }
    let mut busy = 0;
    for client in &mut clients {
        let answer = client.receive()?.messages.concat();
        says(&answer, &["`bad`", "error"])?;
        busy += usize::from(answer.contains("is busy"));
    }
    ensure!(busy >= 30 - 4 - 8, "{busy} were told that it is busy");
    drop((client, clients));
    scene.end()
}
