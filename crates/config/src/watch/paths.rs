//! The way to a file, link by link.

use std::{
    collections::{BTreeSet, VecDeque},
    ffi::OsString,
    fs,
    path::{Component, Path, PathBuf},
};

/// As many links as the system itself follows.
const MOST_LINKS: usize = 40;

/// Where something may happen that matters for some files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WatchedPaths {
    /// Folders to watch.
    pub(super) folders: BTreeSet<PathBuf>,
    /// Folders to watch if we may: those above, which tell when one of the others is put in place anew.
    pub(super) above: BTreeSet<PathBuf>,
    /// Names in those folders, and the folders themselves.
    pub(super) names: BTreeSet<PathBuf>,
}

impl WatchedPaths {
    /// The way to all of these, as it is now. They are absolute.
    pub(super) fn to(paths: &[PathBuf]) -> Self {
        let mut trail = Self::default();
        paths.iter().for_each(|path| trail.follow(path));
        trail.names.extend(trail.folders.iter().chain(&trail.above).cloned().collect::<Vec<_>>());
        trail
    }

    fn follow(&mut self, path: &Path) {
        let mut rest: VecDeque<OsString> = steps(path);
        // Invariant: free of links.
        let mut here = PathBuf::from("/");
        let mut links = 0;
        let mut passed: Vec<PathBuf> = Vec::new();
        while let Some(step) = rest.pop_front() {
            if step == ".." {
                here.pop();
                continue;
            }
            let next = here.join(&step);
            self.names.insert(next.clone());
            passed.push(here.clone());
            match fs::symlink_metadata(&next) {
                Ok(metadata) if metadata.is_symlink() && links < MOST_LINKS => {
                    links += 1;
                    self.folders.insert(here.clone());
                    let Ok(target) = fs::read_link(&next) else { break };
                    if target.is_absolute() {
                        here = PathBuf::from("/");
                    }
                    for step in steps(&target).into_iter().rev() {
                        rest.push_front(step);
                    }
                }
                Ok(metadata) if metadata.is_dir() => here = next,
                // The file, or where the way ends.
                _ => break,
            }
        }
        self.folders.extend(passed.pop());
        self.above.extend(passed.pop());
    }
}

fn steps(path: &Path) -> VecDeque<OsString> {
    let step = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(step).collect()
}
