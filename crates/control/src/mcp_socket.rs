//! The socket on which a hub serves MCP clients of its user.

use std::{
    fs::{self, File, Permissions},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::net::UnixListener;

use crate::ControlError;

/// A socket for MCP clients, which only its user may open; gone when dropped. Who serves it is the caller's business.
#[derive(Debug)]
pub struct McpSocket {
    listener: UnixListener,
    path: PathBuf,
    inode: Option<Inode>,
    /// Held as long as the file exists, so that no other process's file is removed.
    _lock: Option<Arc<File>>,
}

impl McpSocket {
    /// Creates one at a given path. A socket there without a listener is replaced; anything else is
    /// left alone.
    pub fn at(path: &Path) -> Result<Self, ControlError> {
        let failed = |source| ControlError::Socket { path: path.to_owned(), source };
        if fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
            match std::os::unix::net::UnixStream::connect(path) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    fs::remove_file(path).map_err(failed)?;
                }
                Ok(_) => return Err(ControlError::Occupied { path: path.to_owned() }),
                Err(source) => return Err(failed(source)),
            }
        }
        Self::bind(path, None)
    }

    pub(crate) fn bind(path: &Path, lock: Option<Arc<File>>) -> Result<Self, ControlError> {
        let failed = |source| ControlError::Socket { path: path.to_owned(), source };
        let listener = UnixListener::bind(path).map_err(failed)?;
        let socket = Self { listener, path: path.to_owned(), inode: Inode::of(path), _lock: lock };
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
        Ok(socket)
    }

    /// Where clients come in.
    pub fn listener(&self) -> &UnixListener {
        &self.listener
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for McpSocket {
    fn drop(&mut self) {
        remove_ours(&self.path, self.inode);
    }
}

/// Which file a path led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Inode {
    device: u64,
    number: u64,
}

impl Inode {
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::symlink_metadata(path).ok()?;
        Some(Self { device: metadata.dev(), number: metadata.ino() })
    }
}

/// Removes a socket of ours. It may be gone already, or another hub's that took our place.
pub(crate) fn remove_ours(path: &Path, inode: Option<Inode>) {
    if inode.is_some() && Inode::of(path) == inode {
        let _ = fs::remove_file(path); // there is nothing to report to
    }
}
