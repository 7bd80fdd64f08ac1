//! `cargo xtask bench search` and `bench tools`: what the searches for code and for tools are worth, measured by `toolbay-lab`.

use anyhow::{Result, bail};

use crate::workspace::{cargo, must};

/// Each is a command of the lab, with the reason why one would run it alone.
const PARTS: &[(&str, &str)] = &[
    ("quality", "how well it finds what is asked, and how little one reads for it"),
    ("text", "how fast exact search is, beside rg, rgx and codesearch"),
    ("speed", "how fast search by meaning is, beside semble"),
];

/// Runs the parts that are named, or all; what comes after `--` is for the part itself.
pub(super) fn run(args: &[String]) -> Result<()> {
    let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    let (args, options) = (&args[..end], args.get(end + 1..).unwrap_or_default());
    if let Some(unknown) = args.iter().find(|arg| PARTS.iter().all(|(part, _)| part != arg)) {
        let known: Vec<String> = PARTS.iter().map(|(part, what)| format!("  {part}: {what}")).collect();
        bail!("no part `{unknown}` of the search to measure; there are\n{}", known.join("\n"));
    }
    for (part, what) in PARTS.iter().filter(|(part, _)| args.is_empty() || args.iter().any(|arg| arg == part))
    {
        eprintln!("{part}: {what}");
        // The lab must be optimised, this need not; and it asks the program beside it.
        must(&mut cargo(&["build", "--quiet", "--release", "--package", "toolbay"]))?;
        let lab: [&str; 7] = ["run", "--quiet", "--release", "--package", "toolbay-lab", "--", part];
        must(cargo(&lab).args(options))?;
    }
    Ok(())
}

/// Runs the measurement of tool search.
pub(super) fn tools(args: &[String]) -> Result<()> {
    must(cargo(&["run", "--quiet", "--release", "--package", "toolbay-lab", "--", "tools"]).args(args))
}
