//! A knowledge graph in a file that several processes use at once.
//!
//! The file has the format of the reference server: a JSON object per line. Rewriting it for every change would take longer
//! the more is remembered, and two writers would lose each other's changes. So a change is one line appended to a journal
//! beside the file, under a lock that all processes take; from time to time the journal is merged into the file. A process
//! that is killed at any point leaves a file and a journal that together have every change that was acknowledged.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rustix::{
    fs::{FlockOperation, OFlags},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use super::graph::{Change, Entity, Graph, Relation, UnknownEntity};

/// A journal of this size is merged into the file with the next change.
const MAX_JOURNAL: u64 = 1024 * 1024;
/// How long another process may hold the lock. It holds it for milliseconds unless it is stopped in a debugger.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const LOCK_RETRY: Duration = Duration::from_millis(1);
/// Only the user may read what is remembered.
const PRIVATE: u32 = 0o600;

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
    lock: File,
    loaded: Mutex<Loaded>,
}

/// The graph as it was when file and journal were last read.
#[derive(Debug, Default)]
struct Loaded {
    graph: Graph,
    file: Option<FileState>,
    /// How much of the journal is in the graph.
    journal: u64,
    /// Lines of the file that cannot be read, to be moved aside when the file is written the next time.
    damaged: Vec<String>,
}

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileState {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line {
    Entity(Entity),
    Relation(Relation),
}

/// Why a graph cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    #[error("cannot read or write the memory file {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
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
    /// Opens the file at `path`, which need not exist; its directory is created.
    ///
    /// # Errors
    /// If the directory or the lock file cannot be created. What is in the file is read with the first use.
    pub(super) fn open(path: PathBuf, quota: Quota) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Io { path: path.clone(), source };
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).map_err(failed)?;
        }
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(PRIVATE)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open(beside(&path, "lock"))
            .map_err(failed)?;
        Ok(Self { journal: beside(&path, "journal"), path, quota, lock, loaded: Mutex::default() })
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the graph as it is now, with the changes of all processes.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn read<R>(&self, read: impl FnOnce(&Graph) -> R) -> Result<R, StoreError> {
        let mut loaded = self.loaded.lock();
        if !self.is_current(&loaded) {
            let _locked = self.lock(FlockOperation::NonBlockingLockExclusive)?;
            self.refresh(&mut loaded).map_err(|source| self.failed(source))?;
        }
        Ok(read(&loaded.graph))
    }

    /// Applies a change, which no crash of this process undoes once this returns.
    ///
    /// # Errors
    /// If the change names an unknown entity, exceeds the quota or cannot be written. Nothing is changed then.
    pub(super) fn change(&self, change: Change) -> Result<Change, StoreError> {
        let mut loaded = self.loaded.lock();
        let _locked = self.lock(FlockOperation::NonBlockingLockExclusive)?;
        self.refresh(&mut loaded).map_err(|source| self.failed(source))?;
        self.check_quota(&loaded, &change)?;
        let effect = loaded.graph.apply(change)?;
        if effect.is_empty() {
            return Ok(effect);
        }
        if let Err(source) = self.append(&mut loaded, &effect) {
            *loaded = Loaded::default(); // the graph has a change that the journal has not
            return Err(self.failed(source));
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
        let mut loaded = self.loaded.lock();
        let _locked = self.lock(FlockOperation::NonBlockingLockExclusive)?;
        self.refresh(&mut loaded)
            .and_then(|()| if loaded.journal > 0 { self.merge(&mut loaded) } else { Ok(()) })
            .map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> StoreError {
        StoreError::Io { path: self.path.clone(), source }
    }

    /// Takes the lock of all processes, until the result is dropped.
    fn lock(&self, how: FlockOperation) -> Result<Locked<'_>, StoreError> {
        let begun = Instant::now();
        loop {
            match rustix::fs::flock(&self.lock, how) {
                Ok(()) => return Ok(Locked(&self.lock)),
                Err(Errno::WOULDBLOCK | Errno::INTR) if begun.elapsed() < LOCK_TIMEOUT => {
                    thread::sleep(LOCK_RETRY);
                }
                Err(Errno::WOULDBLOCK) => return Err(StoreError::Locked { path: self.path.clone() }),
                Err(errno) => return Err(self.failed(errno.into())),
            }
        }
    }

    fn is_current(&self, loaded: &Loaded) -> bool {
        let journal = fs::metadata(&self.journal).map_or(0, |journal| journal.len());
        loaded.file.is_some() && loaded.file == FileState::of(&self.path) && loaded.journal == journal
    }

    /// Brings the graph up to date. The lock is held.
    fn refresh(&self, loaded: &mut Loaded) -> io::Result<()> {
        let file = FileState::of(&self.path);
        let mut journal = open_regular(&self.journal, OpenOptions::new().read(true).write(true))?;
        let length = journal.as_ref().map_or(Ok(0), |journal| journal.metadata().map(|it| it.len()))?;
        if file.is_none() || loaded.file != file || length < loaded.journal {
            *loaded = self.load()?;
        }
        if let Some(journal) = &mut journal
            && length > loaded.journal
        {
            journal.seek(SeekFrom::Start(loaded.journal))?;
            let mut lines = Vec::new();
            journal.read_to_end(&mut lines)?;
            // A process that is killed while it appends leaves a part of a line, which nobody was told is kept.
            let whole = memchr::memrchr(b'\n', &lines).map_or(0, |end| end + 1);
            if whole < lines.len() {
                journal.set_len(loaded.journal + whole as u64)?;
            }
            for line in lines[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                match serde_json::from_slice::<Change>(line) {
                    // Another program may have deleted the entity from the file since.
                    Ok(change) => drop(loaded.graph.apply(change)),
                    Err(_) => loaded.damaged.push(String::from_utf8_lossy(line).into_owned()),
                }
            }
            loaded.journal += whole as u64;
        }
        Ok(())
    }

    /// Reads the file. What cannot be read is passed over, and kept for [`Store::merge`] to move aside.
    fn load(&self) -> io::Result<Loaded> {
        let mut loaded = Loaded { file: FileState::of(&self.path), ..Loaded::default() };
        let Some(mut file) = open_regular(&self.path, OpenOptions::new().read(true))? else {
            return Ok(loaded);
        };
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;
        for line in content.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            let change = match serde_json::from_slice(line) {
                Ok(Line::Entity(entity)) => Change::CreateEntities(vec![entity]),
                Ok(Line::Relation(relation)) => Change::CreateRelations(vec![relation]),
                Err(_) => {
                    loaded.damaged.push(String::from_utf8_lossy(line).into_owned());
                    continue;
                }
            };
            drop(loaded.graph.apply(change)); // only added observations can be refused
        }
        if !loaded.damaged.is_empty() {
            tracing::warn!(
                "{} lines of the memory file {} cannot be read; they are kept in {}",
                loaded.damaged.len(),
                self.path.display(),
                beside(&self.path, "bad").display()
            );
            self.keep_damaged(&mut loaded)?;
        }
        Ok(loaded)
    }

    /// Writes the lines that cannot be read to a file of their own and rewrites the file without them.
    fn keep_damaged(&self, loaded: &mut Loaded) -> io::Result<()> {
        let mut bad =
            OpenOptions::new().create(true).append(true).mode(PRIVATE).open(beside(&self.path, "bad"))?;
        bad.write_all((loaded.damaged.join("\n") + "\n").as_bytes())?;
        bad.sync_all()?;
        loaded.damaged.clear();
        self.write(loaded)
    }

    fn append(&self, loaded: &mut Loaded, change: &Change) -> io::Result<()> {
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
        if loaded.file.is_none() {
            // With a file, others see by its state that theirs is another.
            self.write(loaded)?;
        }
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

    fn write(&self, loaded: &mut Loaded) -> io::Result<()> {
        let mut content = Vec::new();
        let entities = loaded.graph.entities().cloned().map(Line::Entity);
        let relations = loaded.graph.relations().iter().cloned().map(Line::Relation);
        for line in entities.chain(relations) {
            if !content.is_empty() {
                content.push(b'\n');
            }
            serde_json::to_writer(&mut content, &line)?;
        }
        let draft = beside(&self.path, "new");
        let mut file =
            OpenOptions::new().create(true).truncate(true).write(true).mode(PRIVATE).open(&draft)?;
        file.write_all(&content)?;
        if let Ok(old) = fs::metadata(&self.path) {
            file.set_permissions(old.permissions())?;
        }
        file.sync_all()?;
        fs::rename(&draft, &self.path)?;
        loaded.file = FileState::of(&self.path);
        Ok(())
    }

    fn check_quota(&self, loaded: &Loaded, change: &Change) -> Result<(), StoreError> {
        let added = match change {
            Change::CreateEntities(entities) => entities.len(),
            Change::CreateRelations(_) | Change::AddObservations(_) => 0,
            Change::DeleteEntities(_) | Change::DeleteObservations(_) | Change::DeleteRelations(_) => {
                return Ok(());
            }
        };
        let bytes = loaded.file.map_or(0, |file| file.size) + loaded.journal;
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

impl FileState {
    fn of(path: &Path) -> Option<Self> {
        let file = fs::metadata(path).ok()?;
        Some(Self { inode: file.ino(), size: file.size(), changed: (file.ctime(), file.ctime_nsec()) })
    }
}

/// `memory.jsonl` → `memory.jsonl.journal`.
fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    name.into()
}

/// Opens a file that must be a regular one; `None` if there is none.
fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<Option<File>> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = match options.custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(Some(file))
}

#[cfg(test)]
mod tests;
