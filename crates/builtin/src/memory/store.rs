//! A knowledge graph in a file that several processes use at once.
//!
//! The file has the format of the reference server: a JSON object per line. Rewriting it for every change would take longer
//! the more is remembered, and two writers would lose each other's changes. So a change is one line appended to a journal
//! beside the file, under a lock that all processes take; from time to time the journal is merged into the file. A process
//! that is killed at any point leaves a file and a journal that together have every change that was acknowledged.
//!
//! Lines that cannot be read cost nothing but themselves: they are moved to a file of their own. Where nothing can be written,
//! the graph can still be read.

mod file;

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::PathBuf,
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rustix::{
    fs::{FlockOperation, OFlags},
    io::Errno,
};

use super::graph::{Graph, GraphChange, UnknownEntity};
use file::{FileState, Line, PRIVATE, beside, is_read_only, lines, open_journal, open_regular, write_draft};

/// A journal of this size is merged into the file with the next change.
const MAX_JOURNAL: u64 = 1024 * 1024;
/// How long another process may hold the lock. It holds it for milliseconds unless it is stopped in a debugger.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const LOCK_RETRY: Duration = Duration::from_millis(1);
/// Only the user may read what is remembered.
const PRIVATE_DIRECTORY: u32 = 0o700;

/// The most that a store takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quota {
    /// Entities.
    pub(super) entities: usize,
    /// Bytes of the file and the journal.
    pub(super) bytes: u64,
}

/// A graph in a file.
#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    journal: PathBuf,
    quota: Quota,
    /// Opened with the first use.
    lock: OnceLock<File>,
    loaded: Mutex<Loaded>,
}

/// The graph as it was when file and journal were last read.
#[derive(Debug, Default)]
struct Loaded {
    graph: Graph,
    file: Option<FileState>,
    /// How much of the journal is in the graph.
    journal: u64,
    /// Lines that cannot be read, to be moved aside before the file is written the next time.
    damaged: Vec<Vec<u8>>,
}

/// Why a graph cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    #[error("cannot read the memory file {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot write the memory file {}; nothing was changed", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the memory file {} has {size} bytes; raise `max_bytes` to at least half of that", path.display())]
    TooLarge { path: PathBuf, size: u64 },
    #[error("another process has locked the memory file {} for {} s", path.display(), LOCK_TIMEOUT.as_secs())]
    Locked { path: PathBuf },
    #[error(transparent)]
    UnknownEntity(#[from] UnknownEntity),
    #[error(
        "the memory is full: at most {entities} entities and {bytes} bytes; delete what is no longer needed"
    )]
    Full { entities: usize, bytes: u64 },
}

impl Store {
    /// The graph in the file at `path`, which need not exist. Nothing is read or written before the first use.
    pub(super) fn new(path: PathBuf, quota: Quota) -> Self {
        let journal = beside(&path, "journal");
        Self { journal, path, quota, lock: OnceLock::new(), loaded: Mutex::default() }
    }

    /// Reads the graph as it is now, with the changes of all processes.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn read<R>(&self, read: impl FnOnce(&Graph) -> R) -> Result<R, StoreError> {
        let mut loaded = self.loaded.lock();
        if !self.is_current(&loaded) {
            let _locked = match self.lock() {
                // Where nothing can be written, nothing changes either.
                Err(StoreError::Write { source, .. }) if is_read_only(&source) => None,
                locked => Some(locked?),
            };
            self.refresh(&mut loaded)?;
        }
        Ok(read(&loaded.graph))
    }

    /// Applies a change, which no crash of this process undoes once this returns.
    ///
    /// # Errors
    /// If the change names an unknown entity, exceeds the quota or cannot be written. Nothing is changed then.
    pub(super) fn change(&self, change: GraphChange) -> Result<GraphChange, StoreError> {
        let mut loaded = self.loaded.lock();
        let _locked = self.lock()?;
        self.refresh(&mut loaded)?;
        self.check_quota(&loaded, &change)?;
        if loaded.file.is_none() {
            // By the state of the file, other processes notice that theirs is another.
            self.write(&mut loaded).map_err(|source| self.not_written(source))?;
        }
        let effect = loaded.graph.apply(change)?;
        if effect.is_empty() {
            return Ok(effect);
        }
        if let Err(source) = self.append(&mut loaded, &effect) {
            *loaded = Loaded::default(); // the graph has a change that the journal has not
            return Err(self.not_written(source));
        }
        if loaded.journal > MAX_JOURNAL {
            // The change is in the journal, so a failure now costs nothing but the time of the next try.
            if let Err(error) = self.merge(&mut loaded) {
                tracing::warn!(
                    "cannot merge the journal of the memory file {}: {error}",
                    self.path.display()
                );
            }
        }
        Ok(effect)
    }

    /// Merges the journal into the file, so that other programs see all changes. For when there is nothing else to do.
    ///
    /// # Errors
    /// If the file cannot be written; the journal keeps the changes.
    pub(super) fn flush(&self) -> Result<(), StoreError> {
        if fs::metadata(&self.journal).map_or(0, |journal| journal.len()) == 0 {
            return Ok(());
        }
        let mut loaded = self.loaded.lock();
        let _locked = self.lock()?;
        self.refresh(&mut loaded)?;
        self.merge(&mut loaded).map_err(|source| self.not_written(source))
    }

    fn not_read(&self, source: io::Error) -> StoreError {
        StoreError::Read { path: self.path.clone(), source }
    }

    fn not_written(&self, source: io::Error) -> StoreError {
        StoreError::Write { path: self.path.clone(), source }
    }

    /// Takes the lock of all processes, until the result is dropped.
    fn lock(&self) -> Result<Locked<'_>, StoreError> {
        let file = match self.lock.get() {
            Some(file) => file,
            None => {
                let file = self.open_lock().map_err(|source| self.not_written(source))?;
                self.lock.get_or_init(|| file)
            }
        };
        let begun = Instant::now();
        loop {
            match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Locked(file)),
                Err(Errno::WOULDBLOCK | Errno::INTR) if begun.elapsed() < LOCK_TIMEOUT => {
                    thread::sleep(LOCK_RETRY);
                }
                Err(Errno::WOULDBLOCK) => return Err(StoreError::Locked { path: self.path.clone() }),
                Err(errno) => return Err(self.not_written(errno.into())),
            }
        }
    }

    fn open_lock(&self) -> io::Result<File> {
        if let Some(directory) = self.path.parent() {
            fs::DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(directory)?;
        }
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(PRIVATE);
        options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        options.open(beside(&self.path, "lock"))
    }

    fn is_current(&self, loaded: &Loaded) -> bool {
        let journal = fs::metadata(&self.journal).map_or(0, |journal| journal.len());
        loaded.file.is_some() && loaded.file == FileState::of(&self.path) && loaded.journal == journal
    }

    /// Brings the graph up to date. The lock is held, unless nothing can be written.
    fn refresh(&self, loaded: &mut Loaded) -> Result<(), StoreError> {
        let mut file = FileState::of(&self.path);
        if file.is_none() && self.adopt_predecessor().map_err(|source| self.not_read(source))? {
            file = FileState::of(&self.path);
        }
        if let Some(FileState { size, .. }) = file
            && size > self.quota.bytes.saturating_mul(2)
        {
            return Err(StoreError::TooLarge { path: self.path.clone(), size });
        }
        let journal = open_journal(&self.journal).map_err(|source| self.not_read(source))?;
        let length = journal.as_ref().map_or(Ok(0), |journal| journal.metadata().map(|it| it.len()));
        let length = length.map_err(|source| self.not_read(source))?;
        if file.is_none() || loaded.file != file || length < loaded.journal {
            *loaded = self.load().map_err(|source| self.not_read(source))?;
        }
        match journal {
            Some(journal) if length > loaded.journal => {
                self.replay(&journal, loaded).map_err(|source| self.not_read(source))
            }
            _ => Ok(()),
        }
    }

    /// Applies what the journal has and the graph has not.
    fn replay(&self, mut journal: &File, loaded: &mut Loaded) -> io::Result<()> {
        journal.seek(SeekFrom::Start(loaded.journal))?;
        let mut lines = Vec::new();
        journal.take(self.quota.bytes.saturating_mul(2)).read_to_end(&mut lines)?;
        // A process that is killed while it appends leaves a part of a line, which was acknowledged to no one.
        let whole = memchr::memrchr(b'\n', &lines).map_or(0, |end| end + 1);
        if whole < lines.len() {
            let _ = journal.set_len(loaded.journal + whole as u64); // what is written next overwrites it otherwise
        }
        for line in lines[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice::<GraphChange>(line) {
                // Another program may have deleted the entity from the file since.
                Ok(change) => drop(loaded.graph.apply(change)),
                Err(_) => loaded.damaged.push(line.to_vec()),
            }
        }
        loaded.journal += whole as u64;
        Ok(())
    }

    /// Reads the file. What cannot be read is passed over and moved aside, at the latest by [`Store::merge`].
    fn load(&self) -> io::Result<Loaded> {
        let mut loaded = Loaded { file: FileState::of(&self.path), ..Loaded::default() };
        let Some(mut file) = open_regular(&self.path, OpenOptions::new().read(true))? else {
            return Ok(loaded);
        };
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;
        for line in lines(&content) {
            match serde_json::from_slice(line) {
                Ok(line) => loaded.graph.insert(line),
                Err(_) => loaded.damaged.push(line.to_vec()),
            }
        }
        if !loaded.damaged.is_empty() {
            tracing::warn!(
                "{} lines of the memory file {} cannot be read; they are moved to {}",
                loaded.damaged.len(),
                self.path.display(),
                beside(&self.path, "bad").display()
            );
            if let Err(error) = self.write(&mut loaded) {
                tracing::warn!("cannot move them: {error}");
            }
        }
        Ok(loaded)
    }

    /// Takes over the file of an old version of the reference, which was `memory.json` and had the same format. Returns whether
    /// there was one.
    fn adopt_predecessor(&self) -> io::Result<bool> {
        if self.path.file_name() != Some("memory.jsonl".as_ref()) {
            return Ok(false);
        }
        let old = self.path.with_extension("json");
        let Some(file) = open_regular(&old, OpenOptions::new().read(true))? else { return Ok(false) };
        let mut content = Vec::new();
        file.take(self.quota.bytes).read_to_end(&mut content)?;
        let mut lines = lines(&content).peekable();
        let is_memory =
            lines.peek().is_some() && lines.all(|line| serde_json::from_slice::<Line>(line).is_ok());
        if is_memory {
            fs::rename(&old, &self.path)?;
            tracing::info!("renamed the memory file {} to {}", old.display(), self.path.display());
        }
        Ok(is_memory)
    }

    fn append(&self, loaded: &mut Loaded, change: &GraphChange) -> io::Result<()> {
        let mut line = serde_json::to_vec(change)?;
        line.push(b'\n');
        let options = &mut OpenOptions::new();
        let journal =
            open_regular(&self.journal, options.create(true).truncate(false).write(true).mode(PRIVATE))?
                .ok_or(io::ErrorKind::NotFound)?;
        if let Err(error) = journal.write_all_at(&line, loaded.journal) {
            let _ = journal.set_len(loaded.journal); // on a full disk, a part of the line may be there
            return Err(error);
        }
        loaded.journal += line.len() as u64;
        Ok(())
    }

    /// Writes the graph to the file and empties the journal. A crash in between is harmless: changes that are applied once
    /// more change nothing.
    fn merge(&self, loaded: &mut Loaded) -> io::Result<()> {
        self.write(loaded)?;
        OpenOptions::new().write(true).open(&self.journal)?.set_len(0)?;
        loaded.journal = 0;
        Ok(())
    }

    /// Writes the graph to the file, and lines that could not be read to a file of their own.
    fn write(&self, loaded: &mut Loaded) -> io::Result<()> {
        if !loaded.damaged.is_empty() {
            let mut options = OpenOptions::new();
            let mut bad = options.create(true).append(true).mode(PRIVATE).open(beside(&self.path, "bad"))?;
            let mut lines = loaded.damaged.join(&b'\n');
            lines.push(b'\n');
            bad.write_all(&lines)?;
            bad.sync_all()?;
            loaded.damaged.clear();
        }
        // A link stays one.
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let draft = beside(&path, "new");
        if let Err(error) = write_draft(&draft, &path, &loaded.graph) {
            let _ = fs::remove_file(&draft); // it takes room on a full disk
            return Err(error);
        }
        fs::rename(&draft, &path)?;
        loaded.file = FileState::of(&self.path);
        Ok(())
    }

    fn check_quota(&self, loaded: &Loaded, change: &GraphChange) -> Result<(), StoreError> {
        let added = match change {
            GraphChange::CreateEntities(entities) => entities.len(),
            GraphChange::CreateRelations(_) | GraphChange::AddObservations(_) => 0,
            GraphChange::DeleteEntities(_)
            | GraphChange::DeleteObservations(_)
            | GraphChange::DeleteRelations(_) => {
                return Ok(());
            }
        };
        let bytes = loaded.file.map_or(0, |file| file.size) + loaded.journal + change.added_size() as u64;
        if loaded.graph.len() + added > self.quota.entities || bytes > self.quota.bytes {
            let Quota { entities, bytes } = self.quota;
            return Err(StoreError::Full { entities, bytes });
        }
        Ok(())
    }
}

/// The lock of all processes, while it is held.
struct Locked<'a>(&'a File);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let _ = rustix::fs::flock(self.0, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests;
