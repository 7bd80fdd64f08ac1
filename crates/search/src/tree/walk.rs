//! The walk: which files ripgrep would search, with their stamps.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};
use parking_lot::Mutex;
use rustix::fs::{AtFlags, FileType};

use super::{FileEntry, Links, RelPath, Stamp, TreeError, TreeRoot};

/// What a walk shows beside what ripgrep shows with no options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// Hidden files and folders too (`rg --hidden`).
    pub hidden: bool,
    /// Files that `.gitignore` and the like leave out, too (`rg --no-ignore`).
    pub ignored: bool,
    /// Only files that match one of these, none that matches one with `!` before it (`rg --glob`). As with ripgrep, a
    /// file that is named so is shown even if it would be ignored.
    pub globs: Vec<String>,
}

/// Where a walk begins, and how much of that folder it looks at.
#[derive(Debug)]
pub(super) struct Start<'a> {
    pub(super) folder: RelPath,
    /// Only these names in `folder` and what is below them; `None` for all.
    pub(super) only: Option<&'a HashSet<Box<[u8]>>>,
}

/// What a walk found, in no order.
#[derive(Debug, Default)]
pub(super) struct Walked {
    pub(super) entries: Vec<FileEntry>,
    /// Files with a second name, through which they can change unseen.
    pub(super) linked: Vec<RelPath>,
}

/// Called with each folder before anything in it is read, ignore files included.
pub(super) type Enter = Arc<dyn Fn(&RelPath) + Send + Sync>;

/// Walks with ripgrep's rules.
///
/// # Errors
/// If the folder where it starts cannot be read, or a glob not be understood. What cannot be read below is left out, as
/// ripgrep does.
pub(super) fn walk(
    root: &TreeRoot,
    start: &Start<'_>,
    rules: &Rules,
    enter: Enter,
) -> Result<Walked, TreeError> {
    let from = root.path().join(start.folder.as_path());
    let found = Mutex::new(Walked::default());
    let failed = Mutex::new(None);
    let builder = builder(root, start, rules, enter)?;
    builder.build_parallel().run(|| {
        let mut visitor = Visitor { root, found: &found, mine: Walked::default(), at: None };
        let failed = &failed;
        Box::new(move |entry| {
            match entry {
                Ok(entry) => visitor.visit(&entry),
                Err(error) if error.depth() == Some(0) => *failed.lock() = error.into_io_error(),
                Err(_) => {}
            }
            WalkState::Continue
        })
    });
    match failed.into_inner() {
        Some(source) => Err(TreeError::Root { path: from, source }),
        None => Ok(found.into_inner()),
    }
}

fn builder(
    root: &TreeRoot,
    start: &Start<'_>,
    rules: &Rules,
    enter: Enter,
) -> Result<WalkBuilder, TreeError> {
    let mut builder = WalkBuilder::new(root.path().join(start.folder.as_path()));
    builder
        .hidden(!rules.hidden)
        .parents(!rules.ignored)
        .ignore(!rules.ignored)
        .git_global(!rules.ignored)
        .git_ignore(!rules.ignored)
        .git_exclude(!rules.ignored)
        .current_dir(root.path())
        .overrides(overrides(root, &rules.globs)?);
    if !rules.ignored {
        builder.add_custom_ignore_filename(".rgignore");
    }
    enter(&start.folder);
    let (only, base, secrets) = (start.only.cloned(), root.path().to_owned(), root.secrets());
    // Asked for what no rule hides, before the folder is entered.
    builder.filter_entry(move |entry| {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let is_named = entry.depth() != 1
            || only.as_ref().is_none_or(|names| names.contains(entry.file_name().as_bytes()));
        let inside = entry.path().strip_prefix(&base).unwrap_or(entry.path());
        let wanted = is_named && !secrets.hide_found(inside.as_os_str().as_bytes(), is_folder);
        if wanted
            && entry.depth() > 0
            && is_folder
            && let Some(path) = relative(&base, entry.path())
        {
            enter(&path);
        }
        wanted
    });
    Ok(builder)
}

/// The globs of ripgrep's `--glob`, relative to the root.
pub(crate) fn overrides(root: &TreeRoot, globs: &[String]) -> Result<Override, TreeError> {
    let failed = |error: ignore::Error| TreeError::Glob { reason: error.to_string() };
    let mut builder = OverrideBuilder::new(root.path());
    for glob in globs {
        builder.add(glob).map_err(failed)?;
    }
    builder.build().map_err(failed)
}

/// Collects what one thread of a walk finds, and hands it in when dropped.
struct Visitor<'a> {
    root: &'a TreeRoot,
    found: &'a Mutex<Walked>,
    mine: Walked,
    /// The folder of the last file, held open: files of one folder mostly come one after the other.
    at: Option<(RelPath, OwnedFd)>,
}

impl Visitor<'_> {
    fn visit(&mut self, entry: &DirEntry) {
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            return;
        }
        if let Some(path) = relative(self.root.path(), entry.path()) {
            // One that cannot be looked at is gone, or in a folder that was swapped for a link.
            let _ = self.add(path);
        }
    }

    fn add(&mut self, path: RelPath) -> Result<(), TreeError> {
        let folder = path.parent().unwrap_or_else(RelPath::root);
        let folder = match &mut self.at {
            Some((at, held)) if *at == folder => held,
            at => {
                let held = self.root.open_folder(&folder, Links::Refuse)?;
                &mut at.insert((folder, held)).1
            }
        };
        let Some((stamp, links)) = look(folder.as_fd(), path.name()) else { return Ok(()) };
        if links > 1 {
            self.mine.linked.push(path.clone());
        }
        self.mine.entries.push(FileEntry { path, stamp });
        Ok(())
    }
}

impl Drop for Visitor<'_> {
    fn drop(&mut self) {
        let mut all = self.found.lock();
        all.entries.append(&mut self.mine.entries);
        all.linked.append(&mut self.mine.linked);
    }
}

/// Stamp and number of names of a regular file in an open folder.
pub(super) fn look(folder: BorrowedFd<'_>, name: &[u8]) -> Option<(Stamp, u64)> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    #[expect(clippy::useless_conversion, reason = "differs between platforms")]
    regular.then(|| (Stamp::of(&stat), u64::from(stat.st_nlink)))
}

fn relative(base: &Path, path: &Path) -> Option<RelPath> {
    RelPath::from_bytes(path.strip_prefix(base).ok()?.as_os_str().as_bytes()).ok()
}
