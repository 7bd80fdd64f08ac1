//! What can go wrong with a tree.

use std::io;
use std::path::PathBuf;

use super::RelPath;

/// Why a file or the tree itself could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The root is not there, or not a folder, or not ours to read.
    #[error("cannot open directory `{}`", path.display())]
    Root {
        /// As it was given.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// Nothing by that name.
    #[error("`{path}` does not exist")]
    Missing {
        /// The requested path.
        path: RelPath,
    },
    /// A symbolic link on the way points out of the tree.
    #[error("`{path}` is outside the root")]
    Outside {
        /// The requested path.
        path: RelPath,
    },
    /// Its name indicates secrets.
    #[error("`{path}` is hidden because its name indicates secrets; set `secrets = true` to include it")]
    Secret {
        /// The requested path.
        path: RelPath,
    },
    /// A folder, a FIFO, a socket or a device.
    #[error("`{path}` is not a regular file")]
    NotAFile {
        /// The requested path.
        path: RelPath,
    },
    /// Larger than the caller can take.
    #[error("`{path}` has {size} bytes; at most {limit} can be read")]
    TooLarge {
        /// The requested path.
        path: RelPath,
        /// Its size in bytes.
        size: u64,
        /// What the caller set.
        limit: u64,
    },
    /// Anything else, permissions for example.
    #[error("cannot read `{path}`")]
    Read {
        /// The requested path.
        path: RelPath,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// A glob that cannot be understood.
    #[error("invalid glob: {reason}")]
    Glob {
        /// The error of the parser.
        reason: String,
    },
}

impl TreeError {
    /// Converts the error of opening `path`.
    pub(super) fn opening(path: &RelPath, source: io::Error) -> Self {
        use rustix::io::Errno;
        let path = path.clone();
        match Errno::from_io_error(&source) {
            Some(Errno::NOENT | Errno::NOTDIR) => Self::Missing { path },
            Some(Errno::XDEV | Errno::LOOP) => Self::Outside { path },
            Some(Errno::ISDIR | Errno::NXIO | Errno::NODEV) => Self::NotAFile { path },
            _ => Self::Read { path, source },
        }
    }
}
