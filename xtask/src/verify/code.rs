//! Code mode of a release build: how long runs take, and what becomes of code that takes too much.

use std::net::SocketAddr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use toolbay_bench::{peak_kib, pss_kib};
use toolbay_testkit::harness::{Client, processes};

use super::scene::Scene;

/// An empty run may take this long: half of those that find a process ready.
const EMPTY: Duration = Duration::from_millis(20);
/// How many runs are measured.
const RUNS: usize = 50;
/// The hub may grow by this much while code tries to, in KiB.
const GROWTH: u64 = 20 * 1024;

/// Code that takes too much, and what its result must say.
const GREEDY: [(&str, &str, &str); 7] = [
    ("endless loop", "for (;;) {}", "timed out"),
    ("endless promises", "const next = () => Promise.resolve().then(next); await next()", "timed out"),
    ("arrays without end", "const all = []; for (;;) all.push(new Array(1e5).fill(1.5))", "out of memory"),
    ("one array of 1 GB", "new Uint8Array(1e9)", "out of memory"),
    ("deep recursion", "const f = () => f() + 1; f()", "stack"),
    ("log without end", "for (;;) console.log('x'.repeat(1000))", "timed out"),
    ("a file", "await import('/etc/passwd')", "rror"),
];

/// Prints times and outcomes; fails if an empty run takes too long or something is not contained.
pub(super) fn run(scene: Scene) -> Result<()> {
    scene.write(".config/toolbay/toolbay.toml", "[hub]\ncode_mode = true\n")?;
    let (hub, url) = scene.serve()?;
    let address: SocketAddr = url.trim_start_matches("http://").trim_end_matches("/mcp").parse()?;
    let mut client = Client::open(address)?;

    println!("| empty run | median | slowest |\n|---|---|---|");
    let first = timed(&mut client)?;
    println!("| the first, which finds out what the sandbox can do | {first:.1?} | |");
    let mut measure = |pause: Duration| -> Result<Vec<Duration>> {
        let mut times = Vec::new();
        for _ in 0..RUNS {
            sleep(pause);
            times.push(timed(&mut client)?);
        }
        times.sort();
        Ok(times)
    };
    // The process for the next run is ready.
    let spaced = measure(Duration::from_millis(100))?;
    let at_once = measure(Duration::ZERO)?;
    for (name, times) in [("with 100 ms between them", &spaced), ("one after the other", &at_once)] {
        println!("| {name} | {:.1?} | {:.1?} |", times[RUNS / 2], times[RUNS - 1]);
    }
    sleep(Duration::from_millis(200));
    let is_helper = |arguments: &[String]| arguments.iter().any(|argument| argument == "__sandbox");
    let all = processes();
    let helper = all.iter().find(|process| process.parent == hub.pid() && is_helper(&process.arguments));
    let helper = helper.context("no process is ready for the next run")?.pid;
    let ready = all.iter().filter(|process| [process.pid, process.parent].contains(&helper));
    let memory: u64 = ready.map(|process| pss_kib(process.pid)).sum();
    println!("\nThe process that is ready for the next run and its helper take {memory} KiB.\n");

    println!("| code | took | growth of the hub | result |\n|---|---|---|---|");
    let before = peak_kib(hub.pid());
    let mut failed = 0;
    for (name, code, expected) in GREEDY {
        let begun = Instant::now();
        let result = client.call("run_code", json!({ "code": code, "timeout_ms": 2000 }))?;
        let text = text(&result);
        let growth = peak_kib(hub.pid()).saturating_sub(before);
        let is_contained = text.contains(expected) && result["result"]["isError"] == true && growth <= GROWTH;
        failed += usize::from(!is_contained);
        let shown = if is_contained { "contained" } else { text };
        println!("| {name} | {:.1?} | {growth} KiB | {shown} |", begun.elapsed());
    }
    ensure!(failed == 0, "{failed} are not contained");
    // One after the other, each waits until the process of the next one is built.
    ensure!(spaced[RUNS / 2] <= EMPTY, "an empty run takes longer than {EMPTY:?}");
    Ok(())
}

fn timed(client: &mut Client) -> Result<Duration> {
    let begun = Instant::now();
    let result = client.call("run_code", json!({ "code": "" }))?;
    let took = begun.elapsed();
    ensure!(text(&result).contains("no value"), "{result}");
    Ok(took)
}

fn text(result: &Value) -> &str {
    result["result"]["content"][0]["text"].as_str().unwrap_or_default()
}
