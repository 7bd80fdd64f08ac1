//! [`TreeRoot`]: the folder that no path leads out of.

use super::TreeError;
use rustix::fs::{FileType, OFlags};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use toolbay_files::{
    RelPath, Secrets, Stamp,
    beneath::{self, Links},
};

/// The root of a tree, held open: paths are resolved from it by the kernel and cannot leave it.
#[derive(Debug)]
pub struct TreeRoot {
    path: PathBuf,
    folder: OwnedFd,
    secrets: Secrets,
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

impl TreeRoot {
    /// Opens a folder, in which secrets are hidden. The path may lead through links; from here on they count no more.
    ///
    /// # Errors
    /// If it is not a folder that we may read.
    pub fn open(path: &Path) -> Result<Self, TreeError> {
        Self::open_with(path, Secrets::Hidden)
    }

    /// As [`TreeRoot::open`], with secrets hidden or shown.
    ///
    /// # Errors
    /// As [`TreeRoot::open`], and if the folder itself is one of secrets and those are hidden.
    pub fn open_with(path: &Path, secrets: Secrets) -> Result<Self, TreeError> {
        let failed = |source| TreeError::Root { path: path.to_owned(), source };
        let real = path.canonicalize().map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&real, flags, rustix::fs::Mode::empty())
            .map_err(|errno| failed(errno.into()))?;
        let whole =
            real.strip_prefix("/").ok().and_then(|it| RelPath::from_bytes(it.as_os_str().as_bytes()).ok());
        if whole.is_some_and(|whole| secrets.hide_folder(&whole)) {
            return Err(TreeError::Secret { path: RelPath::root() });
        }
        Ok(Self { path: real, folder, secrets })
    }

    /// Whether secrets are shown in it.
    pub fn secrets(&self) -> Secrets {
        self.secrets
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
        self.refuse_secret(path, links, file.as_fd(), Secrets::hide_file)?;
        Ok((file, Stamp::of(&stat)))
    }

    /// Refuses a file with a secret name, as requested or where links lead. The check is on the opened file, so
    /// that nothing can be put in its place in between.
    fn refuse_secret(
        &self,
        path: &RelPath,
        links: Links,
        opened: BorrowedFd<'_>,
        hides: fn(Secrets, &RelPath) -> bool,
    ) -> Result<(), TreeError> {
        if self.secrets == Secrets::Shown {
            return Ok(());
        }
        let is_hidden = hides(self.secrets, path)
            || links == Links::Follow && self.place(opened).is_none_or(|real| hides(self.secrets, &real));
        if is_hidden { Err(TreeError::Secret { path: path.clone() }) } else { Ok(()) }
    }

    /// Where something is that was opened in this tree.
    fn place(&self, opened: BorrowedFd<'_>) -> Option<RelPath> {
        let name =
            |file: BorrowedFd<'_>| std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok();
        let (root, place) = (name(self.folder.as_fd())?, name(opened)?);
        RelPath::from_bytes(place.strip_prefix(&root).ok()?.as_os_str().as_bytes()).ok()
    }

    /// Some devices act on being opened, so a named path is inspected first (`O_PATH` opens nothing). One that
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
    /// As [`TreeRoot::open_file`].
    pub fn open_folder(&self, path: &RelPath, links: Links) -> Result<OwnedFd, TreeError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let folder = beneath::open(self.folder.as_fd(), path.as_path(), flags, links)
            .map_err(|source| TreeError::opening(path, source))?;
        self.refuse_secret(path, links, folder.as_fd(), Secrets::hide_folder)?;
        Ok(folder)
    }

    /// The path of a folder without links, as it is now.
    ///
    /// # Errors
    /// As [`TreeRoot::open_file`].
    pub fn real(&self, path: &RelPath) -> Result<RelPath, TreeError> {
        let outside = || TreeError::Outside { path: path.clone() };
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let folder = beneath::open(self.folder.as_fd(), path.as_path(), flags, Links::Follow)
            .map_err(|source| TreeError::opening(path, source))?;
        self.refuse_secret(path, Links::Follow, folder.as_fd(), Secrets::hide_folder)?;
        let real =
            self.path.join(path.as_path()).canonicalize().map_err(|it| TreeError::opening(path, it))?;
        let real = real.strip_prefix(&self.path).map_err(|_| outside())?;
        RelPath::from_bytes(real.as_os_str().as_bytes()).map_err(|_| outside())
    }

    /// Reads a whole file of at most `limit` bytes.
    ///
    /// # Errors
    /// As [`TreeRoot::open_file`], and if the file is larger.
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

/// The text in some bytes: UTF-8, or UTF-16 with its mark. Bytes that are no text in a file that else is one become U+FFFD;
/// what has a NUL byte is no text, as for ripgrep.
pub(crate) fn decode(bytes: Vec<u8>) -> Option<String> {
    let wide = |read: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].as_chunks::<2>().0.iter().map(|pair| read(*pair)).collect();
        Some(String::from_utf16_lossy(&units))
    };
    match bytes.as_slice() {
        [0xff, 0xfe, ..] => return wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => return wide(u16::from_be_bytes),
        _ => {}
    }
    if memchr::memchr(0, &bytes).is_some() {
        return None;
    }
    let mut text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    if text.starts_with('\u{feff}') {
        text.drain(..3);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_all_kinds() {
        assert_eq!(decode(b"\xef\xbb\xbfabc".to_vec()).as_deref(), Some("abc"));
        assert_eq!(decode(b"\xff\xfea\0b\0".to_vec()).as_deref(), Some("ab"));
        assert_eq!(decode(b"\xfe\xff\0a".to_vec()).as_deref(), Some("a"));
        assert_eq!(decode(b"a\xffb".to_vec()).as_deref(), Some("a\u{fffd}b"));
        assert_eq!(decode(b"a\0b".to_vec()), None);
    }
}
