//! `cargo xtask bench transports`: every front of Toolbay with every way to a server, beside direct calls.

use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::{
    Options, Places, cargo_build, measure,
    measure::Cell,
    process,
    start::{self, Running},
    table,
    targets::{self, Echo, Target},
};

/// How clients reach something, and its URL at a port.
type Front = (&'static str, fn(u16) -> String);

const FRONTS: [Front; 3] = [
    ("HTTP", |port| format!("http://127.0.0.1:{port}/mcp")),
    ("SSE", |port| format!("http://127.0.0.1:{port}/sse")),
    ("WS", |port| format!("ws://127.0.0.1:{port}/ws")),
];

/// Small calls alone, small calls together, large ones: what a transport costs shows in these.
const CELLS: [Cell; 3] = [
    Cell { payload: 100, in_flight: 1 },
    Cell { payload: 100, in_flight: 64 },
    Cell { payload: 64 << 10, in_flight: 32 },
];

/// An echo server for all hubs that reach it at a URL.
struct Far {
    child: Child,
    url: String,
}

impl Far {
    fn start(places: &Places, transport: &str, url: impl Fn(u16) -> String) -> anyhow::Result<Self> {
        let port = start::free_port()?;
        let mut command = Command::new(places.program("toolbay-echo"));
        let child = command.args([transport, "--port", &port.to_string()]).stderr(Stdio::null()).spawn()?;
        Ok(Self { child, url: url(port) })
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        process::end(&mut self.child);
    }
}

pub(super) fn run(options: &Options) -> anyhow::Result<()> {
    let places = Places::find()?;
    cargo_build("toolbay-bench")?;
    cargo_build("toolbay")?;
    let echo = Echo::start(&places)?;
    let far = [
        Far::start(&places, "http", FRONTS[0].1)?,
        Far::start(&places, "sse", FRONTS[1].1)?,
        Far::start(&places, "ws", FRONTS[2].1)?,
    ];
    let stdio = json!({ "command": places.program("toolbay-echo"), "args": ["stdio"] });
    let at = |far: &Far| json!({ "url": far.url });
    let backs: [(&str, Value); 4] =
        [("stdio", stdio), ("HTTP", at(&far[0])), ("SSE", at(&far[1])), ("WS", at(&far[2]))];
    let mut wanted: Vec<Target> = targets::direct(&places, &echo);
    wanted.push(Target::at("direct-sse", "SSE", far[1].url.clone(), far[1].child.id()));
    wanted.push(Target::at("direct-ws", "WS", far[2].url.clone(), far[2].child.id()));
    for (back, server) in &backs {
        // Names live as long as the program, here as everywhere.
        wanted.push(Target::hub_on_stdio(&places, format!("stdio→{back}").leak(), server)?);
        for (front, url) in FRONTS {
            wanted.push(Target::hub(&places, format!("{front}→{back}").leak(), server, url));
        }
    }
    let mut notes = Vec::new();
    notes.extend(process::busy().map(|load| format!("the machine is busy (load {load}): expect noise")));
    let mut running = Vec::new();
    for target in wanted {
        let route = target.route;
        match Running::start(target, &places, 1) {
            Ok(target) => running.push(target),
            Err(error) => notes.push(format!("{route}: skipped, {error:#}")),
        }
    }
    let results = measure::rounds(&mut running, &places, echo.pid(), &CELLS, options);
    running.iter_mut().for_each(Running::stop);
    table::print(&running, &results);
    notes.extend(results.notes());
    notes.iter().for_each(|note| println!("  {note}"));
    Ok(())
}
