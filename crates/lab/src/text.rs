//! `toolbay-lab text`: how fast the text search is beside `rg`, `rgx` and Debian's `codesearch`, on the source of Linux.
//!
//! Machines differ, so each round asks every target each question once, one after the other, and ratios are taken in the
//! round; the table shows medians. Whatever cannot be had is named and left out. Goals are shown, never asserted.

pub(crate) mod peers;
mod questions;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use toolbay_search::store::Store;
use toolbay_search::text::{Index, Query};
use toolbay_search::tree::{Root, Tree, TreeOptions};

use peers::Peer;
use questions::{QUESTIONS, Question};

const USAGE: &str = "usage: toolbay-lab text [--folder FOLDER] [--tree TREE] [--rounds N]
FOLDER (target/bench-peers) holds what is downloaded, installed and indexed; without TREE, Debian's linux-source-6.1 is
searched";

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
    let ours = Ours::new(&options.folder, &tree)?;
    let peers = peers::all(&options.folder, &tree);
    measure(&ours, &peers, options.rounds);
    println!("idle: {} of anonymous memory in this process, index and listing held", anonymous_memory());
    for peer in &peers {
        peer.stop();
    }
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

/// Our own search, held as the hub holds it: one tree, watched, one index.
struct Ours {
    tree: Tree,
    index: Index,
}

impl Ours {
    /// Indexes anew, then opens what was stored.
    fn new(folder: &Path, tree: &Path) -> Result<Self> {
        let store = Store::at(&folder.join("cache"), tree);
        store.clear()?;
        let store = Store::open(&folder.join("cache"), tree)?;
        let open = || -> Result<Tree> { Ok(Tree::open(Root::open(tree)?, TreeOptions { watch: true })) };
        let held = open()?;
        let start = Instant::now();
        let files = held.files()?;
        let walked = start.elapsed();
        let bytes: u64 = files.iter().map(|entry| entry.stamp.size).sum();
        let start = Instant::now();
        let report = Index::open(Some(store.clone())).update(&held, &|_| (), &AtomicBool::new(false))?;
        let took = start.elapsed();
        println!(
            "toolbay: {} files, {} MB; listed in {}, indexed in {} ({:.0} MB/s), {} MB on disk, {} left out",
            files.len(),
            bytes >> 20,
            shown(walked),
            shown(took),
            bytes as f64 / 1e6 / took.as_secs_f64(),
            store.size() >> 20,
            report.young
        );
        drop((held, files));
        let start = Instant::now();
        let index = Index::open(Some(store));
        println!("toolbay: opened in {} (goal: 50 ms)", shown(start.elapsed()));
        let tree = open()?;
        tree.files()?;
        Ok(Self { tree, index })
    }

    /// How long all matching lines take, and how many there are; or only the first page.
    fn ask(&self, question: &Question, whole: bool) -> Result<(Duration, u64)> {
        let mut query =
            if question.regex { Query::regex(question.pattern) } else { Query::literal(question.pattern) };
        query.case = question.case;
        query.count_to = if whole { u64::MAX } else { 0 };
        let start = Instant::now();
        let answer = self.index.search(&self.tree, &query, &AtomicBool::new(false))?;
        Ok((start.elapsed(), answer.total.count()))
    }
}

fn measure(ours: &Ours, peers: &[Peer], rounds: usize) {
    print!("\n{:<26} {:>9} {:>9} {:>9}", "warm; median", "lines", "toolbay", "first 50");
    for peer in peers {
        print!(" {:>17}", peer.name());
    }
    println!();
    for question in QUESTIONS {
        let mut times: Vec<Vec<f64>> = vec![Vec::new(); peers.len() + 2];
        let mut lines = 0;
        for _ in 0..=rounds {
            for (at, whole) in [(0, true), (1, false)] {
                if let Ok((took, count)) = ours.ask(question, whole) {
                    times[at].push(took.as_secs_f64());
                    lines = lines.max(count);
                }
            }
            for (at, peer) in peers.iter().enumerate() {
                if let Some((took, count)) = peer.ask(question) {
                    times[at + 2].push(took.as_secs_f64());
                    if peer.is_exact() && count != lines {
                        println!("{}: {} finds {count} lines, toolbay {lines}", question.name, peer.name());
                    }
                }
            }
        }
        // The first round warms up.
        let times: Vec<f64> = times.into_iter().map(|it| median(it.into_iter().skip(1).collect())).collect();
        print!("{:<26} {lines:>9} {:>7.1}ms {:>7.1}ms", question.name, times[0] * 1e3, times[1] * 1e3);
        for time in &times[2..] {
            print!(" {:>7.1}ms {:>6.1}x", time * 1e3, time / times[0]);
        }
        println!("{}", if question.selective { "  (goal: 20x rg)" } else { "" });
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

fn shown(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn anonymous_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.map_or_else(|| "an unknown amount".to_owned(), |line| line.trim().to_owned())
}
