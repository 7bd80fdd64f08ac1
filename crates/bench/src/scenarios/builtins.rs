//! `cargo xtask bench builtins`: built-in servers beside the published ones that they take the place of, in one run.
//!
//! Each is a process on stdin and stdout that one client asks, one call after the other, and the same calls go to both. In a hub,
//! ours need no process, so start and memory are what a user has without a hub.

mod pairs;
mod project;
mod server;

use std::{path::PathBuf, process::Command, time::Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use self::{
    pairs::{GREP, PAIRS, Pair},
    project::Project,
    server::Server,
};
use super::{Places, cargo_build, measure::median, process};
use crate::workspace::root;

/// How often a server is started.
const STARTS: usize = 5;

/// What both took for the same, in the unit of the row.
struct Row {
    what: String,
    original: f64,
    ours: f64,
    /// How many times faster ours is to be; 0 where they do not do the same.
    goal: f64,
}

/// How often a call is made, and which share of the calls is faster than the figure.
#[derive(Clone, Copy)]
struct Calls {
    count: usize,
    percentiles: &'static [usize],
}

const MANY: Calls = Calls { count: 2_000, percentiles: &[50, 99] };
const SOME: Calls = Calls { count: 200, percentiles: &[50] };
const FEW: Calls = Calls { count: 7, percentiles: &[50] };

pub(super) fn run(args: &[String]) -> Result<()> {
    let no_build = match args {
        [] => false,
        [only] if only == "--no-build" => true,
        _ => bail!("usage: cargo xtask bench builtins [--no-build]"),
    };
    if !no_build {
        cargo_build("toolbay")?;
    }
    let places = Places::find()?;
    let peers = root().join("target/peers");
    ensure!(
        peers.join("python-originals.stamp").exists(),
        "the originals are not installed: cargo xtask peers"
    );
    let project = Project::create()?;
    let bench = Bench { places, peers, project };
    let load = process::busy().map_or(String::new(), |load| format!("; the machine is busy (load {load})"));
    println!("Built-in servers beside the originals; medians unless stated{load}");
    bench.starts()?;
    let mut rows = bench.filesystem()?;
    rows.extend(bench.memory()?);
    rows.extend(bench.grep()?);
    print(&rows);
    bench.tokens()
}

struct Bench {
    places: Places,
    peers: PathBuf,
    project: Project,
}

impl Bench {
    /// Starts the original of a pair, or ours.
    fn start(&self, pair: &Pair, is_ours: bool) -> Result<Server> {
        let mut command = if is_ours {
            let mut command = Command::new(self.places.program("toolbay"));
            command.arg("builtin").args(pair.ours);
            command
        } else {
            let mut command = Command::new(self.peers.join(pair.program));
            command.args(pair.script.map(|script| self.peers.join(script)));
            command
        };
        self.places.isolate(&mut command)?;
        let project = self.project.path().to_string_lossy().into_owned();
        let memory = self.project.memory().to_string_lossy().into_owned();
        let local = |text: &&str| text.replace("{project}", &project).replace("{memory}", &memory);
        command.args(pair.arguments.iter().map(local)).current_dir(self.project.path());
        // Files of both stay apart.
        let side = if is_ours { "ours" } else { "original" };
        let memory = self.project.path().join(format!("memory-{side}.jsonl"));
        command.env("MEMORY_FILE_PATH", memory).env("BRAVE_API_KEY", "none").env("ALLOW_COMMANDS", "ls");
        // mcp-ripgrep runs `rg`.
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.peers.join("python/bin").display()));
        Server::start(command).with_context(|| format!("{} ({side})", pair.name))
    }

    fn pair(name: &str) -> &'static Pair {
        PAIRS.iter().find(|pair| pair.name == name).expect("the pair is in the table")
    }

    /// Both servers of a pair.
    fn both(&self, name: &str) -> Result<[Server; 2]> {
        Ok([self.start(Self::pair(name), false)?, self.start(Self::pair(name), true)?])
    }

    /// Until the first answer, and memory after it.
    fn starts(&self) -> Result<()> {
        println!(
            "\n{:<44}{:>10}{:>10}{:>9}{:>12}{:>10}{:>9}",
            "Start and memory", "start ms", "ours", "", "RSS MiB", "ours", ""
        );
        for pair in PAIRS {
            let measure = |is_ours: bool| -> Result<(f64, f64)> {
                let (mut starts, mut memory) = (Vec::new(), Vec::new());
                for _ in 0..STARTS {
                    let began = Instant::now();
                    let mut server = self.start(pair, is_ours)?;
                    starts.push(began.elapsed().as_secs_f64() * 1000.0);
                    server.tools()?;
                    #[expect(clippy::cast_precision_loss, reason = "far below 2^52 KiB")]
                    memory.push(process::rss_kib(server.pid()) as f64 / 1024.0);
                }
                Ok((middle(starts), middle(memory)))
            };
            match (measure(false), measure(true)) {
                (Ok((start, memory)), Ok((our_start, our_memory))) => println!(
                    "  {:<42}{start:>10.0}{our_start:>10.1}{:>8.0}×{memory:>12.1}{our_memory:>10.1}{:>8.1}×",
                    pair.original,
                    start / our_start,
                    memory / our_memory
                ),
                (Err(error), _) | (_, Err(error)) => println!("  {:<42} skipped: {error:#}", pair.original),
            }
        }
        Ok(())
    }

    fn filesystem(&self) -> Result<Vec<Row>> {
        let mut servers = self.both("filesystem")?;
        let at = |path: &str| self.project.path().join(path);
        let mut rows = Vec::new();
        let small = json!({ "path": at("small.txt") });
        rows.extend(row("read 3 KB", &mut servers, MANY, 5.0, |_, _| ("read_text_file", small.clone()))?);
        let log = json!({ "path": at("large.log"), "tail": 100 });
        rows.extend(row("tail of 100 MB", &mut servers, SOME, 1.0, |_, _| ("read_text_file", log.clone()))?);
        let search = json!({ "path": at("tree"), "pattern": "**/*7.rs" });
        rows.extend(row("search 15,000 files", &mut servers, FEW, 1.0, |_, _| {
            ("search_files", search.clone())
        })?);
        let tree = json!({ "path": at("tree") });
        rows.extend(row("directory tree, 15,000 files", &mut servers, FEW, 1.0, |_, _| {
            ("directory_tree", tree.clone())
        })?);
        // The original leaves it to the system when a file is on disk; ours waits for it, which costs nothing in memory.
        let places = [
            ("in memory", self.project.memory(), 1.0),
            ("on disk, where ours waits for it", self.project.path(), 0.0),
        ];
        for (place, directory, goal) in places {
            rows.extend(row(&format!("edit 3 KB {place}"), &mut servers, SOME, goal, |number, is_ours| {
                let path = directory.join(if is_ours { "edit-ours.txt" } else { "edit-original.txt" });
                let (old, new) = (format!("edit {number}\n"), format!("edit {}\n", number + 1));
                ("edit_file", json!({ "path": path, "edits": [{ "oldText": old, "newText": new }] }))
            })?);
        }
        Ok(rows)
    }

    fn memory(&self) -> Result<Vec<Row>> {
        const ENTITIES: usize = 10_000;
        let mut servers = self.both("memory")?;
        for server in &mut servers {
            let entity = |number: usize| {
                let observations: Vec<String> =
                    (0..5).map(|count| format!("observation {count} about the thing {number}")).collect();
                json!({ "name": format!("entity {number}"), "entityType": "thing", "observations": observations })
            };
            let entities: Vec<Value> = (0..ENTITIES).map(entity).collect();
            server.call("create_entities", &json!({ "entities": entities }))?;
        }
        let add = |number: usize, _| {
            let contents = [format!("new observation {number}")];
            let observation = json!({ "entityName": "entity 77", "contents": contents });
            ("add_observations", json!({ "observations": [observation] }))
        };
        let mut rows = row("memory, 10,000 entities: add", &mut servers, SOME, 1.0, add)?;
        rows.extend(row("memory, 10,000 entities: search", &mut servers, SOME, 1.0, |number, _| {
            ("search_nodes", json!({ "query": format!("entity {}", number + 1_000) }))
        })?);
        Ok(rows)
    }

    /// Ours beside `rg` itself, and beside the server that runs it.
    fn grep(&self) -> Result<Vec<Row>> {
        const PATTERN: &str = "needle_[0-9]+7";
        let tree = self.project.path().join("tree");
        let mut ours = self.start(&GREP, true)?;
        let arguments = json!({ "pattern": PATTERN, "path": tree, "output_mode": "content" });
        let mut servers = self.both("ripgrep")?;
        let search = json!({ "pattern": PATTERN, "path": tree });
        let rows = row("mcp-ripgrep: search 15,000 files", &mut servers, FEW, 1.0, |_, _| {
            ("search", search.clone())
        })?;
        let (mut of_rg, mut of_ours) = (Vec::new(), Vec::new());
        for _ in 0..FEW.count {
            let began = Instant::now();
            let mut rg = Command::new(self.peers.join("python/bin/rg"));
            let output = rg.args(["--no-config", "-n", PATTERN]).arg(&tree).output()?;
            of_rg.push(milliseconds(began));
            ensure!(output.status.success() && !output.stdout.is_empty(), "rg finds nothing");
            let began = Instant::now();
            ours.call("grep", &arguments)?;
            of_ours.push(milliseconds(began));
        }
        let what = "`rg`: search 15,000 files".to_owned();
        let mut all = vec![Row { what, original: middle(of_rg), ours: middle(of_ours), goal: 1.0 }];
        all.extend(rows);
        Ok(all)
    }

    /// What the lists of tools cost a model.
    fn tokens(&self) -> Result<()> {
        println!(
            "\n{:<44}{:>12}{:>10}{:>12}{:>10}{:>9}",
            "Tool lists", "bytes", "ours", "tokens", "ours", ""
        );
        for pair in PAIRS {
            let size = |is_ours: bool| -> Result<usize> { self.start(pair, is_ours)?.tools() };
            match (size(false), size(true)) {
                (Ok(original), Ok(ours)) => println!(
                    "  {:<42}{original:>12}{ours:>10}{:>12}{:>10}{:>8.2}×",
                    pair.original,
                    original / 4,
                    ours / 4,
                    ratio(original, ours)
                ),
                (Err(error), _) | (_, Err(error)) => println!("  {:<42} skipped: {error:#}", pair.original),
            }
        }
        Ok(())
    }
}

/// Makes the same calls to both servers, in turns, so that both see the same machine.
fn row(
    what: &str,
    servers: &mut [Server; 2],
    calls: Calls,
    goal: f64,
    call: impl Fn(usize, bool) -> (&'static str, Value),
) -> Result<Vec<Row>> {
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..calls.count {
        for (index, server) in servers.iter_mut().enumerate() {
            let (tool, arguments) = call(number, index == 1);
            let took = server.timed(tool, &arguments).with_context(|| format!("{what}, call {number}"))?;
            times[index].push(took.as_secs_f64() * 1000.0);
        }
    }
    times.iter_mut().for_each(|times| times.sort_unstable_by(f64::total_cmp));
    let at =
        |index: usize, percentile: usize| times[index][(calls.count * percentile / 100).min(calls.count - 1)];
    let rows = calls.percentiles.iter().map(|&percentile| Row {
        what: format!("{what}, p{percentile}"),
        original: at(0, percentile),
        ours: at(1, percentile),
        goal: if percentile == 50 { goal } else { 1.0 },
    });
    Ok(rows.collect())
}

fn print(rows: &[Row]) {
    println!("\n{:<50}{:>12}{:>12}{:>9}{:>8}", "Calls", "original ms", "ours ms", "", "goal");
    for Row { what, original, ours, goal } in rows {
        let times = original / ours;
        let reached = match goal {
            0.0 => "–".to_owned(),
            goal => format!("{goal}× {}", if times >= *goal { "✓" } else { "✗" }),
        };
        println!("  {what:<48}{original:>12.3}{ours:>12.3}{times:>8.1}×{reached:>8}");
    }
}

fn middle(figures: Vec<f64>) -> f64 {
    median(figures.into_iter()).unwrap_or_default()
}

fn milliseconds(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1000.0
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn ratio(original: usize, ours: usize) -> f64 {
    original as f64 / ours as f64
}
