//! Processes that do not want to go.

use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::json;
use toolbay_testkit::harness::{kill, wait_until};

use super::stage::{Figure, Stage};

const STUBBORN: [&str; 3] = ["--grandchildren", "--ignore-sigterm", "--ignore-eof"];

pub(super) fn ignored_sigterm(stage: &Stage) -> Result<Vec<Figure>> {
    let mut scene = stage.ready(&STUBBORN[1..], json!({}))?;
    Ok(vec![Figure::ms("gone after the stop", scene.hub.stop()?, "4000 ± 500 ms")])
}

pub(super) fn grandchildren(stage: &Stage) -> Result<Vec<Figure>> {
    let mut scene = stage.ready(&["--grandchildren"], json!({}))?;
    scene.await_sleepers()?;
    let took = scene.hub.stop()?;
    Ok(vec![
        Figure::ms("gone after the stop", took, "≤ 5 s"),
        Figure::new("processes left", scene.hub.processes().len(), "0"),
    ])
}

pub(super) fn killed_hub(stage: &Stage) -> Result<Vec<Figure>> {
    let mut scene = stage.ready(&STUBBORN, json!({}))?;
    scene.await_sleepers()?;
    let took = scene.hub.kill()?;
    Ok(vec![
        Figure::ms("all gone", took, "≤ 250 ms"),
        Figure::new("processes left", scene.hub.processes().len(), "0"),
    ])
}

pub(super) fn killed_shim(stage: &Stage) -> Result<Vec<Figure>> {
    let scene = stage.ready(&STUBBORN, json!({}))?;
    scene.await_sleepers()?;
    let family = scene.hub.processes();
    let is_shim = |arguments: &[String]| arguments.iter().any(|it| it == "bad");
    let shim = family.iter().find(|one| one.is_shim() && is_shim(&one.arguments)).context("no shim")?;
    let old: Vec<u32> = family
        .iter()
        .filter(|one| one.arguments.iter().any(|it| it.contains("hostile")))
        .map(|it| it.pid)
        .collect();
    let killed = Instant::now();
    kill(shim.pid)?;
    wait_until("all of it is gone", || {
        Ok((!scene.hub.processes().iter().any(|one| old.contains(&one.pid))).then_some(()))
    })?;
    let swept = killed.elapsed();
    scene.await_second_life()?;
    Ok(vec![
        Figure::ms("all it had is gone", swept, ""),
        Figure::ms("ready again", killed.elapsed(), ""),
        Figure::new("zombies", scene.hub.zombies(), "0"),
    ])
}
