//! `cargo xtask model english`: makes the table of English that tool search uses.

mod held_out;
mod options;
mod pairs;
mod sources;
mod start;
mod trainer;

use std::{fs, path::Path, time::Instant};

use anyhow::{Context, Result};
use toolbay_toolsearch::english::Table;

use self::options::{Options, Step};
use crate::packages::{Library, Lock};

/// One server package of so many is measured with instead of learned from.
const HELD_OUT: u64 = 20;

/// Runs the steps asked for; fetching, pairs and training if none is.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let lock = data.join("english-sources.lock");
    let corpus = options.data.join("pairs.jsonl");
    for step in &options.steps {
        match step {
            Step::Pin => sources::pin(&options.data, &lock)?,
            Step::Exclude => exclude(&options, &data.join("evaluation-texts.txt"))?,
            Step::Fetch => drop(Library::open(&options.data)?.fetch(&Lock::read(&lock)?)?),
            Step::Pairs => {
                let sources = Library::open(&options.data)?.fetch(&Lock::read(&lock)?)?;
                pairs::write(&corpus, &pairs::gather(&sources, is_held_out)?)?;
                held_out::write(&sources, &options.data.join("held-out"))?;
            }
            Step::Train => {
                let start = Instant::now();
                let file = trainer::train(&pairs::read(&corpus)?, &options)?;
                let table = Table::parse(&file)?;
                println!("{} words, {:.2} MB, {:.0?}", table.len(), file.len() as f64 / 1e6, start.elapsed());
                fs::write(&options.output, &file)
                    .with_context(|| format!("cannot write {}", options.output.display()))?;
            }
        }
    }
    Ok(())
}

/// Writes the fingerprints of all texts of the benchmarks, so that none of them is learned from.
fn exclude(options: &Options, to: &Path) -> Result<()> {
    let sets = crate::tools::sets(options.benchmarks.as_deref().context("--benchmarks FOLDER is needed")?)?;
    let texts = sets.iter().flat_map(|set| set.texts());
    let head = "# How each description and query of the benchmarks begins, as a hash of its words\n";
    let lines = pairs::fingerprints(texts).join("\n");
    fs::write(to, format!("{head}{lines}\n")).with_context(|| format!("cannot write {}", to.display()))
}

fn is_held_out(package: &str) -> bool {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (package.bytes().fold(17, mix) >> 32).is_multiple_of(HELD_OUT)
}
