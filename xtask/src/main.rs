//! Project chores, run as `cargo xtask NAME`.
#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "a build tool reads its environment and starts compilers")]

mod conformance;
mod deny;
mod peers;
mod spdx;
mod suite;
mod tidy;
mod verify;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "\
usage: cargo xtask test [--only STEP]... [--skip-peers]   everything CI runs
       cargo xtask tidy                                   crate table, file sizes, stray tests
       cargo xtask peers                                  install the servers and SDKs we test against
       cargo xtask deny                                   licences, duplicates, sources, advisories
       cargo xtask conformance [--only CELL]... [--list]  the official suite, directly and through the hub
       cargo xtask bench hub [OPTION]...                  Toolbay beside direct calls, yardsticks and peers
       cargo xtask bench revisions                        what translating between revisions costs
       cargo xtask bench cold                             how soon a new hub lists what slow servers offer
       cargo xtask bench search [PART]...                 what the code search finds, and how fast
       cargo xtask bench tools --data FOLDER              what the tool search finds, and how fast
       cargo xtask bench builtins                         built-in servers beside the published ones
       cargo xtask verify NAME                            a check that takes too long for every run of the tests
       cargo xtask model [STEP]... [--OPTION VALUE]...    make the embedding model again, from pinned packages
       cargo xtask model english [STEP]...                make the table of English again, from pinned sources
       cargo xtask bench faults [--debug] [--only F1,…]   what each fault costs, as measured now";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (name, rest) = args.split_first().map_or(("", [].as_slice()), |(name, rest)| (name.as_str(), rest));
    match name {
        "test" => suite::run(rest),
        "tidy" => tidy::run(),
        "peers" => peers::run(),
        "deny" => deny::run(),
        "conformance" => conformance::run(rest),
        "bench" => toolbay_bench::run(rest),
        "verify" => verify::run(rest),
        "model" => model(rest),
        _ => bail!("{USAGE}"),
    }
}

/// The work is done by `toolbay-lab`: it must be optimised, this need not.
fn model(args: &[String]) -> Result<()> {
    let command = ["run", "--quiet", "--release", "--package", "toolbay-lab", "--", "model"];
    workspace::must(workspace::cargo(&command).args(args))
}
