//! The search of files, on all cores, in order.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use grep_regex::RegexMatcher;

use super::collect::Collect;
use super::reader::FileSearcher;
use super::{Hit, Query, Total};
use crate::tree::{RelPath, TreeRoot};
use parking_lot::Mutex;

/// Fewer files than this are searched on the caller's thread: starting threads takes longer.
const ALONE: usize = 8;

/// Where the files come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScanSource {
    /// The listing of the whole tree.
    Tree,
    /// A walk for this query.
    Walk,
    /// The caller named this one file: ripgrep shows a part of it even if it is binary.
    Named,
}

/// What a scan found in the files it came to.
#[derive(Debug)]
pub(super) struct ScanResult {
    pub(super) hits: Vec<Hit>,
    pub(super) total: Total,
    pub(super) files: u64,
}

/// Searches `paths` in order, until the page is full and enough is counted, or `stop` is set.
///
/// Threads take files in order and finish those they have taken, so what was searched is always a beginning of `paths`,
/// whichever thread was faster.
pub(super) fn scan(
    root: &TreeRoot,
    matcher: &RegexMatcher,
    query: &Query,
    paths: &[&RelPath],
    source: ScanSource,
    stop: &AtomicBool,
) -> ScanResult {
    let scan = Scan {
        root,
        matcher,
        query,
        paths,
        source,
        stop,
        enough: query.count_to.max(query.wanted() as u64),
        next: AtomicUsize::new(0),
        found: AtomicU64::new(0),
        files: AtomicU64::new(0),
        hits: Mutex::new(Vec::new()),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // Some wait for the disk while others compute.
    let threads = (2 * cores).min(16);
    if paths.len() < ALONE {
        scan.work();
    } else {
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| scan.work());
            }
            scan.work();
        });
    }
    scan.end()
}

struct Scan<'a> {
    root: &'a TreeRoot,
    matcher: &'a RegexMatcher,
    query: &'a Query,
    paths: &'a [&'a RelPath],
    source: ScanSource,
    stop: &'a AtomicBool,
    enough: u64,
    /// The next file to take.
    next: AtomicUsize,
    /// Matching lines in files that are done.
    found: AtomicU64,
    files: AtomicU64,
    /// Hits by the place of their file in `paths`.
    hits: Mutex<Vec<(usize, Vec<Hit>)>>,
}

impl Scan<'_> {
    fn work(&self) {
        // A matcher of its own: threads that share one wait for its scratch space.
        let matcher = self.matcher.clone();
        let mut reader = FileSearcher::new(self.root, self.query, &matcher);
        while self.found.load(Ordering::Acquire) < self.enough && !self.stop.load(Ordering::Relaxed) {
            // What is done now comes before the file taken next: once that fills the page, the rest is only counted.
            let filled = self.found.load(Ordering::Acquire) >= self.query.wanted() as u64;
            let at = self.next.fetch_add(1, Ordering::AcqRel);
            let Some(path) = self.paths.get(at) else { break };
            let wanted = if filled { 0 } else { self.query.wanted() };
            let mut collect = Collect::new(&matcher, self.query, wanted);
            let searched = match self.source {
                ScanSource::Tree | ScanSource::Walk => reader.search(path, &mut collect),
                ScanSource::Named => reader.search_named(path, &mut collect),
            };
            // Gone, not readable, no longer a file: ripgrep warns and goes on.
            if searched.is_err() {
                continue;
            }
            if collect.count > 0 {
                self.files.fetch_add(1, Ordering::Relaxed);
                let count = collect.count;
                let hits = collect.hits(path);
                self.hits.lock().push((at, hits));
                self.found.fetch_add(count, Ordering::Release);
            }
        }
    }

    fn end(self) -> ScanResult {
        let mut by_file = self.hits.into_inner();
        by_file.sort_unstable_by_key(|(at, _)| *at);
        let hits = by_file.into_iter().flat_map(|(_, hits)| hits);
        let hits = hits.skip(self.query.offset).take(self.query.limit).collect();
        let found = self.found.into_inner();
        let whole = self.next.into_inner() >= self.paths.len() && !self.stop.load(Ordering::Relaxed);
        let total = if whole { Total::Exactly(found) } else { Total::AtLeast(found) };
        ScanResult { hits, total, files: self.files.into_inner() }
    }
}
