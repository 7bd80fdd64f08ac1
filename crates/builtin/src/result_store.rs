//! Long results, kept in files for a while so that clients can read all of them.

use std::{
    collections::VecDeque,
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
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

/// Results of tools, by identifiers that nobody can guess.
#[derive(Debug, Clone)]
pub struct ResultStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    directory: PathBuf,
    results: Mutex<Results>,
}

#[derive(Debug, Default)]
struct Results {
    /// Oldest first.
    kept: VecDeque<Kept>,
    bytes: u64,
}

#[derive(Debug)]
struct Kept {
    id: String,
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
    is_kept: bool,
}

impl ResultStore {
    /// Opens a store in a directory of its own. What a crashed program left there is deleted.
    ///
    /// # Errors
    /// If the directory cannot be created or read.
    pub fn open(directory: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                fs::remove_file(entry.path())?;
            }
        }
        let inner = Inner { directory: directory.to_owned(), results: Mutex::default() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Begins a result.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(&self) -> io::Result<ResultWriter> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let id = format!("{:032x}", u128::from_ne_bytes(bytes));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.path(&id))?;
        Ok(ResultWriter { store: self.clone(), id, file, size: 0, is_kept: false })
    }

    /// Reads a part of a result. Returns it with the size of the whole; `None` if there is no such result (any more).
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&self, uri: &str, offset: u64, limit: u64) -> io::Result<Option<(Vec<u8>, u64)>> {
        let Some(id) = uri.strip_prefix(SCHEME) else { return Ok(None) };
        let size = {
            let mut results = self.inner.results.lock();
            self.evict(&mut results, 0);
            results.kept.iter().find(|kept| kept.id == id).map(|kept| kept.size)
        };
        let Some(size) = size else { return Ok(None) };
        let mut file = File::open(self.path(id))?;
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(Some((bytes, size)))
    }

    fn path(&self, id: &str) -> PathBuf {
        self.inner.directory.join(id)
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

impl Drop for Inner {
    fn drop(&mut self) {
        for kept in &self.results.get_mut().kept {
            let _ = fs::remove_file(self.directory.join(&kept.id));
        }
    }
}

impl ResultWriter {
    /// Adds to the result. What exceeds the room of the store is dropped.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = usize::try_from(MAX_BYTES - self.size).unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(room)];
        self.file.write_all(bytes)?;
        self.size += bytes.len() as u64;
        Ok(())
    }

    /// Keeps the result. Returns the URI by which it is read.
    pub fn keep(mut self) -> String {
        let mut results = self.store.inner.results.lock();
        self.store.evict(&mut results, self.size);
        results.bytes += self.size;
        results.kept.push_back(Kept { id: self.id.clone(), size: self.size, since: Instant::now() });
        drop(results);
        self.is_kept = true;
        format!("{SCHEME}{}", self.id)
    }
}

impl Drop for ResultWriter {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = fs::remove_file(self.store.path(&self.id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(directory: &tempfile::TempDir) -> usize {
        fs::read_dir(directory.path()).unwrap().count()
    }

    #[test]
    fn results_are_read_in_parts_until_they_are_gone() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("left"), "by a crash").unwrap();
        let store = ResultStore::open(directory.path()).unwrap();
        assert_eq!(files(&directory), 0);
        let mut writer = store.create().unwrap();
        writer.write(b"0123").unwrap();
        writer.write(b"456789").unwrap();
        let uri = writer.keep();
        assert_eq!(store.read(&uri, 2, 3).unwrap(), Some((b"234".to_vec(), 10)));
        assert_eq!(store.read("toolbay-result://../../etc/passwd", 0, 1).unwrap(), None);
        drop(store.create().unwrap());
        assert_eq!(files(&directory), 1, "a result that is not kept leaves no file");
        drop(store);
        assert_eq!(files(&directory), 0);
    }

    #[test]
    fn the_oldest_results_make_room() {
        let directory = tempfile::tempdir().unwrap();
        let store = ResultStore::open(directory.path()).unwrap();
        let keep = |size: u64| {
            let mut writer = store.create().unwrap();
            writer.file.set_len(size).unwrap(); // a hole takes no room on the disk
            writer.size = size;
            writer.keep()
        };
        let uris: Vec<String> = (0..3).map(|_| keep(MAX_BYTES / 2)).collect();
        assert!(store.read(&uris[0], 0, 1).unwrap().is_none());
        assert!(
            store.read(&uris[1], 0, 1).unwrap().is_some() && store.read(&uris[2], 0, 1).unwrap().is_some()
        );
    }
}
