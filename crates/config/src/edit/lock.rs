//! A file that is changed as a whole, by one at a time.
//!
//! The lock is on the folder: the file itself is another one after each change, and a lock file of our own would lie
//! about in folders of others.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use crate::files::small::{read_small, read_small_text};

/// Some programs keep far more in the file of their servers than these.
pub(super) const MAX_FILE: u64 = 64 * 1024 * 1024;

/// New files may come to hold secrets.
const NEW_FILE_MODE: u32 = 0o600;

/// A file that nobody else changes as long as this lives, if they ask as we do.
pub(crate) struct Locked {
    path: PathBuf,
    folder: PathBuf,
    /// The folder, held.
    lock: File,
}

impl Locked {
    /// Waits until nobody else has the file. The folder is made if there is none.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        // Through links, so that what they lead to is changed, and they stay.
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
        self.place(text.as_bytes(), mode.unwrap_or(NEW_FILE_MODE), &self.path)?;
        // So that the new name is there after a loss of power.
        self.lock.sync_all()?;
        Ok(mode.map(|_| backup))
    }

    /// Writes a file beside its place and then moves it there: nobody ever sees a part.
    fn place(&self, content: &[u8], mode: u32, to: &Path) -> io::Result<()> {
        let name = to.file_name().unwrap_or_default().to_string_lossy();
        let temporary = self.folder.join(format!(".{name}.new"));
        // Left by one that died: the lock says that nobody is at it.
        if let Err(error) = fs::remove_file(&temporary)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let written =
            OpenOptions::new().write(true).create_new(true).mode(NEW_FILE_MODE).open(&temporary).and_then(
                |mut file| {
                    file.write_all(content)?;
                    file.set_permissions(fs::Permissions::from_mode(mode))?;
                    file.sync_all()
                },
            );
        written.and_then(|()| fs::rename(&temporary, to)).inspect_err(|_| {
            // What failed is told already.
            let _ = fs::remove_file(&temporary);
        })
    }
}
