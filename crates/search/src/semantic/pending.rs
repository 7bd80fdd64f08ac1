//! Files that are not in the index yet, made searchable for one query: all of them if they are few, else those that have
//! its words.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use aho_corasick::AhoCorasick;

use super::{
    query::ParsedQuery,
    rank::path,
    segment::{Builder, Damaged, Segment},
    source::{Text, TextSource},
};
use crate::tree::{FileEntry, RelPath, Stamp};
use parking_lot::Mutex;

/// How much text is chunked and embedded during a search.
const BUDGET: u64 = 3 << 19;
/// The most files that one query reads.
const MOST_FILES: usize = 2_000;
/// How long files are looked through before those that were read have to do.
const PATIENCE: Duration = Duration::from_millis(1_000);
/// Reading stops to look at the clock after so many files.
const STRIDE: usize = 16;
/// A word counts no more than this often in one file.
const ENOUGH: u8 = 60;

/// What was made of pending files, and whether it was all of them.
#[derive(Debug, Clone)]
pub(super) struct Overlay {
    pub(super) segment: Arc<Segment>,
    pub(super) complete: bool,
}

impl Overlay {
    /// Whether none of its files is too young to be taken for unchanged.
    pub(super) fn is_trusted(&self) -> Result<bool, Damaged> {
        Ok(self.segment.files()?.rows.iter().all(|row| row.stamp != Stamp::NEVER))
    }
}

/// Makes a segment in memory of pending files.
pub(super) fn overlay(
    pending: &[FileEntry],
    parsed: &ParsedQuery,
    source: &dyn TextSource,
) -> Result<Overlay, Damaged> {
    let size: u64 = pending.iter().map(|entry| entry.stamp.size).sum();
    if size <= BUDGET && pending.len() <= MOST_FILES {
        let segment = build(pending.iter().map(|entry| &entry.path), source)?;
        return Ok(Overlay { segment, complete: true });
    }
    let chosen = choose(pending, parsed, source);
    let segment = build(chosen.iter().map(|entry| &entry.path), source)?;
    Ok(Overlay { segment, complete: false })
}

/// Cuts and embeds on two threads; the order of files does not depend on them.
fn build<'a>(
    paths: impl Iterator<Item = &'a RelPath>,
    source: &dyn TextSource,
) -> Result<Arc<Segment>, Damaged> {
    let paths: Vec<&RelPath> = paths.collect();
    let half = |paths: &[&RelPath]| {
        let mut builder = Builder::default();
        for path in paths {
            if let Some(Text { stamp, text: Some(text) }) = source.text(path) {
                // The built-in model alone: an endpoint would take too long.
                let _ = builder.add(path, stamp, &text, None);
            }
        }
        Segment::open(Arc::new(builder.finish()))
    };
    let (first, second) = paths.split_at(paths.len() / 2);
    if paths.len() < 4 {
        return half(&paths).map(Arc::new);
    }
    let (first, second) = std::thread::scope(|threads| {
        let other = threads.spawn(|| half(second));
        let first = half(first);
        (first, other.join().unwrap_or(Err(Damaged::Nonsense("a thread that made it stopped"))))
    });
    let both = super::segment::merge(&[&first?, &second?], |_, _| true)?;
    Segment::open(Arc::new(both)).map(Arc::new)
}

/// A file that has words of the query.
#[derive(Debug)]
struct Match<'a> {
    entry: &'a FileEntry,
    counts: Vec<u8>,
}

/// The files that have most of the query, as many as there is time for.
fn choose<'a>(pending: &'a [FileEntry], parsed: &ParsedQuery, source: &dyn TextSource) -> Vec<&'a FileEntry> {
    let Ok(finder) = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(parsed.words.iter().map(|word| beginning(&word.stem)))
    else {
        return Vec::new();
    };
    let until = Instant::now() + PATIENCE;
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    let work = || {
        let mut matches = Vec::new();
        while Instant::now() < until {
            let start = next.fetch_add(STRIDE, Ordering::Relaxed);
            let Some(some) = pending.get(start..pending.len().min(start + STRIDE)) else { break };
            if some.is_empty() {
                break;
            }
            matches.extend(some.iter().filter_map(|entry| look(entry, &finder, source)));
        }
        found.lock().extend(matches);
    };
    std::thread::scope(|threads| {
        threads.spawn(work);
        work();
    });
    let matches = found.into_inner();
    best(matches, parsed.words.len(), pending.len())
}

fn look<'a>(entry: &'a FileEntry, finder: &AhoCorasick, source: &dyn TextSource) -> Option<Match<'a>> {
    let text = source.text(&entry.path)?.text?;
    let mut counts = vec![0_u8; finder.patterns_len()];
    let path = entry.path.to_str_lossy();
    for (text, worth) in [(text.as_str(), 1), (&*path, 4)] {
        for found in finder.find_iter(text) {
            let count = &mut counts[found.pattern().as_usize()];
            *count = count.saturating_add(worth).min(ENOUGH);
        }
    }
    counts.iter().any(|count| *count > 0).then_some(Match { entry, counts })
}

fn best<'a>(matches: Vec<Match<'a>>, words: usize, files: usize) -> Vec<&'a FileEntry> {
    let rarity: Vec<f32> = (0..words)
        .map(|word| {
            let with = matches.iter().filter(|found| found.counts[word] > 0).count();
            (1.0 + files as f32 / (with as f32 + 1.0)).ln()
        })
        .collect();
    let mut scored: Vec<(f32, &FileEntry)> = matches
        .into_iter()
        .map(|found| {
            let counts = found.counts.iter().zip(&rarity);
            let score: f32 =
                counts.map(|(count, idf)| idf * f32::from(*count) / (f32::from(*count) + 2.0)).sum();
            let role = path::role(&found.entry.path.to_str_lossy());
            (if role.test || role.aside { score * 0.6 } else { score }, found.entry)
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.path.cmp(&b.1.path)));
    let mut left = BUDGET;
    let mut chosen = Vec::new();
    for (_, entry) in scored.into_iter().take(MOST_FILES) {
        if let Some(rest) = left.checked_sub(entry.stamp.size) {
            left = rest;
            chosen.push(entry);
        }
    }
    chosen
}

/// What words with this stem begin with: `retri` is the stem of `retry`.
fn beginning(stem: &str) -> &str {
    match stem.strip_suffix(['i', 'e']) {
        Some(rest) if rest.len() >= 3 => rest,
        _ => stem,
    }
}
