//! Where the sockets of a hub are.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use rustix::process::geteuid;
use sha2::{Digest, Sha256};

use crate::ControlError;

const EXTENSION: &str = "sock";
/// The socket for MCP clients stands beside that for commands.
const MCP_EXTENSION: &str = "mcp";
/// The hub without a configuration.
const DEFAULT: &str = "default";

/// The folder with the sockets of all hubs of this user.
#[derive(Debug, Clone)]
pub struct SocketDir(PathBuf);

impl SocketDir {
    /// `toolbay` in the user's runtime folder, else a folder of this user in `temp`.
    pub fn new(runtime: Option<&Path>, temp: &Path) -> Self {
        Self(match runtime {
            Some(runtime) => runtime.join("toolbay"),
            None => temp.join(format!("toolbay-{}", geteuid().as_raw())),
        })
    }

    /// The socket of the hub with that configuration, or of the one with none.
    pub fn place(&self, config: Option<&Path>) -> Place {
        let name = config.map_or_else(|| DEFAULT.to_owned(), hash);
        Place { dir: self.0.clone(), socket: self.0.join(name).with_extension(EXTENSION) }
    }

    /// The sockets that are there, whether or not anyone answers.
    pub(crate) fn sockets(&self) -> Vec<PathBuf> {
        let Ok(()) = check(&self.0) else { return Vec::new() };
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let mut sockets: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == EXTENSION))
            .collect();
        sockets.sort();
        sockets
    }
}

/// The place of one hub.
#[derive(Debug, Clone)]
pub struct Place {
    dir: PathBuf,
    pub(crate) socket: PathBuf,
}

impl Place {
    /// Makes the folder if need be, and checks that it is ours alone.
    pub(crate) fn prepare(&self) -> Result<(), ControlError> {
        match fs::DirBuilder::new().mode(0o700).create(&self.dir) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(ControlError::Socket { path: self.dir.clone(), source }),
        }
        check(&self.dir)
    }

    /// Checks that the folder is ours alone, so that nobody else can have put a socket there.
    pub(crate) fn check(&self) -> Result<(), ControlError> {
        check(&self.dir)
    }

    /// The socket on which the hub at this place serves MCP clients; see [`Client::attach`](crate::Client::attach).
    pub fn mcp_socket(&self) -> PathBuf {
        mcp_socket(&self.socket)
    }

    pub(crate) fn lock_file(&self) -> PathBuf {
        self.socket.with_extension("lock")
    }
}

/// The socket for MCP clients beside a control socket.
pub(crate) fn mcp_socket(socket: &Path) -> PathBuf {
    socket.with_extension(MCP_EXTENSION)
}

fn check(dir: &Path) -> Result<(), ControlError> {
    let socket_error = |source| ControlError::Socket { path: dir.to_owned(), source };
    let metadata = match fs::symlink_metadata(dir) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(ControlError::NoHub),
        Err(source) => return Err(socket_error(source)),
    };
    if !metadata.is_dir() || metadata.uid() != geteuid().as_raw() {
        return Err(ControlError::UnsafeDir { path: dir.to_owned() });
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).map_err(socket_error)?;
    }
    Ok(())
}

fn hash(config: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let digest = Sha256::digest(config.as_os_str().as_bytes());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
