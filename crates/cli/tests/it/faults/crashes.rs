//! Servers that crash, hang, or never start.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;
use toolbay_testkit::harness::{cpu_time, wait_until};

use super::{AT_ONCE, Scene, says, without_bad};

#[test]
fn f01_crash_mid_call_fails_that_call_and_restarts() -> Result<()> {
    let scene = Scene::new(&[], json!({}))?;
    let (mut client, mut other) = (scene.client()?, scene.client()?);
    ensure!(scene.bad()?["pid"] == super::server_pid(&scene.hub)?, "{}", scene.bad()?);
    other.start_call("bad__hang", json!({}))?;
    scene.hub.wait_until("bad", "has a call", |bad| bad["counts"]["in_flight"] == 1)?;

    let crashed = Instant::now();
    let error = client.error("bad__crash", json!({ "code": 7 }))?;
    ensure!(crashed.elapsed() < AT_ONCE, "the error took {:?}", crashed.elapsed());
    says(&error, &["`bad`", "exit code 7", "about to crash"])?;
    let lost = other.receive()?.messages.concat();
    says(&lost, &["`bad`", "exit code 7"])?;

    scene.hub.wait_until("bad", "is ready again", |bad| bad["starts"] == 2 && bad["state"] == "ready")?;
    ensure!(crashed.elapsed() < Duration::from_secs(10), "the restart took {:?}", crashed.elapsed());
    ensure!(client.text("bad__ok", json!({}))? == "ok");
    drop((client, other));
    scene.end()
}

/// What a server wrote last goes to every caller, and to whoever looks at logs.
#[test]
fn f01_stderr_is_shown_without_secrets_and_control_characters() -> Result<()> {
    let scene = Scene::new(&[], json!({}))?;
    let mut client = scene.client()?;
    let words = "refused\u{1b}]0;pwn\u{7} \u{202e}Authorization: Bearer hunter2-a; DB_PASSWORD=hunter2-b \
                 https://me:hunter2-c@db/x ghp_hunter2ddddddddd";
    let error = client.error("bad__crash", json!({ "text": words }))?;
    says(&error, &["refused", "Authorization: ***", "DB_PASSWORD=***", "https://***@db/x"])?;
    scene.hub.wait_until("bad", "is ready again", |bad| bad["starts"] == 2 && bad["state"] == "ready")?;
    // What needs no cleaning is looked at as well.
    let plain = client.error("bad__crash", json!({ "text": "refused API_TOKEN=hunter2-d" }))?;
    says(&plain, &["refused API_TOKEN=***"])?;
    scene.hub.wait_until("bad", "is ready again", |bad| bad["starts"] == 3 && bad["state"] == "ready")?;
    let logs = scene.hub.run(&["logs", "bad"])?;
    says(&logs, &["DB_PASSWORD=***", "API_TOKEN=***"])?;
    let shown = [
        error,
        plain,
        logs,
        scene.hub.run(&["logs", "bad", "--json"])?,
        scene.hub.run(&["status", "--json"])?,
    ]
    .concat();
    for hidden in ["hunter2", "pwn", "\u{1b}", "\\u001b", "\u{202e}", "\\u202e"] {
        ensure!(!shown.contains(hidden), "{hidden:?} is shown: {shown}");
    }
    drop(client);
    scene.end()
}

#[test]
fn f01_crash_in_the_middle_of_a_response_fails_that_call() -> Result<()> {
    let scene = Scene::new(&[], json!({}))?;
    let mut client = scene.client()?;
    says(&client.error("bad__half_answer", json!({ "code": 9 }))?, &["`bad`"])?;
    // Waits for the restart.
    ensure!(client.text("bad__ok", json!({}))? == "ok");
    ensure!(client.text("bad__answer_then_crash", json!({}))? == "ok");
    scene.hub.wait_until("bad", "is ready again", |bad| bad["starts"] == 3 && bad["state"] == "ready")?;
    ensure!(client.text("bad__ok", json!({}))? == "ok");
    drop(client);
    scene.end()
}

#[test]
fn f02_crash_loop_ends_in_failed_and_costs_nothing() -> Result<()> {
    let expected = without_bad()?;
    let scene = Scene::starting(&["--exit-at-start", "3"], json!({ "restart_delay": "50ms" }))?;
    let bad = scene.hub.wait_for("bad", "failed")?;
    says(bad["error"].as_str().unwrap_or_default(), &["exit code 3", "API_KEY is not set"])?;
    // Five quick attempts, then those of the restart policy.
    ensure!(scene.spawned() <= 10, "{} starts", scene.spawned());
    says(&scene.hub.run(&["status"])?, &["bad", "failed"])?;

    let (spawned, started, used) = (scene.spawned(), Instant::now(), cpu_time(scene.hub.pid()));
    // A window of time to measure in; the bystander's calls are in it.
    std::thread::sleep(Duration::from_secs(1));
    let share = (cpu_time(scene.hub.pid()) - used).div_duration_f64(started.elapsed());
    ensure!(share < 0.5, "the hub uses {:.0} % of a core", share * 100.0);
    ensure!(scene.spawned() == spawned, "it is started again and again");
    scene.end_as(expected)
}

#[test]
fn f03_hang_times_out_is_cancelled_and_its_late_answer_counted() -> Result<()> {
    let scene = Scene::new(&[], json!({ "idle_timeout": "500ms" }))?;
    let mut client = scene.client()?;
    let asked = Instant::now();
    let error = client.error("bad__hang", json!({}))?;
    let took = asked.elapsed();
    says(&error, &["`bad`", "0.5 s"])?;
    ensure!(took >= Duration::from_millis(500) && took < Duration::from_millis(2500), "after {took:?}");

    says(&client.error("bad__late", json!({ "ms": 1000 }))?, &["`bad`"])?;
    scene.hub.wait_until("bad", "its late answer is counted", |bad| bad["counts"]["stray_answers"] == 1)?;
    let cancelled = wait_until("both calls are cancelled", || {
        let cancelled = scene.received("notifications/cancelled");
        Ok((cancelled.len() == 2).then_some(cancelled))
    })?;
    let calls = scene.received("tools/call");
    for (call, cancelled) in calls.iter().zip(&cancelled) {
        ensure!(call["id"] == cancelled["params"]["requestId"], "{call} was cancelled as {cancelled}");
    }
    ensure!(client.text("bad__ok", json!({}))? == "ok");
    ensure!(scene.bad()?["starts"] == 1);
    drop(client);
    scene.end()
}

#[test]
fn f03_progress_keeps_a_call_alive_up_to_the_total() -> Result<()> {
    let scene = Scene::new(&[], json!({ "idle_timeout": "1s", "total_timeout": "3s" }))?;
    let mut client = scene.client()?;
    // Twice as long as it may be silent.
    ensure!(client.text("bad__progress", json!({ "steps": 8, "every_ms": 250 }))? == "done");
    let error = client.error("bad__progress", json!({ "steps": 1000, "every_ms": 250 }))?;
    says(&error, &["`bad`", "within 3 s"])?;
    drop(client);
    // It goes on reporting, which nobody hears.
    scene.end()
}

#[test]
fn f04_slow_start_delays_no_other_and_is_announced() -> Result<()> {
    // Longer than the first list waits for.
    let mut scene = Scene::starting(&["--start-delay-ms", "3500"], json!({ "probe_timeout": "10s" }))?;
    ensure!(scene.hub.listening < Duration::from_secs(3), "it listened after {:?}", scene.hub.listening);
    let mut client = scene.client()?;
    let tools = client.tools()?;
    let of = |server: &str| tools.iter().filter(|tool| tool["name"].to_string().contains(server)).count();
    ensure!(of("good__") > 0 && of("bad__") == 0, "{tools:?}");
    let mut events = client.listen()?;
    // A client that knows the name from another day: its call waits for the server.
    ensure!(client.text("bad__ok", json!({}))? == "ok");

    scene.settle()?;
    let told = events.until_quiet(Duration::from_secs(1))?;
    ensure!(told.iter().any(|one| one.contains("notifications/tools/list_changed")), "{told:?}");
    ensure!(client.tools()?.len() > tools.len());
    drop(events);

    // Known by now: a call waits for the restart.
    client.error("bad__crash", json!({}))?;
    ensure!(scene.bad()?["state"] == "starting", "{}", scene.bad()?);
    ensure!(client.text("bad__ok", json!({}))? == "ok");
    drop(client);
    scene.end()
}

#[test]
fn f04_a_call_waits_for_a_start_no_longer_than_its_deadline() -> Result<()> {
    let tuning = json!({ "idle_timeout": "300ms", "probe_timeout": "10s" });
    let scene = Scene::new(&["--start-delay-ms", "1500"], tuning)?;
    let mut client = scene.client()?;
    client.error("bad__crash", json!({}))?;
    let error = client.error("bad__ok", json!({}))?;
    says(&error, &["`bad`", "starting", "0.3 s"])?;
    scene.hub.wait_for("bad", "ready")?;
    drop(client);
    scene.end()
}

#[test]
fn f05_a_server_that_never_initializes_is_killed_with_its_tree() -> Result<()> {
    let expected = without_bad()?;
    let tuning = json!({ "startup_timeout": "500ms", "restart_delay": "10ms" });
    let scene = Scene::starting(&["--never-initialize", "--grandchildren"], tuning)?;
    let bad = scene.hub.wait_for("bad", "failed")?;
    says(bad["error"].as_str().unwrap_or_default(), &["not ready within 0.5 s"])?;
    ensure!(scene.spawned() == 5, "{} starts", scene.spawned());
    scene.end_as(expected)
}

#[test]
fn f12_closed_stdout_is_a_death() -> Result<()> {
    let scene = Scene::new(&["--ignore-eof", "--ignore-sigterm"], json!({}))?;
    let mut client = scene.client()?;
    let old = super::server_pid(&scene.hub)?;
    let closed = Instant::now();
    says(&client.error("bad__close_stdout", json!({}))?, &["`bad`"])?;
    ensure!(client.text("bad__ok", json!({}))? == "ok");
    ensure!(closed.elapsed() < Duration::from_secs(10), "it took {:?}", closed.elapsed());
    ensure!(super::server_pid(&scene.hub)? != old, "the old one still runs");
    ensure!(scene.bad()?["starts"] == 2);
    drop(client);
    scene.end()
}
