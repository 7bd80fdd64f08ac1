//! A locked file that is replaced as a whole.
//!
//! The lock is on the folder: the file itself is another one after each change, and a lock file would be left in folders of other
//! programs.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use crate::files::{
    replace::{Durability, PRIVATE_MODE, replace_file},
    small::{read_small, read_small_text},
};

/// Some programs keep far more in the file of their servers than these.
pub(super) const MAX_FILE: u64 = 64 * 1024 * 1024;

/// A file that is locked against other processes that use this type, until this is dropped.
pub(crate) struct Locked {
    path: PathBuf,
    folder: PathBuf,
    /// The folder, held.
    lock: File,
}

impl Locked {
    /// Waits for the lock. The folder is created if there is none.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        // Links are resolved, so that their target is changed, and they stay.
        let path = match fs::canonicalize(path) {
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
            Err(error) => return Err(error),
        };
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        fs::create_dir_all(&folder)?;
        let lock = File::open(&folder)?;
        lock.lock()?;
        Ok(Self { path, folder, lock })
    }

    /// The text, or none if there is no file.
    pub(crate) fn read(&self) -> io::Result<Option<String>> {
        match read_small_text(&self.path, MAX_FILE) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Puts a text in place of the file, keeps its mode, and gives where the old one is now.
    pub(crate) fn write(&self, text: &str) -> io::Result<Option<PathBuf>> {
        let mode = match fs::metadata(&self.path) {
            Ok(metadata) => Some(metadata.permissions().mode() & 0o7777),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let name = self.path.file_name().ok_or_else(|| io::Error::other("the path does not name a file"))?;
        let name = name.to_string_lossy();
        let backup = self.folder.join(format!("{name}.bak"));
        if let Some(mode) = mode {
            self.place(&read_small(&self.path, MAX_FILE)?, mode, &backup)?;
        }
        self.place(text.as_bytes(), mode.unwrap_or(PRIVATE_MODE), &self.path)?;
        // So that the new name survives a loss of power.
        self.lock.sync_all()?;
        Ok(mode.map(|_| backup))
    }

    /// Replaces a file of the folder as a whole. The lock makes the name of the draft ours alone.
    fn place(&self, content: &[u8], mode: u32, to: &Path) -> io::Result<()> {
        let name = to.file_name().unwrap_or_default().to_string_lossy();
        let draft = self.folder.join(format!(".{name}.new"));
        replace_file(to, &draft, content, mode, Durability::Synced)
    }
}
