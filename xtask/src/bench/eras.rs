//! `cargo xtask bench eras`: what translation costs. The same hub and the same server, once with clients and servers of
//! the newest revision, where nothing is translated, and once with each crossing.

use serde_json::{Value, json};

use super::{
    Options, Places, cargo_build, measure,
    measure::{Cell, Results, Sample},
    process,
    start::Running,
    table,
    targets::{self, Echo, Target},
};

/// Nothing is translated here: inside the hub there is only the newest revision.
const NEWEST: &str = "modern→modern";
/// A crossing may lose so much of the calls per second.
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
    cargo_build("toolbay-testkit")?;
    cargo_build("toolbay")?;
    let echo = Echo::start(&places)?;
    let server = |era: &str| -> Value {
        json!({ "command": places.program("toolbay-echo"), "args": ["stdio"], "toolbay": { "era": era } })
    };
    let url = |port| format!("http://127.0.0.1:{port}/mcp");
    let mut wanted: Vec<Target> = targets::direct(&places, &echo);
    let pairs = [
        (NEWEST, "modern", MODERN),
        ("legacy→legacy", "legacy", LEGACY),
        ("modern→legacy", "legacy", MODERN),
        ("legacy→modern", "modern", LEGACY),
    ];
    for (route, era, load) in pairs {
        wanted.push(Target::hub(&places, route, &server(era), url).loaded_with(load));
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
    compare(&results, pairs.map(|(route, ..)| route));
    results.notes().for_each(|note| println!("  {note}"));
    Ok(())
}

fn compare(results: &Results, routes: [&'static str; 4]) {
    println!(
        "\nclient→server, to {NEWEST}      calls/s ratio   CPU ratio   (goal: at least {GOAL} of the calls/s)"
    );
    for cell in CELLS {
        for route in routes.into_iter().skip(1) {
            let calls = results.ratio(route, NEWEST, cell, Sample::calls_per_s);
            let cpu = results.ratio(route, NEWEST, cell, Sample::cpu_us);
            let (Some(calls), Some(cpu)) = (calls, cpu) else { continue };
            let met = if calls >= GOAL { "✓" } else { "✗" };
            println!("  {route}, {} B × {:<18}{calls:>8.3}{cpu:>12.3}   {met}", cell.payload, cell.in_flight);
        }
    }
}
