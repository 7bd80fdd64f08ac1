//! Bringing the index up to date: only files that changed are read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::SystemTime;

use super::merge::{self, MergePart};
use super::postings::Gathered;
use super::segment::SegmentWriter;
use super::trigrams::{ByteKind, Extractor};
use super::view::{Join, View};
use super::{INDEXED_SIZE, Index};
use crate::store::{Store, StoreError, WriterLock};
use crate::tree::{FileEntry, Links, Stamp, Tree, TreeError, TreeRoot};
use parking_lot::Mutex;

/// Bytes of lists that one thread gathers before it writes them down.
const GATHERED: usize = 192 << 20;
/// Fewer files than this are read on the thread of the caller.
const ALONE: usize = 16;
/// More segments than this are merged.
const SEGMENTS: usize = 8;

/// How far an update has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdateProgress {
    /// Files read.
    pub done: usize,
    /// Files to read in all.
    pub of: usize,
    /// Bytes read.
    pub bytes: u64,
}

/// What an update did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UpdateReport {
    /// Files of the tree.
    pub files: usize,
    /// Files that were read.
    pub indexed: usize,
    /// Files that must be looked at again soon, because they have changed too lately for their stamp to be trusted.
    pub young: usize,
    /// Whether another process is at it, so that nothing was done here.
    pub busy: bool,
    /// Whether it was stopped, so that nothing was written.
    pub stopped: bool,
}

/// Why an update failed. Searches go on without what it would have brought.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// The store: a full disk, a read-only cache.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The tree.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

impl Index {
    /// Reads the files that are new or have changed, and stores what is known of them.
    ///
    /// # Errors
    /// If the tree cannot be read or the store not be written.
    pub fn update(
        &self,
        tree: &Tree,
        progress: &(dyn Fn(UpdateProgress) + Sync),
        stop: &AtomicBool,
    ) -> Result<UpdateReport, UpdateError> {
        let files = tree.files()?;
        let mut report = UpdateReport { files: files.len(), ..UpdateReport::default() };
        let Some(store) = &self.store else { return Ok(report) };
        let Some(lock) = store.lock()? else { return Ok(UpdateReport { busy: true, ..report }) };
        let join = self.join(files);
        let todo: Vec<&FileEntry> = join.loose.iter().map(|at| &join.files[*at as usize]).collect();
        let todo: Vec<&FileEntry> =
            todo.into_iter().filter(|entry| entry.stamp.size <= INDEXED_SIZE).collect();
        let reading = Reading {
            root: tree.root(),
            store,
            lock: &lock,
            todo: &todo,
            progress,
            stop,
            next: AtomicUsize::new(0),
            bytes: AtomicU64::new(0),
            spilled: AtomicUsize::new(0),
            indexed: AtomicUsize::new(0),
            parts: Mutex::default(),
            failed: Mutex::default(),
        };
        let (parts, indexed) = reading.run()?;
        report.stopped = stop.load(Ordering::Relaxed);
        report.indexed = indexed;
        report.young = todo.len() - report.indexed;
        if !report.stopped {
            write(store, &lock, &join, parts)?;
        }
        Ok(report)
    }
}

/// Writes the new parts, and merges what has become small or stale.
fn write(store: &Store, lock: &WriterLock, join: &Join, parts: Vec<MergePart>) -> Result<(), StoreError> {
    let new: usize = parts.iter().map(MergePart::len).sum();
    let live: Vec<usize> = (0..join.view.segments.len()).map(|at| join.live(at)).collect();
    let stale = join.view.len() - live.iter().sum::<usize>();
    if new == 0 && stale <= join.view.len() / 2 {
        return Ok(());
    }
    let kept = kept(&live, new, stale, join.view.len());
    let mut all = Vec::new();
    for (at, segment) in join.view.segments.iter().enumerate().skip(kept) {
        all.push(MergePart::stored(Arc::clone(segment), |number| join.is_live(at, number)));
    }
    all.extend(parts);
    let mut names: Vec<String> = join.view.segments[..kept].iter().map(|it| it.name().to_owned()).collect();
    let files: usize = all.iter().map(MergePart::len).sum();
    if files > 0 {
        let name = View::new_name(store)?;
        let writer = SegmentWriter::create(store, lock, &name, files)?;
        merge::write(writer, all)?;
        names.push(name);
    }
    View::store(store, lock, &names)
}

/// How many of the oldest segments stay as they are: those that are much larger than what comes after them.
fn kept(live: &[usize], new: usize, stale: usize, all: usize) -> usize {
    if stale > all / 2 {
        return 0;
    }
    let mut kept = live.len();
    let mut after = new;
    while kept > 0 && (live[kept - 1] < 2 * after || kept >= SEGMENTS) {
        kept -= 1;
        after += live[kept];
    }
    kept
}

/// Files being read, by several threads.
struct Reading<'a> {
    root: &'a TreeRoot,
    store: &'a Store,
    lock: &'a WriterLock,
    todo: &'a [&'a FileEntry],
    progress: &'a (dyn Fn(UpdateProgress) + Sync),
    stop: &'a AtomicBool,
    next: AtomicUsize,
    bytes: AtomicU64,
    spilled: AtomicUsize,
    indexed: AtomicUsize,
    parts: Mutex<Vec<MergePart>>,
    failed: Mutex<Option<StoreError>>,
}

impl Reading<'_> {
    /// What was read, and of how many files.
    fn run(self) -> Result<(Vec<MergePart>, usize), StoreError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from).min(8);
        if self.todo.len() < ALONE || cores == 1 {
            self.work();
        } else {
            std::thread::scope(|scope| {
                for _ in 1..cores {
                    scope.spawn(|| self.work());
                }
                self.work();
            });
        }
        match self.failed.into_inner() {
            Some(error) => Err(error),
            None => {
                let parts = self.parts.into_inner();
                Ok((parts, self.indexed.into_inner()))
            }
        }
    }

    fn work(&self) {
        if let Err(error) = self.try_work() {
            // Ends the other threads, too.
            self.next.store(self.todo.len(), Ordering::Relaxed);
            *self.failed.lock() = Some(error);
        }
    }

    fn try_work(&self) -> Result<(), StoreError> {
        let mut extractor = Extractor::new();
        let mut lists = Gathered::new();
        let mut files = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(entry) = self.todo.get(at) else { break };
            let bytes = self.bytes.fetch_add(entry.stamp.size, Ordering::Relaxed);
            (self.progress)(UpdateProgress { done: at, of: self.todo.len(), bytes });
            // Not readable, or changing right now: searches look at it themselves.
            let Some((kind, stamp)) = self.read(entry, &mut extractor) else { continue };
            self.indexed.fetch_add(1, Ordering::Relaxed);
            for piece in extractor.pieces() {
                lists.add(files.len() as u32, piece);
                files.push((entry.path.clone(), stamp, kind));
            }
            if lists.bytes() > GATHERED {
                let lists = std::mem::replace(&mut lists, Gathered::new());
                let part = MergePart::gathered(lists, std::mem::take(&mut files));
                let number = self.spilled.fetch_add(1, Ordering::Relaxed);
                self.add(part.spill(self.store, self.lock, number)?);
            }
        }
        if !files.is_empty() {
            self.add(MergePart::gathered(lists, files));
        }
        Ok(())
    }

    fn add(&self, part: MergePart) {
        self.parts.lock().push(part);
    }

    /// Reads one file; `None` if it cannot be read, or its stamp not be trusted.
    fn read(&self, entry: &FileEntry, extractor: &mut Extractor) -> Option<(ByteKind, Stamp)> {
        let read_at = SystemTime::now();
        let (file, before) = self.root.open_file(&entry.path, Links::Refuse).ok()?;
        let stamp = before.if_rested(read_at);
        if stamp == Stamp::NEVER {
            return None;
        }
        let kind = extractor.read(&file, before.size).ok()?;
        let after = Stamp::of(&rustix::fs::fstat(&file).ok()?);
        (after == before).then_some((kind, stamp))
    }
}
