//! Lists that are long, large or circular.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{Scene, says};

#[test]
fn f25_a_thousand_tools_come_from_memory_without_the_one_that_is_too_large() -> Result<()> {
    let flags = ["--tools", "1000", "--tool-bytes", "4096", "--page-size", "50", "--big-schema"];
    let scene = Scene::new(&flags, json!({}))?;
    let pages = scene.received("tools/list").len();
    ensure!(pages == 21, "{pages} pages were asked for");
    let mut client = scene.client()?;
    let mut slowest = Duration::ZERO;
    for _ in 0..10 {
        let asked = Instant::now();
        let tools = client.tools()?;
        slowest = slowest.max(asked.elapsed());
        let ours: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        let ours: Vec<&&str> = ours.iter().filter(|name| name.starts_with("bad__")).collect();
        ensure!(ours.len() == 1000, "{} tools", ours.len());
        ensure!(!ours.contains(&&"bad__big_schema"), "the large one is listed");
    }
    ensure!(slowest < Duration::from_secs(5), "a list took {slowest:?}");
    ensure!(scene.received("tools/list").len() == pages, "lists are asked for again");
    // Named, with the reason.
    let status = scene.hub.run(&["status", "--json"])?;
    says(&status, &["big_schema", "65536 are allowed", "degraded"])?;
    ensure!(client.text("bad__tool_900", json!({}))? == "tool_900");
    drop(client);
    scene.end()
}

#[test]
fn f25_pages_that_run_in_a_circle_are_noticed() -> Result<()> {
    let scene = Scene::new(&["--paging-loop"], json!({}))?;
    let pages = scene.received("tools/list").len();
    ensure!(pages <= 4, "{pages} pages were asked for");
    says(&scene.hub.run(&["logs", "bad"])?, &["was repeated"])?;
    let tools = scene.client()?.tools()?;
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    ensure!(names.len() == unique.len(), "some are listed twice: {names:?}");
    let first = names.iter().find(|name| name.starts_with("bad__")).context("no tools at all")?;
    ensure!(*first == "bad__ok", "{first}");
    ensure!(scene.client()?.text("bad__ok", json!({}))? == "ok");
    scene.end()
}

#[test]
fn f25_pages_without_end_are_cut() -> Result<()> {
    let scene = Scene::new(&["--paging-endless"], json!({}))?;
    let pages = scene.received("tools/list").len();
    ensure!(pages <= 100, "{pages} pages were asked for");
    says(&scene.hub.run(&["logs", "bad"])?, &["the rest is omitted"])?;
    ensure!(scene.client()?.text("bad__ok", json!({}))? == "ok");
    scene.end()
}
