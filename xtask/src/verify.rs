//! `cargo xtask verify NAME`: checks that take too long, or need too much, for every run of the tests.
#![expect(clippy::print_stdout, reason = "the tables are the output")]

mod attacks;
mod before_after;
mod clients;
mod code;
mod exposure;
mod scene;
mod sharing;
mod tokens;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use self::scene::{Scene, program};
use crate::{
    peers,
    workspace::{cargo, must},
};

type Check = (&'static str, &'static str, fn(&Options) -> Result<()>);

const CHECKS: &[Check] = &[
    ("attacks", "what once froze the hub or filled its memory does not", |options| {
        attacks::run(options.scene()?)
    }),
    ("clients", "published clients list and call through the hub, on each transport they have", |options| {
        clients::run(options.scene()?)
    }),
    ("code", "code of models is contained, and an empty run takes at most 20 ms", |options| {
        code::run(options.scene()?)
    }),
    ("sharing", "ten clients at once share one hub, whichever comes first and whatever ends it", |options| {
        sharing::run(options.scene()?)
    }),
    ("exposure", "published coding agents find and call tools that the hub hides", |options| {
        exposure::run(|| options.scene())
    }),
    (
        "tokens",
        "12 published servers: what their tools cost a model, and ten tasks, listed and searched",
        |options| tokens::run(|| options.scene()),
    ),
    (
        "kills",
        "servers that are killed 200 times leave files old or new, and lose no memory that they acknowledged",
        |_| tests_with("TOOLBAY_KILLS", "200", &["memory::processes", "built_in::crashes"]),
    ),
    ("audit", "a hub that is killed 100 times under load has recorded every call that it answered", |_| {
        tests_with("TOOLBAY_AUDIT_KILLS", "100", &["audit::kills"])
    }),
    ("races", "100,000 accesses while links on the way are swapped: none leads out", |_| {
        tests_with("TOOLBAY_RACES", "100000", &["races::"])
    }),
    ("refresh", "four processes renew one token 1,000 times: no login is lost", |_| {
        tests_with("TOOLBAY_REFRESHES", "1000", &["processes::four_processes", "processes::a_killed"])
    }),
    ("isolation", "20,000 calls of two principals at once: nothing of one reaches the other", |_| {
        tests_with("TOOLBAY_ISOLATION_CALLS", "20000", &["principals::"])
    }),
    ("before-after", "speed and memory beside the program that `--against PATH` names", |options| {
        let against = options.against.as_deref().context("--against PATH names the older program")?;
        before_after::run(&program(options.binary.as_deref())?, &program(Some(against))?)
    }),
];

/// A variable of every program that is started here: no server may see it.
const SECRET: &str = "a-secret-that-no-server-may-see";

/// What was typed after the name of a check.
#[derive(Default)]
struct Options {
    /// The program to try; a release build is made now unless it is given.
    binary: Option<PathBuf>,
    /// An older one to compare it with.
    against: Option<PathBuf>,
}

/// Runs the named check.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let (name, rest) = args.split_first().map_or(("", [].as_slice()), |(name, rest)| (name.as_str(), rest));
    let Some((_, _, check)) = CHECKS.iter().find(|(known, _, _)| *known == name) else {
        let lines: Vec<String> =
            CHECKS.iter().map(|(name, what, _)| format!("  {name:<13} {what}")).collect();
        bail!("usage: cargo xtask verify NAME [--binary PATH], where NAME is one of\n{}", lines.join("\n"));
    };
    check(&Options::parse(rest)?)
}

/// Runs tests of the workspace with a variable that makes them longer, unless it is set already. Of the workspace and not of
/// their packages, which would be built again with fewer features.
fn tests_with(variable: &str, value: &str, filters: &[&str]) -> Result<()> {
    let value = std::env::var(variable).unwrap_or_else(|_| value.to_owned());
    let mut test = cargo(&["test", "--workspace", "--test", "it", "--"]);
    test.args(filters).args(["--nocapture"]).env(variable, &value).env(peers::VARIABLE, peers::folder()?);
    must(&mut test)
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let path = args.next().map(PathBuf::from);
            let path = path.with_context(|| format!("`{arg}` is unknown or needs a value"))?;
            match arg.as_str() {
                "--binary" => options.binary = Some(path),
                "--against" => options.against = Some(path),
                _ => bail!("unknown argument `{arg}`; there are: --binary PATH, --against PATH"),
            }
        }
        Ok(options)
    }

    fn scene(&self) -> Result<Scene> {
        Scene::new(self.binary.as_deref())
    }
}
