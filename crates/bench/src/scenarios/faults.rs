//! `cargo xtask bench faults`: what each fault of a server or a client costs, as measured now, beside what we want.
//!
//! The tests of the same names (`crates/cli/tests/it/faults`) say what must happen; this says how fast. Nothing is
//! asserted: a machine that does much else gives other figures.

mod crowd;
mod messages;
mod processes;
mod remote;
mod slow_clients;
mod stage;
mod stop;
mod traffic;

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use toolbay_testkit::harness::Programs;

use super::process;
use crate::workspace::{cargo, must, root};
use stage::{Figure, Stage};

type Measure = fn(&Stage) -> Result<Vec<Figure>>;

const FAULTS: &[(&str, &str, Measure)] = &[
    ("F1", "crash mid-call", processes::crash),
    ("F2", "crash loop", processes::crash_loop),
    ("F3", "hang", processes::hang),
    ("F4", "slow start", processes::slow_start),
    ("F5", "never initialises", processes::never_initialises),
    ("F6", "garbage on stdout", messages::garbage),
    ("F7", "100 MB line", messages::long_line),
    ("F8", "endless line", messages::endless_line),
    ("F9", "invalid UTF-8", messages::invalid_utf8),
    ("F10", "stderr flood", messages::stderr_flood),
    ("F11", "stdin not read", messages::unread_stdin),
    ("F12", "stdout closed", processes::closed_stdout),
    ("F13", "SIGTERM ignored", stop::ignored_sigterm),
    ("F14", "grandchildren", stop::grandchildren),
    ("F15", "kill -9 hub", stop::killed_hub),
    ("F16", "kill -9 shim", stop::killed_shim),
    ("F17", "list_changed storm", traffic::storm),
    ("F18", "confused ids", traffic::confused_ids),
    ("F20", "client disconnects", traffic::disconnect),
    ("F21", "heads that trickle", slow_clients::trickle),
    ("F22", "unread stream", slow_clients::unread),
    ("F23", "frozen server at a URL", remote::frozen),
    ("F24", "killed server at a URL", remote::killed),
    ("F25", "1,000 tools", traffic::many_tools),
    ("F27", "10,000 clients", crowd::sessions),
];

pub(super) fn run(args: &[String]) -> Result<()> {
    let mut debug = false;
    let mut only: Option<Vec<&str>> = None;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--debug" => debug = true,
            "--only" => {
                only = Some(args.next().context("--only takes names, such as F1,F7")?.split(',').collect())
            }
            _ => bail!("unknown argument `{arg}`; there are: --debug, --only F1,…"),
        }
    }
    let unknown = only.iter().flatten().find(|name| !FAULTS.iter().any(|(known, ..)| known == *name));
    ensure!(unknown.is_none(), "no fault {}", unknown.unwrap_or(&""));
    let profile = if debug { "debug" } else { "release" };
    let mut build =
        cargo(&["build", "--quiet", "-p", "toolbay", "-p", "toolbay-testkit", "-p", "toolbay-bench"]);
    if !debug {
        build.arg("--release");
    }
    must(&mut build)?;
    let toolbay = root().join("target").join(profile).join("toolbay");
    let stage = Stage::new(Programs::beside(Path::new(&toolbay))?);
    let load = process::busy().map_or(String::new(), |load| format!("; the machine is busy (load {load})"));
    println!("Faults, measured with the {profile} build{load}\n");
    println!("{:<5}{:<24}{:<42}{:>14}   goal", "", "fault", "figure", "measured");
    for (name, fault, measure) in FAULTS {
        if only.as_ref().is_some_and(|only| !only.contains(name)) {
            continue;
        }
        match measure(&stage) {
            Ok(figures) => {
                for (index, figure) in figures.iter().enumerate() {
                    let (name, fault) = if index == 0 { (*name, *fault) } else { ("", "") };
                    println!(
                        "{name:<5}{fault:<24}{:<42}{:>14}   {}",
                        figure.what, figure.measured, figure.goal
                    );
                }
            }
            Err(error) => println!("{name:<5}{fault:<24}not measured: {error:#}"),
        }
    }
    Ok(())
}
