//! [`Root`]: the folder that no path leads out of.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{FileType, OFlags};

use super::{RelPath, Stamp, TreeError, beneath};

/// Whether symbolic links on the way are followed, as long as they stay in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// A path that a user names may go through links.
    Follow,
    /// A path that a walk found has none; one that is there now was put there since.
    Refuse,
}

/// The root of a tree, held open: paths are resolved from it by the kernel and cannot leave it.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    folder: OwnedFd,
}

/// What was in a file.
#[derive(Debug, Clone)]
pub struct Content {
    /// All of it.
    pub bytes: Vec<u8>,
    /// To be kept with whatever is derived from the bytes; [`Stamp::NEVER`] if the file changed too lately, or while it
    /// was read.
    pub stamp: Stamp,
}

impl Root {
    /// Opens a folder. The path may lead through links; from here on they count no more.
    ///
    /// # Errors
    /// If it is not a folder that we may read.
    pub fn open(path: &Path) -> Result<Self, TreeError> {
        let failed = |source| TreeError::Root { path: path.to_owned(), source };
        let real = path.canonicalize().map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&real, flags, rustix::fs::Mode::empty())
            .map_err(|errno| failed(errno.into()))?;
        Ok(Self { path: real, folder })
    }

    /// Where it was when it was opened, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a regular file for reading. FIFOs, sockets and devices are refused without waiting for them.
    ///
    /// # Errors
    /// If there is none, if a link leads out of the tree, or if the system refuses.
    pub fn open_file(&self, path: &RelPath, links: Links) -> Result<(File, Stamp), TreeError> {
        let file = self.open_any(path, links)?;
        let stat = rustix::fs::fstat(&file).map_err(|errno| TreeError::opening(path, errno.into()))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(TreeError::NotAFile { path: path.clone() });
        }
        Ok((file, Stamp::of(&stat)))
    }

    /// Some devices act on being opened, so a path that someone named is looked at first (`O_PATH` opens nothing). One that
    /// a walk found was a regular file; should it have become something else since, `O_NONBLOCK` keeps us from waiting.
    fn open_any(&self, path: &RelPath, links: Links) -> Result<File, TreeError> {
        let open = |flags| {
            beneath::open(self.folder.as_fd(), path.as_path(), flags, links)
                .map_err(|source| TreeError::opening(path, source))
        };
        if links == Links::Follow {
            let seen = rustix::fs::fstat(open(OFlags::PATH)?)
                .map_err(|errno| TreeError::opening(path, errno.into()))?;
            if FileType::from_raw_mode(seen.st_mode) != FileType::RegularFile {
                return Err(TreeError::NotAFile { path: path.clone() });
            }
        }
        Ok(open(OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?.into())
    }

    /// Opens a folder of the tree.
    ///
    /// # Errors
    /// As [`Root::open_file`].
    pub fn open_folder(&self, path: &RelPath, links: Links) -> Result<OwnedFd, TreeError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        beneath::open(self.folder.as_fd(), path.as_path(), flags, links)
            .map_err(|source| TreeError::opening(path, source))
    }

    /// The path of a folder without links, as it is now.
    ///
    /// # Errors
    /// As [`Root::open_file`].
    pub fn real(&self, path: &RelPath) -> Result<RelPath, TreeError> {
        let outside = || TreeError::Outside { path: path.clone() };
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        beneath::open(self.folder.as_fd(), path.as_path(), flags, Links::Follow)
            .map_err(|source| TreeError::opening(path, source))?;
        let real =
            self.path.join(path.as_path()).canonicalize().map_err(|it| TreeError::opening(path, it))?;
        let real = real.strip_prefix(&self.path).map_err(|_| outside())?;
        RelPath::from_bytes(real.as_os_str().as_bytes()).map_err(|_| outside())
    }

    /// Reads a whole file of at most `limit` bytes.
    ///
    /// # Errors
    /// As [`Root::open_file`], and if the file is larger.
    pub fn read(&self, path: &RelPath, links: Links, limit: u64) -> Result<Content, TreeError> {
        let read_at = SystemTime::now();
        let (file, before) = self.open_file(path, links)?;
        let too_large = |size| TreeError::TooLarge { path: path.clone(), size, limit };
        if before.size > limit {
            return Err(too_large(before.size));
        }
        let failed = |source| TreeError::Read { path: path.clone(), source };
        let mut bytes = Vec::with_capacity(usize::try_from(before.size).unwrap_or(0) + 1);
        // A file may grow while it is read.
        (&file).take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > limit {
            return Err(too_large(bytes.len() as u64));
        }
        let after = Stamp::of(&rustix::fs::fstat(&file).map_err(|errno| failed(errno.into()))?);
        let stamp = if before == after { before.if_rested(read_at) } else { Stamp::NEVER };
        Ok(Content { bytes, stamp })
    }
}
