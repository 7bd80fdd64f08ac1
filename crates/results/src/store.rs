//! Long results, kept in files for a while so that clients can read all of them.
//!
//! Each process has a directory of its own, and a lock beside it that the kernel gives up when the process ends, however it ends.
//! The next process removes what is no longer locked.

use std::{
    collections::VecDeque,
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

/// The scheme of the URIs by which results are read.
pub const SCHEME: &str = "toolbay-result://";
/// The most bytes of all results together. The oldest ones go first.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// How long a result can be read.
const MAX_AGE: Duration = Duration::from_secs(3600);
/// The most bytes that one read returns.
const MAX_PAGE: u64 = 1024 * 1024;

/// Results of the tools of one caller, by identifiers that cannot be guessed. They are deleted with the last clone of it.
#[derive(Debug, Clone)]
pub struct ResultStore {
    inner: Arc<StoreFiles>,
    owner: Arc<Owner>,
}

#[derive(Debug)]
struct StoreFiles {
    directory: PathBuf,
    /// Held for as long as the directory is ours.
    lock: File,
    lock_path: PathBuf,
    results: Mutex<Results>,
}

/// The caller that results belong to.
#[derive(Debug)]
struct Owner {
    id: String,
    inner: Arc<StoreFiles>,
}

#[derive(Debug, Default)]
struct Results {
    /// Oldest first.
    kept: VecDeque<Kept>,
    /// Of those that are kept and of those that are being written.
    bytes: u64,
}

#[derive(Debug)]
struct Kept {
    id: String,
    owner: String,
    size: u64,
    since: Instant,
}

/// A result that is being written. It is deleted unless it is [kept](ResultWriter::keep).
#[derive(Debug)]
pub struct ResultWriter {
    store: ResultStore,
    id: String,
    file: File,
    size: u64,
    is_whole: bool,
    is_kept: bool,
}

/// A result that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultLink {
    /// How it is read.
    pub uri: String,
    /// Whether all of it was kept. Else it is the beginning: there was no room for more.
    pub is_whole: bool,
}

impl ResultStore {
    /// Opens a store in a directory that other processes may use, too. What those left that have ended is deleted.
    ///
    /// # Errors
    /// If the directory cannot be created or read.
    pub fn open(parent: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        remove_abandoned(parent)?;
        let id = random_id()?;
        let (directory, lock_path) = (parent.join(&id), parent.join(format!("{id}.lock")));
        let lock = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&lock_path)?;
        lock.try_lock()?;
        // Another process may have found it before it was locked, and removed it.
        if fs::metadata(&lock_path)?.ino() != lock.metadata()?.ino() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        fs::DirBuilder::new().mode(0o700).create(&directory)?;
        let inner = Arc::new(StoreFiles { directory, lock, lock_path, results: Mutex::default() });
        Ok(Self { owner: Owner::new(inner.clone())?, inner })
    }

    /// The same store for another caller, which cannot read what this one has.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn for_caller(&self) -> io::Result<Self> {
        Ok(Self { owner: Owner::new(self.inner.clone())?, inner: self.inner.clone() })
    }

    /// Begins a result.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(&self) -> io::Result<ResultWriter> {
        let id = random_id()?;
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.inner.path(&id))?;
        Ok(ResultWriter { store: self.clone(), id, file, size: 0, is_whole: true, is_kept: false })
    }

    /// Reads a part of a result. Returns it with the size of the whole; `None` if this caller has no such result (any more).
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&self, uri: &str, offset: u64, limit: u64) -> io::Result<Option<(Vec<u8>, u64)>> {
        let Some(id) = uri.strip_prefix(SCHEME) else { return Ok(None) };
        let size = {
            let mut results = self.inner.results.lock();
            self.inner.evict(&mut results, 0);
            let own = |kept: &&Kept| kept.id == id && kept.owner == self.owner.id;
            results.kept.iter().find(own).map(|kept| kept.size)
        };
        let Some(size) = size else { return Ok(None) };
        let mut file = File::open(self.inner.path(id))?;
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(Some((bytes, size)))
    }
}

/// Why a result cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// This caller has none with this URI (any more).
    #[error("unknown result")]
    NotFound,
    /// It is there, and reading it failed.
    #[error("{0}")]
    Failed(String),
}

/// Reads a result: all of it if it is short, else a page that names the next one. `?offset=N&limit=M` asks for a part, in bytes.
///
/// # Errors
/// If there is no such result, or it cannot be read.
pub fn read_page(store: &ResultStore, uri: &str) -> Result<String, ReadError> {
    let (name, query) = uri.split_once('?').unwrap_or((uri, ""));
    let (mut offset, mut limit) = (0, MAX_PAGE);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let number = |text: &str| {
            text.parse::<u64>().map_err(|_| ReadError::Failed(format!("`{pair}` needs a number")))
        };
        match pair.split_once('=') {
            Some(("offset", text)) => offset = number(text)?,
            Some(("limit", text)) => limit = number(text)?.clamp(1, MAX_PAGE),
            _ => {
                return Err(ReadError::Failed(format!("`{pair}` is unknown; expected `offset` or `limit`")));
            }
        }
    }
    let found = store.read(name, offset, limit).map_err(|error| ReadError::Failed(error.to_string()))?;
    let (mut bytes, size) = found.ok_or(ReadError::NotFound)?;
    let mut end = offset + bytes.len() as u64;
    if end >= size {
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    // Pages end with whole lines, where there are any.
    if let Some(line) = memchr::memrchr(b'\n', &bytes) {
        bytes.truncate(line + 1);
        end = offset + bytes.len() as u64;
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(format!("{text}[bytes {offset} to {end} of {size}; next: {name}?offset={end}]\n"))
}

fn random_id() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

/// Removes the directories of processes that have ended.
fn remove_abandoned(parent: &Path) -> io::Result<()> {
    for entry in fs::read_dir(parent)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "lock") {
            continue;
        }
        let Ok(lock) = File::open(&path) else { continue };
        if lock.try_lock().is_ok() {
            match fs::remove_dir_all(path.with_extension("")) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => fs::remove_file(&path)?,
            }
        }
    }
    Ok(())
}

impl StoreFiles {
    fn path(&self, id: &str) -> PathBuf {
        self.directory.join(id)
    }

    /// Deletes what is too old, and the oldest results until there is room for `size` bytes.
    fn evict(&self, results: &mut Results, size: u64) {
        while let Some(oldest) = results.kept.front()
            && (oldest.since.elapsed() > MAX_AGE || results.bytes + size > MAX_BYTES)
        {
            let _ = fs::remove_file(self.path(&oldest.id));
            results.bytes -= oldest.size;
            results.kept.pop_front();
        }
    }
}

impl Drop for StoreFiles {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
        let _ = fs::remove_file(&self.lock_path);
        let _ = self.lock.unlock();
    }
}

impl Owner {
    fn new(inner: Arc<StoreFiles>) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self { id: random_id()?, inner }))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let mut results = self.inner.results.lock();
        let Results { kept, bytes } = &mut *results;
        kept.retain(|kept| {
            let is_own = kept.owner == self.id;
            if is_own {
                let _ = fs::remove_file(self.inner.path(&kept.id));
                *bytes -= kept.size;
            }
            !is_own
        });
    }
}

impl ResultWriter {
    /// Adds to the result. The oldest results make room; what exceeds the room of the store is dropped.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let taken = {
            let mut results = self.store.inner.results.lock();
            self.store.inner.evict(&mut results, bytes.len() as u64);
            let taken = MAX_BYTES.saturating_sub(results.bytes).min(bytes.len() as u64);
            results.bytes += taken;
            taken
        };
        self.size += taken;
        let taken = usize::try_from(taken).unwrap_or(bytes.len());
        self.is_whole &= taken == bytes.len();
        self.file.write_all(&bytes[..taken])
    }

    /// Keeps the result.
    pub fn keep(mut self) -> ResultLink {
        let kept = Kept {
            id: self.id.clone(),
            owner: self.store.owner.id.clone(),
            size: self.size,
            since: Instant::now(),
        };
        self.store.inner.results.lock().kept.push_back(kept);
        self.is_kept = true;
        ResultLink { uri: format!("{SCHEME}{}", self.id), is_whole: self.is_whole }
    }
}

impl Drop for ResultWriter {
    fn drop(&mut self) {
        if !self.is_kept {
            self.store.inner.results.lock().bytes -= self.size;
            let _ = fs::remove_file(self.store.inner.path(&self.id));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn files(store: &ResultStore) -> usize {
        fs::read_dir(&store.inner.directory).unwrap().count()
    }

    fn keep(store: &ResultStore, text: &[u8]) -> String {
        let mut writer = store.create().unwrap();
        writer.write(text).unwrap();
        writer.keep().uri
    }

    #[test]
    fn results_are_read_in_parts_until_they_are_gone() {
        let directory = tempfile::tempdir().unwrap();
        let store = ResultStore::open(directory.path()).unwrap();
        let uri = keep(&store, b"0123456789");
        assert_eq!(store.read(&uri, 2, 3).unwrap(), Some((b"234".to_vec(), 10)));
        assert_eq!(store.read("toolbay-result://../../etc/passwd", 0, 1).unwrap(), None);
        let file = fs::read_dir(&store.inner.directory).unwrap().next().unwrap().unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        drop(store.create().unwrap());
        assert_eq!(files(&store), 1, "a result that is not kept leaves no file");
        drop(store);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn callers_read_only_their_own_results() {
        let directory = tempfile::tempdir().unwrap();
        let store = ResultStore::open(directory.path()).unwrap();
        let (one, other) = (store.for_caller().unwrap(), store.for_caller().unwrap());
        let uri = keep(&one, b"mine");
        assert!(one.read(&uri, 0, 9).unwrap().is_some());
        assert!(other.read(&uri, 0, 9).unwrap().is_none() && store.read(&uri, 0, 9).unwrap().is_none());
        drop(one);
        assert_eq!((files(&store), store.inner.results.lock().bytes), (0, 0), "they end with their caller");
    }

    #[test]
    fn what_a_crash_left_is_removed_and_what_is_in_use_stays() {
        let directory = tempfile::tempdir().unwrap();
        let live = ResultStore::open(directory.path()).unwrap();
        let uri = keep(&live, b"live");
        // As a process leaves it that was killed: files without a lock on them.
        fs::create_dir(directory.path().join("dead")).unwrap();
        fs::write(directory.path().join("dead/result"), "left").unwrap();
        fs::write(directory.path().join("dead.lock"), "").unwrap();
        let second = ResultStore::open(directory.path()).unwrap();
        assert!(!directory.path().join("dead").exists() && !directory.path().join("dead.lock").exists());
        assert!(live.read(&uri, 0, 9).unwrap().is_some());
        drop(second);
    }

    #[test]
    fn the_oldest_results_make_room_also_while_one_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let store = ResultStore::open(directory.path()).unwrap();
        let half = vec![0; usize::try_from(MAX_BYTES / 2).unwrap()];
        let first = keep(&store, &half);
        let mut second = store.create().unwrap();
        second.write(&half).unwrap();
        assert!(store.read(&first, 0, 1).unwrap().is_some());
        let mut third = store.create().unwrap();
        third.write(&half).unwrap();
        assert!(store.read(&first, 0, 1).unwrap().is_none(), "it made room");
        third.write(b"more").unwrap();
        assert!(!third.keep().is_whole && second.keep().is_whole);
        assert_eq!(store.inner.results.lock().bytes, MAX_BYTES);
    }

    #[test]
    fn long_results_are_read_by_page() {
        let directory = tempfile::tempdir().unwrap();
        let store = ResultStore::open(directory.path()).unwrap();
        let all: String = (0..300_000).map(|number| format!("line {number}\n")).collect();
        let mut uri = keep(&store, all.as_bytes());
        let mut read = String::new();
        for _ in 0..10 {
            let page = read_page(&store, &uri).unwrap();
            let Some(note) = page.rfind("[bytes ") else {
                read.push_str(&page);
                break;
            };
            read.push_str(&page[..note]);
            let next = page[note..].split("next: ").nth(1).unwrap();
            uri = next.trim_end_matches("]\n").to_owned();
        }
        assert!(read == all, "{} of {} bytes", read.len(), all.len());
        let name = uri.split('?').next().unwrap();
        let part = read_page(&store, &format!("{name}?offset=7&limit=6")).unwrap();
        assert!(part.starts_with("line 1") && part.contains("bytes 7 to 13 of"), "{part}");
        assert_eq!(read_page(&store, "toolbay-result://no"), Err(ReadError::NotFound));
        assert!(matches!(read_page(&store, &format!("{name}?x=1")), Err(ReadError::Failed(_))));
    }
}
