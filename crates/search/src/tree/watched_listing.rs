//! [`WatchedListing`]: a listing that is kept up to date by a watch.

use std::collections::{HashMap, HashSet};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::walk::{Start, Walked, look, walk};
use super::watch::{Changes, Watch};
use super::{FileEntry, Links, RelPath, Rules, Stamp, TreeError, TreeRoot};

/// Local file systems: a watch does not see changes that other machines make on NFS and the like.
const LOCAL: [u64; 11] = [
    0xEF53,      // ext2, ext3, ext4
    0x5846_5342, // xfs
    0x9123_683E, // btrfs
    0x0102_1994, // tmpfs
    0x8584_58F6, // ramfs
    0xF2F5_2010, // f2fs
    0x2FC1_2FC1, // zfs
    0xCA45_1A4E, // bcachefs
    0x794C_7630, // overlayfs
    0x3153_464A, // jfs
    0x5265_4973, // reiserfs
];

/// Files sorted by path, and the watch that detects changes.
#[derive(Debug)]
pub(super) struct WatchedListing {
    watch: Arc<Watch>,
    outside: Arc<Outside>,
    pub(super) files: Arc<[FileEntry]>,
    /// Files with a second name, looked at each time: a change through the other name is not seen by the watch.
    linked: HashSet<RelPath>,
    /// Listings by other rules that nothing has changed since, the last one used at the end.
    kept: Vec<Kept>,
}

/// A listing by other rules.
#[derive(Debug)]
struct Kept {
    folder: RelPath,
    rules: Rules,
    files: Arc<[FileEntry]>,
}

/// How many of those are kept: who searches with a glob often does so again, and then with another one.
const KEPT: usize = 2;

/// Whether a watch on this tree sees all changes.
pub(super) fn is_watchable(root: &TreeRoot) -> bool {
    let found = rustix::fs::statfs(root.path());
    found.is_ok_and(|found| LOCAL.contains(&(found.f_type as u64)))
}

impl WatchedListing {
    /// Walks and watches. [`WatchedListing::is_watched`] returns whether the watch can be relied on.
    pub(super) fn new(root: &TreeRoot) -> Result<Self, TreeError> {
        let watch = Watch::new(root.path().to_owned());
        let failed = |source| TreeError::Root { path: root.path().to_owned(), source };
        let watch = Arc::new(watch.map_err(failed)?);
        let outside = Arc::new(Outside::new(root.path()));
        let start = Start { folder: RelPath::root(), only: None };
        let Walked { mut entries, linked } =
            walk(root, &start, &Rules::default(), enter(root, &watch, &outside))?;
        entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(Self {
            watch,
            outside,
            files: entries.into(),
            linked: linked.into_iter().collect(),
            kept: Vec::new(),
        })
    }

    pub(super) fn is_watched(&self) -> bool {
        !self.watch.has_failed()
    }

    /// Takes in what has changed.
    pub(super) fn refresh(&mut self, root: &TreeRoot) -> Result<(), TreeError> {
        let mut changes = self.watch.changes();
        if self.outside.has_changed() {
            changes = Changes::Everything;
        }
        let Changes::Names(mut names) = changes else {
            *self = Self::new(root)?;
            return Ok(());
        };
        if !names.is_empty() {
            self.kept.clear();
        }
        for path in &self.linked {
            let folder = path.parent().unwrap_or_else(RelPath::root);
            names.entry(folder).or_default().insert(path.name().into());
        }
        if names.is_empty() {
            return Ok(());
        }
        let changed = self.look(root, names);
        self.apply(changed);
        Ok(())
    }

    /// The files below a folder by other rules, as of the last [refresh](Self::refresh) or later.
    pub(super) fn by_rules(
        &mut self,
        root: &TreeRoot,
        folder: &RelPath,
        rules: &Rules,
    ) -> Result<Arc<[FileEntry]>, TreeError> {
        let same = |kept: &Kept| kept.folder == *folder && kept.rules == *rules;
        if let Some(at) = self.kept.iter().position(same) {
            self.kept[at..].rotate_left(1);
            return Ok(Arc::clone(&self.kept[self.kept.len() - 1].files));
        }
        let watched = self.watch.folders();
        // What is ignored is not watched, and other rules can lead there.
        let strayed = Arc::new(AtomicBool::new(false));
        let enter = {
            let strayed = Arc::clone(&strayed);
            move |folder: &RelPath| {
                if !watched.contains(folder) {
                    strayed.store(true, Ordering::Relaxed);
                }
            }
        };
        let start = Start { folder: folder.clone(), only: None };
        let Walked { mut entries, linked } = walk(root, &start, rules, Arc::new(enter))?;
        entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let files: Arc<[FileEntry]> = entries.into();
        if linked.is_empty() && !strayed.load(Ordering::Relaxed) && self.is_watched() {
            if self.kept.len() == KEPT {
                self.kept.remove(0);
            }
            let (folder, rules) = (folder.clone(), rules.clone());
            self.kept.push(Kept { folder, rules, files: Arc::clone(&files) });
        }
        Ok(files)
    }

    /// What the changed names are now. A file that was there is looked at; anything else is walked, by the rules.
    fn look(&mut self, root: &TreeRoot, names: HashMap<RelPath, HashSet<Box<[u8]>>>) -> Changed {
        let mut changed = Changed::default();
        for (folder, names) in names {
            let held = root.open_folder(&folder, Links::Refuse).ok();
            let mut unknown = HashSet::new();
            for name in names {
                let path = folder.join(&name);
                let was_file = self.files.binary_search_by(|it| it.path.cmp(&path)).is_ok();
                let is_file = held.as_ref().and_then(|held| look(held.as_fd(), &name));
                match is_file {
                    Some((stamp, _)) if was_file => changed.now.push(FileEntry { path: path.clone(), stamp }),
                    _ => drop(unknown.insert(name)),
                }
                changed.gone.push(path);
            }
            if unknown.is_empty() || held.is_none() {
                continue;
            }
            let start = Start { folder, only: Some(&unknown) };
            // A folder that is gone has nothing in it.
            if let Ok(walked) = walk(root, &start, &Rules::default(), enter(root, &self.watch, &self.outside))
            {
                changed.now.extend(walked.entries);
                self.linked.extend(walked.linked);
            }
        }
        changed
    }

    fn apply(&mut self, mut changed: Changed) {
        changed.now.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        changed.now.dedup_by(|a, b| a.path == b.path);
        let unchanged = |entry: &FileEntry| {
            let place = self.files.binary_search_by(|it| it.path.cmp(&entry.path));
            place.is_ok_and(|at| self.files[at].stamp == entry.stamp)
        };
        let still = changed.now.iter().all(unchanged);
        changed.gone.sort_unstable();
        let is_gone = |path: &RelPath| is_below_any(path, &changed.gone);
        if still && changed.now.len() == self.files.iter().filter(|it| is_gone(&it.path)).count() {
            return;
        }
        let mut files: Vec<FileEntry> = self.files.iter().filter(|it| !is_gone(&it.path)).cloned().collect();
        files.append(&mut changed.now);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.path == b.path);
        self.kept.clear();
        self.linked.retain(|path| files.binary_search_by(|it| it.path.cmp(path)).is_ok());
        self.files = files.into();
    }
}

/// Names that may be something else now, and what is there.
#[derive(Default)]
struct Changed {
    gone: Vec<RelPath>,
    now: Vec<FileEntry>,
}

/// Whether the path, or a folder it is in, is among the sorted `paths`.
fn is_below_any(path: &RelPath, paths: &[RelPath]) -> bool {
    if paths.is_empty() {
        return false;
    }
    let bytes = path.as_bytes();
    let slashes = memchr::memchr_iter(b'/', bytes).chain([bytes.len()]);
    slashes.into_iter().any(|end| paths.binary_search_by(|it| it.as_bytes().cmp(&bytes[..end])).is_ok())
}

fn enter(root: &TreeRoot, watch: &Arc<Watch>, outside: &Arc<Outside>) -> Arc<dyn Fn(&RelPath) + Send + Sync> {
    let (base, watch, outside) = (root.path().to_owned(), Arc::clone(watch), Arc::clone(outside));
    Arc::new(move |folder| {
        watch.add(folder);
        outside.enter(&base, folder);
    })
}

/// Those files, as they were when the tree was walked.
#[derive(Debug, Default)]
pub(super) struct Outside {
    seen: Mutex<Vec<(PathBuf, Option<Stamp>)>>,
    /// The user's own list, which a setting of git can move.
    users: Option<PathBuf>,
}

impl Outside {
    pub(super) fn new(root: &Path) -> Self {
        let users = ignore::gitignore::gitconfig_excludes_path();
        let outside = Self { seen: Mutex::default(), users };
        for folder in root.ancestors().skip(1) {
            for name in [".gitignore", ".ignore", ".rgignore", ".git", ".git/info/exclude"] {
                outside.add(folder.join(name));
            }
        }
        outside.users.iter().cloned().for_each(|path| outside.add(path));
        outside
    }

    /// Notes what a folder of the tree has of this kind.
    pub(super) fn enter(&self, root: &Path, folder: &RelPath) {
        let path = root.join(folder.as_path()).join(".git/info/exclude");
        if folder.is_root() || stamp(&path).is_some() {
            self.add(path);
        }
    }

    fn add(&self, path: PathBuf) {
        let stamp = stamp(&path);
        self.seen.lock().push((path, stamp));
    }

    /// Whether any of them is not as it was.
    pub(super) fn has_changed(&self) -> bool {
        let seen = self.seen.lock();
        seen.iter().any(|(path, before)| stamp(path) != *before)
            || ignore::gitignore::gitconfig_excludes_path() != self.users
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    rustix::fs::stat(path).ok().map(|stat| Stamp::of(&stat))
}
