//! Locks between processes, and the mark that tells them of changes.
//!
//! A keyring has neither, so every kind of storage has such a directory beside it.

use std::{
    fs::{self, DirBuilder, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::time::{Instant, sleep};

use super::{
    CredentialName, CredentialStoreError, StorageLock,
    file::{failed, private},
};
use crate::{credential::Credential, http_client::BoxFuture};

/// How long a lock is waited for. A renewal takes seconds; its requests have limits.
const LOCK_TIMEOUT: Duration = Duration::from_secs(90);
/// How often a lock is tried: the system call that waits would block a thread.
const LOCK_INTERVAL: Duration = Duration::from_millis(15);
/// What a killed process left behind is removed after this time.
const LEFTOVER_AGE: Duration = Duration::from_secs(3600);
/// The file that is replaced with every change.
const MARK: &str = "changed";

/// A directory with a file per lock, which only its owner can read.
#[derive(Debug, Clone)]
pub struct LockDirectory(PathBuf);

/// Differs from that of any other moment between which an entry was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreStamp {
    inode: u64,
    modified: (i64, i64),
}

impl LockDirectory {
    /// A directory that is created when it is first needed.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self(directory.into())
    }

    /// Opens a directory, which is created if needed, and makes sure that no other user can read it.
    ///
    /// # Errors
    /// If it cannot be created or belongs to another user.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, CredentialStoreError> {
        let locks = Self::at(directory);
        locks.prepare()?;
        Ok(locks)
    }

    fn prepare(&self) -> Result<(), CredentialStoreError> {
        prepare(&self.0).map_err(|source| failed(&self.0, source))
    }

    /// Waits until no other task and no other process has the lock of an entry.
    pub fn lock<'a>(
        &'a self,
        name: &'a CredentialName,
    ) -> BoxFuture<'a, Result<StorageLock, CredentialStoreError>> {
        let path = self.0.join(format!("{}.lock", name.as_str()));
        Box::pin(async move {
            let begin = Instant::now();
            if !self.0.is_dir() {
                self.prepare()?;
            }
            // The file stays: a lock on a file that was removed would lock nothing.
            let file = private().write(true).create(true).truncate(false).open(&path);
            let file = file.map_err(|source| failed(&path, source))?;
            loop {
                match file.try_lock() {
                    Ok(()) => return Ok(StorageLock::new(file)),
                    Err(TryLockError::Error(source)) => return Err(failed(&path, source)),
                    Err(TryLockError::WouldBlock) if begin.elapsed() > LOCK_TIMEOUT => {
                        return Err(CredentialStoreError::Locked { path, seconds: LOCK_TIMEOUT.as_secs() });
                    }
                    Err(TryLockError::WouldBlock) => sleep(LOCK_INTERVAL).await,
                }
            }
        })
    }

    /// Tells all processes that an entry has changed.
    ///
    /// # Errors
    /// If the directory cannot be written.
    pub fn changed(&self) -> Result<(), CredentialStoreError> {
        self.prepare()?;
        let unique = Credential::random().map_err(|error| CredentialStoreError::Other(error.to_string()))?;
        let temporary = self.0.join(format!("{MARK}.{}.tmp", unique.expose()));
        // Replaced, not written: the time of a file may be as coarse as a few milliseconds, but its number differs.
        let marked = private()
            .write(true)
            .create_new(true)
            .open(&temporary)
            .and_then(|_| fs::rename(&temporary, self.0.join(MARK)));
        marked.map_err(|source| failed(&self.0, source))
    }

    /// The mark of the last change; nothing if there was none.
    pub fn stamp(&self) -> Option<StoreStamp> {
        let metadata = fs::metadata(self.0.join(MARK)).ok()?;
        Some(StoreStamp { inode: metadata.ino(), modified: (metadata.mtime(), metadata.mtime_nsec()) })
    }
}

fn prepare(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let is_leftover = entry.file_name().to_string_lossy().ends_with(".tmp")
            // Another process may have renamed or removed it.
            && entry.metadata().and_then(|it| it.modified()).is_ok_and(|at| {
                at.elapsed().is_ok_and(|age| age > LEFTOVER_AGE)
            });
        if is_leftover {
            let _ = fs::remove_file(entry.path()); // another process may have done it
        }
    }
    Ok(())
}
