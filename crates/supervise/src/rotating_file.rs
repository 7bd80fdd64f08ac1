//! A log file that does not grow for ever.

use std::{
    fs::{self, DirBuilder, File, Metadata, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use rustix::stdio::{dup2_stderr, dup2_stdout};

/// A log file that is put aside when it is full: `hub.log` becomes `hub.log.1`, that `hub.log.2`, and so on. Only its user
/// may read it.
///
/// As a writer of `tracing_subscriber` it goes into a `Mutex`. A write is never split over two files. Others may write to the
/// file, too, and put it aside: what they write counts, and a writer that finds the file replaced goes on in the new one.
#[derive(Debug)]
pub struct RotatingFile {
    path: PathBuf,
    max_size: u64,
    max_files: usize,
    file: File,
    /// Whether stdout and stderr of this process are the same file.
    has_stdio: bool,
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
        Ok(Self { path: path.to_owned(), max_size, max_files, file, has_stdio: false })
    }

    /// Makes stdout and stderr of this process the same file, now and whenever it is put aside: so panics and other
    /// output that is not caught are in the log.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    pub fn take_stdio(mut self) -> io::Result<Self> {
        self.has_stdio = true;
        self.redirect_stdio()?;
        Ok(self)
    }

    /// The files of a log, newest first, whether they are there or not.
    pub fn files(path: &Path, max_files: usize) -> impl Iterator<Item = PathBuf> {
        let older = (1..max_files).map(|number| numbered(path, number));
        std::iter::once(path.to_owned()).chain(older.collect::<Vec<_>>())
    }

    fn rotate(&mut self) -> io::Result<()> {
        if self.is_current() {
            for number in (1..self.max_files.saturating_sub(1)).rev() {
                // Not all of them need be there.
                let _ = fs::rename(numbered(&self.path, number), numbered(&self.path, number + 1));
            }
            match self.max_files {
                0 | 1 => fs::remove_file(&self.path)?,
                _ => fs::rename(&self.path, numbered(&self.path, 1))?,
            }
        }
        self.file = append(&self.path)?;
        self.redirect_stdio()
    }

    /// Whether the file is still the one at its path.
    fn is_current(&self) -> bool {
        let identity = |file: Metadata| (file.dev(), file.ino());
        let at_path = fs::metadata(&self.path).map(identity).ok();
        at_path.is_some() && self.file.metadata().map(identity).ok() == at_path
    }

    fn redirect_stdio(&self) -> io::Result<()> {
        if self.has_stdio {
            dup2_stdout(&self.file)?;
            dup2_stderr(&self.file)?;
        }
        Ok(())
    }
}

fn numbered(path: &Path, number: usize) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(format!(".{number}"));
    path.into()
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

impl Write for RotatingFile {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let size = self.file.metadata().map_or(0, |file| file.len());
        let is_full = size > 0 && size.saturating_add(text.len() as u64) > self.max_size;
        if is_full && self.rotate().is_err() {
            // Better a file that is too long than no log; it is tried again when the file has doubled.
            self.max_size = self.max_size.saturating_mul(2);
        }
        self.file.write_all(text)?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
