//! Replacing a file as a whole: readers see the old content or the new one, never a part.

use std::{
    fs::{self, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
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
