//! The options of `model english`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
usage: cargo xtask model english [STEP]... [--OPTION VALUE]...

steps (fetch, pairs and train if none is named):
  pin         ask the registries for the sources and pin what they offer today
  exclude     list the texts of the benchmarks, so that they are not learned from; needs --benchmarks
  fetch       fetch and unpack what is pinned; what is here already stays
  pairs       find texts that mean the same, and the sets to measure with
  train       learn from the pairs, write the table

options:
  --data FOLDER         for what is fetched (target/english-data)
  --output FILE         the table (crates/toolsearch/src/english/table.bin)
  --benchmarks FOLDER   the benchmarks of `cargo xtask bench tools`
  --words COUNT    --steps COUNT    --batch COUNT    --rate NUMBER    --temperature NUMBER
  --pull NUMBER    --drop SHARE     --seed NUMBER    --common NUMBER  --shares W,D,A,T,P,R";

/// A part of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Pin,
    Exclude,
    Fetch,
    Pairs,
    Train,
}

/// Everything that can be chosen. Defaults are those of the table in the repository.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) steps: Vec<Step>,
    pub(super) data: PathBuf,
    pub(super) output: PathBuf,
    pub(super) benchmarks: Option<PathBuf>,
    pub(super) words: usize,
    /// Batches that are learned from, and pairs in each.
    pub(super) batches: usize,
    pub(super) batch: usize,
    pub(super) rate: f32,
    pub(super) temperature: f32,
    /// How far a row goes back to where it started, with each batch that has its word.
    pub(super) pull: f32,
    /// The share of words that is left out.
    pub(super) drop: f32,
    /// How common a word is that counts half at the start, as a share of all words.
    pub(super) common: f32,
    /// By kind of pair: how often it is learned from, compared with the others.
    pub(super) shares: [f32; 6],
    pub(super) seed: u64,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut options = Self {
            steps: Vec::new(),
            data: root.join("target/english-data"),
            output: root.join("crates/toolsearch/src/english/table.bin"),
            benchmarks: None,
            words: 27_000,
            batches: 1_000,
            batch: 1_024,
            rate: 0.004,
            temperature: 0.1,
            pull: 0.001,
            drop: 0.15,
            common: 1e-3,
            shares: [0.3, 0.8, 0.4, 1.0, 1.0, 1.0],
            seed: 1,
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let step = match argument.as_str() {
                "pin" => Step::Pin,
                "exclude" => Step::Exclude,
                "fetch" => Step::Fetch,
                "pairs" => Step::Pairs,
                "train" => Step::Train,
                name if name.starts_with("--") => {
                    let value = rest.next().with_context(|| format!("{name} wants a value\n\n{USAGE}"))?;
                    options.set(name, value).with_context(|| format!("{name} {value}"))?;
                    continue;
                }
                _ => bail!("{USAGE}"),
            };
            options.steps.push(step);
        }
        if options.steps.is_empty() {
            options.steps = vec![Step::Fetch, Step::Pairs, Step::Train];
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "--data" => self.data = value.into(),
            "--output" => self.output = value.into(),
            "--benchmarks" => self.benchmarks = Some(value.into()),
            "--words" => self.words = value.parse()?,
            "--steps" => self.batches = value.parse()?,
            "--batch" => self.batch = value.parse()?,
            "--rate" => self.rate = value.parse()?,
            "--temperature" => self.temperature = value.parse()?,
            "--pull" => self.pull = value.parse()?,
            "--drop" => self.drop = value.parse()?,
            "--common" => self.common = value.parse()?,
            "--seed" => self.seed = value.parse()?,
            "--shares" => {
                let shares: Vec<f32> = value.split(',').map(str::parse).collect::<Result<_, _>>()?;
                self.shares = shares.try_into().ok().context("six numbers")?;
            }
            _ => bail!("there is no such option\n\n{USAGE}"),
        }
        Ok(())
    }
}
