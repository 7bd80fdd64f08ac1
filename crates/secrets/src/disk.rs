//! Small files that only their user may read: reading them, and replacing them under a lock of all processes.
//!
//! A file is replaced as a whole: the new content is written beside it and renamed. A process that is killed meanwhile leaves the
//! old file, and a draft that the next one removes. The lock is a file of its own, because the one that it protects is replaced.

use std::{
    ffi::{OsStr, OsString},
    fs::{DirBuilder, File},
    io::{self, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::DirBuilderExt,
    },
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, fstat, openat},
    io::Errno,
};
use zeroize::Zeroizing;

use crate::error::SecretsError;

/// How long another process may hold the lock. It holds it for milliseconds, or longer if it derives a key from a passphrase.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const LOCK_RETRY: Duration = Duration::from_millis(2);
/// Neither a link nor a FIFO nor a terminal makes us follow it or wait for it.
const CAREFULLY: OFlags =
    OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);
const PRIVATE_DIRECTORY: u32 = 0o700;

/// Who else may have access to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Only the user.
    User,
    /// The group too: systemd grants a service access to its credentials with an access control list, which shows as the group's.
    Group,
}

/// Reads a file, if there is one.
///
/// # Errors
/// If it is no regular file, if others may access it, if it is larger than `limit`, or if the system refuses.
pub(crate) fn read(
    path: &Path,
    audience: Audience,
    limit: usize,
) -> Result<Option<Zeroizing<Vec<u8>>>, SecretsError> {
    read_at(CWD, path.as_os_str(), path, audience, limit)
}

fn read_at(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    path: &Path,
    audience: Audience,
    limit: usize,
) -> Result<Option<Zeroizing<Vec<u8>>>, SecretsError> {
    let failed = |source| SecretsError::Read { path: path.to_owned(), source };
    let file = match openat(directory, name, OFlags::RDONLY | CAREFULLY, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        // So says the system of a link that is not to be followed, and of a socket.
        Err(Errno::LOOP) => return Err(not_regular(path, FileType::Symlink)),
        Err(Errno::NXIO) => return Err(not_regular(path, FileType::Socket)),
        Err(errno) => return Err(failed(errno.into())),
    };
    check(&file, path, audience)?;
    let file = File::from(file);
    let length = file.metadata().map_err(failed)?.len();
    let too_large = || SecretsError::TooLarge { path: path.to_owned(), limit };
    let length = usize::try_from(length).ok().filter(|length| *length <= limit).ok_or_else(too_large)?;
    // As large as it gets at once: a buffer that grows would leave copies behind.
    let mut content = Zeroizing::new(Vec::with_capacity(length + 1));
    file.take(length as u64).read_to_end(&mut content).map_err(failed)?;
    Ok(Some(content))
}

/// A regular file of ours, or of root, that no other may access.
fn check(file: &OwnedFd, path: &Path, audience: Audience) -> Result<(), SecretsError> {
    let stat =
        fstat(file).map_err(|errno| SecretsError::Read { path: path.to_owned(), source: errno.into() })?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind != FileType::RegularFile {
        return Err(not_regular(path, kind));
    }
    if stat.st_uid != rustix::process::geteuid().as_raw() && stat.st_uid != 0 {
        return Err(SecretsError::ForeignOwner { path: path.to_owned(), owner: stat.st_uid });
    }
    let (others, fix) = match audience {
        Audience::User => (0o077, "600"),
        Audience::Group => (0o007, "640"),
    };
    let mode = stat.st_mode & 0o777;
    if mode & others != 0 {
        return Err(SecretsError::Exposed { path: path.to_owned(), mode, fix });
    }
    Ok(())
}

fn not_regular(path: &Path, kind: FileType) -> SecretsError {
    let what = match kind {
        FileType::Symlink => "a symbolic link",
        FileType::Directory => "a directory",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        _ => "a device",
    };
    SecretsError::NotRegular { path: path.to_owned(), what }
}

/// A file that no other process changes until this is dropped.
#[derive(Debug)]
pub(crate) struct LockedFile {
    path: PathBuf,
    name: OsString,
    directory: OwnedFd,
    /// The lock ends with the descriptor, however the process ends.
    _lock: OwnedFd,
}

impl LockedFile {
    /// Locks a file, which need not exist. Its directory is created, for the user alone.
    ///
    /// # Errors
    /// If another process holds the lock for ten seconds, or if the system refuses.
    pub(crate) fn lock(path: &Path) -> Result<Self, SecretsError> {
        let failed = |source| SecretsError::Write { path: path.to_owned(), source };
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(failed(io::ErrorKind::InvalidInput.into()));
        };
        DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(parent).map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(CWD, parent, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        let mode = fstat(&directory).map_err(|errno| failed(errno.into()))?.st_mode & 0o7777;
        // A user who may rename files here can exchange ours; with the sticky bit, only the owners of files can.
        if mode & 0o1002 == 0o002 {
            return Err(SecretsError::Exposed { path: parent.to_owned(), mode, fix: "o-w" });
        }
        let lock_path = with_ending(path, ".lock");
        let flags = OFlags::RDWR | OFlags::CREATE | CAREFULLY;
        let lock = match openat(&directory, with_ending(name.as_ref(), ".lock"), flags, PRIVATE) {
            Ok(lock) => lock,
            Err(Errno::LOOP) => return Err(not_regular(&lock_path, FileType::Symlink)),
            Err(errno) => return Err(SecretsError::Write { path: lock_path, source: errno.into() }),
        };
        check(&lock, &lock_path, Audience::User)?;
        wait_for(&lock, &lock_path)?;
        Ok(Self { path: path.to_owned(), name: name.to_owned(), directory, _lock: lock })
    }

    /// Reads the file, if there is one.
    ///
    /// # Errors
    /// As [`read`].
    pub(crate) fn read(&self, limit: usize) -> Result<Option<Zeroizing<Vec<u8>>>, SecretsError> {
        read_at(self.directory.as_fd(), &self.name, &self.path, Audience::User, limit)
    }

    /// Replaces the file. The new content is on disk when this returns.
    ///
    /// # Errors
    /// If the system refuses; the file has its old content then.
    pub(crate) fn replace(&self, content: &[u8]) -> Result<(), SecretsError> {
        self.try_replace(content).map_err(|source| SecretsError::Write { path: self.path.clone(), source })
    }

    fn try_replace(&self, content: &[u8]) -> io::Result<()> {
        let draft = with_ending(self.name.as_ref(), ".new");
        // Left by a process that was killed; none writes it now, because the lock is ours.
        match rustix::fs::unlinkat(&self.directory, &draft, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | CAREFULLY;
        let mut file = File::from(openat(&self.directory, &draft, flags, PRIVATE)?);
        let written = file.write_all(content).and_then(|()| file.sync_all());
        let replaced = written
            .and_then(|()| Ok(rustix::fs::renameat(&self.directory, &draft, &self.directory, &self.name)?));
        if replaced.is_err() {
            // The first error is the one that counts.
            let _ = rustix::fs::unlinkat(&self.directory, &draft, AtFlags::empty());
        }
        replaced?;
        Ok(rustix::fs::fsync(&self.directory)?)
    }
}

fn wait_for(lock: &OwnedFd, path: &Path) -> Result<(), SecretsError> {
    let begun = Instant::now();
    loop {
        match rustix::fs::flock(lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK | Errno::INTR) if begun.elapsed() < LOCK_TIMEOUT => {
                thread::sleep(LOCK_RETRY);
            }
            Err(Errno::WOULDBLOCK | Errno::INTR) => {
                return Err(SecretsError::Busy { path: path.to_owned(), waited: LOCK_TIMEOUT });
            }
            Err(errno) => return Err(SecretsError::Write { path: path.to_owned(), source: errno.into() }),
        }
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
