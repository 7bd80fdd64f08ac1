//! `cargo xtask model`: makes the embedding model from public packages.

mod bags;
mod corpus;
mod evaluate;
mod examples;
mod gather;
pub(crate) mod loss;
mod network;
mod options;
mod pace;
mod parallel;
pub(crate) mod random;
mod schedule;
pub(crate) mod table;

use std::{borrow::Cow, collections::BTreeSet, fs, path::Path, time::Instant};

use anyhow::{Context, Result};
use toolbay_search::model::{DIM, Model};

pub(crate) use self::gather::inner;
use self::{
    corpus::Record,
    evaluate::Test,
    examples::Examples,
    options::{Options, Step},
};
use crate::packages::{Library, Lock, Source};

const LIST: &str = include_str!("../data/training-packages.txt");
/// One package of so many is measured with instead of learned from.
const HELD_OUT: u64 = 25;

/// Runs the steps asked for; all but pinning if none is.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/training-packages.lock");
    let corpus = options.data.join("pairs.jsonl");
    if options.steps.contains(&Step::Pin) {
        let list: Vec<String> = LIST.lines().map(str::to_owned).collect();
        let (pinned, missing) = Library::open(&options.data)?.pin(&list)?;
        println!("{} packages pinned, {} cannot be had", pinned.packages.len(), missing.len());
        missing.iter().for_each(|reason| println!("  {reason}"));
        pinned.write(&lock)?;
    }
    if options.steps.contains(&Step::Fetch) || options.steps.contains(&Step::Pairs) {
        let sources = Library::open(&options.data)?.fetch(&Lock::read(&lock)?)?;
        println!("{} packages fetched", sources.len());
        if options.steps.contains(&Step::Pairs) {
            let records = gather::gather(&sources);
            println!("{} pairs found", records.len());
            corpus::write(&corpus, &records)?;
        }
    }
    if options.steps.contains(&Step::Train) {
        train(&corpus::read(&corpus)?, &options)?;
    }
    if options.steps.contains(&Step::Speed) {
        pace::measure(&corpus::read(&corpus)?);
    }
    Ok(())
}

fn train(records: &[Record], options: &Options) -> Result<()> {
    let start = Instant::now();
    let (held_out, mut learned): (Vec<&Record>, Vec<&Record>) =
        records.iter().partition(|record| is_held_out(&record.package));
    learned.retain(|record| options.share * 1e3 > (hash(&record.package) / HELD_OUT % 1_000) as f32);
    let (vocabulary, weights) = examples::vocabulary(&learned, options.words);
    let packages: BTreeSet<&str> = learned.iter().map(|record| record.package.as_str()).collect();
    println!(
        "{} pairs of {} packages, {} words, {:.0?}",
        learned.len(),
        packages.len(),
        vocabulary.len(),
        start.elapsed()
    );
    let test = Test::new(Examples::new(&vocabulary, &held_out), &held_out);
    let examples = Examples::new(&vocabulary, &learned);
    println!("counted after {:.0?}", start.elapsed());
    let network = schedule::run(&examples, &vocabulary, &weights, &test, options);
    for width in [options.width, options.narrow] {
        let draft = network.draft(&vocabulary, width);
        let [words, model, both] = test.measure(&draft);
        println!(
            "{width} numbers, {} questions (NDCG@10 / MRR / hit@10): words {words}, model {model}, both {both}",
            words.queries
        );
    }
    let file = network.draft(&vocabulary, options.written).write();
    if options.written == DIM {
        let [words, model, both] = test.measure_rounded(&Model::parse(Cow::Owned(file.clone()))?, &held_out);
        println!("{DIM} numbers, rounded to bytes: words {words}, model {model}, both {both}");
    }
    println!("{:.1} MB, {:.0?} in all", file.len() as f64 / 1e6, start.elapsed());
    fs::write(&options.output, file).with_context(|| format!("cannot write {}", options.output.display()))
}

/// The packages that the model does not learn from, fetched into its folder.
pub(crate) fn held_out(data: &Path) -> Result<Vec<Source>> {
    let mut lock = Lock::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data/training-packages.lock"))?;
    lock.packages.retain(|package, _| is_held_out(package));
    Library::open(data)?.fetch(&lock)
}

fn is_held_out(package: &str) -> bool {
    hash(package).is_multiple_of(HELD_OUT)
}

/// Of the name alone, so that a package stays on its side when others come and go.
fn hash(package: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    package.bytes().fold(17, mix) >> 32
}
