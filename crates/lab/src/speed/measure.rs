//! One tree, measured: building, opening, questions, one saved file, memory.

use std::{
    fs,
    path::Path,
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use toolbay_search::{
    semantic::{Index, Query, Text, TextSource, UpdateProgress},
    store::Store,
    tree::{FileEntry, RelPath, Tree},
};

use super::{
    questions::QUESTIONS,
    times::{Times, shown},
};

/// How often each question is asked.
const ROUNDS: usize = 4;
/// How often progress is reported.
const TELL: Duration = Duration::from_secs(10);

/// All about one tree.
#[derive(Debug)]
pub(super) struct Figures {
    pub(super) name: String,
    pub(super) files: usize,
    pub(super) bytes: u64,
    pub(super) chunks: usize,
    pub(super) indexed: Duration,
    pub(super) disk: u64,
    pub(super) opened: Duration,
    pub(super) first: Duration,
    pub(super) questions: Times,
    /// Until a file that was saved is found.
    pub(super) saved: Times,
    /// Until it is in the index.
    pub(super) updates: Times,
    /// Anonymous, after the questions, in MB.
    pub(super) memory: f64,
}

/// Searches a tree without an index.
pub(super) fn first_question(tree: &Tree, part: &Arc<[FileEntry]>) -> Result<()> {
    let size: u64 = part.iter().map(|entry| entry.stamp.size).sum();
    let mut times = Times::default();
    for question in QUESTIONS {
        let index = Index::in_memory(None);
        let start = Instant::now();
        index.search(&Query::new(*question, 10), part, tree)?;
        times.add(start.elapsed());
    }
    println!(
        "without an index, {} files, {:.1} MB: {} questions {}",
        part.len(),
        megabytes(size),
        times.len(),
        times.both()
    );
    Ok(())
}

/// Indexes some files of a tree below the folder `cache` and uses the index.
pub(super) fn measure(name: &str, tree: &Tree, entries: &Arc<[FileEntry]>, cache: &Path) -> Result<Figures> {
    ensure!(!entries.is_empty(), "there is nothing to search in {}", tree.root().path().display());
    Store::open(cache, tree.root().path())?.clear()?;
    let store = Store::open(cache, tree.root().path())?;
    let index = Index::open(store.clone(), None);
    let start = Instant::now();
    let mut told = start;
    let mut last = UpdateProgress::default();
    let mut progress = |progress: UpdateProgress| {
        last = progress;
        if told.elapsed() > TELL {
            told = Instant::now();
            eprintln!("  {} of {} files, {:.0} MB", last.files, last.of, megabytes(last.bytes));
        }
    };
    index.update(entries, tree, &mut progress, &AtomicBool::new(false))?;
    let indexed = start.elapsed();
    println!(
        "{name}: {} chunks of {} files, {:.1} MB, indexed in {}, {} segments, peak of memory {:.0} MB",
        last.chunks,
        last.files,
        megabytes(last.bytes),
        shown(indexed),
        index.size().segments,
        memory("VmHWM")?,
    );
    drop(index);

    let start = Instant::now();
    let index = Index::open(store.clone(), None);
    let opened = start.elapsed();
    let start = Instant::now();
    index.search(&Query::new(QUESTIONS[0], 10), entries, tree)?;
    let first = start.elapsed();
    let mut questions = Times::default();
    for _ in 0..ROUNDS {
        for question in QUESTIONS {
            let start = Instant::now();
            index.search(&Query::new(*question, 10), entries, tree)?;
            questions.add(start.elapsed());
        }
    }
    let memory = memory("RssAnon")?;
    println!("  {} questions {}, {memory:.0} MB of anonymous memory", questions.len(), questions.both());
    let (saved, updates) = one_saved_file(&index, tree, entries)?;
    println!("  a saved file: found in {}, in the index in {}", saved.both(), updates.both());
    Ok(Figures {
        name: name.to_owned(),
        files: last.files,
        bytes: last.bytes,
        chunks: last.chunks,
        indexed,
        disk: store.size(),
        opened,
        first,
        questions,
        saved,
        updates,
        memory,
    })
}

/// A tree in which one file was saved again.
#[derive(Debug)]
struct Saved<'a> {
    tree: &'a Tree,
    entry: FileEntry,
    text: String,
}

impl TextSource for Saved<'_> {
    fn text(&self, path: &RelPath) -> Option<Text> {
        if *path == self.entry.path {
            return Some(Text { stamp: self.entry.stamp, text: Some(self.text.clone()) });
        }
        self.tree.text(path)
    }
}

fn one_saved_file(index: &Index, tree: &Tree, entries: &Arc<[FileEntry]>) -> Result<(Times, Times)> {
    let (mut searches, mut updates) = (Times::default(), Times::default());
    for round in 0..20 {
        let at = entries.len() * round / 20;
        let mut now = entries.to_vec();
        now[at].stamp.mtime_ns += 1 + round as i64;
        let name = format!("saved_just_now_{round}");
        let Some(text) = tree.text(&now[at].path).and_then(|text| text.text) else { continue };
        let text = format!("{text}\n// {name}\n");
        let saved = Saved { tree, entry: now[at].clone(), text };
        let now: Arc<[FileEntry]> = now.into();
        let start = Instant::now();
        let answer = index.search(&Query::new(name.as_str(), 1), &now, &saved)?;
        searches.add(start.elapsed());
        if answer.hits.first().is_none_or(|hit| hit.path != saved.entry.path) {
            println!("  not found at once: {name} in {}", saved.entry.path);
        }
        let start = Instant::now();
        index.update(&now, &saved, &mut |_| (), &AtomicBool::new(false))?;
        updates.add(start.elapsed());
    }
    Ok((searches, updates))
}

pub(super) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// A line of the process's status, in MB.
fn memory(line: &str) -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status").context("cannot read the memory of this process")?;
    let found = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':'));
    let kilobytes = found.and_then(|text| text.trim().trim_end_matches(" kB").parse::<f64>().ok());
    Ok(kilobytes.context("no such line in the status")? / 1e3)
}
