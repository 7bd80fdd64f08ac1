//! What is searched.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result};
use toolbay_search::tree::{FileEntry, Tree, TreeOptions, TreeRoot};

use crate::packages::{Library, Lock};

/// The size of the mixed tree.
const MIXED: u64 = 100_000_000;

/// Files that were written this lately are not trusted to stay, and not indexed.
const YOUNG: Duration = Duration::from_secs(3);

/// A tree of eight languages: files from all over the packages of the benchmark of quality.
pub(super) fn mixed(folder: &Path) -> Result<PathBuf> {
    let tree = folder.join("mixed");
    if tree.exists() {
        return Ok(tree);
    }
    let lock = Lock::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data/quality.lock"))?;
    let data = folder.join("quality");
    Library::open(&data)?.fetch(&lock)?;
    let sources = data.join("source");
    let unfinished = folder.join("mixed.new");
    copy(&part_of(&open(&sources)?.files()?, MIXED), &sources, &unfinished)?;
    fs::rename(unfinished, &tree)?;
    Ok(tree)
}

/// Copies files of a tree; what was there before is gone.
pub(super) fn copy(entries: &[FileEntry], from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    for entry in entries {
        let place = to.join(entry.path.as_path());
        fs::create_dir_all(place.parent().context("a file without a folder")?)?;
        fs::copy(from.join(entry.path.as_path()), &place)?;
    }
    std::thread::sleep(YOUNG);
    Ok(())
}

pub(super) fn open(folder: &Path) -> Result<Tree> {
    Ok(Tree::open(TreeRoot::open(folder)?, TreeOptions::default()))
}

/// Files from all over the tree, of about so many bytes together.
pub(super) fn part_of(entries: &[FileEntry], bytes: u64) -> Arc<[FileEntry]> {
    let all: u64 = entries.iter().map(|entry| entry.stamp.size).sum();
    if bytes >= all {
        return entries.into();
    }
    let mut due = 0.0;
    let mut part = Vec::new();
    for entry in entries {
        due += bytes as f64 / all as f64;
        if due >= 1.0 {
            due -= 1.0;
            part.push(entry.clone());
        }
    }
    part.into()
}
