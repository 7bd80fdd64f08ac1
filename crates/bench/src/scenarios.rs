//! `cargo xtask bench hub`: how fast Toolbay is beside what else there is, measured in one run; and `bench faults`.
//!
//! Machines differ and so do hours, so nothing here is judged by absolute figures: in every round each target is
//! measured once, after the other, and ratios are taken within the round; the table shows the medians. Whatever
//! cannot be installed or started is named and left out. Goals are shown, never asserted.
#![expect(clippy::print_stdout, reason = "the tables are the output")]
#![expect(clippy::disallowed_methods, reason = "starts what it measures, and ends it")]

mod builtins;
mod cold;
mod faults;
mod measure;
mod peers;
mod process;
mod report;
mod revisions;
mod search;
mod start;
mod targets;
mod transports;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

use crate::workspace::{cargo, must, root};
pub use measure::median;
use measure::{Cell, Results};
pub use process::{peak_kib, pss_kib};
use report::{goals, table};
use start::Running;
use targets::{Echo, Kind};

const USAGE: &str = "usage: cargo xtask bench hub [--quick] [--with-noncommercial] [--only NAME,…] [--rounds N] [--json FILE]
                       [--against PATH] [--no-build]
targets: direct-http direct-stdio forward toolbay toolbay-stdio toolbay-shared haproxy mcp-proxy-rs mcp-proxy-npm
         supergateway fastmcp mcp-gateway (direct-http is always measured)
         against against-stdio (another build of Toolbay, at PATH)
       cargo xtask bench transports [--quick] [--rounds N]
       cargo xtask bench revisions [--quick] [--rounds N]
       cargo xtask bench cold
       cargo xtask bench faults [--debug] [--only F1,…]
       cargo xtask bench search [PART]...
       cargo xtask bench tools --data FOLDER
       cargo xtask bench builtins [--no-build]";

/// What was typed.
struct Options {
    quick: bool,
    noncommercial: bool,
    only: Option<Vec<String>>,
    rounds: usize,
    json: Option<PathBuf>,
    /// Another build of Toolbay, to be measured in the same rounds.
    against: Option<PathBuf>,
    /// Whether to measure what was built before.
    no_build: bool,
}

/// Where things are: built programs, installed peers, files made for a run.
struct Places {
    release: PathBuf,
    peers: PathBuf,
    scratch: PathBuf,
}

/// Runs `cargo xtask bench` with these arguments.
///
/// # Errors
///
/// When an argument is unknown, or what is to be measured cannot be built or started.
pub fn run(args: &[String]) -> anyhow::Result<()> {
    match args.split_first() {
        Some((what, rest)) if what == "hub" => hub(&Options::parse(rest)?),
        Some((what, rest)) if what == "transports" => transports::run(&Options::parse(rest)?),
        Some((what, rest)) if what == "revisions" => revisions::run(&Options::parse(rest)?),
        Some((what, rest)) if what == "faults" => faults::run(rest),
        Some((what, [])) if what == "cold" => cold::run(),
        Some((what, rest)) if what == "builtins" => builtins::run(rest),
        Some((what, rest)) if what == "search" => search::run(rest),
        Some((what, rest)) if what == "tools" => search::tools(rest),
        _ => bail!("{USAGE}"),
    }
}

fn hub(options: &Options) -> anyhow::Result<()> {
    let places = Places::find()?;
    if !options.no_build {
        cargo_build("toolbay-bench")?;
    }
    let mut notes = Vec::new();
    let wants_ours = targets::OURS.iter().any(|name| options.wants(name));
    let built = wants_ours && (options.no_build || cargo_build("toolbay").is_ok());
    if wants_ours && !built {
        notes.push("toolbay: skipped, the package does not build here".to_owned());
    }
    let echo = Echo::start(&places)?;
    let mut targets = Vec::new();
    for target in targets::all(&places, &echo, options.against.as_deref())? {
        if !options.wants(target.name) || (target.noncommercial && !options.noncommercial) {
            continue;
        }
        if target.kind == Kind::Ours && !built {
            continue;
        }
        match target.install(&places) {
            Ok(()) => targets.push(target),
            Err(error) => notes.push(format!("{}: skipped, {error:#}", target.name)),
        }
    }
    notes.extend(process::busy().map(|load| format!("the machine is busy (load {load}): expect noise")));
    let mut running = Vec::new();
    for target in targets {
        let name = target.name;
        eprintln!("starting {name}");
        match Running::start(target, &places, if options.quick { 1 } else { 3 }) {
            Ok(target) => running.push(target),
            Err(error) => notes.push(format!("{name}: skipped, {error:#}")),
        }
    }
    let results = measure::rounds(&mut running, &places, echo.pid(), &Cell::all(options.quick), options);
    let sessions = measure::idle_sessions(&mut running, &places);
    for target in &mut running {
        target.stop();
    }
    let versions = running.iter().filter_map(|running| peers::version(running.target.name, &places));
    println!("\nMeasured beside ours: {}", versions.collect::<Vec<_>>().join(", "));
    table::print(&running, &results);
    table::print_pairs(&results);
    goals::print(&running, &results, sessions);
    notes.extend(results.notes());
    if !notes.is_empty() {
        println!("\nNotes");
        notes.iter().for_each(|note| println!("  {note}"));
    }
    options.json.as_deref().map_or(Ok(()), |file| save(file, &running, &results, sessions))
}

fn save(file: &Path, running: &[Running], results: &Results, sessions: Option<f64>) -> anyhow::Result<()> {
    let starts: Vec<_> = running.iter().map(Running::to_json).collect();
    let all = serde_json::json!({"targets": starts, "samples": results.to_json(), "bytes_per_idle_session": sessions});
    std::fs::write(file, serde_json::to_string_pretty(&all)?)
        .with_context(|| format!("cannot write {}", file.display()))
}

impl Options {
    fn parse(args: &[String]) -> anyhow::Result<Self> {
        let mut options = Self {
            quick: false,
            noncommercial: false,
            only: None,
            rounds: 3,
            json: None,
            against: None,
            no_build: false,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} takes a value"));
            match arg.as_str() {
                "--quick" => options.quick = true,
                "--with-noncommercial" => options.noncommercial = true,
                "--only" => options.only = Some(value()?.split(',').map(str::to_owned).collect()),
                "--rounds" => options.rounds = value()?.parse()?,
                "--json" => options.json = Some(value()?.into()),
                "--against" => options.against = Some(std::fs::canonicalize(value()?)?),
                "--no-build" => options.no_build = true,
                _ => bail!("unknown argument `{arg}`\n{USAGE}"),
            }
        }
        ensure!((1..=20).contains(&options.rounds), "--rounds must be between 1 and 20");
        Ok(options)
    }

    /// Whether a target is selected: `toolbay` names all its routes, as `against` does, and the base of all ratios is always in.
    fn wants(&self, name: &str) -> bool {
        name == targets::BASE
            || self.only.as_ref().is_none_or(|only| {
                let is_route =
                    |wanted: &str| name.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('-'));
                only.iter().any(|wanted| {
                    wanted == name || (["toolbay", "against"].contains(&wanted.as_str()) && is_route(wanted))
                })
            })
    }
}

impl Places {
    fn find() -> anyhow::Result<Self> {
        let target = root().join("target");
        let peers = target.join("bench-peers");
        let scratch = peers.join("scratch");
        std::fs::create_dir_all(&scratch)?;
        Ok(Self { release: target.join("release"), peers, scratch })
    }

    /// Gives a command a home of its own, so that no target reads or leaves anything elsewhere.
    fn isolate(&self, command: &mut Command) -> anyhow::Result<()> {
        let home = self.scratch.join("home");
        command.current_dir(&self.scratch).env("HOME", &home);
        for (variable, folder) in [
            ("TOOLBAY_RUNTIME_DIR", "run"),
            ("XDG_RUNTIME_DIR", "run"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_CACHE_HOME", "cache"),
        ] {
            let folder = home.join(folder);
            std::fs::create_dir_all(&folder)?;
            std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700))?;
            command.env(variable, folder);
        }
        Ok(())
    }

    fn program(&self, name: &str) -> String {
        self.release.join(name).display().to_string()
    }
}

fn cargo_build(package: &str) -> anyhow::Result<()> {
    eprintln!("building {package}");
    must(&mut cargo(&["build", "--release", "--quiet", "-p", package]))
}
