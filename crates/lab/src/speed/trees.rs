//! What is searched.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result};
use toolbay_search::tree::{Entry, Root, Tree, TreeOptions};

use crate::packages::{Library, Lock};

/// The size of the mixed tree.
const MIXED: u64 = 100_000_000;

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
    let (unfinished, all) = (folder.join("mixed.new"), open(&sources)?.files()?);
    for entry in &*part_of(&all, MIXED) {
        let to = unfinished.join(entry.path.as_path());
        fs::create_dir_all(to.parent().context("a file without a folder")?)?;
        fs::copy(sources.join(entry.path.as_path()), &to)?;
    }
    fs::rename(unfinished, &tree)?;
    Ok(tree)
}

pub(super) fn open(folder: &Path) -> Result<Tree> {
    Ok(Tree::open(Root::open(folder)?, TreeOptions::default()))
}

/// Files from all over the tree, of about so many bytes together.
pub(super) fn part_of(entries: &[Entry], bytes: u64) -> Arc<[Entry]> {
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
