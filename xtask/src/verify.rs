//! `cargo xtask verify NAME`: checks that take too long, or need too much, for every run of the tests.
#![expect(clippy::print_stdout, reason = "the tables are the output")]

mod attacks;
mod clients;
mod scene;
mod sharing;

use std::path::Path;

use anyhow::{Result, bail};

use self::scene::Scene;

type Check = (&'static str, &'static str, fn(Scene) -> Result<()>);

const CHECKS: &[Check] = &[
    ("attacks", "what once froze the hub or filled its memory does not", attacks::run),
    ("clients", "published clients list and call through the hub, on each transport they have", clients::run),
    ("sharing", "ten clients at once share one hub, whichever comes first and whatever ends it", sharing::run),
];

/// A variable of every program that is started here: no server may see it.
const SECRET: &str = "a-secret-that-no-server-may-see";

/// Runs the named check, on a release build made now or on the program that `--binary` names.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (name, binary) = match args[..] {
        [name] => (name, None),
        [name, "--binary", path] => (name, Some(Path::new(path))),
        _ => ("", None),
    };
    let Some((_, _, check)) = CHECKS.iter().find(|(known, _, _)| *known == name) else {
        let lines: Vec<String> =
            CHECKS.iter().map(|(name, what, _)| format!("  {name:<10} {what}")).collect();
        bail!("usage: cargo xtask verify NAME [--binary PATH], where NAME is one of\n{}", lines.join("\n"));
    };
    check(Scene::new(binary)?)
}
