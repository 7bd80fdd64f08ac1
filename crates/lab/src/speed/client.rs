//! Our server over MCP, as a client asks it: before there is an index, while it is made, after files changed.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{
    UNINDEXED,
    questions::QUESTIONS,
    tables::grouped,
    times::{Times, shown},
    trees,
};
use crate::text::server::Server;

/// As many files change with a switch of branches.
const CHANGED: usize = 5_000;
/// How often a file is saved.
const SAVED: usize = 20;
/// Indexing these trees takes a tenth of it.
const PATIENCE: Duration = Duration::from_secs(600);

type Rows = Vec<(String, String)>;

/// Rows of a table: what was done, and how long it took.
pub(super) fn measure(folder: &Path, linux: &Path, mixed: &Path) -> Result<Rows> {
    let mut rows = Rows::new();
    let all = trees::open(linux)?.files()?;
    let part = folder.join("part");
    trees::copy(&trees::part_of(&all, UNINDEXED), linux, &part)?;
    let mut asked = Asked::start(folder, &part)?;
    asked.never_indexed(&mut rows)?;
    asked.saved(&mut rows)?;
    drop(asked);
    let switched = folder.join("switched");
    trees::copy(&trees::open(mixed)?.files()?, mixed, &switched)?;
    Asked::start(folder, &switched)?.switched(&mut rows)?;
    // The index of all of it is there by now, but for the text.
    let mut asked = Asked::open(folder, linux)?;
    asked.all_of_it(&mut rows)?;
    Ok(rows)
}

/// A server and the tree that it searches.
struct Asked {
    server: Server,
    started: Instant,
    tree: PathBuf,
}

impl Asked {
    /// Starts it with no index.
    fn start(folder: &Path, tree: &Path) -> Result<Self> {
        let cache = folder.join("meaning-cache");
        if cache.exists() {
            fs::remove_dir_all(&cache)?;
        }
        Self::with(&cache, tree)
    }

    /// Starts it with the index that was measured before.
    fn open(folder: &Path, tree: &Path) -> Result<Self> {
        let cache = folder.join("meaning-cache");
        let place = cache.join("toolbay/code");
        fs::create_dir_all(place.parent().context("a folder without a parent")?)?;
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        std::os::unix::fs::symlink(folder.join("cache"), &place)?;
        Self::with(&cache, tree)
    }

    fn with(cache: &Path, tree: &Path) -> Result<Self> {
        let toolbay = std::env::current_exe()?.with_file_name("toolbay");
        let started = Instant::now();
        Ok(Self { server: Server::start(&toolbay, cache, tree)?, started, tree: tree.to_owned() })
    }

    fn ask(&mut self, question: &str) -> Result<(Duration, Value)> {
        let (took, mut result) = self.server.call("search_by_embedding", &json!({ "query": question }))?;
        Ok((took, result["structuredContent"].take()))
    }

    fn never_indexed(&mut self, rows: &mut Rows) -> Result<()> {
        self.ask(QUESTIONS[0])?;
        let what = "50 MB that were never indexed: the first answer, from the start of the program";
        tell(rows, what, shown(self.started.elapsed()));
        let (while_indexed, took) = self.until_indexed()?;
        tell(rows, "questions while they are indexed, p50 / p99", while_indexed.both());
        tell(rows, "until they are, questions meanwhile", shown(took));
        let mut times = Times::default();
        for question in QUESTIONS.iter().cycle().take(4 * QUESTIONS.len()) {
            times.add(self.ask(question)?.0);
        }
        tell(rows, "questions after that, p50 / p99", times.both());
        tell(rows, "anonymous memory of the server, idle", self.memory()?);
        Ok(())
    }

    /// Saves files of it and asks at once for what they have now.
    fn saved(&mut self, rows: &mut Rows) -> Result<()> {
        let files = trees::open(&self.tree)?.files()?;
        let mut times = Times::default();
        for round in 0..SAVED {
            let entry = &files[files.len() * round / SAVED];
            let place = self.tree.join(entry.path.as_path());
            let mut bytes = fs::read(&place)?;
            bytes.extend(format!("\n// saved_just_now_{round}\n").bytes());
            let start = Instant::now();
            fs::write(&place, bytes)?;
            let (_, answer) = self.ask(&format!("saved_just_now_{round}"))?;
            times.add(start.elapsed());
            if answer["results"][0]["file_path"].as_str() != Some(&*entry.path.to_str_lossy()) {
                println!("not found at once: what was saved in {}", entry.path);
            }
        }
        tell(rows, "a file saved and found, p50 / p99", times.both());
        Ok(())
    }

    /// Changes thousands of files at once.
    fn switched(&mut self, rows: &mut Rows) -> Result<()> {
        self.until_indexed()?;
        let files = trees::open(&self.tree)?.files()?;
        let many = files.len().min(CHANGED);
        for at in 0..many {
            let place = self.tree.join(files[files.len() * at / many].path.as_path());
            let mut bytes = fs::read(&place)?;
            bytes.extend(b"\n");
            fs::write(&place, bytes)?;
        }
        let (times, took) = self.until_indexed()?;
        let what =
            format!("{} files changed at once: questions until they are indexed, p50 / p99", grouped(many));
        tell(rows, &what, times.both());
        tell(rows, "until they are", shown(took));
        Ok(())
    }

    fn all_of_it(&mut self, rows: &mut Rows) -> Result<()> {
        self.ask(QUESTIONS[0])?;
        let what = "all of the source of Linux: the first answer, from the start of the program";
        tell(rows, what, shown(self.started.elapsed()));
        self.until_indexed()?;
        let mut times = Times::default();
        for question in QUESTIONS.iter().cycle().take(4 * QUESTIONS.len()) {
            times.add(self.ask(question)?.0);
        }
        tell(rows, "questions, p50 / p99", times.both());
        tell(rows, "anonymous memory of the server, idle", self.memory()?);
        Ok(())
    }

    /// Asks until all files are indexed: what the questions took, and how long it was.
    fn until_indexed(&mut self) -> Result<(Times, Duration)> {
        let start = Instant::now();
        let mut times = Times::default();
        for question in QUESTIONS.iter().cycle() {
            let (took, answer) = self.ask(question)?;
            times.add(took);
            let index = &answer["index"];
            if index["files"].is_u64() && index["indexed_files"] == index["files"] {
                break;
            }
            if start.elapsed() > PATIENCE {
                bail!("not indexed after {PATIENCE:?}: {index}");
            }
            // As a client that reads its results.
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok((times, start.elapsed()))
    }

    fn memory(&self) -> Result<String> {
        let kilobytes =
            self.server.anonymous_memory().context("the memory of the server is not known here")?;
        Ok(format!("{} MB", kilobytes / 1000))
    }
}

fn tell(rows: &mut Rows, what: &str, came: String) {
    println!("{what}: {came}");
    rows.push((what.to_owned(), came));
}
