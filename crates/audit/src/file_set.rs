//! The files of one chain: the current one, those that were rotated, the head and the lock.

use std::{
    ffi::OsStr,
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use crate::chain::{Head, LineHash, Link};

/// How many processes of one name may write at once.
const MAX_SETS: usize = 64;
/// A longer line is not ours.
const MAX_LINE: u64 = 1024 * 1024;

/// The files of one chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSet {
    folder: PathBuf,
    name: String,
}

/// Why the log cannot be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The system refuses.
    #[error("cannot {verb} {}: {source}", path.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// Too many processes write.
    #[error("{MAX_SETS} processes write audit logs in {} already", folder.display())]
    TooMany {
        /// Where.
        folder: PathBuf,
    },
    /// The head is not what we write.
    #[error("{} is damaged; `toolbay audit --verify` says what can be said of the records; move it away to begin anew", path.display())]
    BadHead {
        /// The head.
        path: PathBuf,
    },
}

/// The sets of files in a directory, sorted by name.
///
/// # Errors
/// If the directory cannot be read; one that does not exist has none.
pub fn file_sets(folder: &Path) -> Result<Vec<FileSet>, AuditError> {
    let failed = |source| AuditError::Io { verb: "read", path: folder.to_owned(), source };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let file = entry.map_err(failed)?.file_name();
        let Some(file) = file.to_str() else { continue };
        // A log without its head is a set, too: its head was removed.
        let name = file.strip_suffix(".head").or_else(|| file.strip_suffix(".ndjson"));
        names.extend(name.map(|name| name.split('.').next().unwrap_or(name).to_owned()));
    }
    names.sort();
    names.dedup();
    Ok(names.into_iter().map(|name| FileSet { folder: folder.to_owned(), name }).collect())
}

impl FileSet {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file to which records are appended.
    pub fn current(&self) -> PathBuf {
        self.folder.join(format!("{}.ndjson", self.name))
    }

    /// The file with the head.
    pub fn head_path(&self) -> PathBuf {
        self.folder.join(format!("{}.head", self.name))
    }

    /// The files with records, the oldest first.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn files(&self) -> Result<Vec<PathBuf>, AuditError> {
        let mut rotated = self.rotated()?;
        rotated.sort();
        let current = Some(self.current()).filter(|path| path.exists());
        Ok(rotated.into_iter().map(|(_, path)| path).chain(current).collect())
    }

    fn rotated(&self) -> Result<Vec<(u64, PathBuf)>, AuditError> {
        let failed = |source| AuditError::Io { verb: "read", path: self.folder.clone(), source };
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            let middle =
                name.strip_prefix(&format!("{}.", self.name)).and_then(|it| it.strip_suffix(".ndjson"));
            if let Some(first) = middle.and_then(|first| first.parse().ok()) {
                found.push((first, path));
            }
        }
        Ok(found)
    }

    /// The head; none if there is none.
    pub(crate) fn head(&self) -> Result<Option<Head>, AuditError> {
        let path = self.head_path();
        match fs::read(&path) {
            Ok(text) => Head::parse(&text).map(Some).ok_or(AuditError::BadHead { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(AuditError::Io { verb: "read", path, source }),
        }
    }
}

/// A set of files that this process writes.
#[derive(Debug)]
pub(crate) struct OpenSet {
    pub(crate) set: FileSet,
    pub(crate) head: Head,
    file: File,
    head_file: File,
    /// Length of the current file that is known to hold whole records.
    length: u64,
    /// The number of the first record in the current file.
    first_in_file: u64,
    /// Held as long as this process writes.
    _lock: File,
}

impl OpenSet {
    /// Opens the first set of that name that no other process writes, and continues its chain.
    pub(crate) fn open(folder: &Path, name: &str) -> Result<Self, AuditError> {
        let io = |verb, path: &Path| {
            let path = path.to_owned();
            move |source| AuditError::Io { verb, path, source }
        };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(io("create", folder))?;
        for number in 1..=MAX_SETS {
            let name = if number == 1 { name.to_owned() } else { format!("{name}-{number}") };
            let path = folder.join(format!("{name}.lock"));
            let lock = private().open(&path).map_err(io("open", &path))?;
            match lock.try_lock() {
                Ok(()) => return Self::continued(FileSet { folder: folder.to_owned(), name }, lock),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(io("lock", &path)(error)),
            }
        }
        Err(AuditError::TooMany { folder: folder.to_owned() })
    }

    /// Continues a chain where its files end.
    fn continued(set: FileSet, lock: File) -> Result<Self, AuditError> {
        let known = set.head()?;
        let (current, head_path) = (set.current(), set.head_path());
        let failed = |verb, path: &Path, source| AuditError::Io { verb, path: path.to_owned(), source };
        let open = || -> io::Result<(File, Tail)> {
            let mut file = append(&current)?;
            let tail = Tail::of(&mut file)?;
            // A line without an end was never confirmed: its process was killed, or the disk was full.
            file.set_len(tail.length)?;
            Ok((file, tail))
        };
        let (file, tail) = open().map_err(|error| failed("open", &current, error))?;
        let head_file = private().open(&head_path).map_err(|error| failed("open", &head_path, error))?;
        let mut head = known.unwrap_or(Head::EMPTY);
        if let Some((seq, hash)) = tail.last.filter(|(seq, _)| *seq > head.seq) {
            // The process was killed between the two files, or the head was removed.
            (head.seq, head.hash) = (seq, hash);
        }
        let first_in_file = tail.first.unwrap_or(head.seq + 1);
        let open = Self { set, head, file, head_file, length: tail.length, first_in_file, _lock: lock };
        open.write_head().map_err(|error| failed("write", &head_path, error))?;
        Ok(open)
    }

    /// Appends lines, then writes the head. What was written in part is taken back.
    pub(crate) fn append(&mut self, lines: &[u8], head: Head, fsync: bool) -> io::Result<()> {
        let written =
            self.file.write_all(lines).and_then(|()| if fsync { self.file.sync_data() } else { Ok(()) });
        if let Err(error) = written {
            self.file.set_len(self.length)?;
            return Err(error);
        }
        self.length += lines.len() as u64;
        self.head = head;
        self.write_head()?;
        if fsync {
            self.head_file.sync_data()?;
        }
        Ok(())
    }

    fn write_head(&self) -> io::Result<()> {
        self.head_file.write_all_at(&self.head.to_bytes(), 0)
    }

    /// Whether the current file is as long as files may be.
    pub(crate) fn is_full(&self, max_size: u64) -> bool {
        self.length >= max_size
    }

    /// Opens the files again if someone removed them, so that what follows is kept.
    pub(crate) fn follow_removal(&mut self) -> io::Result<()> {
        if self.file.metadata()?.nlink() == 0 {
            self.file = append(&self.set.current())?;
            self.length = self.file.seek(SeekFrom::End(0))?;
            self.first_in_file = self.head.seq + 1;
        }
        if self.head_file.metadata()?.nlink() == 0 {
            let path = self.set.head_path();
            self.head_file = private().open(&path)?;
            self.write_head()?;
        }
        Ok(())
    }

    /// Begins another file, and removes the oldest ones beyond `keep`.
    pub(crate) fn rotate(&mut self, keep: usize) -> io::Result<()> {
        let current = self.set.current();
        let aside = self.set.folder.join(format!("{}.{:020}.ndjson", self.set.name, self.first_in_file));
        fs::rename(&current, aside)?;
        self.file = append(&current)?;
        (self.length, self.first_in_file) = (0, self.head.seq + 1);
        let mut rotated = self.set.rotated().map_err(io::Error::other)?;
        rotated.sort();
        let surplus = rotated.len().saturating_sub(keep);
        if surplus == 0 {
            return Ok(());
        }
        // First the head: a file that is left over does no harm, one that is missing does.
        let oldest = rotated.get(surplus).map(|(_, path)| first_link(path)).transpose()?.flatten();
        (self.head.first, self.head.first_prev) = match oldest {
            Some(link) => (link.seq, link.prev),
            None => (self.head.seq + 1, self.head.hash),
        };
        self.write_head()?;
        rotated.iter().take(surplus).try_for_each(|(_, path)| fs::remove_file(path))
    }
}

/// What is known of a file with records, from its beginning and end.
struct Tail {
    /// Without an unfinished line.
    length: u64,
    first: Option<u64>,
    last: Option<(u64, LineHash)>,
}

impl Tail {
    fn of(file: &mut File) -> io::Result<Self> {
        let length = file.seek(SeekFrom::End(0))?;
        let mut text = Vec::new();
        // Twice the longest line, so that the last whole one is in it.
        file.seek(SeekFrom::Start(length.saturating_sub(2 * MAX_LINE)))?;
        file.read_to_end(&mut text)?;
        let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let unfinished = (text.len() - end) as u64;
        let lines = text[..end].strip_suffix(b"\n");
        let last = lines.and_then(|lines| lines.rsplit(|byte| *byte == b'\n').next());
        let last = last.and_then(|line| Some((Link::of(line)?.seq, LineHash::of(line))));
        let first = first_line(file)?.and_then(|line| Link::of(&line)).map(|link| link.seq);
        file.seek(SeekFrom::End(0))?;
        Ok(Self { length: length - unfinished, first, last })
    }
}

fn first_link(path: &Path) -> io::Result<Option<Link>> {
    Ok(first_line(&mut File::open(path)?)?.and_then(|line| Link::of(&line)))
}

fn first_line(file: &mut File) -> io::Result<Option<Vec<u8>>> {
    file.seek(SeekFrom::Start(0))?;
    let mut text = Vec::new();
    file.take(MAX_LINE).read_to_end(&mut text)?;
    let end = text.iter().position(|byte| *byte == b'\n');
    Ok(end.map(|end| text[..end].to_vec()))
}

/// A file for us to write that only its user may read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)
}
