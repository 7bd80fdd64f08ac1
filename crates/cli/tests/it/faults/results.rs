//! Results that are longer than clients should get: cut, kept, and read in parts, while others are served as ever.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use toolbay_testkit::harness::Client;

use super::{Scene, says};

const MIB: u64 = 1024; // in KiB
/// What clients get of a result.
const LIMIT: usize = 50_000;

fn scene() -> Result<Scene> {
    Scene::new(
        &[],
        json!({ "max_message": 64 << 20, "max_result": LIMIT, "tool": { "ok": { "max_result": 0 } } }),
    )
}

/// The result of a call that was cut, and how much the memory of the hub rose meanwhile, in KiB.
fn cut(scene: &Scene, client: &mut Client, tool: &str, arguments: Value) -> Result<(Value, u64)> {
    scene.hub.reset_peak();
    let before = scene.hub.rss_kib();
    let result = client.call(tool, arguments)?["result"].clone();
    let length = result.to_string().len();
    ensure!(length < LIMIT * 3, "{length} bytes");
    Ok((result, scene.hub.peak_kib().saturating_sub(before)))
}

/// The URI of the whole that a text names.
fn uri(text: &str) -> Result<String> {
    let rest = text.split_once("toolbay-result://").with_context(|| format!("no link in {text}"))?.1;
    Ok(format!(
        "toolbay-result://{}",
        rest.chars().take_while(char::is_ascii_alphanumeric).collect::<String>()
    ))
}

/// All of a result, page by page.
fn whole(client: &mut Client, uri: &str) -> Result<String> {
    let (mut all, mut next) = (String::new(), uri.to_owned());
    loop {
        let read = client.request("resources/read", &json!({ "uri": next }))?;
        let page = read["result"]["contents"][0]["text"].as_str().with_context(|| read.to_string())?;
        ensure!(page.len() <= (1 << 20) + 200, "a page of {} bytes", page.len());
        let Some((text, note)) = page.rsplit_once("[bytes ").filter(|(_, note)| note.contains("; next: "))
        else {
            return Ok(all + page);
        };
        all.push_str(text);
        next = note.split_once("next: ").context("no next page")?.1.trim_end_matches("]\n").to_owned();
    }
}

fn texts(result: &Value) -> Vec<&str> {
    let blocks = result["content"].as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).collect()
}

#[test]
fn a_text_of_31_mb_is_cut_and_read_in_parts() -> Result<()> {
    const BYTES: usize = 31_000_000;
    let scene = scene()?;
    let (mut client, mut other) = (scene.client()?, scene.client()?);
    let (result, rise) = cut(&scene, &mut client, "bad__big_line", json!({ "bytes": BYTES }))?;
    // The line while it is read, and what its buffer grew by.
    ensure!(rise < 100 * MIB, "memory rose by {rise} KiB");
    let text = texts(&result).concat();
    says(&text, &[" bytes left out; all of it: toolbay-result://", "`read_result`"])?;
    ensure!(text.len() > LIMIT * 9 / 10 && text.len() < LIMIT + 300, "{} bytes", text.len());
    let all = whole(&mut client, &uri(&text)?)?;
    ensure!(all.len() > BYTES - 200 && all.len() <= BYTES, "{} bytes", all.len());
    let head = text.split("\n[… ").next().unwrap_or_default();
    ensure!(all.starts_with(head) && head.len() > LIMIT / 2, "it begins otherwise");
    // Two more, while another client is served.
    let (began, mut calls, mut slowest) = (Instant::now(), 0, Duration::ZERO);
    for _ in 0..2 {
        client.start_call("bad__big_line", json!({ "bytes": BYTES }))?;
        let asked = Instant::now();
        ensure!(other.text("good__echo", json!({ "text": "meanwhile" }))? == "meanwhile");
        slowest = slowest.max(asked.elapsed());
        calls += 1;
        says(&client.receive()?.messages.concat(), &["toolbay-result://"])?;
    }
    eprintln!("{calls} results of 31 MB in {:?}; the slowest other call took {slowest:?}", began.elapsed());
    // They do not stay in memory.
    let rise = scene.hub.rss_kib();
    ensure!(rise < 150 * MIB, "the hub has {rise} KiB");
    let long = "x".repeat(LIMIT * 2);
    ensure!(client.text("bad__ok", json!({ "text": long }))? == long, "a tool without a limit");
    drop((client, other));
    scene.end()
}

#[test]
fn many_content_blocks_and_huge_structured_content_are_cut() -> Result<()> {
    let scene = scene()?;
    let mut client = scene.client()?;
    let (result, rise) = cut(&scene, &mut client, "bad__many_blocks", json!({ "count": 10_000 }))?;
    ensure!(rise < 20 * MIB, "memory rose by {rise} KiB");
    let shown = texts(&result);
    ensure!(shown[0] == "block 0" && shown.last() == Some(&"block 9999"), "{shown:?}");
    let note = shown.iter().find(|text| text.contains("left out")).context("no note")?;
    says(note, &[" content blocks left out; all of it: "])?;
    let all = whole(&mut client, &uri(note)?)?;
    ensure!(all.lines().count() == 10_000 && all.lines().nth(5_000) == Some("block 5000"), "{}", all.len());

    let (result, rise) = cut(&scene, &mut client, "bad__big_structured", json!({ "rows": 200_000 }))?;
    ensure!(rise < 60 * MIB, "memory rose by {rise} KiB");
    let structured = &result["structuredContent"];
    let rows = structured["rows"].as_array().context("no rows")?;
    ensure!(structured["count"] == 200_000 && rows.len() > 1_000, "{}", rows.len());
    ensure!(rows[0] == json!({ "id": 0, "name": "row 0" }), "{}", rows[0]);
    let note = texts(&result).concat();
    says(&note, &["see structuredContent", &format!("/rows: {} of 200000 items", rows.len())])?;
    let all: Value = serde_json::from_str(&whole(&mut client, &uri(&note)?)?)?;
    ensure!(all["rows"][199_999]["id"] == 199_999, "the last row");
    let unknown = client.request("resources/read", &json!({ "uri": "toolbay-result://0123" }))?;
    ensure!(unknown["error"].is_object(), "{unknown}");
    drop(client);
    scene.end()
}
