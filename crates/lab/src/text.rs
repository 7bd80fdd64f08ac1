//! `toolbay-lab text`: how fast the text search is beside `rg`, `rgx` and Debian's `codesearch`, on the source of Linux.
//!
//! Our server is asked over MCP, as a client asks it. Machines differ, so each round asks every target each question once,
//! one after the other; the table shows medians and their ratios. Whatever cannot be had is named and left out. Goals are
//! shown, never asserted.

mod cold;
mod ours;
pub(crate) mod peers;
mod questions;
pub(crate) mod server;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use ours::Ours;
use peers::Peer;
use questions::{QUESTIONS, Question};
use server::Server;

const USAGE: &str = "usage: toolbay-lab text [--folder FOLDER] [--tree TREE] [--rounds N]
FOLDER (target/bench-peers) holds what is downloaded, installed and indexed; without TREE, Debian's linux-source-6.1 is
searched. The server is the program `toolbay` beside this one";

/// Who takes longer than this in the first round is not asked again.
const PATIENCE: f64 = 4.0;

struct Options {
    folder: PathBuf,
    tree: Option<PathBuf>,
    rounds: usize,
}

pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = Options::parse(args)?;
    let tree = match &options.tree {
        Some(tree) => tree.canonicalize().with_context(|| format!("no tree at {}", tree.display()))?,
        None => peers::linux(&options.folder)?,
    };
    println!("tree: {}", tree.display());
    let cache = options.folder.join("server-cache");
    let ours = Ours::new(&cache.join("toolbay/code"), &tree)?;
    let mut server = Server::start(&std::env::current_exe()?.with_file_name("toolbay"), &cache, &tree)?;
    for company in peers::COMPANIES {
        println!();
        let peers = peers::all(company, &options.folder, &tree);
        warm(&mut server, &ours, &peers, options.rounds);
        cold::measure(&mut server, &peers);
        for peer in &peers {
            peer.processes().into_iter().for_each(|id| idle(peer.name(), server::anonymous_memory(id)));
            peer.stop();
        }
    }
    idle("toolbay codebase", server.anonymous_memory());
    Ok(())
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let (mut folder, mut tree, mut rounds) = (PathBuf::from("target/bench-peers"), None, 5);
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let value = args.next().with_context(|| format!("{arg} needs a value\n{USAGE}"))?;
            match arg.as_str() {
                "--folder" => folder = PathBuf::from(value),
                "--tree" => tree = Some(PathBuf::from(value)),
                "--rounds" => rounds = value.parse().context("--rounds needs a number")?,
                _ => bail!("{USAGE}"),
            }
        }
        std::fs::create_dir_all(&folder)?;
        Ok(Self { folder: folder.canonicalize()?, tree, rounds })
    }
}

/// One row a question: over MCP the first 50 lines, and how many times as long the others take; then, counting every line.
fn warm(server: &mut Server, ours: &Ours, peers: &[Peer], rounds: usize) {
    print!("\n{:<26} {:>9} {:>9} {:>9}", "warm; median", "lines", "toolbay", "all lines");
    for peer in peers {
        print!(" {:>17}", peer.name());
    }
    println!();
    for question in QUESTIONS {
        let mut times = Times::new(peers.len() + 2);
        let (mut lines, mut known) = (0, None);
        for _ in 0..=rounds {
            match server.ask(question) {
                Ok(answer) => {
                    times.add(0, answer.took);
                    known = Some(answer);
                }
                Err(error) => println!("{}: {error:#}", question.name),
            }
            if let Ok((took, count)) = ours.ask(question) {
                times.add(1, took);
                lines = count;
            }
            if known.as_ref().is_some_and(|it| it.lines > lines || it.exact && it.lines != lines) {
                println!("{}: the server counts other lines than the library", question.name);
            }
            for (at, peer) in peers.iter().enumerate() {
                if times.is_too_slow(at + 2) {
                    continue;
                }
                if let Some((took, count)) = peer.ask(question) {
                    times.add(at + 2, took);
                    if peer.is_exact() && count != lines {
                        println!("{}: {} finds {count} lines, toolbay {lines}", question.name, peer.name());
                    }
                }
            }
        }
        let times = times.medians();
        print!("{:<26} {lines:>9} {:>7.1}ms {:>7.1}ms", question.name, times[0] * 1e3, times[1] * 1e3);
        for time in &times[2..] {
            print!(" {}", beside(*time, times[0]));
        }
        println!("{}", if question.selective { "  (goal: 20x rg)" } else { "" });
    }
}

/// What the rounds took, for each target.
struct Times(Vec<Vec<f64>>);

impl Times {
    fn new(targets: usize) -> Self {
        Self(vec![Vec::new(); targets])
    }

    fn add(&mut self, target: usize, took: Duration) {
        self.0[target].push(took.as_secs_f64());
    }

    fn is_too_slow(&self, target: usize) -> bool {
        self.0[target].first().is_some_and(|first| *first > PATIENCE)
    }

    /// Without the first round, which warms up, where there are others.
    fn medians(self) -> Vec<f64> {
        let median = |times: Vec<f64>| {
            let mut times = times[usize::from(times.len() > 1)..].to_vec();
            times.sort_by(f64::total_cmp);
            times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
        };
        self.0.into_iter().map(|times| if times.is_empty() { f64::NAN } else { median(times) }).collect()
    }
}

/// What another one took, and how many times as long as we.
fn beside(time: f64, ours: f64) -> String {
    if time.is_nan() {
        return format!("{:>17}", "cannot");
    }
    format!("{:>8.0}ms {:>5.1}x", time * 1e3, time / ours)
}

fn idle(name: &str, memory: Option<u64>) {
    match memory {
        Some(kilobytes) => println!("{name}: {} MB of anonymous memory while idle", kilobytes >> 10),
        None => println!("{name}: its memory is not known here"),
    }
}
