//! Ten thousand clients at once.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::stage::{Figure, Stage};

const CLIENTS: &str = "10000";

pub(super) fn sessions(stage: &Stage) -> Result<Vec<Figure>> {
    let mut figures = measure(stage, &[], ["sessions with a stream: list p99", "memory of the hub"])?;
    figures.extend(measure(stage, &["--modern"], ["subscriptions: list p99", "memory of the hub"])?);
    Ok(figures)
}

fn measure(stage: &Stage, flags: &[&str], [lists, memory]: [&'static str; 2]) -> Result<Vec<Figure>> {
    let scene = stage.ready(&[], json!({}))?;
    let url = format!("http://{}/mcp", scene.hub.address());
    let mut load = Command::new(stage.program("toolbay-load"));
    load.args(["--url", &url, "--idle-sessions", CLIENTS, "--listening", "--warmup", "1", "--seconds", "5"]);
    scene.hub.reset_peak();
    let output = load.args(flags).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(report["errors"] == 0, "{report}");
    let p99 = report["p99_us"].as_f64().context("no figure")? / 1000.0;
    Ok(vec![
        Figure::new(lists, format!("{p99:.1} ms"), "≤ 50 ms"),
        Figure::mib(memory, scene.hub.peak_kib(), "≤ 400 MiB"),
    ])
}
