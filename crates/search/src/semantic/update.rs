//! Brings the index up to date: changed files into new segments, small segments together.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use super::{
    embed::Embedder,
    index::Index,
    index::SemanticError,
    segment::{Builder, MergeSize, Sections, Segment, choose_merge, merge, stored},
    source::TextSource,
    state::{Comparison, LoadedSegment, SegmentSet},
};
use crate::{
    store::WriterLock,
    tree::{FileEntry, Stamp},
};
use parking_lot::Mutex;

/// How many threads cut and embed.
const THREADS: usize = 2;
/// A segment is written when this much of it is in memory, on each thread.
const SEGMENT_BYTES: usize = 64 << 20;
/// Files that a thread takes at once: neighbours, so that segments are about one part of the tree.
const STRIDE: usize = 32;

/// How far an update is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UpdateProgress {
    /// Files looked at.
    pub files: usize,
    /// Files to look at.
    pub of: usize,
    /// Chunks made of them.
    pub chunks: usize,
    /// Bytes of text in them.
    pub bytes: u64,
}

/// What an update did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpdateReport {
    /// All that was done.
    pub done: UpdateProgress,
    /// Another process is updating the index: nothing was done.
    pub busy: bool,
    /// It was stopped before the end.
    pub stopped: bool,
    /// Files that changed too lately to be trusted: they are searched as they are, and indexed by a later update.
    pub young: usize,
    /// Why vectors of the other embedder are missing.
    pub notice: Option<String>,
}

/// What threads share.
struct UpdateWork<'a> {
    index: &'a Index,
    pending: &'a [FileEntry],
    source: &'a dyn TextSource,
    embedder: Option<&'a dyn Embedder>,
    lock: Option<&'a WriterLock>,
    stop: &'a AtomicBool,
    next: AtomicUsize,
    shared: Mutex<UpdateShared<'a>>,
}

struct UpdateShared<'a> {
    report: UpdateReport,
    progress: &'a mut (dyn FnMut(UpdateProgress) + Send),
    failed: Option<SemanticError>,
}

impl Index {
    /// Indexes what has changed, on two threads. What is done is kept and can be searched from time to time, so stopping, or
    /// being killed, loses little.
    ///
    /// # Errors
    /// If the store cannot be written. The index is as it was then, or further.
    pub fn update(
        &self,
        entries: &[FileEntry],
        source: &dyn TextSource,
        progress: &mut (dyn FnMut(UpdateProgress) + Send),
        stop: &AtomicBool,
    ) -> Result<UpdateReport, SemanticError> {
        let lock = match &self.store {
            Some(store) => match store.lock()? {
                Some(lock) => Some(lock),
                None => return Ok(UpdateReport { busy: true, ..UpdateReport::default() }),
            },
            None => None,
        };
        self.refresh();
        self.leave_out_unreadable();
        let state = self.current();
        let pending = self.pending(&state, entries)?;
        let report = UpdateReport {
            done: UpdateProgress { of: pending.len(), ..UpdateProgress::default() },
            ..UpdateReport::default()
        };
        let work = UpdateWork {
            index: self,
            pending: &pending,
            source,
            embedder: self.embedder.as_deref(),
            lock: lock.as_ref(),
            stop,
            next: AtomicUsize::new(0),
            shared: Mutex::new(UpdateShared { report, progress, failed: None }),
        };
        if pending.len() <= STRIDE {
            work.run();
        } else {
            std::thread::scope(|threads| {
                (1..THREADS).for_each(|_| drop(threads.spawn(|| work.run())));
                work.run();
            });
        }
        let shared = work.shared.into_inner();
        if let Some(failed) = shared.failed {
            return Err(failed);
        }
        self.merge_small(entries, lock.as_ref())?;
        if let (Some(store), Some(_)) = (&self.store, &lock) {
            stored::sweep(store, &self.current().names())?;
        }
        Ok(shared.report)
    }

    /// Files that no segment has, or that lack vectors of the present embedder.
    fn pending(&self, state: &SegmentSet, entries: &[FileEntry]) -> Result<Vec<FileEntry>, SemanticError> {
        let Comparison { mut pending, owners, .. } = state.compare(entries)?;
        let Some(embedder) = &self.embedder else { return Ok(pending) };
        let lacking = |owner: &Option<u32>| {
            owner.is_some_and(|part| {
                let other = &state.kept[part as usize].segment.meta().other;
                other.as_ref().is_none_or(|other| other.name != embedder.name())
            })
        };
        pending.extend(
            entries.iter().zip(&owners).filter(|(_, owner)| lacking(owner)).map(|(it, _)| it.clone()),
        );
        pending.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        pending.dedup_by(|a, b| a.path == b.path);
        Ok(pending)
    }

    /// A segment that cannot be read is as good as none: its files are pending.
    fn leave_out_unreadable(&self) {
        let mut loaded = self.state.lock();
        if loaded.state.kept.iter().any(|kept| kept.segment.files().is_err()) {
            let sound = loaded.state.kept.iter().filter(|kept| kept.segment.files().is_ok());
            loaded.state = Arc::new(SegmentSet::new(sound.cloned().collect()));
        }
    }

    /// Puts a new segment in use, in place of others.
    fn adopt(
        &self,
        sections: Sections,
        instead_of: &[Arc<Segment>],
        lock: Option<&WriterLock>,
    ) -> Result<(), SemanticError> {
        let (name, segment) = match (&self.store, lock) {
            (Some(store), Some(lock)) => {
                // One thread at a time: names are given by what is there.
                let _one = self.naming.lock();
                let name = stored::new_name(store)?;
                stored::write(store, lock, &name, &sections)?;
                drop(sections);
                let segment = stored::open(store, &name)?;
                (Some(name), segment)
            }
            _ => (None, Segment::open(Arc::new(sections))?),
        };
        let mut loaded = self.state.lock();
        let stays = |kept: &&LoadedSegment| !instead_of.iter().any(|gone| Arc::ptr_eq(gone, &kept.segment));
        let mut kept: Vec<LoadedSegment> = loaded.state.kept.iter().filter(stays).cloned().collect();
        if segment.meta().files > 0 {
            kept.push(LoadedSegment { name, segment: Arc::new(segment) });
        }
        let state = SegmentSet::new(kept);
        if let (Some(store), Some(lock)) = (&self.store, lock) {
            stored::write_list(store, lock, &state.names())?;
            loaded.list = Self::open_list(store);
        }
        loaded.state = Arc::new(state);
        Ok(())
    }

    /// Makes one segment of several small ones, or of those that are mostly about files that are gone.
    fn merge_small(&self, entries: &[FileEntry], lock: Option<&WriterLock>) -> Result<(), SemanticError> {
        loop {
            let state = self.current();
            let comparison = state.compare(entries)?;
            let sizes: Vec<MergeSize> = comparison
                .view
                .parts
                .iter()
                .map(|part| MergeSize {
                    chunks: part.segment.meta().chunks,
                    wanted: (0..)
                        .zip(part.counts.iter())
                        .filter(|(_, counts)| **counts)
                        .map(|(file, _)| part.files.chunks_of(file).len() as u32)
                        .sum(),
                })
                .collect();
            let chosen = choose_merge(&sizes);
            if chosen.is_empty() {
                return Ok(());
            }
            let parts: Vec<_> = chosen.iter().map(|at| &comparison.view.parts[*at]).collect();
            let segments: Vec<&Segment> = parts.iter().map(|part| &*part.segment).collect();
            let merged = merge(&segments, |part, file| parts[part].counts[file as usize])?;
            let gone: Vec<Arc<Segment>> = parts.iter().map(|part| part.segment.clone()).collect();
            self.adopt(merged, &gone, lock)?;
        }
    }
}

impl UpdateWork<'_> {
    fn run(&self) {
        let mut builder = Builder::default();
        let end = self.files(&mut builder).and_then(|()| self.flush(&mut builder));
        if let Err(failed) = end {
            self.shared.lock().failed = Some(failed);
        }
    }

    fn files(&self, builder: &mut Builder) -> Result<(), SemanticError> {
        loop {
            let start = self.next.fetch_add(STRIDE, Ordering::Relaxed);
            let Some(some) = self.pending.get(start..self.pending.len().min(start + STRIDE)) else {
                return Ok(());
            };
            for entry in some {
                if self.is_over() {
                    return Ok(());
                }
                self.file(builder, entry);
                if builder.size() > SEGMENT_BYTES {
                    self.flush(builder)?;
                }
            }
            if some.is_empty() {
                return Ok(());
            }
        }
    }

    /// Stopped, or another thread failed.
    fn is_over(&self) -> bool {
        let mut shared = self.shared.lock();
        shared.report.stopped |= self.stop.load(Ordering::Relaxed);
        shared.report.stopped || shared.failed.is_some()
    }

    fn file(&self, builder: &mut Builder, entry: &FileEntry) {
        let before = builder.chunks();
        let read = self.source.text(&entry.path);
        let mut young = false;
        let mut notice = None;
        let mut bytes = 0;
        if let Some(text) = read {
            young = text.stamp == Stamp::NEVER;
            if !young {
                // What is no text is remembered as such, so that it is not read again.
                let content = text.text.as_deref().unwrap_or_default();
                bytes = content.len() as u64;
                notice = builder.add(&entry.path, text.stamp, content, self.embedder).err();
            }
        }
        let mut shared = self.shared.lock();
        shared.report.young += usize::from(young);
        if let Some(notice) = notice {
            shared.report.notice = Some(notice.to_string());
        }
        shared.report.done.files += 1;
        shared.report.done.chunks += builder.chunks() - before;
        shared.report.done.bytes += bytes;
        let done = shared.report.done;
        (shared.progress)(done);
    }

    fn flush(&self, builder: &mut Builder) -> Result<(), SemanticError> {
        if builder.is_empty() {
            return Ok(());
        }
        self.index.adopt(builder.finish(), &[], self.lock)
    }
}
