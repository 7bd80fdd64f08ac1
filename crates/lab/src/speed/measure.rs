//! One tree, measured: building, opening, questions, one saved file, memory.

use std::{
    fs,
    path::Path,
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use toolbay_search::{
    meaning::{Index, Progress, Query, Source, Text},
    store::Store,
    tree::{Entry, RelPath, Tree},
};

use super::questions::QUESTIONS;

/// What is compared with others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Figures {
    pub(super) indexed: Duration,
    /// The median of the questions.
    pub(super) question: Duration,
}

/// Asks questions of a tree that nobody has indexed.
pub(super) fn first_question(tree: &Tree, part: &Arc<[Entry]>) -> Result<()> {
    let size: u64 = part.iter().map(|entry| entry.stamp.size).sum();
    let mut times = Vec::new();
    for question in QUESTIONS.iter().take(8) {
        let index = Index::in_memory(None);
        let start = Instant::now();
        index.search(&Query::new(*question, 10), part, tree)?;
        times.push(start.elapsed());
    }
    println!(
        "first question without an index, {} files, {:.1} MB: {}",
        part.len(),
        megabytes(size),
        percentiles(&mut times)
    );
    Ok(())
}

/// Indexes some files of a tree below the folder `cache` and uses the index.
pub(super) fn measure(tree: &Tree, entries: &Arc<[Entry]>, cache: &Path) -> Result<Figures> {
    let store = Store::open(cache, tree.root().path())?;
    store.clear()?;
    let store = Store::open(cache, tree.root().path())?;
    let index = Index::open(store.clone(), None);
    let start = Instant::now();
    let mut last = Progress::default();
    let mut progress = |progress: Progress| last = progress;
    index.update(entries, tree, &mut progress, &AtomicBool::new(false))?;
    let indexed = start.elapsed();
    let took = indexed.as_secs_f64();
    println!(
        "\n{} chunks of {} files, {:.1} MB: indexed in {took:.1} s ({:.1} MB/s, {:.0} chunks/s), {:.1} MB on disk, {} segments, \
         peak of memory {:.0} MB",
        last.chunks,
        last.files,
        megabytes(last.bytes),
        megabytes(last.bytes) / took,
        last.chunks as f64 / took,
        megabytes(store.size()),
        index.size().segments,
        memory("VmHWM")?,
    );
    drop(index);

    let start = Instant::now();
    let index = Index::open(store, None);
    println!("  opening: {:.2?}", start.elapsed());
    let start = Instant::now();
    index.search(&Query::new(QUESTIONS[0], 10), entries, tree)?;
    println!("  first question after it: {:.2?}", start.elapsed());
    let mut times = Vec::new();
    for _ in 0..3 {
        for question in QUESTIONS {
            let start = Instant::now();
            index.search(&Query::new(*question, 10), entries, tree)?;
            times.push(start.elapsed());
        }
    }
    println!("  {} questions: {}", times.len(), percentiles(&mut times));
    println!("  anonymous memory: {:.0} MB", memory("RssAnon")?);
    one_saved_file(&index, tree, entries)?;
    Ok(Figures { indexed, question: times[times.len() / 2] })
}

/// A tree in which one file was saved again.
#[derive(Debug)]
struct Saved<'a> {
    tree: &'a Tree,
    entry: Entry,
    text: String,
}

impl Source for Saved<'_> {
    fn text(&self, path: &RelPath) -> Option<Text> {
        if *path == self.entry.path {
            return Some(Text { stamp: self.entry.stamp, text: Some(self.text.clone()) });
        }
        self.tree.text(path)
    }
}

fn one_saved_file(index: &Index, tree: &Tree, entries: &Arc<[Entry]>) -> Result<()> {
    let mut searches = Vec::new();
    let mut updates = Vec::new();
    for round in 0..20 {
        let at = entries.len() * round / 20;
        let mut now = entries.to_vec();
        now[at].stamp.mtime_ns += 1 + round as i64;
        let name = format!("saved_just_now_{round}");
        let Some(text) = tree.text(&now[at].path).and_then(|text| text.text) else { continue };
        let text = format!("{text}\n// {name}\n");
        let saved = Saved { tree, entry: now[at].clone(), text };
        let now: Arc<[Entry]> = now.into();
        let start = Instant::now();
        let answer = index.search(&Query::new(name.as_str(), 1), &now, &saved)?;
        searches.push(start.elapsed());
        if answer.hits.first().is_none_or(|hit| hit.path != saved.entry.path) {
            println!("  not found at once: {name} in {}", saved.entry.path);
        }
        let start = Instant::now();
        index.update(&now, &saved, &mut |_| (), &AtomicBool::new(false))?;
        updates.push(start.elapsed());
    }
    println!(
        "  a saved file: found in {}; in the index in {}",
        percentiles(&mut searches),
        percentiles(&mut updates)
    );
    Ok(())
}

fn percentiles(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |share: usize| times.get((times.len() * share / 100).min(times.len().saturating_sub(1)));
    format!(
        "p50 {:.1?}, p99 {:.1?}",
        at(50).copied().unwrap_or_default(),
        at(99).copied().unwrap_or_default()
    )
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// A line of the process's status, in MB.
fn memory(line: &str) -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status").context("cannot read the memory of this process")?;
    let found = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':'));
    let kilobytes = found.and_then(|text| text.trim().trim_end_matches(" kB").parse::<f64>().ok());
    Ok(kilobytes.context("no such line in the status")? / 1e3)
}
