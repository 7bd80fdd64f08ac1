//! Replacing a file as a whole: readers see the old content or the new one, never a part.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// Only the user may read and write: such files may hold secrets, or become able to.
pub(crate) const PRIVATE_MODE: u32 = 0o600;

/// Whether the new content must be on disk before it replaces the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The content survives a loss of power.
    Synced,
    /// The content may be lost, as that of a cache.
    Cached,
}

/// Writes `content` to `draft` and renames that to `path`. A symbolic link at `path` is replaced, not followed.
///
/// `draft` must be in the directory of `path`. No other process may use it: its name is unique, or the caller holds a lock. One that a
/// crash left behind is removed first. The file has the permissions `mode`, whatever the umask.
///
/// # Errors
///
/// When the file cannot be written or renamed. `path` is unchanged then, and `draft` is removed.
pub fn replace_file(
    path: &Path,
    draft: &Path,
    content: &[u8],
    mode: u32,
    durability: Durability,
) -> io::Result<()> {
    match fs::remove_file(draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_MODE).open(draft)?;
    let mut write = || {
        file.write_all(content)?;
        if mode != PRIVATE_MODE {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        match durability {
            Durability::Synced => file.sync_all()?,
            Durability::Cached => {}
        }
        fs::rename(draft, path)
    };
    write().inspect_err(|_| {
        // The first error is the one that matters.
        let _ = fs::remove_file(draft);
    })
}

/// How long another process may hold the lock; an edit takes milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Replaces a file as a whole.
///
/// The caller holds the [`lock_file`]: the name of the draft is fixed.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
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
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                let message = format!("another process has held {} for {LOCK_TIMEOUT:?}", name.display());
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
