//! Small files of our own that no other user may read, and no other process of ours may tear.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// How long another process may hold the lock; an edit takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// Writes a file whole or not at all; its folder is made if need be.
///
/// The caller holds the [`lock_file`]: the name of the file on its way is fixed.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let unfinished = beside(path, ".new");
    // One that was left behind by a crash.
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&unfinished, path)
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
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&name)?;
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
