//! Which files are searched, and how they are opened.
//!
//! The walk is ripgrep's own and goes by paths. A file is opened from the directory that was named, held open, by a path
//! without links: should a directory be swapped for a link while the walk goes on, nothing outside is opened.

use std::{
    fs::{self, File},
    io::{self, Read},
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ignore::{
    DirEntry, WalkBuilder, WalkParallel,
    overrides::{Override, OverrideBuilder},
    types::TypesBuilder,
};
use rustix::fs::{FileType, OFlags};
use toolbay_files::{AccessError, AllowedDirectories, Found, beneath};
use toolbay_server::ToolContext;

/// Which files are searched. Every field is the option of `rg` that it names.
#[derive(Debug, Clone, Default)]
pub(super) struct FileFilter {
    pub(super) globs: Vec<String>,
    pub(super) file_type: Option<String>,
    pub(super) hidden: bool,
    pub(super) no_ignore: bool,
    pub(super) follow: bool,
}

/// Why nothing can be searched.
#[derive(Debug, thiserror::Error)]
pub(super) enum GrepError {
    #[error("{0}")]
    Pattern(#[from] grep_regex::Error),
    #[error("{0}")]
    Glob(ignore::Error),
    #[error("{0}")]
    Type(ignore::Error),
    #[error("{0}")]
    Access(#[from] AccessError),
    #[error("the call was canceled")]
    Canceled,
}

/// A search: where, in which files, and until when.
#[derive(Debug)]
pub(super) struct Search<'a> {
    pub(super) targets: Vec<Target>,
    pub(super) filter: FileFilter,
    pub(super) context: &'a ToolContext,
    pub(super) deadline: Instant,
    allowed: &'a AllowedDirectories,
}

/// A file or directory that is searched.
#[derive(Debug)]
pub(super) struct Target {
    /// The path that results begin with; empty for paths relative to the directory.
    shown: PathBuf,
    found: Found,
    /// The directory, for opening what is in it; none for a file.
    directory: Option<OwnedFd>,
}

/// A file of a search. The order is that of `rg --sort path`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileId {
    target: usize,
    /// Below the directory; empty for a target that is a file.
    path: PathBuf,
}

impl<'a> Search<'a> {
    /// A search in `path`, or without one in all allowed directories.
    pub(super) fn new(
        allowed: &'a AllowedDirectories,
        path: Option<&str>,
        filter: FileFilter,
        context: &'a ToolContext,
        time_limit: Duration,
    ) -> Result<Self, GrepError> {
        let targets = match path {
            Some(path) => vec![Target::new(allowed, path, PathBuf::from(path))?],
            None => {
                let roots: Vec<_> = allowed.paths().map(Path::to_owned).collect();
                let is_only = roots.len() == 1;
                let shown = |root: &Path| if is_only { PathBuf::new() } else { root.to_owned() };
                let targets =
                    roots.iter().map(|root| Target::new(allowed, &root.to_string_lossy(), shown(root)));
                targets.collect::<Result<_, _>>()?
            }
        };
        Ok(Self { targets, filter, context, deadline: Instant::now() + time_limit, allowed })
    }

    /// Shows absolute paths, however they were given.
    pub(super) fn with_absolute_paths(mut self) -> Self {
        for target in &mut self.targets {
            target.shown = target.found.path().to_owned();
        }
        self
    }

    /// Whether the search is for one file alone, whose name ripgrep does not show.
    pub(super) fn is_one_file(&self) -> bool {
        self.targets.iter().all(|target| target.directory.is_none())
    }

    /// The path of a file, as it is shown.
    pub(super) fn shown(&self, file: &FileId) -> PathBuf {
        let target = &self.targets[file.target];
        if file.path.as_os_str().is_empty() { target.shown.clone() } else { target.shown.join(&file.path) }
    }

    /// Opens a file for reading. Its type is checked, because it may have changed since the walk.
    pub(super) fn open(&self, file: &FileId) -> io::Result<File> {
        let target = &self.targets[file.target];
        let Some(directory) = &target.directory else {
            return target.found.open_file().map_err(io::Error::other);
        };
        if self.filter.follow {
            let path = target.found.path().join(&file.path);
            let path = path.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
            let opened = self.allowed.find(path).and_then(|found| found.open_file());
            return opened.map_err(io::Error::other);
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = beneath::open(directory.as_fd(), &file.path, flags, beneath::Links::Refuse)?;
        match FileType::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode) {
            FileType::RegularFile => Ok(opened.into()),
            _ => Err(io::Error::other("not a regular file")),
        }
    }

    /// Whether a file is where the walk found it, and not outside by way of a link.
    pub(super) fn exists(&self, file: &FileId) -> bool {
        let target = &self.targets[file.target];
        let Some(directory) = &target.directory else { return true };
        if self.filter.follow {
            return target
                .found
                .path()
                .join(&file.path)
                .to_str()
                .is_some_and(|path| self.allowed.find(path).is_ok());
        }
        beneath::open(directory.as_fd(), &file.path, OFlags::PATH, beneath::Links::Refuse).is_ok()
    }

    /// The files of a target that is a file, which is only itself; else the walk through the directory.
    pub(super) fn walk(&self, index: usize) -> Result<Walk, GrepError> {
        let target = &self.targets[index];
        if target.directory.is_none() {
            return Ok(Walk::File(FileId { target: index, path: PathBuf::new() }));
        }
        let top = target.found.path().to_owned();
        let show_all = self.filter.no_ignore;
        let mut walk = WalkBuilder::new(&top);
        walk.hidden(!self.filter.hidden)
            .parents(!show_all)
            .ignore(!show_all)
            .git_global(!show_all)
            .git_ignore(!show_all)
            .git_exclude(!show_all)
            .follow_links(self.filter.follow)
            .current_dir(&top)
            .overrides(self.overrides(target)?);
        if !show_all {
            walk.add_custom_ignore_filename(".rgignore");
        }
        if let Some(file_type) = &self.filter.file_type {
            let mut types = TypesBuilder::new();
            types.add_defaults().select(file_type);
            walk.types(types.build().map_err(GrepError::Type)?);
        }
        let (base, secrets, real) = (top.clone(), self.allowed.shown_secrets(), target.found.real().clone());
        // Asked before a directory is entered.
        walk.filter_entry(move |entry| {
            let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
            let path = real.as_path().join(entry.path().strip_prefix(&base).unwrap_or(entry.path()));
            !secrets.hide_found(path.as_os_str().as_bytes(), is_directory)
                && (show_all || !is_directory || !has_endless_rules(entry.path()))
        });
        if !show_all && top.ancestors().any(has_endless_rules) {
            let path = top;
            let source = io::Error::other("an ignore file in it or above it is not a regular file");
            return Err(GrepError::Access(AccessError::Io { path, source }));
        }
        Ok(Walk::Directory(walk.build_parallel()))
    }

    /// The file of an entry of a walk; none for what is no file.
    pub(super) fn file(&self, index: usize, entry: &DirEntry) -> Option<FileId> {
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        let path = entry.path().strip_prefix(self.targets[index].found.path()).ok()?;
        is_file.then(|| FileId { target: index, path: path.to_owned() })
    }

    /// The globs. One with a slash is relative to the allowed directory, as for `rg` in a project, or to the searched one:
    /// models mean either.
    fn overrides(&self, target: &Target) -> Result<Override, GrepError> {
        let top = target.found.path();
        let base = self.allowed.paths().find(|root| top.starts_with(root)).unwrap_or(top);
        let below = top.strip_prefix(base).unwrap_or(Path::new(""));
        let below = globset::escape(&below.to_string_lossy());
        let mut builder = OverrideBuilder::new(base);
        for glob in &self.filter.globs {
            builder.add(glob).map_err(GrepError::Glob)?;
            let (negation, glob) = glob.strip_prefix('!').map_or(("", glob.as_str()), |glob| ("!", glob));
            let is_anchored = glob.trim_end_matches('/').contains('/');
            if is_anchored && !below.is_empty() && !glob.starts_with("**/") {
                let glob = format!("{negation}/{below}/{}", glob.trim_start_matches('/'));
                builder.add(&glob).map_err(GrepError::Glob)?;
            }
        }
        builder.build().map_err(GrepError::Glob)
    }
}

impl Target {
    fn new(allowed: &AllowedDirectories, path: &str, shown: PathBuf) -> Result<Self, GrepError> {
        let found = allowed.find(path)?;
        if found.is_directory() {
            return Ok(Self { directory: Some(found.open_directory()?), found, shown });
        }
        if !found.is_file() {
            return Err(AccessError::NotAFile { path: found.path().to_owned() }.into());
        }
        Ok(Self { directory: None, found, shown })
    }
}

/// Where the files of a target come from.
pub(super) enum Walk {
    File(FileId),
    Directory(WalkParallel),
}

/// Whether reading the ignore files of a directory could take forever, as with a FIFO.
fn has_endless_rules(directory: &Path) -> bool {
    [".gitignore", ".ignore", ".rgignore", ".git/info/exclude"].iter().any(|name| {
        fs::metadata(directory.join(name)).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
    })
}

/// A file that ends when its search is canceled or late.
pub(super) struct Watched<'a> {
    pub(super) file: File,
    pub(super) search: &'a Search<'a>,
}

impl Search<'_> {
    /// Whether the search is to end early.
    pub(super) fn is_over(&self) -> bool {
        self.context.is_cancelled() || Instant::now() >= self.deadline
    }
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.search.is_over() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.file.read(buffer)
    }
}
