//! The store: results in files, each of which belongs to one caller.
//!
//! Each process has a directory of its own, and a lock beside it that the kernel gives up when the process ends, however it ends.
//! The next process removes what is no longer locked.

use std::{
    collections::{HashMap, VecDeque},
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
/// The most bytes of all results together. The oldest ones of the caller that has most go first.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// The most results.
const MAX_RESULTS: usize = 4096;
/// How long a result can be read.
const MAX_AGE: Duration = Duration::from_secs(3600);

/// Results of the tools of one caller, by identifiers that cannot be guessed. No other caller can read them.
///
/// Files are deleted with the last clone of the store, those of a [connection](ResultStore::for_connection) with it.
#[derive(Debug, Clone)]
pub struct ResultStore {
    inner: Arc<StoreFiles>,
    owner: Arc<Owner>,
}

#[derive(Debug)]
struct StoreFiles {
    directory: PathBuf,
    /// The most bytes of all results together.
    capacity: u64,
    /// Held for as long as the directory is ours.
    lock: File,
    lock_path: PathBuf,
    results: Mutex<Results>,
}

/// The caller that results belong to.
#[derive(Debug)]
struct Owner {
    id: String,
    /// Set where its results end with it.
    ends: Option<Arc<StoreFiles>>,
}

#[derive(Debug, Default)]
struct Results {
    /// Oldest first.
    kept: VecDeque<KeptResult>,
    /// Of those that are kept and of those that are being written.
    bytes: u64,
}

#[derive(Debug)]
struct KeptResult {
    id: String,
    owner: Arc<str>,
    format: ResultFormat,
    size: u64,
    since: Instant,
}

/// What a result contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultFormat {
    /// Text.
    Text,
    /// JSON text.
    Json,
    /// Bytes of this media type, in base64.
    Base64(String),
}

impl ResultFormat {
    /// The media type.
    pub fn media_type(&self) -> &str {
        match self {
            Self::Text => "text/plain",
            Self::Json => "application/json",
            Self::Base64(media_type) => media_type,
        }
    }
}

/// A result that this caller has.
#[derive(Debug)]
pub struct StoredResult {
    /// What it contains.
    pub format: ResultFormat,
    /// Bytes of the whole.
    pub size: u64,
    pub(crate) path: PathBuf,
}

/// A result that is being written. It is deleted unless it is [kept](ResultWriter::keep).
#[derive(Debug)]
pub struct ResultWriter {
    store: ResultStore,
    id: String,
    format: ResultFormat,
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
        Self::with_capacity(parent, MAX_BYTES)
    }

    fn with_capacity(parent: &Path, capacity: u64) -> io::Result<Self> {
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
        let inner = Arc::new(StoreFiles { directory, capacity, lock, lock_path, results: Mutex::default() });
        let owner = Owner { id: format!("store/{id}"), ends: None };
        Ok(Self { owner: owner.into(), inner })
    }

    /// The same store for a connection, which is a caller of its own. Its results end with it.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn for_connection(&self) -> io::Result<Self> {
        let owner = Owner { id: format!("connection/{}", random_id()?), ends: Some(self.inner.clone()) };
        Ok(Self { owner: owner.into(), inner: self.inner.clone() })
    }

    /// The same store for a principal, however it is connected.
    pub fn for_principal(&self, principal: &str) -> Self {
        let owner = Owner { id: format!("principal/{principal}"), ends: None };
        Self { owner: owner.into(), inner: self.inner.clone() }
    }

    /// Begins a result.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(&self, format: ResultFormat) -> io::Result<ResultWriter> {
        let id = random_id()?;
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.inner.path(&id))?;
        Ok(ResultWriter { store: self.clone(), id, format, file, size: 0, is_whole: true, is_kept: false })
    }

    /// Finds a result by its URI, or by what follows the scheme in it. None if this caller has no such result (any more).
    pub fn find(&self, uri: &str) -> Option<StoredResult> {
        let id = uri.strip_prefix(SCHEME).unwrap_or(uri);
        let mut results = self.inner.results.lock();
        self.inner.evict(&mut results, 0);
        let own = |kept: &&KeptResult| kept.id == id && *kept.owner == *self.owner.id;
        let kept = results.kept.iter().find(own)?;
        Some(StoredResult { format: kept.format.clone(), size: kept.size, path: self.inner.path(id) })
    }

    /// Reads a part of a result. Returns it with the size of the whole; `None` if this caller has no such result (any more).
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&self, uri: &str, offset: u64, limit: u64) -> io::Result<Option<(Vec<u8>, u64)>> {
        let Some(found) = self.find(uri) else { return Ok(None) };
        let mut file = File::open(&found.path)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(Some((bytes, found.size)))
    }
}

/// A store that is opened when it is first needed.
#[derive(Debug)]
pub struct LazyResultStore {
    directory: PathBuf,
    capacity: u64,
    opened: Mutex<Option<ResultStore>>,
}

impl LazyResultStore {
    /// A store in this directory, which other processes may use, too.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory, capacity: MAX_BYTES, opened: Mutex::default() }
    }

    #[cfg(test)]
    pub(crate) fn with_capacity(directory: PathBuf, capacity: u64) -> Self {
        Self { capacity, ..Self::new(directory) }
    }

    /// Opens the store.
    ///
    /// # Errors
    /// As [`ResultStore::open`]. The next call tries again.
    pub fn open(&self) -> io::Result<ResultStore> {
        let mut opened = self.opened.lock();
        match &*opened {
            Some(store) => Ok(store.clone()),
            None => Ok(opened.insert(ResultStore::with_capacity(&self.directory, self.capacity)?).clone()),
        }
    }

    /// The store, if it was opened.
    pub fn opened(&self) -> Option<ResultStore> {
        self.opened.lock().clone()
    }
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

    /// Deletes what is too old, and makes room for `size` bytes: the caller that has most gives its oldest results first, so
    /// that none can take the room of all others.
    fn evict(&self, results: &mut Results, size: u64) {
        while results.kept.front().is_some_and(|oldest| oldest.since.elapsed() > MAX_AGE) {
            self.remove(results, 0);
        }
        while !results.kept.is_empty()
            && (results.bytes + size > self.capacity || results.kept.len() > MAX_RESULTS)
        {
            let mut by_owner: HashMap<&str, u64> = HashMap::new();
            for kept in &results.kept {
                *by_owner.entry(&kept.owner).or_default() += kept.size + 1;
            }
            let most = by_owner.values().max().copied();
            let victim = results.kept.iter().position(|kept| by_owner.get(&*kept.owner).copied() == most);
            self.remove(results, victim.unwrap_or(0));
        }
    }

    fn remove(&self, results: &mut Results, index: usize) {
        if let Some(gone) = results.kept.remove(index) {
            let _ = fs::remove_file(self.path(&gone.id));
            results.bytes -= gone.size;
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

impl Drop for Owner {
    fn drop(&mut self) {
        let Some(files) = &self.ends else { return };
        let mut results = files.results.lock();
        let Results { kept, bytes } = &mut *results;
        kept.retain(|kept| {
            let is_own = *kept.owner == *self.id;
            if is_own {
                let _ = fs::remove_file(files.path(&kept.id));
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
            let taken = self.store.inner.capacity.saturating_sub(results.bytes).min(bytes.len() as u64);
            results.bytes += taken;
            taken
        };
        self.size += taken;
        let taken = usize::try_from(taken).unwrap_or(bytes.len());
        self.is_whole &= taken == bytes.len();
        self.file.write_all(&bytes[..taken])
    }

    /// Bytes so far.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Keeps the result.
    pub fn keep(mut self) -> ResultLink {
        let kept = KeptResult {
            id: self.id.clone(),
            owner: self.store.owner.id.as_str().into(),
            format: self.format.clone(),
            size: self.size,
            since: Instant::now(),
        };
        let mut results = self.store.inner.results.lock();
        results.kept.push_back(kept);
        self.store.inner.evict(&mut results, 0);
        drop(results);
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
        let mut writer = store.create(ResultFormat::Text).unwrap();
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
        drop(store.create(ResultFormat::Text).unwrap());
        assert_eq!(files(&store), 1, "a result that is not kept leaves no file");
        drop(store);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn callers_read_only_their_own_results() {
        let directory = tempfile::tempdir().unwrap();
        let store = ResultStore::open(directory.path()).unwrap();
        let (one, other) = (store.for_connection().unwrap(), store.for_connection().unwrap());
        let uri = keep(&one, b"mine");
        assert!(one.read(&uri, 0, 9).unwrap().is_some());
        assert!(other.read(&uri, 0, 9).unwrap().is_none() && store.read(&uri, 0, 9).unwrap().is_none());
        drop(one);
        assert_eq!(
            (files(&store), store.inner.results.lock().bytes),
            (0, 0),
            "they end with their connection"
        );
        let (alice, bob) = (store.for_principal("alice"), store.for_principal("bob"));
        let uri = keep(&alice, b"mine");
        assert!(bob.find(&uri).is_none() && other.find(&uri).is_none());
        drop(alice);
        assert!(store.for_principal("alice").find(&uri).is_some(), "it has other connections");
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
        let store = ResultStore::with_capacity(directory.path(), 1 << 20).unwrap();
        let half = vec![0; 1 << 19];
        let first = keep(&store, &half);
        let mut second = store.create(ResultFormat::Text).unwrap();
        second.write(&half).unwrap();
        assert!(store.read(&first, 0, 1).unwrap().is_some());
        let mut third = store.create(ResultFormat::Text).unwrap();
        third.write(&half).unwrap();
        assert!(store.read(&first, 0, 1).unwrap().is_none(), "it made room");
        third.write(b"more").unwrap();
        assert!(!third.keep().is_whole && second.keep().is_whole);
        assert_eq!(store.inner.results.lock().bytes, 1 << 20);
    }

    #[test]
    fn who_has_most_makes_room() {
        let directory = tempfile::tempdir().unwrap();
        let store = ResultStore::open(directory.path()).unwrap();
        let (few, many) = (store.for_principal("few"), store.for_principal("many"));
        let first = keep(&few, b"first");
        let of_many: Vec<String> = (0..MAX_RESULTS).map(|_| keep(&many, b"x")).collect();
        assert!(few.find(&first).is_some() && many.find(&of_many[0]).is_none());
        assert_eq!(store.inner.results.lock().kept.len(), MAX_RESULTS);
    }
}
