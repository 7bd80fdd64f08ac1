//! The root directory of a program while it is built: pieces of the old one, mounted into a new one.
//!
//! Programs that still run in another sandbox can change what is mounted, so a path that was looked at may be a link by the
//! time it is used. Everything here goes by descriptors that were opened without following links.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Component, Path},
};

use rustix::{
    fs::{FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, openat, openat2},
    io::Errno,
    mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree},
};

use crate::raw_calls;

/// What a program may do with what is given to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// The new root and the directory that it is made from.
#[derive(Debug)]
pub(crate) struct RootDirectory {
    old: OwnedFd,
    new: OwnedFd,
}

impl RootDirectory {
    pub(crate) fn open(old: &Path, new: &Path) -> io::Result<Self> {
        let open = |path: &Path| rustix::fs::open(path, HANDLE | OFlags::DIRECTORY, Mode::empty());
        Ok(Self { old: open(old)?, new: open(new)? })
    }

    /// Makes a path of the old root appear in the new one.
    ///
    /// Returns whether it is there. Sockets and FIFOs are not given: they lead to other processes.
    pub(crate) fn give(&self, path: &Path, access: Access) -> io::Result<bool> {
        match open_beneath(self.old.as_fd(), path) {
            Ok(source) => self.mount(source.as_fd(), path, access),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Mounts a directory or file at a path of the new root.
    pub(crate) fn mount(&self, source: BorrowedFd<'_>, path: &Path, access: Access) -> io::Result<bool> {
        let kind = FileType::from_raw_mode(fstat(source)?.st_mode);
        if !matches!(kind, FileType::Directory | FileType::RegularFile | FileType::CharacterDevice) {
            return Ok(false);
        }
        let point = self.mount_point(path, kind == FileType::Directory)?;
        attach(source, point.as_fd(), access)?;
        Ok(true)
    }

    /// Covers a path of the new root, if it is there, by something that cannot be read.
    pub(crate) fn cover(&self, path: &Path, empty: &EmptyCovers) -> io::Result<()> {
        match open_beneath(self.new.as_fd(), path) {
            Ok(point) => empty.cover(point.as_fd()),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Opens a path of the new root.
    pub(crate) fn open_new(&self, path: &Path) -> io::Result<OwnedFd> {
        Ok(open_beneath(self.new.as_fd(), path)?)
    }

    /// A directory or file of the new root to mount something on, which is created if it does not exist.
    pub(crate) fn mount_point(&self, path: &Path, is_directory: bool) -> io::Result<OwnedFd> {
        let names: Vec<_> = path
            .components()
            .filter_map(|part| match part {
                Component::Normal(name) => Some(name),
                _ => None,
            })
            .collect();
        let Some((last, parents)) = names.split_last() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the whole file system cannot be given"));
        };
        let mut at = self.new.try_clone()?;
        let make = |at: &OwnedFd, name| match mkdirat(at, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => openat(at, name, HANDLE | OFlags::DIRECTORY, Mode::empty()),
            Err(errno) => Err(errno),
        };
        for name in parents {
            at = make(&at, *name)?;
        }
        if is_directory {
            return Ok(make(&at, *last)?);
        }
        match openat(&at, *last, HANDLE, Mode::empty()) {
            Err(Errno::NOENT) => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                Ok(openat(&at, *last, flags, Mode::from_raw_mode(0o644))?)
            }
            opened => Ok(opened?),
        }
    }
}

/// A handle of the thing itself, even if it is a link.
const HANDLE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a path below a directory without following any link.
pub(crate) fn open_beneath(directory: BorrowedFd<'_>, path: &Path) -> rustix::io::Result<OwnedFd> {
    let path = path.strip_prefix("/").unwrap_or(path);
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    openat2(directory, path, HANDLE, Mode::empty(), ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS)
}

fn attach(source: BorrowedFd<'_>, point: BorrowedFd<'_>, access: Access) -> io::Result<()> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    let tree = open_tree(source, "", flags)?;
    if access == Access::Read {
        raw_calls::make_read_only(tree.as_fd())?;
    }
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, "", point, "", flags)?)
}

/// A directory and a file that cannot be read, to cover others with.
#[derive(Debug)]
pub(crate) struct EmptyCovers {
    directory: OwnedFd,
    file: OwnedFd,
}

impl EmptyCovers {
    /// Creates them in a directory of the caller's own.
    pub(crate) fn create(parent: &Path) -> io::Result<Self> {
        let parent = rustix::fs::open(parent, HANDLE | OFlags::DIRECTORY, Mode::empty())?;
        mkdirat(&parent, "empty", Mode::empty())?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = openat(&parent, "nothing", flags, Mode::empty())?;
        Ok(Self { directory: openat(&parent, "empty", HANDLE | OFlags::DIRECTORY, Mode::empty())?, file })
    }

    pub(crate) fn cover(&self, point: BorrowedFd<'_>) -> io::Result<()> {
        let is_directory = FileType::from_raw_mode(fstat(point)?.st_mode) == FileType::Directory;
        attach(if is_directory { self.directory.as_fd() } else { self.file.as_fd() }, point, Access::Read)
    }
}
