//! Directories that no path leads out of.

mod cached;

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, Read},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat},
    io::Errno,
};

use crate::{RelPath, Secrets, WriteMode, WriteOutcome, beneath, is_protected, write::copy_file, write_file};

/// How often a path is resolved anew because a link in it changed meanwhile.
const ATTEMPTS: usize = 8;

/// The directories whose files may be read and changed, held open: the kernel resolves paths from them, and nothing that
/// happens meanwhile can lead out.
#[derive(Debug, Clone)]
pub struct AllowedDirectories {
    roots: Vec<Arc<AllowedDirectory>>,
    /// What `~` stands for.
    home: Option<PathBuf>,
    secrets: Secrets,
    protection: Protection,
}

#[derive(Debug)]
struct AllowedDirectory {
    /// As it was given, absolute and without `.` and `..`.
    named: PathBuf,
    /// Without links.
    real: PathBuf,
    directory: OwnedFd,
    /// Where it is below the directory that it was narrowed from. What is protected or secret is so by its whole path.
    inside: RelPath,
    /// Whether it is on a file system of this machine, which never waits for another one or for a program.
    is_local: bool,
}

/// Whether files that configure programs may be changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protection {
    /// They may be read only.
    #[default]
    Protect,
    /// They are files like any other.
    Allow,
}

/// Why a path cannot be used. The texts are those of the reference server for files where it has one.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// It is in none of the directories.
    #[error("Access denied - path outside allowed directories: {} not in {allowed}", path.display())]
    Outside {
        /// The path, absolute.
        path: PathBuf,
        /// The directories.
        allowed: String,
    },
    /// A link leads out of the directories.
    #[error("Access denied - symlink target outside allowed directories: {} not in {allowed}", path.display())]
    LinkOutside {
        /// Where it leads.
        path: PathBuf,
        /// The directories.
        allowed: String,
    },
    /// The directory in which something is to be created does not exist.
    #[error("Parent directory does not exist: {}", path.display())]
    NoParent {
        /// The directory.
        path: PathBuf,
    },
    /// Nothing by that name.
    #[error("no such file or directory: {}", path.display())]
    Missing {
        /// What was asked for.
        path: PathBuf,
    },
    /// A directory, a FIFO, a socket or a device.
    #[error("not a regular file: {}", path.display())]
    NotAFile {
        /// What was asked for.
        path: PathBuf,
    },
    /// Something else than a directory.
    #[error("not a directory: {}", path.display())]
    NotADirectory {
        /// What was asked for.
        path: PathBuf,
    },
    /// There is something by that name.
    #[error("already exists: {}", path.display())]
    Exists {
        /// What was to be created.
        path: PathBuf,
    },
    /// Its name says that it holds secrets.
    #[error("Access denied - {} is hidden because its name indicates secrets; set `secrets = true` to allow it", path.display())]
    Secret {
        /// What was asked for.
        path: PathBuf,
    },
    /// It configures programs.
    #[error("Access denied - {} configures programs and is protected from changes; set `protect = false` to allow them", path.display())]
    Protected {
        /// What was to be changed.
        path: PathBuf,
    },
    /// It is one of Windows, which would be a strange file name here.
    #[error("Access denied - Windows-style path received on a POSIX host: {path}")]
    Windows {
        /// What was asked for.
        path: String,
    },
    /// A NUL byte.
    #[error("the path contains a NUL byte")]
    Nul,
    /// Anything else, permissions for example.
    #[error("{}: {source}", path.display())]
    Io {
        /// What was asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Something that exists in an allowed directory. It stays the same thing, whatever its path leads to later.
#[derive(Debug)]
pub struct Found {
    path: PathBuf,
    root: Arc<AllowedDirectory>,
    /// Below the root, without links.
    real: RelPath,
    handle: OwnedFd,
    stat: Stat,
}

/// A name in a directory that exists. There may or may not be something by that name.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    directory: OwnedFd,
    name: OsString,
}

/// Something in a directory.
#[derive(Debug, Clone)]
pub struct DirectoryEntry {
    /// Its name.
    pub name: OsString,
    /// Its type. Links are not followed.
    pub file_type: FileType,
}

impl AllowedDirectories {
    /// Opens the directories. Those that cannot be opened are returned with the reason.
    pub fn open(paths: impl IntoIterator<Item = PathBuf>) -> (Self, Vec<(PathBuf, io::Error)>) {
        let (mut roots, mut skipped) = (Vec::new(), Vec::new());
        for path in paths {
            match AllowedDirectory::open(&path) {
                Ok(root) => roots.push(Arc::new(root)),
                Err(error) => skipped.push((path, error)),
            }
        }
        let secrets = Secrets::Hidden;
        (Self { roots, home: None, secrets, protection: Protection::Protect }, skipped)
    }

    /// Sets what `~` stands for.
    pub fn home(self, home: Option<PathBuf>) -> Self {
        Self { home, ..self }
    }

    /// Sets whether files whose names say that they hold secrets are shown.
    pub fn secrets(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    /// Returns whether files whose names say that they hold secrets are shown.
    pub fn shown_secrets(&self) -> Secrets {
        self.secrets
    }

    /// Sets whether files that configure programs may be changed.
    pub fn protection(self, protection: Protection) -> Self {
        Self { protection, ..self }
    }

    /// The directories, as they were given.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(|root| root.named.as_path())
    }

    /// The same rules for other directories, with those that cannot be opened and the reason.
    pub fn reopen(&self, paths: impl IntoIterator<Item = PathBuf>) -> (Self, Vec<(PathBuf, io::Error)>) {
        let (opened, skipped) = Self::open(paths);
        (Self { roots: opened.roots, ..self.clone() }, skipped)
    }

    /// Only those parts of the directories that are in one of `others`, as the roots of a client narrow them.
    pub fn narrow(&self, others: &[PathBuf]) -> Self {
        let mut roots: Vec<Arc<AllowedDirectory>> = Vec::new();
        for (other, real) in others.iter().filter_map(|other| Some((other, fs::canonicalize(other).ok()?))) {
            for root in &self.roots {
                if root.real.starts_with(&real) {
                    roots.push(root.clone());
                } else if let Ok(inside) = real.strip_prefix(&root.real) {
                    // One that is replaced by a link meanwhile is not opened.
                    roots.extend(root.narrow(other, inside).ok().map(Arc::new));
                }
            }
        }
        roots.sort_by(|a, b| a.real.cmp(&b.real));
        roots.dedup_by(|a, b| a.real == b.real);
        Self { roots, ..self.clone() }
    }

    /// Whether there is no directory at all.
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    /// Finds something that exists.
    ///
    /// # Errors
    /// If it does not exist, is outside of the directories, or holds secrets.
    pub fn find(&self, path: &str) -> Result<Found, AccessError> {
        self.find_absolute(self.absolute(path)?)
    }

    /// Finds where something is or can be created. What a link leads to counts, not the link.
    ///
    /// # Errors
    /// If its directory does not exist, or if it may not be changed.
    pub fn place(&self, path: &str) -> Result<Place, AccessError> {
        let path = self.absolute(path)?;
        let mut place = self.place_absolute(path.clone())?;
        for _ in 0..ATTEMPTS {
            match rustix::fs::statat(&place.directory, &place.name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
                    let target = self.find_absolute(place.path.clone())?;
                    place = self.place_absolute(target.root.real.join(target.real.as_path()))?;
                }
                _ => return Ok(Place { path, ..place }),
            }
        }
        Err(AccessError::Io { path, source: Errno::LOOP.into() })
    }

    /// Finds something in a directory that was found, by its name there. It is not looked for from the top again, which makes
    /// walks fast, and a link is not followed.
    ///
    /// # Errors
    /// As [`AllowedDirectories::find`].
    pub fn enter(&self, directory: &Found, name: &OsStr) -> Result<Found, AccessError> {
        let path = directory.path.join(name);
        let real = directory.real.join(name.as_bytes());
        self.check_secret(&path, &directory.root.whole(&real))?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&directory.handle, name, flags, Mode::empty());
        let handle = opened.map_err(|errno| failed(path.clone(), errno.into()))?;
        let stat = rustix::fs::fstat(&handle).map_err(|errno| failed(path.clone(), errno.into()))?;
        Ok(Found { path, root: directory.root.clone(), real, handle, stat })
    }

    /// Lists a directory, sorted by name, without what holds secrets.
    ///
    /// # Errors
    /// As [`Found::open_directory`].
    pub fn entries(&self, listed: &Found) -> Result<Vec<DirectoryEntry>, AccessError> {
        let directory = listed.open_directory()?;
        let failed = |errno: Errno| failed(listed.path.clone(), errno.into());
        let mut entries = Vec::new();
        for entry in Dir::read_from(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let file_type = match entry.file_type() {
                // Some file systems do not tell.
                FileType::Unknown => rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                known => known,
            };
            let real = listed.root.whole(&listed.real.join(name.as_bytes()));
            if !self.secrets.hide_found(real.as_bytes(), file_type == FileType::Directory) {
                entries.push(DirectoryEntry { name: name.to_owned(), file_type });
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// Creates a directory and those above it, as far as they do not exist.
    ///
    /// # Errors
    /// If one of them may not be created.
    pub fn create_directories(&self, path: &str) -> Result<(), AccessError> {
        let path = self.absolute(path)?;
        let (root, relative) = self.root_of(&path)?;
        self.check_change(&path, &root.whole(&relative))?;
        let mut missing = Vec::new();
        let mut above = path.as_path();
        let mut directory = loop {
            match self.find_absolute(above.to_owned()) {
                Ok(found) => break found.open_directory()?,
                Err(AccessError::Missing { .. }) if above != root.named && above != root.real => {
                    missing.push(above.file_name().unwrap_or_default());
                    above = above.parent().unwrap_or(Path::new("/"));
                }
                Err(error) => return Err(error),
            }
        };
        let failed = |errno: Errno| AccessError::Io { path: path.clone(), source: errno.into() };
        for name in missing.into_iter().rev() {
            match rustix::fs::mkdirat(&directory, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(failed(errno)),
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            directory = rustix::fs::openat(&directory, name, flags, Mode::empty()).map_err(failed)?;
        }
        Ok(())
    }

    /// A path as an absolute one without `.` and `..`. One that is relative is in the first directory that has it, else in the
    /// first that has its parent, else in the first.
    fn absolute(&self, text: &str) -> Result<PathBuf, AccessError> {
        let path = self.read_path(text)?;
        if path.is_absolute() {
            return Ok(normalize(&path));
        }
        let candidates = || self.roots.iter().map(|root| normalize(&root.named.join(&path)));
        let exists = |path: &Path| self.find_absolute(path.to_owned()).is_ok();
        candidates()
            .find(|path| exists(path))
            .or_else(|| candidates().find(|path| path.parent().is_some_and(exists)))
            .or_else(|| candidates().next())
            .ok_or_else(|| self.outside(path))
    }

    /// A path as it was written, absolute or relative.
    fn read_path(&self, text: &str) -> Result<PathBuf, AccessError> {
        if text.contains('\0') {
            return Err(AccessError::Nul);
        }
        if let [drive, b':', rest @ ..] = text.as_bytes()
            && drive.is_ascii_alphabetic()
            && matches!(rest.first(), None | Some(b'/' | b'\\'))
        {
            return Err(AccessError::Windows { path: text.to_owned() });
        }
        Ok(match (text.strip_prefix('~'), &self.home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                home.join(rest.trim_start_matches('/'))
            }
            _ => PathBuf::from(text),
        })
    }

    fn outside(&self, path: PathBuf) -> AccessError {
        AccessError::Outside { path, allowed: self.list() }
    }

    fn list(&self) -> String {
        let paths: Vec<_> = self.paths().map(Path::to_string_lossy).collect();
        paths.join(", ")
    }

    /// The directory that an absolute path is in, by name, and the rest of the path.
    fn root_of(&self, path: &Path) -> Result<(&Arc<AllowedDirectory>, RelPath), AccessError> {
        let rest = |root: &Arc<AllowedDirectory>| {
            path.strip_prefix(&root.named).or_else(|_| path.strip_prefix(&root.real)).map(Path::to_owned)
        };
        self.roots
            .iter()
            .filter_map(|root| Some((root, rest(root).ok()?)))
            .filter_map(|(root, rest)| Some((root, RelPath::from_bytes(rest.as_os_str().as_bytes()).ok()?)))
            .min_by_key(|(_, rest)| rest.as_bytes().len())
            .ok_or_else(|| self.outside(path.to_owned()))
    }

    fn find_absolute(&self, path: PathBuf) -> Result<Found, AccessError> {
        let (root, relative) = self.root_of(&path)?;
        self.check_secret(&path, &root.whole(&relative))?;
        for _ in 0..ATTEMPTS {
            match beneath::open(
                root.directory.as_fd(),
                relative.as_path(),
                OFlags::PATH,
                beneath::Links::Follow,
            ) {
                Ok(handle) => return self.found(path, root.clone(), handle),
                Err(error) if Errno::from_io_error(&error) == Some(Errno::XDEV) => {}
                Err(error) => return Err(failed(path, error)),
            }
            // A link leads out of this directory, perhaps into another one, or back into this one by an absolute path.
            let real = fs::canonicalize(&path).map_err(|error| failed(path.clone(), error))?;
            let Ok((root, relative)) = self.root_of(&real) else {
                return Err(AccessError::LinkOutside { path: real, allowed: self.list() });
            };
            let opened = beneath::open(
                root.directory.as_fd(),
                relative.as_path(),
                OFlags::PATH,
                beneath::Links::Refuse,
            );
            match opened {
                Ok(handle) => return self.found(path, root.clone(), handle),
                // A link was put there since. It is looked at anew.
                Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::LOOP | Errno::NOENT)) => {}
                Err(error) => return Err(failed(path, error)),
            }
        }
        Err(AccessError::Io { path, source: Errno::LOOP.into() })
    }

    fn found(
        &self,
        path: PathBuf,
        root: Arc<AllowedDirectory>,
        handle: OwnedFd,
    ) -> Result<Found, AccessError> {
        let stat = rustix::fs::fstat(&handle).map_err(|errno| failed(path.clone(), errno.into()))?;
        let real = real_path(handle.as_fd()).map_err(|error| failed(path.clone(), error))?;
        // What was opened is below the root, wherever that is now.
        let top = real_path(root.directory.as_fd()).map_err(|error| failed(path.clone(), error))?;
        let relative =
            real.strip_prefix(&top).ok().map(|rest| RelPath::from_bytes(rest.as_os_str().as_bytes()));
        let Some(Ok(real)) = relative else { return Err(AccessError::Missing { path }) };
        self.check_secret(&path, &root.whole(&real))?;
        Ok(Found { path, root, real, handle, stat })
    }

    fn place_absolute(&self, path: PathBuf) -> Result<Place, AccessError> {
        let (root, relative) = self.root_of(&path)?;
        self.check_change(&path, &root.whole(&relative))?;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(AccessError::NotAFile { path });
        };
        if relative.is_root() {
            return Err(AccessError::Exists { path }); // one of the directories itself
        }
        let found = match self.find_absolute(parent.to_owned()) {
            Err(AccessError::Missing { path }) => return Err(AccessError::NoParent { path }),
            found => found?,
        };
        let real = found.real.join(name.as_bytes());
        self.check_change(&path, &found.root.whole(&real))?;
        Ok(Place { directory: found.open_directory()?, name: name.to_owned(), path })
    }

    fn check_secret(&self, path: &Path, whole: &RelPath) -> Result<(), AccessError> {
        if self.secrets.hide_file(whole) {
            return Err(AccessError::Secret { path: path.to_owned() });
        }
        Ok(())
    }

    fn check_change(&self, path: &Path, whole: &RelPath) -> Result<(), AccessError> {
        self.check_secret(path, whole)?;
        if self.protection == Protection::Protect && is_protected(whole.as_path()) {
            return Err(AccessError::Protected { path: path.to_owned() });
        }
        Ok(())
    }
}

impl AllowedDirectory {
    fn open(path: &Path) -> io::Result<Self> {
        let real = fs::canonicalize(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(&real, flags, Mode::empty())?;
        Ok(Self {
            named: normalize(&std::path::absolute(path)?),
            real,
            is_local: cached::is_local(directory.as_fd()),
            directory,
            inside: RelPath::root(),
        })
    }

    /// Opens a directory in this one, whose path here has no links.
    fn narrow(&self, named: &Path, inside: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let directory = beneath::open(self.directory.as_fd(), inside, flags, beneath::Links::Refuse)?;
        let below = RelPath::from_bytes(inside.as_os_str().as_bytes()).map_err(io::Error::other)?;
        Ok(Self {
            named: normalize(&std::path::absolute(named)?),
            real: self.real.join(inside),
            is_local: cached::is_local(directory.as_fd()),
            directory,
            inside: self.whole(&below),
        })
    }

    /// A path in this directory, from the directory that was configured.
    fn whole(&self, path: &RelPath) -> RelPath {
        if path.is_root() { self.inside.clone() } else { self.inside.join(path.as_bytes()) }
    }
}

impl Found {
    /// The path by which it was found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is below its allowed directory, without links.
    pub fn real(&self) -> &RelPath {
        &self.real
    }

    /// Its size, times, permissions and type.
    pub fn stat(&self) -> &Stat {
        &self.stat
    }

    /// Whether it is a regular file.
    pub fn is_file(&self) -> bool {
        FileType::from_raw_mode(self.stat.st_mode) == FileType::RegularFile
    }

    /// Whether it is a directory.
    pub fn is_directory(&self) -> bool {
        FileType::from_raw_mode(self.stat.st_mode) == FileType::Directory
    }

    /// Opens a regular file for reading. Nothing else is opened: some devices act on it, and a FIFO has no end.
    ///
    /// # Errors
    /// If it is not a regular file, or may not be read.
    pub fn open_file(&self) -> Result<File, AccessError> {
        if !self.is_file() {
            return Err(AccessError::NotAFile { path: self.path.clone() });
        }
        let file = File::open(by_handle(self.handle.as_fd()));
        file.map_err(|error| failed(self.path.clone(), error))
    }

    /// Opens a directory for reading.
    ///
    /// # Errors
    /// If it is not a directory, or may not be read.
    pub fn open_directory(&self) -> Result<OwnedFd, AccessError> {
        if !self.is_directory() {
            return Err(AccessError::NotADirectory { path: self.path.clone() });
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(&self.handle, ".", flags, Mode::empty())
            .map_err(|errno| failed(self.path.clone(), errno.into()))
    }

    /// When it was created, in seconds and nanoseconds since 1970, where the file system tells.
    pub fn created(&self) -> Option<(i64, u64)> {
        let wanted = rustix::fs::StatxFlags::BTIME;
        let told = rustix::fs::statx(&self.handle, "", AtFlags::EMPTY_PATH, wanted).ok()?;
        let is_told = rustix::fs::StatxFlags::from_bits_retain(told.stx_mask).contains(wanted);
        is_told.then(|| (told.stx_btime.tv_sec, told.stx_btime.tv_nsec.into()))
    }

    /// The state of something in a directory, which may be gone meanwhile. A link is not followed.
    pub fn stat_of(&self, entry: &DirectoryEntry) -> Option<Stat> {
        rustix::fs::statat(&self.handle, &entry.name, AtFlags::SYMLINK_NOFOLLOW).ok()
    }

    /// Reads at most `limit` bytes of a regular file in a directory.
    ///
    /// # Errors
    /// If there is none, or it may not be read.
    pub fn read_small(&self, name: &OsStr, limit: usize) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.handle, name, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut content = Vec::new();
        File::from(file).take(limit as u64).read_to_end(&mut content)?;
        Ok(content)
    }
}

impl Place {
    /// The path by which it was found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file: see [`write_file`].
    ///
    /// # Errors
    /// If it is not a regular file, if `unchanged` refuses, or if the system does.
    pub fn write(
        &self,
        content: &[u8],
        mode: WriteMode,
        unchanged: impl FnOnce(Option<&Stat>) -> io::Result<()>,
    ) -> Result<WriteOutcome, AccessError> {
        write_file(self.directory.as_fd(), &self.name, content, mode, unchanged).map_err(|error| match error
            .kind()
        {
            io::ErrorKind::InvalidInput => AccessError::NotAFile { path: self.path.clone() },
            _ => failed(self.path.clone(), error),
        })
    }

    /// Copies a regular file to this place, where nothing may be: its content, permissions and extended attributes.
    ///
    /// # Errors
    /// If there is something here, if it is not a regular file, or if the system refuses.
    pub fn copy_from(&self, source: &Found) -> Result<u64, AccessError> {
        let file = source.open_file()?;
        copy_file(&file, self.directory.as_fd(), &self.name).map_err(|error| failed(self.path.clone(), error))
    }

    /// Moves what is here to another place, where nothing may be.
    ///
    /// # Errors
    /// If there is nothing here or something there.
    pub fn rename(&self, to: &Self) -> Result<(), AccessError> {
        let done = rustix::fs::renameat_with(
            &self.directory,
            &self.name,
            &to.directory,
            &to.name,
            RenameFlags::NOREPLACE,
        );
        match done {
            Err(Errno::EXIST) => Err(AccessError::Exists { path: to.path.clone() }),
            done => done.map_err(|errno| failed(self.path.clone(), errno.into())),
        }
    }

    /// Deletes a file.
    ///
    /// # Errors
    /// If there is none, or the system refuses.
    pub fn remove_file(&self) -> Result<(), AccessError> {
        rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty())
            .map_err(|errno| failed(self.path.clone(), errno.into()))
    }
}

/// A name by which the kernel knows what is open.
fn by_handle(handle: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}

/// Where something that is open is, without links.
fn real_path(handle: BorrowedFd<'_>) -> io::Result<PathBuf> {
    fs::read_link(by_handle(handle))
}

/// Removes `.`, `..` and repeated slashes from an absolute path, by its text alone.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => normal.push(name),
            Component::ParentDir => drop(normal.pop()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    normal
}

fn failed(path: PathBuf, source: io::Error) -> AccessError {
    match Errno::from_io_error(&source) {
        Some(Errno::NOENT | Errno::NOTDIR) => AccessError::Missing { path },
        Some(Errno::EXIST) => AccessError::Exists { path },
        _ => AccessError::Io { path, source },
    }
}
