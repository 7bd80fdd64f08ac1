//! Servers that exit, hang, or never start.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;
use toolbay_testkit::harness::cpu_time;

use super::stage::{Figure, Stage, median, timed_call};

/// How often what is over in a moment is measured.
const ROUNDS: usize = 5;

pub(super) fn crash(stage: &Stage) -> Result<Vec<Figure>> {
    let (mut errors, mut ready) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let scene = stage.ready(&[], json!({}))?;
        let mut client = scene.hub.client()?;
        let called = Instant::now();
        errors.push(timed_call(&mut client, "bad__crash", json!({}))?);
        scene.await_second_life()?;
        ready.push(called.elapsed());
    }
    Ok(vec![
        Figure::ms("error after the call that crashes", median(errors)?, "≤ 250 ms after the exit"),
        Figure::ms("ready again", median(ready)?, "≤ 1 s"),
    ])
}

pub(super) fn crash_loop(stage: &Stage) -> Result<Vec<Figure>> {
    let scene = stage.start(&["--exit-at-start", "3"], json!({}))?;
    let started = Instant::now();
    scene.hub.wait_for("bad", "failed")?;
    let failed = started.elapsed();
    let (window, used) = (Instant::now(), cpu_time(scene.hub.pid()));
    std::thread::sleep(Duration::from_secs(3)); // the window to measure in
    let share = (cpu_time(scene.hub.pid()) - used).div_duration_f64(window.elapsed());
    Ok(vec![
        Figure::new("starts", scene.spawned(), "≤ 6 in 60 s"),
        Figure::ms("given up after", failed, ""),
        Figure::new("CPU of the hub after that", format!("{:.1} %", share * 100.0), "< 1 %"),
    ])
}

pub(super) fn hang(stage: &Stage) -> Result<Vec<Figure>> {
    let scene = stage.ready(&[], json!({ "idle_timeout": "2s" }))?;
    let mut client = scene.hub.client()?;
    let took = timed_call(&mut client, "bad__hang", json!({}))?;
    Ok(vec![Figure::ms("timeout of 2 s", took, "2000 ± 200 ms")])
}

pub(super) fn slow_start(stage: &Stage) -> Result<Vec<Figure>> {
    let (mut listening, mut lists) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let scene = stage.start(&["--start-delay-ms", "20000"], json!({}))?;
        listening.push(scene.hub.listening);
        scene.hub.wait_for("good", "ready")?;
        let mut client = scene.hub.client()?;
        let asked = Instant::now();
        client.tools()?;
        lists.push(asked.elapsed());
    }
    Ok(vec![
        Figure::ms("listening", median(listening)?, "≤ 300 ms"),
        Figure::ms("list of the others", median(lists)?, "≤ 100 ms"),
    ])
}

pub(super) fn never_initialises(stage: &Stage) -> Result<Vec<Figure>> {
    let tuning = json!({ "startup_timeout": "2s", "restart_delay": "60s" });
    let scene = stage.start(&["--never-initialize", "--grandchildren"], tuning)?;
    let started = Instant::now();
    scene.hub.wait_for("bad", "restarting")?;
    let (took, left) = (started.elapsed(), scene.hub.processes().len().saturating_sub(2));
    Ok(vec![
        Figure::ms("given up, limit 2 s (default 30 s)", took, "limit ± 1 s"),
        Figure::new("processes left", left, "0"),
    ])
}

pub(super) fn closed_stdout(stage: &Stage) -> Result<Vec<Figure>> {
    let (mut errors, mut ready) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let scene = stage.ready(&["--ignore-eof"], json!({}))?;
        let mut client = scene.hub.client()?;
        let called = Instant::now();
        errors.push(timed_call(&mut client, "bad__close_stdout", json!({}))?);
        scene.await_second_life()?;
        ready.push(called.elapsed());
    }
    Ok(vec![
        Figure::ms("error after the call that closes it", median(errors)?, ""),
        Figure::ms("killed and ready again", median(ready)?, "≤ 1 s"),
    ])
}
