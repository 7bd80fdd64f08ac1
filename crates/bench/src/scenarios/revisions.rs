//! `cargo xtask bench revisions`: what translation costs. The same hub and the same server, with clients and servers of the
//! same revision, where nothing is translated, and with each crossing.
//!
//! A pair alone shows little: requests of the newest revision carry `_meta` and more headers in any case, so
//! that a modern client is dearer than a legacy one, and so is a modern server. Both crossings together have the same
//! clients and the same servers as both pairs without one. What they cost more is translation and nothing else.

use serde_json::{Value, json};

use super::{
    Options, Places, cargo_build, measure,
    measure::{Cell, Results, Sample},
    process,
    start::Running,
    table,
    targets::{self, Echo, Target},
};

/// Nothing is translated here.
const SAME: [&str; 2] = ["modern→modern", "legacy→legacy"];
const CROSSINGS: [&str; 2] = ["modern→legacy", "legacy→modern"];
/// What must be left of the calls per second.
const GOAL: f64 = 0.97;

/// Small calls alone, small calls together, large ones.
const CELLS: [Cell; 3] = [
    Cell { payload: 100, in_flight: 1 },
    Cell { payload: 100, in_flight: 64 },
    Cell { payload: 100 << 10, in_flight: 32 },
];

const LEGACY: &[&str] = &["--tool", "echo__echo"];
const MODERN: &[&str] = &["--tool", "echo__echo", "--modern"];

pub(super) fn run(options: &Options) -> anyhow::Result<()> {
    let places = Places::find()?;
    cargo_build("toolbay-bench")?;
    cargo_build("toolbay")?;
    let echo = Echo::start(&places)?;
    let server = |revision: &str| -> Value {
        json!({ "command": places.program("toolbay-echo"), "args": ["stdio"], "toolbay": { "revision": revision } })
    };
    let url = |port| format!("http://127.0.0.1:{port}/mcp");
    let mut wanted: Vec<Target> = targets::direct(&places, &echo);
    let pairs = [
        (SAME[0], "modern", MODERN),
        (SAME[1], "legacy", LEGACY),
        (CROSSINGS[0], "legacy", MODERN),
        (CROSSINGS[1], "modern", LEGACY),
    ];
    for (route, revision, load) in pairs {
        wanted.push(Target::hub(&places, route, &server(revision), url).loaded_with(load));
    }
    if let Some(load) = process::busy() {
        println!("the machine is busy (load {load}): expect noise");
    }
    let mut running = Vec::new();
    for target in wanted {
        running.push(Running::start(target, &places, 1)?);
    }
    let results = measure::rounds(&mut running, &places, echo.pid(), &CELLS, options);
    running.iter_mut().for_each(Running::stop);
    table::print(&running, &results);
    compare(&results);
    results.notes().for_each(|note| println!("  {note}"));
    Ok(())
}

fn compare(results: &Results) {
    println!(
        "\nboth crossings to both pairs without one      calls/s ratio   CPU ratio   (goal: at least {GOAL} of the calls/s)"
    );
    let routes = [CROSSINGS, SAME].concat();
    for cell in CELLS {
        let ratio = |cost: fn(&Sample) -> Option<f64>| {
            results.by_round(&routes, cell, |samples| {
                let costs: Vec<f64> = samples.iter().map(|sample| cost(sample)).collect::<Option<_>>()?;
                Some((costs[0] + costs[1]) / (costs[2] + costs[3]))
            })
        };
        // Times add up, calls per second do not.
        let (time, cpu) = (ratio(|sample| Some(1.0 / sample.calls_per_s()?)), ratio(Sample::cpu_us));
        let (Some(time), Some(cpu)) = (time, cpu) else { continue };
        let (calls, name) = (1.0 / time, format!("{} B × {}", cell.payload, cell.in_flight));
        let met = if calls >= GOAL { "✓" } else { "✗" };
        println!("  {name:<46}{calls:>11.3}{cpu:>12.3}   {met}");
    }
}
