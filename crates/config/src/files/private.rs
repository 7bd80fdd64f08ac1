//! Small files of our own that no other user may read, and no other process of ours may tear.

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use crate::files::replace::{Durability, PRIVATE_MODE, replace_file};

/// How long another process may hold the lock; an edit takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// Replaces a file as a whole.
///
/// The caller holds the [`lock_file`]: the name of the draft is fixed.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_file(path, &beside(path, ".new"), content, PRIVATE_MODE, Durability::Synced)
}

/// Keeps every other process of ours from writing until it is dropped.
///
/// The lock is a file of its own, because the one it protects is replaced; the system lets go of it when we end, however.
///
/// # Errors
///
/// When the lock cannot be created, or another process holds it for five seconds.
pub fn lock_file(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let name = beside(path, ".lock");
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(PRIVATE_MODE).open(&name)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                let message = format!("another process has held {} for {PATIENCE:?}", name.display());
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// A file in the same folder, with more at the end of its name.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
