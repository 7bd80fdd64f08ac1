//! `toolbay-lab speed`: how fast the search by meaning is, beside `semble`.
//!
//! Indexes a mixed tree of 100 MB, and parts of the source of Linux of 10,000, 100,000 and 1,000,000 chunks and all of it (or
//! of another tree, and other sizes), and prints for each: building, opening, questions, one saved file, memory.

mod measure;
mod questions;
mod semble;
mod trees;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::text::peers::linux;

const USAGE: &str = "usage: toolbay-lab speed [--folder FOLDER] [TREE [CHUNKS…]]
FOLDER (target/bench-peers) holds what is downloaded, installed and indexed";

/// The size of the tree for the question without an index.
const UNINDEXED: u64 = 50 << 20;
/// About as much text is in a chunk of code.
const BYTES_PER_CHUNK: u64 = 900;

pub(crate) fn run(args: &[String]) -> Result<()> {
    let (folder, args) = match args {
        [option, folder, rest @ ..] if option == "--folder" => (PathBuf::from(folder), rest),
        rest => (PathBuf::from("target/bench-peers"), rest),
    };
    if args.iter().any(|arg| arg.starts_with('-')) {
        bail!("{USAGE}");
    }
    std::fs::create_dir_all(&folder)?;
    let folder = folder.canonicalize()?;
    let Some((tree, sizes)) = args.split_first() else {
        beside_semble(&folder)?;
        return grown(&linux(&folder)?, &folder, &[10_000, 100_000, 1_000_000, u64::MAX]);
    };
    let sizes = sizes.iter().map(|size| size.parse()).collect::<Result<Vec<u64>, _>>()?;
    grown(Path::new(tree), &folder, if sizes.is_empty() { &[u64::MAX] } else { &sizes })
}

fn beside_semble(folder: &Path) -> Result<()> {
    let place = trees::mixed(folder)?;
    let tree = trees::open(&place)?;
    println!("a mixed tree:");
    let ours = measure::measure(&tree, &tree.files()?, &folder.join("cache"))?;
    match semble::measure(folder, &place) {
        Ok(theirs) => println!(
            "  toolbay indexes {:.1} times as fast and answers {:.1} times as fast",
            theirs.indexed.as_secs_f64() / ours.indexed.as_secs_f64(),
            theirs.question.as_secs_f64() / ours.question.as_secs_f64(),
        ),
        Err(error) => println!("semble: left out, {error:#}"),
    }
    Ok(())
}

/// Parts of a tree of about so many chunks.
fn grown(root: &Path, folder: &Path, sizes: &[u64]) -> Result<()> {
    let tree = trees::open(root)?;
    let entries = tree.files()?;
    let all: u64 = entries.iter().map(|entry| entry.stamp.size).sum();
    println!("\n{}: {} files, {:.1} MB", root.display(), entries.len(), all as f64 / 1e6);
    measure::first_question(&tree, &trees::part_of(&entries, UNINDEXED))?;
    for size in sizes {
        // Chunks are known only once they are cut: guess by size, of files from all over the tree.
        let part = trees::part_of(&entries, size.saturating_mul(BYTES_PER_CHUNK));
        measure::measure(&tree, &part, &folder.join("cache"))?;
    }
    Ok(())
}
