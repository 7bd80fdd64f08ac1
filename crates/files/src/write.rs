//! Writing a file so that it has its old content or its new one, whatever happens in between.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Write},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
};

use rustix::{
    fs::{AtFlags, FileType, FlockOperation, Gid, Mode, OFlags, RenameFlags, Stat, Uid, XattrFlags},
    io::Errno,
};

/// The permissions of a new file, before the umask.
const NEW_FILE: Mode = Mode::from_bits_retain(0o666);
/// The most bytes of the names, and of one value, of extended attributes that are copied.
const MAX_ATTRIBUTES: usize = 64 * 1024;
/// The most files of one directory that are written at once.
const MAX_TEMPORARY: usize = 1_000;

/// How a file is replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WriteMode {
    /// A new file takes the place of the old one in one step. Whoever reads sees the old content or the new one.
    #[default]
    Atomic,
    /// The file itself is written, so that hard links and watchers of the file keep it. A crash may leave half of it.
    InPlace,
}

/// What a write found where it was to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOutcome {
    /// There was no file.
    Created,
    /// There was a file, which is replaced.
    Replaced,
}

/// Writes a file of an open directory: all of it, on disk when this returns.
///
/// The new file has the permissions, extended attributes and, where the system allows it, the owner of the old one. A
/// symbolic link is not followed but refused, so the caller resolves links first.
///
/// `unchanged` is asked right before the old file is replaced, with its state at that time.
///
/// # Errors
/// If the file is no regular file, if `unchanged` refuses, or if the system does.
pub fn write_file(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    content: &[u8],
    mode: WriteMode,
    unchanged: impl FnOnce(Option<&Stat>) -> io::Result<()>,
) -> io::Result<WriteOutcome> {
    let old = open_old(directory, name, mode)?;
    match (mode, old) {
        (WriteMode::InPlace, Some(old)) => {
            unchanged(Some(&rustix::fs::fstat(&old)?))?;
            let mut file = File::from(old);
            file.set_len(0)?;
            file.write_all(content)?;
            file.sync_all()?;
            Ok(WriteOutcome::Replaced)
        }
        (_, old) => replace(directory, name, content, old.as_ref(), unchanged),
    }
}

/// Copies a file into an open directory, where there must be none of that name: content, permissions and extended attributes.
///
/// # Errors
/// If there is something of that name, or if the system refuses.
pub(crate) fn copy_file(source: &File, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<u64> {
    if rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
        return Err(Errno::EXIST.into());
    }
    let new = Temporary::create(directory)?;
    let copied = io::copy(&mut &*source, &mut &new.file)?;
    let stat = rustix::fs::fstat(source)?;
    copy_extended_attributes(source.as_fd(), new.file.as_fd());
    // A copy belongs to the one who makes it, so it runs as no other user.
    rustix::fs::fchmod(&new.file, Mode::from_raw_mode(stat.st_mode & 0o777))?;
    new.file.sync_all()?;
    new.rename(name, false)?;
    rustix::fs::fsync(directory)?;
    Ok(copied)
}

/// Opens the file that is there, without waiting for a FIFO and without waking a device.
fn open_old(directory: BorrowedFd<'_>, name: &OsStr, mode: WriteMode) -> io::Result<Option<OwnedFd>> {
    let stat = match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let access = match mode {
        WriteMode::Atomic => OFlags::RDONLY,
        WriteMode::InPlace => OFlags::RDWR,
    };
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match rustix::fs::openat(directory, name, flags, Mode::empty()) {
        Ok(file) => Ok(Some(file)),
        Err(Errno::NOENT) => Ok(None),
        // A file that may not be read can still be replaced; its permissions are all that is kept then.
        Err(Errno::ACCESS) if mode == WriteMode::Atomic => {
            Ok(Some(rustix::fs::openat(directory, name, OFlags::PATH | OFlags::NOFOLLOW, Mode::empty())?))
        }
        Err(errno) => Err(errno.into()),
    }
}

fn replace(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    content: &[u8],
    old: Option<&OwnedFd>,
    unchanged: impl FnOnce(Option<&Stat>) -> io::Result<()>,
) -> io::Result<WriteOutcome> {
    let new = Temporary::create(directory)?;
    let mut file = &new.file;
    file.write_all(content)?;
    let stat = old.map(rustix::fs::fstat).transpose()?;
    if let (Some(old), Some(stat)) = (old, &stat) {
        keep_attributes(old.as_fd(), stat, new.file.as_fd())?;
    }
    new.file.sync_all()?;
    let now = match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Some(stat),
        Err(Errno::NOENT) => None,
        Err(errno) => return Err(errno.into()),
    };
    unchanged(now.as_ref())?;
    new.rename(name, now.is_some())?;
    rustix::fs::fsync(directory)?;
    Ok(if now.is_some() { WriteOutcome::Replaced } else { WriteOutcome::Created })
}

/// Gives a file the owner, permissions and extended attributes of another.
fn keep_attributes(old: BorrowedFd<'_>, stat: &Stat, new: BorrowedFd<'_>) -> io::Result<()> {
    let own = rustix::fs::fstat(new)?;
    if (stat.st_uid, stat.st_gid) != (own.st_uid, own.st_gid) {
        let owner = Some(Uid::from_raw(stat.st_uid));
        let group = Some(Gid::from_raw(stat.st_gid));
        // Only root may give a file away. Its group may be kept where we are in it.
        if rustix::fs::fchown(new, owner, group).is_err() {
            let _ = rustix::fs::fchown(new, None, group);
        }
    }
    copy_extended_attributes(old, new);
    // After the owner, since a change of owner clears the bits that run a program as another user.
    rustix::fs::fchmod(new, Mode::from_raw_mode(stat.st_mode))?;
    Ok(())
}

/// Copies what can be copied: some attributes belong to the system, and not every file system has them.
fn copy_extended_attributes(old: BorrowedFd<'_>, new: BorrowedFd<'_>) {
    let mut names = vec![0; MAX_ATTRIBUTES];
    let Ok(length) = rustix::fs::flistxattr(old, &mut names[..]) else { return };
    let mut value = vec![0; MAX_ATTRIBUTES];
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        if let Ok(length) = rustix::fs::fgetxattr(old, name, &mut value[..]) {
            let _ = rustix::fs::fsetxattr(new, name, &value[..length], XattrFlags::empty());
        }
    }
}

/// A file that is gone unless it takes the place of another.
///
/// It has no name while it is written, where the file system can do that, so that a process that is killed leaves nothing. A
/// name that it needs, for a moment or from the beginning, is one of few, and it is locked as long as it has that: whatever has
/// such a name and is not locked was left by a process that was killed, and makes room.
struct Temporary<'a> {
    directory: BorrowedFd<'a>,
    file: File,
    /// Where it has a name that must not stay.
    name: Option<String>,
}

impl<'a> Temporary<'a> {
    fn create(directory: BorrowedFd<'a>) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
        match rustix::fs::openat(directory, ".", flags, NEW_FILE) {
            Ok(file) => {
                lock(&file);
                Ok(Self { directory, file: file.into(), name: None })
            }
            // Not every file system knows files without a name.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Self::create_named(directory),
            Err(errno) => Err(errno.into()),
        }
    }

    fn create_named(directory: BorrowedFd<'a>) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (file, name) = with_free_name(directory, |name| {
            let file = rustix::fs::openat(directory, name, flags, NEW_FILE)?;
            // Until it is locked, another process may take it for one that was left.
            if lock(&file) && is_named(directory, name, &file) { Ok(file) } else { Err(Errno::EXIST) }
        })?;
        Ok(Self { directory, file: file.into(), name: Some(name) })
    }

    /// Puts the file in its place. Where there was none, one that was created meanwhile is not replaced.
    fn rename(mut self, name: &OsStr, replaces: bool) -> io::Result<()> {
        match (&self.name, replaces) {
            (Some(own), true) => rustix::fs::renameat(self.directory, own, self.directory, name)?,
            (Some(own), false) => rename_new(self.directory, OsStr::new(own), name)?,
            (None, true) => {
                // A link replaces nothing, a rename does.
                let (_, own) = with_free_name(self.directory, |own| self.link(OsStr::new(own)))?;
                let renamed = rustix::fs::renameat(self.directory, &own, self.directory, name);
                self.name = Some(own);
                renamed?;
            }
            (None, false) => self.link(name)?,
        }
        self.name = None;
        Ok(())
    }

    /// Gives a file without a name one, unless there is something of that name.
    fn link(&self, name: &OsStr) -> Result<(), Errno> {
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        rustix::fs::linkat(rustix::fs::CWD, own, self.directory, name, AtFlags::SYMLINK_FOLLOW)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = rustix::fs::unlinkat(self.directory, name, AtFlags::empty());
        }
    }
}

/// Calls `take` with names of temporary files until one is free.
fn with_free_name<T>(
    directory: BorrowedFd<'_>,
    mut take: impl FnMut(&str) -> Result<T, Errno>,
) -> io::Result<(T, String)> {
    for number in 0..MAX_TEMPORARY {
        let name = format!(".toolbay-{number}.tmp");
        let mut taken = take(&name);
        if matches!(taken, Err(Errno::EXIST)) && remove_left(directory, &name) {
            taken = take(&name);
        }
        match taken {
            Ok(taken) => return Ok((taken, name)),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(io::Error::other("too many files are being written in this directory"))
}

/// Removes a temporary file that a killed process has left.
fn remove_left(directory: BorrowedFd<'_>, name: &str) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::openat(directory, name, flags, Mode::empty()) else { return false };
    // Only the process that has the lock changes what the name stands for.
    lock(&file)
        && is_named(directory, name, &file)
        && rustix::fs::unlinkat(directory, name, AtFlags::empty()).is_ok()
}

/// Locks a file, unless another process has. A file system without locks is no reason to write nothing.
fn lock(file: &OwnedFd) -> bool {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK)
}

/// Whether a name still stands for a file.
fn is_named(directory: BorrowedFd<'_>, name: &str, file: &OwnedFd) -> bool {
    let named = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
    matches!((named, rustix::fs::fstat(file)), (Ok(named), Ok(file)) if (named.st_dev, named.st_ino) == (file.st_dev, file.st_ino))
}

/// Renames a file unless there is one of the new name.
fn rename_new(directory: BorrowedFd<'_>, from: &OsStr, to: &OsStr) -> io::Result<()> {
    match rustix::fs::renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
        // Some file systems know no such rename; a link refuses to replace, too.
        Err(Errno::INVAL | Errno::NOSYS) => {
            rustix::fs::linkat(directory, from, directory, to, AtFlags::empty())?;
            rustix::fs::unlinkat(directory, from, AtFlags::empty())?;
            Ok(())
        }
        done => Ok(done?),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    fn write(
        directory: &tempfile::TempDir,
        name: &str,
        content: &str,
        mode: WriteMode,
    ) -> io::Result<WriteOutcome> {
        let opened = File::open(directory.path()).unwrap();
        write_file(opened.as_fd(), OsStr::new(name), content.as_bytes(), mode, |_| Ok(()))
    }

    fn names(directory: &tempfile::TempDir) -> Vec<std::ffi::OsString> {
        let mut names: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    #[test]
    fn permissions_and_attributes_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.sh");
        assert_eq!(write(&directory, "run.sh", "one", WriteMode::Atomic).unwrap(), WriteOutcome::Created);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
        let has_attributes = rustix::fs::setxattr(&path, "user.origin", b"here", XattrFlags::empty()).is_ok();
        for mode in [WriteMode::Atomic, WriteMode::InPlace] {
            assert_eq!(write(&directory, "run.sh", "two", mode).unwrap(), WriteOutcome::Replaced);
            assert_eq!(fs::read_to_string(&path).unwrap(), "two");
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o751);
            if has_attributes {
                let mut value = [0; 16];
                let length = rustix::fs::getxattr(&path, "user.origin", &mut value[..]).unwrap();
                assert_eq!(&value[..length], b"here");
            }
        }
        assert_eq!(names(&directory), ["run.sh"]);
    }

    #[test]
    fn only_regular_files_are_replaced() {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("elsewhere", directory.path().join("link")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, directory.path().join("fifo"), FileType::Fifo, NEW_FILE, 0)
            .unwrap();
        for name in ["link", "fifo"] {
            for mode in [WriteMode::Atomic, WriteMode::InPlace] {
                assert_eq!(write(&directory, name, "x", mode).unwrap_err().to_string(), "not a regular file");
            }
        }
        assert_eq!(names(&directory), ["fifo", "link"]);
    }

    #[test]
    fn a_refused_write_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a"), "old").unwrap();
        let opened = File::open(directory.path()).unwrap();
        let refuse = |_: Option<&Stat>| Err(io::Error::other("changed"));
        write_file(opened.as_fd(), OsStr::new("a"), b"new", WriteMode::Atomic, refuse).unwrap_err();
        assert_eq!(fs::read_to_string(directory.path().join("a")).unwrap(), "old");
        // One that appears while a new file is written is not replaced.
        let path = directory.path().join("b");
        let appear = |_: Option<&Stat>| fs::write(&path, "theirs");
        write_file(opened.as_fd(), OsStr::new("b"), b"ours", WriteMode::Atomic, appear).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        assert_eq!(names(&directory), ["a", "b"]);
    }

    #[test]
    fn what_a_killed_process_left_makes_room() {
        let directory = tempfile::tempdir().unwrap();
        let opened = File::open(directory.path()).unwrap();
        write(&directory, "file", "old", WriteMode::Atomic).unwrap();
        for name in [".toolbay-0.tmp", ".toolbay-1.tmp"] {
            fs::write(directory.path().join(name), "left").unwrap();
        }
        // The first is being written by another process, so only the second is in nobody's use.
        let used = File::open(directory.path().join(".toolbay-0.tmp")).unwrap();
        rustix::fs::flock(&used, FlockOperation::NonBlockingLockExclusive).unwrap();
        write(&directory, "file", "new", WriteMode::Atomic).unwrap();
        assert_eq!(fs::read_to_string(directory.path().join("file")).unwrap(), "new");
        assert_eq!(names(&directory), [".toolbay-0.tmp", "file"]);
        // Where files cannot be without a name, they have one from the beginning.
        drop(used);
        let named = Temporary::create_named(opened.as_fd()).unwrap();
        assert_eq!(names(&directory), [".toolbay-0.tmp", "file"]);
        assert_eq!(fs::read(directory.path().join(".toolbay-0.tmp")).unwrap(), b"");
        let other = Temporary::create_named(opened.as_fd()).unwrap();
        assert_eq!(names(&directory), [".toolbay-0.tmp", ".toolbay-1.tmp", "file"]);
        named.rename(OsStr::new("file"), true).unwrap();
        assert!(other.rename(OsStr::new("file"), false).is_err());
        assert_eq!(names(&directory), ["file"]);
    }

    #[test]
    fn hard_links_are_kept_in_place() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a"), "old and long").unwrap();
        fs::hard_link(directory.path().join("a"), directory.path().join("b")).unwrap();
        write(&directory, "a", "new", WriteMode::InPlace).unwrap();
        assert_eq!(fs::read_to_string(directory.path().join("b")).unwrap(), "new");
    }
}
