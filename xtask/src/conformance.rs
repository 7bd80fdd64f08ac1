//! `cargo xtask conformance`: the official conformance suite against our fixture, directly and through the hub, and
//! against the hub as a client and as an authorization server.
//!
//! A run of the suite against one server is a *cell*. It counts scenarios without a failure and without a warning,
//! never checks that passed: many checks pass against a server that is not there. What a cell may fail is listed in a
//! baseline below `tests/conformance`, each entry with its reason; an entry that does not fail is an error too.

#![expect(clippy::print_stdout, reason = "the table is the output")]

mod cells;
mod judge;
mod stage;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use self::cells::{CELLS, Cell};
use self::judge::Verdict;
use crate::peers;
use crate::workspace::{cargo, metadata, must};

/// How many cells are played together. They wait more than they work, but some scenarios look at the clock.
const CELLS_AT_ONCE: usize = 2;

/// Where everything is that a cell needs.
struct Places {
    /// Programs of this build.
    programs: PathBuf,
    /// The suite, and the Node.js that runs it.
    peers: PathBuf,
    /// What the suite writes, by cell.
    results: PathBuf,
}

#[derive(Default)]
struct Options {
    only: Vec<String>,
    list: bool,
    verbose: bool,
}

/// Runs all cells, or those whose names begin as `--only` says, and fails if one of them does.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = Options::parse(args)?;
    let chosen: Vec<&Cell> = CELLS.iter().filter(|cell| options.wants(cell)).collect();
    if chosen.is_empty() {
        bail!("no such cell; `--list` shows them all");
    }
    if options.list {
        chosen.iter().for_each(|cell| println!("{:<28} {}", cell.name, cell.about()));
        return Ok(());
    }
    let places = prepare()?;
    println!("{:<28} {:>9} {:>5} {:>6}  what failed", "cell", "scenarios", "exit", "s");
    let failed = play(&places, &chosen, options.verbose);
    if failed > 0 {
        bail!("{failed} cells failed; what the suite saw is in {}", places.results.display());
    }
    Ok(())
}

/// Plays cells, prints each as it ends, and gives how many failed.
fn play(places: &Places, cells: &[&Cell], verbose: bool) -> usize {
    let next = AtomicUsize::new(0);
    let failed = AtomicUsize::new(0);
    let work = || {
        while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
            let start = Instant::now();
            let verdict = stage::play(places, cell);
            let seconds = start.elapsed().as_secs_f64();
            if !verdict.as_ref().is_ok_and(|verdict| verdict.is_good(cell)) {
                failed.fetch_add(1, Ordering::Relaxed);
            }
            match verdict {
                Ok(verdict) => print(cell, &verdict, seconds, verbose),
                Err(error) => println!("{:<28} {:>9} {:>5} {seconds:>6.1}  {error:#}", cell.name, "-", "-"),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..CELLS_AT_ONCE {
            scope.spawn(work);
        }
    });
    failed.into_inner()
}

fn print(cell: &Cell, verdict: &Verdict, seconds: f64, verbose: bool) {
    let score = format!("{}/{}", verdict.clean(), cell.scenarios());
    let failed = verdict.summary().join(", ");
    println!("{:<28} {score:>9} {:>5} {seconds:>6.1}  {failed}", cell.name, verdict.exit);
    if verbose {
        verdict.details().iter().for_each(|line| println!("    {}: {line}", cell.name));
    }
}

/// Installs the suite and builds what it is pointed at.
fn prepare() -> Result<Places> {
    peers::install_npm()?;
    peers::install_chromium()?;
    must(&mut cargo(&["build", "--package", "toolbay", "--package", "toolbay-fixture"]))?;
    let metadata = metadata(&["--no-deps"])?;
    let target = PathBuf::from(metadata["target_directory"].as_str().context("there is no target folder")?);
    Ok(Places {
        programs: target.join("debug"),
        peers: peers::folder()?,
        results: target.join("conformance"),
    })
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut args = args.iter().map(String::as_str);
        while let Some(arg) = args.next() {
            match arg {
                "--list" => options.list = true,
                "--verbose" => options.verbose = true,
                "--only" => {
                    options.only.push(args.next().context("--only needs the name of a cell")?.to_owned())
                }
                _ => bail!("unknown argument `{arg}`; there are: --only CELL, --list, --verbose"),
            }
        }
        Ok(options)
    }

    fn wants(&self, cell: &Cell) -> bool {
        self.only.is_empty() || self.only.iter().any(|start| cell.name.starts_with(start.as_str()))
    }
}
