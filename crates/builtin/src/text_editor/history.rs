//! What edited files had before.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
};

use crate::files::hash;

/// How many edits of a file can be undone.
const MAX_PER_FILE: usize = 20;
/// How many edits can be undone in all.
const MAX_VERSIONS: usize = 5_000;
/// The most bytes that are kept.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// The states of files before the last edits, oldest first. What does not fit is forgotten, beginning with the oldest.
#[derive(Debug, Default)]
pub(super) struct History {
    versions: VecDeque<Version>,
    bytes: usize,
}

/// The state of a file before an edit.
#[derive(Debug)]
pub(super) struct Version {
    path: PathBuf,
    /// `None` if the edit created the file.
    pub(super) before: Option<Vec<u8>>,
    /// The hash of the file after the edit.
    pub(super) after: String,
}

impl History {
    /// Keeps what a file had before an edit.
    pub(super) fn add(&mut self, path: &Path, before: Option<Vec<u8>>, after: &[u8]) {
        self.bytes += before.as_ref().map_or(0, Vec::len);
        self.versions.push_back(Version { path: path.to_owned(), before, after: hash(after) });
        if self.versions.iter().filter(|version| version.path == path).count() > MAX_PER_FILE {
            let oldest = self.versions.iter().position(|version| version.path == path);
            self.remove(oldest);
        }
        while self.versions.len() > MAX_VERSIONS || self.bytes > MAX_BYTES {
            self.remove(Some(0));
        }
    }

    /// The state before the last edit of a file.
    pub(super) fn last(&self, path: &Path) -> Option<&Version> {
        self.versions.iter().rfind(|version| version.path == path)
    }

    /// Forgets the last edit of a file.
    pub(super) fn remove_last(&mut self, path: &Path) {
        self.remove(self.versions.iter().rposition(|version| version.path == path));
    }

    fn remove(&mut self, index: Option<usize>) {
        let removed = index.and_then(|index| self.versions.remove(index));
        if let Some(Version { before: Some(before), .. }) = removed {
            self.bytes -= before.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_edits_are_forgotten() {
        let (a, b) = (Path::new("/a"), Path::new("/b"));
        let mut history = History::default();
        history.add(b, None, b"");
        for number in 0..25_u8 {
            history.add(a, Some(vec![number]), &[number + 1]);
        }
        assert_eq!(history.bytes, 20);
        for number in (5..25).rev() {
            assert_eq!(history.last(a).unwrap().before, Some(vec![number]));
            history.remove_last(a);
        }
        assert!(history.last(a).is_none() && history.last(b).is_some());
        for size in [MAX_BYTES / 2, MAX_BYTES / 2, 1] {
            history.add(a, Some(vec![0; size]), b"");
        }
        assert_eq!((history.versions.len(), history.bytes), (2, MAX_BYTES / 2 + 1));
    }
}
