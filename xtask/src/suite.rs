//! `cargo xtask test`: what a change must pass, in the order that finds mistakes soonest.

use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::workspace::{cargo, files, must, root};
use crate::{conformance, deny, peers, tidy};

type Step = (&'static str, fn() -> Result<()>);

const STEPS: &[Step] = &[
    ("fmt", || must(&mut cargo(&["fmt", "--all", "--check"]))),
    ("tidy", tidy::run),
    ("clippy", || must(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))),
    ("peers", peers::run),
    ("build", || must(&mut cargo(&["build", "--workspace"]))),
    ("test", test),
    ("conformance", || conformance::run(&[])),
    ("bench", bench),
    ("doc", doc),
    ("deny", deny::run),
];

/// Runs all steps, or those named by `--only`, and stops at the first that fails.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let steps = chosen(args)?;
    let whole = Instant::now();
    for (name, step) in &steps {
        eprintln!("== {name}");
        let start = Instant::now();
        step()
            .with_context(|| format!("step `{name}` failed; run it alone: cargo xtask test --only {name}"))?;
        eprintln!("== {name}: {:.1} s", start.elapsed().as_secs_f64());
    }
    eprintln!("== all {} steps: {:.1} s", steps.len(), whole.elapsed().as_secs_f64());
    Ok(())
}

fn chosen(args: &[String]) -> Result<Vec<Step>> {
    let mut only = Vec::new();
    let mut skip = Vec::new();
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        match arg {
            "--skip-peers" => skip.push("peers"),
            "--only" => {
                let name = args.next().context("--only needs the name of a step")?;
                if !STEPS.iter().any(|(step, _)| *step == name) {
                    let names: Vec<_> = STEPS.iter().map(|(name, _)| *name).collect();
                    bail!("no step `{name}`; there are: {}", names.join(", "));
                }
                only.push(name);
            }
            _ => bail!("unknown argument `{arg}`; there are: --only STEP, --skip-peers"),
        }
    }
    let wanted = |name| (only.is_empty() || only.contains(&name)) && !skip.contains(&name);
    Ok(STEPS.iter().copied().filter(|(name, _)| wanted(name)).collect())
}

fn test() -> Result<()> {
    must(cargo(&["test", "--workspace"]).env(peers::VARIABLE, peers::folder()?))
}

/// Benches are compiled with the test profile: that they build is the point, and it reuses what is built.
fn bench() -> Result<()> {
    let benches = files(&root().join("crates"), "rs")?
        .iter()
        .any(|file| file.parent().is_some_and(|folder| folder.ends_with("benches")));
    if !benches {
        eprintln!("no benches yet");
        return Ok(());
    }
    must(&mut cargo(&["bench", "--workspace", "--no-run", "--profile", "dev"]))
}

fn doc() -> Result<()> {
    must(cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}
