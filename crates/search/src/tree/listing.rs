//! [`Tree`]: the files of a tree as of now.

use std::sync::Arc;

#[cfg(target_os = "linux")]
use parking_lot::Mutex;

use super::walk::{Start, walk};
use super::{Content, Links, RelPath, Rules, Stamp, TreeError, TreeRoot};

/// A file of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// Where it is.
    pub path: RelPath,
    /// When we looked.
    pub stamp: Stamp,
}

/// How a tree is held.
#[derive(Debug, Clone, Copy, Default)]
pub struct TreeOptions {
    /// Watch the folders, so that later listings need no walk. Worth it for more than one listing.
    pub watch: bool,
}

/// A tree of files, as ripgrep sees it.
#[derive(Debug)]
pub struct Tree {
    root: TreeRoot,
    #[cfg(target_os = "linux")]
    watched: Mutex<Watched>,
}

/// Whether a listing is kept.
#[cfg(target_os = "linux")]
#[derive(Debug)]
enum Watched {
    /// From the first listing on.
    Soon,
    Now(super::watched_listing::WatchedListing),
    /// Not requested, or the system does not allow so many watches.
    Never,
}

#[cfg(target_os = "linux")]
impl Watched {
    /// The listing, up to date; `None` if none is kept.
    fn refreshed(
        &mut self,
        root: &TreeRoot,
    ) -> Result<Option<&mut super::watched_listing::WatchedListing>, TreeError> {
        match self {
            Self::Soon => *self = Self::Now(super::watched_listing::WatchedListing::new(root)?),
            Self::Now(held) => {
                if let Err(error) = held.refresh(root) {
                    *self = Self::Soon;
                    return Err(error);
                }
            }
            Self::Never => {}
        }
        Ok(if let Self::Now(held) = self { Some(held) } else { None })
    }
}

impl Tree {
    /// Holds a tree. Nothing is walked yet.
    pub fn open(root: TreeRoot, options: TreeOptions) -> Self {
        #[cfg(target_os = "linux")]
        {
            let watchable = options.watch && super::watched_listing::is_watchable(&root);
            let watched = Mutex::new(if watchable { Watched::Soon } else { Watched::Never });
            Self { root, watched }
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = options;
            Self { root }
        }
    }

    /// The root, for opening files by name.
    pub fn root(&self) -> &TreeRoot {
        &self.root
    }

    /// All files that ripgrep would search with no options, sorted by path, as of now: every change made before the call
    /// is in it.
    ///
    /// Two kinds of change are seen only when the file is closed or inspected again, if the tree is watched: writes through a
    /// memory map, and writes through a second name that a file got since it was first seen.
    ///
    /// # Errors
    /// If the root itself cannot be read any more.
    pub fn files(&self) -> Result<Arc<[FileEntry]>, TreeError> {
        #[cfg(target_os = "linux")]
        if let Some(files) = self.watched_files()? {
            return Ok(files);
        }
        self.walk(&RelPath::root(), &Rules::default()).map(Arc::from)
    }

    #[cfg(target_os = "linux")]
    fn watched_files(&self) -> Result<Option<Arc<[FileEntry]>>, TreeError> {
        let mut watched = self.watched.lock();
        let Some(held) = watched.refreshed(&self.root)? else { return Ok(None) };
        let files = Arc::clone(&held.files);
        if !held.is_watched() {
            *watched = Watched::Never;
        }
        Ok(Some(files))
    }

    /// The files below `folder` by other rules, sorted by path, as of now. The same list as last time if it is known that
    /// nothing has changed since.
    ///
    /// # Errors
    /// If the folder cannot be read, or a glob not be understood.
    pub fn files_by(&self, folder: &RelPath, rules: &Rules) -> Result<Arc<[FileEntry]>, TreeError> {
        #[cfg(target_os = "linux")]
        {
            let mut watched = self.watched.lock();
            if let Some(held) = watched.refreshed(&self.root)? {
                if held.is_watched() {
                    return held.by_rules(&self.root, folder, rules);
                }
                *watched = Watched::Never;
            }
        }
        self.walk(folder, rules).map(Arc::from)
    }

    /// The files below `folder` by other rules, sorted by path. Always walks.
    ///
    /// # Errors
    /// If the folder cannot be read, or a glob not be understood.
    pub fn walk(&self, folder: &RelPath, rules: &Rules) -> Result<Vec<FileEntry>, TreeError> {
        let start = Start { folder: folder.clone(), only: None };
        let mut entries = walk(&self.root, &start, rules, Arc::new(|_| ()))?.entries;
        entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// Reads a file that the caller named, at most `limit` bytes.
    ///
    /// # Errors
    /// If there is no such file in the tree, if it is larger, or if the system refuses.
    pub fn read(&self, path: &RelPath, limit: u64) -> Result<Content, TreeError> {
        self.root.read(path, Links::Follow, limit)
    }
}
