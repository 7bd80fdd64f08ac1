//! `toolbay-lab speed`: how fast the search by meaning is, beside `semble`.
//!
//! Indexes a mixed tree of 100 MB, and parts of the source of Linux of 10,000, 100,000 and 1,000,000 chunks and all of it (or
//! of another tree, and other sizes); then asks our server over MCP, as a client asks it. What is measured is printed as it
//! comes, and in the end as tables.

mod client;
mod measure;
mod questions;
mod semble;
mod tables;
mod times;
mod trees;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::text::peers::{self, Kind, linux};
use measure::Figures;
use tables::Tables;

const USAGE: &str = "usage: toolbay-lab speed [--folder FOLDER] [TREE [CHUNKS…]]
FOLDER (target/bench-peers) holds what is downloaded, installed and indexed; the server is the program `toolbay` beside
this one";

/// The size of the tree for the question without an index.
const UNINDEXED: u64 = 50_000_000;
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
    let mut tables = Tables::default();
    if let Some((tree, sizes)) = args.split_first() {
        let sizes = sizes.iter().map(|size| size.parse()).collect::<Result<Vec<u64>, _>>()?;
        let sizes = if sizes.is_empty() { &[u64::MAX][..] } else { &sizes };
        grown(Path::new(tree), &folder, sizes, &mut tables)?;
    } else {
        let mixed = trees::mixed(&folder)?;
        beside_semble(&mixed, &folder, &mut tables)?;
        let linux = linux(&folder)?;
        grown(&linux, &folder, &[10_000, 100_000, 1_000_000, u64::MAX], &mut tables)?;
        // It searches text alone; how long it needs to index is what can be compared.
        peers::all(&[Kind::Codesearch], &folder, &linux);
        tables.server = client::measure(&folder, &linux, &mixed)?;
    }
    println!("\n{tables}");
    Ok(())
}

fn beside_semble(place: &Path, folder: &Path, tables: &mut Tables) -> Result<()> {
    let tree = trees::open(place)?;
    let ours = measure::measure("mixed", &tree, &tree.files()?, &folder.join("cache"))?;
    tables.peers = match semble::measure(folder, place) {
        Ok(theirs) => vec![(semble::VERSION, theirs)],
        Err(error) => {
            println!("semble: left out, {error:#}");
            Vec::new()
        }
    };
    tables.ours.push(ours);
    Ok(())
}

/// Parts of a tree of about so many chunks.
fn grown(root: &Path, folder: &Path, sizes: &[u64], tables: &mut Tables) -> Result<()> {
    let tree = trees::open(root)?;
    let entries = tree.files()?;
    measure::first_question(&tree, &trees::part_of(&entries, UNINDEXED))?;
    for size in sizes {
        // Chunks are known only once they are cut: guess by size, of files from all over the tree.
        let part = trees::part_of(&entries, size.saturating_mul(BYTES_PER_CHUNK));
        let name = if part.len() == entries.len() { "all of it" } else { "a part" };
        tables.ours.push(measure::measure(name, &tree, &part, &folder.join("cache"))?);
    }
    Ok(())
}
