//! Opening a path that must not leave the folder it starts from.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Whether symbolic links on the way are followed, as long as they stay in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// A path that a user names may go through links.
    Follow,
    /// A path that a walk found has none; one that is there now was put there since.
    Refuse,
}

/// Opens `path` below `folder`. The empty path is the folder itself.
///
/// The kernel resolves the whole path in one call and refuses what leaves the folder (`EXDEV`), so that no swap of a
/// folder for a link in between can lead out. Where the call does not exist, part by part, without any link.
pub fn open(folder: BorrowedFd<'_>, path: &Path, flags: OFlags, links: Links) -> io::Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let flags = flags | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        use rustix::io::Errno;
        let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        if links == Links::Refuse {
            resolve |= ResolveFlags::NO_SYMLINKS;
        }
        // The kernel returns EAGAIN when a folder was renamed somewhere while it resolved `..` in a link.
        for _ in 0..64 {
            match rustix::fs::openat2(folder, path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::NOSYS | Errno::PERM) => return part_by_part(folder, path, flags),
                done => return Ok(done?),
            }
        }
        Err(Errno::AGAIN.into())
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = links;
        part_by_part(folder, path, flags)
    }
}

/// For kernels before 5.6 and sandboxes that do not know `openat2`: follows no link at all.
fn part_by_part(folder: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let parts: Vec<_> = path.iter().collect();
    let Some((last, folders)) = parts.split_last() else {
        return Err(rustix::io::Errno::NOENT.into());
    };
    let step = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut held: Option<OwnedFd> = None;
    for part in folders {
        let at = held.as_ref().map_or(folder, AsFd::as_fd);
        held = Some(rustix::fs::openat(at, *part, step, Mode::empty())?);
    }
    let at = held.as_ref().map_or(folder, AsFd::as_fd);
    Ok(rustix::fs::openat(at, *last, flags | OFlags::NOFOLLOW, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn part_by_part_follows_no_link() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        fs::write(folder.path().join("in/file"), "x").unwrap();
        std::os::unix::fs::symlink("/etc", folder.path().join("out")).unwrap();
        std::os::unix::fs::symlink("in/file", folder.path().join("link")).unwrap();
        let root = fs::File::open(folder.path()).unwrap();
        let try_open = |path: &str| part_by_part(root.as_fd(), Path::new(path), OFlags::RDONLY);
        assert!(try_open("in/file").is_ok());
        assert!(try_open("out/hostname").is_err());
        assert!(try_open("link").is_err());
    }
}
