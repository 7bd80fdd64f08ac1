//! Servers that send invalid messages, flood the hub, or do not read.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;

use super::stage::{Figure, Stage, median, p99, timed_call};

const CALLS: usize = 2000;

pub(super) fn garbage(stage: &Stage) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (what, flags) in
        [("p99 without", &[][..]), ("p99 with garbage before each answer", &["--garbage"][..])]
    {
        let scene = stage.ready(flags, json!({}))?;
        let mut client = scene.hub.client()?;
        p99(&mut client, "bad__ok", CALLS / 10)?; // warms up
        figures.push(Figure::ms(what, p99(&mut client, "bad__ok", CALLS)?, "the same"));
    }
    Ok(figures)
}

pub(super) fn long_line(stage: &Stage) -> Result<Vec<Figure>> {
    let scene = stage.ready(&[], json!({}))?;
    let mut client = scene.hub.client()?;
    scene.hub.reset_peak();
    let before = scene.hub.rss_kib();
    let took = timed_call(&mut client, "bad__big_line", json!({ "bytes": 100_000_000 }))?;
    let rise = scene.hub.peak_kib().saturating_sub(before);
    let next = timed_call(&mut client, "bad__ok", json!({}))?;
    Ok(vec![
        Figure::ms("error", took, "< 2 s"),
        Figure::mib("RSS rise", rise, "≤ 32 MiB"),
        Figure::ms("next call", next, ""),
    ])
}

pub(super) fn endless_line(stage: &Stage) -> Result<Vec<Figure>> {
    let scene = stage.ready(&[], json!({}))?;
    let mut client = scene.hub.client()?;
    scene.hub.reset_peak();
    let before = scene.hub.rss_kib();
    let took = timed_call(&mut client, "bad__endless_line", json!({}))?;
    scene.await_second_life()?;
    let rise = scene.hub.peak_kib().saturating_sub(before);
    Ok(vec![Figure::ms("error", took, ""), Figure::mib("RSS rise", rise, "≤ 40 MiB")])
}

pub(super) fn invalid_utf8(stage: &Stage) -> Result<Vec<Figure>> {
    let scene = stage.ready(&[], json!({}))?;
    let mut client = scene.hub.client()?;
    let mut times = Vec::new();
    for _ in 0..20 {
        times.push(timed_call(&mut client, "bad__invalid_utf8", json!({}))?);
    }
    Ok(vec![Figure::ms("error", median(times)?, "≤ 50 ms")])
}

pub(super) fn stderr_flood(stage: &Stage) -> Result<Vec<Figure>> {
    const BYTES: u32 = 200_000_000;
    let scene = stage.ready(&[], json!({}))?;
    let mut client = scene.hub.client()?;
    client.call("bad__stderr_flood", json!({ "bytes": 10_000_000 }))?; // fills the ring
    scene.hub.reset_peak();
    let before = scene.hub.rss_kib();
    let took = timed_call(&mut client, "bad__stderr_flood", json!({ "bytes": BYTES }))?;
    let rise = scene.hub.peak_kib().saturating_sub(before);
    let rate = f64::from(BYTES) / 1e6 / took.as_secs_f64();
    Ok(vec![
        Figure::new("read", format!("{rate:.0} MB/s"), "≥ 200 MB/s"),
        Figure::mib("RSS rise", rise, "≤ 2 MiB"),
    ])
}

pub(super) fn unread_stdin(stage: &Stage) -> Result<Vec<Figure>> {
    let scene = stage.ready(&["--stop-reading-after", "tools/list"], json!({ "idle_timeout": "2s" }))?;
    let mut client = scene.hub.client()?;
    p99(&mut client, "good__echo", CALLS / 10)?; // warms up
    let without = p99(&mut client, "good__echo", CALLS)?;
    let called = Instant::now();
    let mut others = Vec::new();
    for _ in 0..16 {
        let mut other = scene.hub.client()?;
        other.start_call("bad__ok", json!({ "text": "x".repeat(100_000) }))?;
        others.push(other);
    }
    let ends = thread::spawn(move || -> Result<Duration> {
        others.iter_mut().try_for_each(|other| other.receive().map(drop))?;
        Ok(called.elapsed())
    });
    let with = p99(&mut client, "good__echo", CALLS)?;
    let last = ends.join().expect("it returns its failures")?;
    Ok(vec![
        Figure::ms("p99 of another server before", without, ""),
        Figure::ms("p99 of another server meanwhile", with, "≤ 1.2 × before"),
        Figure::ms("its own calls end, limit 2 s", last, ""),
    ])
}
