//! A log file that does not grow for ever.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// A log file that is put aside when it is full: `hub.log` becomes `hub.log.1`, that `hub.log.2`, and so on. Only its user
/// may read it.
///
/// As a writer of `tracing_subscriber` it goes into a `Mutex`. A write is never split over two files.
#[derive(Debug)]
pub struct RotatingFile {
    path: PathBuf,
    max_size: u64,
    max_files: usize,
    file: File,
    size: u64,
}

impl RotatingFile {
    /// The size at which a log of a hub is put aside.
    pub const MAX_SIZE: u64 = 5 * 1024 * 1024;
    /// How many files of a log there are, the current one included.
    pub const MAX_FILES: usize = 3;

    /// Opens the file to write at its end; its folder is made if need be.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened.
    pub fn open(path: &Path, max_size: u64, max_files: usize) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let file = append(path)?;
        let size = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), max_size, max_files, file, size })
    }

    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..self.max_files.saturating_sub(1)).rev() {
            // Not all of them need be there.
            let _ = fs::rename(self.numbered(number), self.numbered(number + 1));
        }
        match self.max_files {
            0 | 1 => fs::remove_file(&self.path)?,
            _ => fs::rename(&self.path, self.numbered(1))?,
        }
        self.file = append(&self.path)?;
        self.size = 0;
        Ok(())
    }

    fn numbered(&self, number: usize) -> PathBuf {
        let mut path = self.path.as_os_str().to_owned();
        path.push(format!(".{number}"));
        path.into()
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

impl Write for RotatingFile {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let is_full = self.size > 0 && self.size.saturating_add(text.len() as u64) > self.max_size;
        if is_full && self.rotate().is_err() {
            // Better a file that is too long than no log; it is tried again when the file has doubled.
            self.max_size = self.max_size.saturating_mul(2);
        }
        self.file.write_all(text)?;
        self.size += text.len() as u64;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
