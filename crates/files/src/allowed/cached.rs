//! Files that are in the memory of the system: read without waiting.
//!
//! Handing a read to another thread takes longer than a small read itself, and the thread that serves all clients must never
//! wait for a disk, a network or a program. So the kernel is asked to do what it can do at once, and to refuse the rest.

use super::{AllowedDirectories, normalize};

#[cfg(target_os = "linux")]
pub(super) use linux::is_local;
#[cfg(not(target_os = "linux"))]
pub(super) use other::is_local;

#[cfg(target_os = "linux")]
use linux::read;
#[cfg(not(target_os = "linux"))]
use other::read;

impl AllowedDirectories {
    /// Reads a regular file of at most `limit` bytes, if that takes no waiting and no link is on the way.
    ///
    /// Nothing is learned from `None`: [`find`](Self::find) says what is wrong, if anything.
    pub fn read_cached(&self, path: &str, limit: usize) -> Option<Vec<u8>> {
        let path = self.read_path(path).ok()?;
        let path = match self.roots.as_slice() {
            [only] => normalize(&only.named.join(path)),
            _ if path.is_absolute() => normalize(&path),
            _ => return None, // which directory it is in takes a look at each
        };
        let (root, relative) = self.root_of(&path).ok()?;
        if !root.is_local || relative.is_root() {
            return None;
        }
        self.check_secret(&path, &root.whole(&relative)).ok()?;
        read(root, relative.as_path(), limit)
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        io::IoSliceMut,
        os::fd::{AsFd, BorrowedFd},
        path::Path,
    };

    use rustix::{
        fs::{FileType, FsWord, Mode, OFlags, ResolveFlags},
        io::ReadWriteFlags,
    };

    use super::super::{AllowedDirectory, by_handle};

    /// ext2 to ext4, XFS, Btrfs, F2FS, ZFS, bcachefs, tmpfs and ramfs. Others may be a network or a program (FUSE), or lie above
    /// such a one (overlayfs).
    const LOCAL: [FsWord; 8] =
        [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x2fc1_2fc1, 0xca45_1a4e, 0x0102_1994, 0x8584_58f6];

    pub(in super::super) fn is_local(directory: BorrowedFd<'_>) -> bool {
        rustix::fs::fstatfs(directory).is_ok_and(|system| LOCAL.contains(&system.f_type))
    }

    /// Looks a file up, checks it, and only then opens it, as `Found` does. Without links, the path is the real one.
    pub(super) fn read(root: &AllowedDirectory, path: &Path, limit: usize) -> Option<Vec<u8>> {
        let resolve = ResolveFlags::BENEATH
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_XDEV
            | ResolveFlags::CACHED;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let handle = rustix::fs::openat2(&root.directory, path, flags, Mode::empty(), resolve).ok()?;
        let stat = rustix::fs::fstat(&handle).ok()?;
        let size = usize::try_from(stat.st_size).ok().filter(|size| *size <= limit)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return None;
        }
        // With `NONBLOCK`, a file that another process has a lease on is not waited for.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open(by_handle(handle.as_fd()), flags, Mode::empty()).ok()?;
        let mut bytes = vec![0; size + 1]; // one more shows whether it has grown
        let parts = &mut [IoSliceMut::new(&mut bytes)];
        let read = rustix::io::preadv2(&file, parts, 0, ReadWriteFlags::NOWAIT).ok()?;
        bytes.truncate(read);
        (read == size).then_some(bytes)
    }
}

/// Other systems cannot be asked.
#[cfg(not(target_os = "linux"))]
mod other {
    use std::{os::fd::BorrowedFd, path::Path};

    use super::super::AllowedDirectory;

    pub(in super::super) fn is_local(_: BorrowedFd<'_>) -> bool {
        false
    }

    pub(super) fn read(_: &AllowedDirectory, _: &Path, _: usize) -> Option<Vec<u8>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use rustix::fs::{CWD, FileType, Mode};

    use super::AllowedDirectories;

    #[test]
    fn only_small_regular_files_are_read_and_no_link_is_followed() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("in")).unwrap();
        fs::write(at("in/small"), "text").unwrap();
        fs::write(at("in/empty"), "").unwrap();
        fs::write(at("in/large"), "x".repeat(101)).unwrap();
        fs::write(at("in/.env"), "KEY=1").unwrap();
        fs::write(at("outside"), "no").unwrap();
        symlink("small", at("in/link")).unwrap();
        symlink("..", at("in/up")).unwrap();
        rustix::fs::mknodat(CWD, at("in/fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        let (allowed, _) = AllowedDirectories::open([at("in")]);
        let read = |path: &str| allowed.read_cached(path, 100);
        assert_eq!(read(at("in/small").to_str().unwrap()).as_deref(), Some(b"text".as_slice()));
        assert_eq!(read("small").as_deref(), Some(b"text".as_slice()));
        assert_eq!(read("x/../small").as_deref(), Some(b"text".as_slice()));
        assert_eq!(read("empty").as_deref(), Some(b"".as_slice()));
        let outside = at("outside");
        let refused = ["large", "link", "up/outside", "../outside", ".env", "fifo", ".", "missing", "a\0b"];
        for path in refused.into_iter().chain(outside.to_str()) {
            assert_eq!(read(path), None, "{path}");
        }
    }

    #[test]
    fn what_is_on_a_system_that_may_wait_is_left_to_a_thread() {
        let (allowed, _) = AllowedDirectories::open(["/proc/self".into()]);
        assert_eq!(allowed.read_cached("stat", 100_000), None);
    }
}
