//! Where the sockets of a hub are.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

use rustix::process::geteuid;
use sha2::{Digest, Sha256};

use crate::ControlError;

const EXTENSION: &str = "sock";
/// The socket for MCP clients stands beside that for commands.
const MCP_EXTENSION: &str = "mcp";
/// Held by a hub for as long as it has its sockets.
const LOCK_EXTENSION: &str = "lock";
/// Held by the process that starts a hub, until the hub listens.
const START_EXTENSION: &str = "start";

/// The directories in which the hubs of this user may have their sockets, those first in which a new hub prefers to have them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketDirs(Vec<PathBuf>);

impl SocketDirs {
    /// All directories that count: `/run/user/UID` and `/tmp`, which every process of the user knows, then `runtime`
    /// (`XDG_RUNTIME_DIR`) and `temp` (`TMPDIR`), which some processes do not have: clients start `toolbay` with `HOME` and `PATH`
    /// and little else.
    pub fn new(runtime: Option<&Path>, temp: &Path) -> Self {
        let uid = geteuid().as_raw();
        let in_temp = |temp: &Path| temp.join(format!("toolbay-{uid}"));
        let mut dirs = vec![PathBuf::from(format!("/run/user/{uid}/toolbay")), in_temp(Path::new("/tmp"))];
        for dir in runtime.map(|runtime| runtime.join("toolbay")).into_iter().chain([in_temp(temp)]) {
            if !dirs.contains(&dir) {
                dirs.push(dir);
            }
        }
        Self(dirs)
    }

    /// `toolbay` in `runtime` and nothing else.
    pub fn only(runtime: &Path) -> Self {
        Self(vec![runtime.join("toolbay")])
    }

    /// These directories and no others.
    pub fn these(dirs: Vec<PathBuf>) -> Self {
        Self(dirs)
    }

    /// The directories, those first that are preferred.
    pub fn paths(&self) -> &[PathBuf] {
        &self.0
    }

    /// Where the hub is, or would be, that serves exactly these configuration files.
    pub fn place(&self, files: &[PathBuf]) -> HubAddress {
        HubAddress { dirs: self.clone(), name: hash(files) }
    }

    /// The control sockets that are there, whether or not a hub listens.
    pub(crate) fn sockets(&self) -> Vec<PathBuf> {
        let mut sockets: Vec<PathBuf> = self.0.iter().flat_map(|dir| files_with(dir, EXTENSION)).collect();
        sockets.sort();
        sockets
    }
}

/// The place of one hub.
#[derive(Debug, Clone)]
pub struct HubAddress {
    dirs: SocketDirs,
    name: String,
}

/// The files of one hub in one directory.
#[derive(Debug, Clone)]
pub(crate) struct Paths {
    pub(crate) dir: PathBuf,
    pub(crate) socket: PathBuf,
    pub(crate) mcp_socket: PathBuf,
    pub(crate) lock: PathBuf,
}

impl HubAddress {
    /// A name for this hub that no other has, for files that belong to it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The control sockets at which the hub may be found. A directory that is not ours alone does not count; if that leaves none,
    /// it is an error.
    pub(crate) fn sockets(&self) -> Result<Vec<PathBuf>, ControlError> {
        let mut refused = None;
        let mut sockets = Vec::new();
        let mut is_some_missing = false;
        for dir in &self.dirs.0 {
            match check(dir) {
                Ok(()) => sockets.push(self.paths(dir).socket),
                Err(ControlError::NoHub) => is_some_missing = true,
                Err(error) => refused = Some(error),
            }
        }
        match refused {
            Some(error) if sockets.is_empty() && !is_some_missing => Err(error),
            _ => Ok(sockets),
        }
    }

    /// The files of a new hub, in the first directory that can be used; it is made if need be.
    pub(crate) fn prepare(&self) -> Result<Paths, ControlError> {
        let mut first_error = None;
        for dir in &self.dirs.0 {
            match prepare(dir) {
                Ok(()) => return Ok(self.paths(dir)),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        Err(first_error.unwrap_or(ControlError::NoHub))
    }

    /// The right to start a hub here, until the file is closed; nothing while another process has it.
    ///
    /// # Errors
    ///
    /// When there is no directory for the sockets.
    pub fn try_lock_start(&self) -> Result<Option<File>, ControlError> {
        let paths = self.prepare()?;
        try_lock(&paths.lock.with_extension(START_EXTENSION))
    }

    fn paths(&self, dir: &Path) -> Paths {
        let with = |extension| dir.join(&self.name).with_extension(extension);
        Paths {
            dir: dir.to_owned(),
            socket: with(EXTENSION),
            mcp_socket: with(MCP_EXTENSION),
            lock: with(LOCK_EXTENSION),
        }
    }
}

/// The socket for MCP clients beside a control socket.
pub(crate) fn mcp_socket(socket: &Path) -> PathBuf {
    socket.with_extension(MCP_EXTENSION)
}

/// Takes a lock; nothing while another process has it. It ends with the process, however that ends.
pub(crate) fn try_lock(path: &Path) -> Result<Option<File>, ControlError> {
    let failed = |source| ControlError::Socket { path: path.to_owned(), source };
    loop {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Ok(None),
            Err(fs::TryLockError::Error(source)) => return Err(failed(source)),
        }
        // The file may have been removed between the two: then the lock is void.
        let ours = file.metadata().map_err(failed)?;
        match fs::symlink_metadata(path) {
            Ok(found) if (found.dev(), found.ino()) == (ours.dev(), ours.ino()) => return Ok(Some(file)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(failed(source)),
        }
    }
}

/// Removes what killed hubs left in a directory: everything whose lock is free.
pub(crate) fn sweep(dir: &Path) {
    for lock in files_with(dir, LOCK_EXTENSION) {
        let Ok(Some(_held)) = try_lock(&lock) else { continue };
        for extension in [EXTENSION, MCP_EXTENSION, LOCK_EXTENSION] {
            // What cannot be removed does no harm.
            let _ = fs::remove_file(lock.with_extension(extension));
        }
    }
    for start in files_with(dir, START_EXTENSION) {
        let is_in_use = start.with_extension(LOCK_EXTENSION).exists();
        if !is_in_use && let Ok(Some(_held)) = try_lock(&start) {
            let _ = fs::remove_file(&start);
        }
    }
}

fn files_with(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let Ok(()) = check(dir) else { return Vec::new() };
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
}

/// Makes a directory if need be, and checks that it is ours alone.
fn prepare(dir: &Path) -> Result<(), ControlError> {
    match fs::DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(source) => return Err(ControlError::Socket { path: dir.to_owned(), source }),
    }
    check(dir)
}

/// Checks that a directory belongs to this user alone, so that no other user can have put a socket there.
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

fn hash(files: &[PathBuf]) -> String {
    let mut digest = Sha256::new();
    for file in files {
        digest.update(file.as_os_str().as_bytes());
        digest.update([0]);
    }
    digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
