//! [`Store`]: the folder that holds what is known about one tree.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use sha2::{Digest, Sha256};

use super::{Container, ContainerKind, ContainerWriter, StoreError};

/// How names of files being written begin.
pub(super) const UNFINISHED: &str = ".new-";
const LOCK: &str = "lock";
/// Holds the path of the tree, for people.
const TREE: &str = "tree";

/// The folder of one tree in the cache.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
}

/// The right to write, held by one process at a time and given back when dropped, or when the process dies.
#[derive(Debug)]
pub struct WriterLock {
    _file: File,
}

impl Store {
    /// The store of the tree at `root` below the folder `cache`; makes the folder if it is not there.
    ///
    /// # Errors
    /// If the folder cannot be made. One that is there and read-only is no error: it can be read.
    pub fn open(cache: &Path, root: &Path) -> Result<Self, StoreError> {
        let store = Self::at(cache, root);
        if store.folder.is_dir() {
            return Ok(store);
        }
        let failed = |error| StoreError::io(&store.folder)(error);
        DirBuilder::new().recursive(true).mode(0o700).create(&store.folder).map_err(failed)?;
        fs::write(store.folder.join(TREE), root.as_os_str().as_bytes()).map_err(failed)?;
        Ok(store)
    }

    /// The place of that store, whether or not it is there.
    pub fn at(cache: &Path, root: &Path) -> Self {
        let digest = Sha256::digest(root.as_os_str().as_bytes());
        let mut name: String = digest[..12].iter().map(|byte| format!("{byte:02x}")).collect();
        if let Some(last) = root.file_name() {
            let readable = last.to_string_lossy();
            name = format!("{}-{name}", readable.chars().take(40).collect::<String>());
        }
        Self { folder: cache.join(name) }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Takes the right to write; `None` if another process, or another owner in this one, has it. What a process that
    /// died left unfinished is removed.
    ///
    /// # Errors
    /// If the folder is read-only or gone.
    pub fn lock(&self) -> Result<Option<WriterLock>, StoreError> {
        let path = self.folder.join(LOCK);
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(StoreError::io(&path))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            Err(errno) => return Err(StoreError::io(&path)(errno.into())),
        }
        for name in self.names()? {
            if name.starts_with(UNFINISHED) {
                self.remove(&name)?;
            }
        }
        Ok(Some(WriterLock { _file: file }))
    }

    /// Starts a new file; it takes the place of an old one by that name when finished. The lock shows that the caller may.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn write(
        &self,
        _lock: &WriterLock,
        name: &str,
        kind: ContainerKind,
    ) -> Result<ContainerWriter, StoreError> {
        ContainerWriter::create(&self.folder, name, kind)
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// If there is none (see [`StoreError::is_missing`]), if it is damaged or of another version.
    pub fn read(&self, name: &str, kind: ContainerKind) -> Result<Container, StoreError> {
        Container::open(&self.folder.join(name), kind)
    }

    /// Removes a file; one that is not there is fine. Readers that have it open keep it.
    ///
    /// # Errors
    /// If it is there and cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), StoreError> {
        let path = self.folder.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io(&path)(error)),
            _ => Ok(()),
        }
    }

    /// Names of the files in it, in no order.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn names(&self) -> Result<Vec<String>, StoreError> {
        let failed = || StoreError::io(&self.folder);
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed())? {
            names.extend(entry.map_err(failed())?.file_name().into_string());
        }
        Ok(names)
    }

    /// Bytes on disk.
    pub fn size(&self) -> u64 {
        let names = self.names().unwrap_or_default();
        names.iter().filter_map(|name| fs::metadata(self.folder.join(name)).ok()).map(|it| it.len()).sum()
    }

    /// Removes the store with all that is in it.
    ///
    /// # Errors
    /// If it is there and cannot be removed.
    pub fn clear(&self) -> Result<(), StoreError> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io(&self.folder)(error)),
            _ => Ok(()),
        }
    }
}
