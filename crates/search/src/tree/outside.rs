//! Files that say what is ignored and that no watch sees: in the folders above the root, in `.git`, in the user's home.

use std::path::{Path, PathBuf};

use super::{RelPath, Stamp};
use parking_lot::Mutex;

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
