//! The options of `model`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
usage: cargo xtask model [STEP]... [--OPTION VALUE]...

steps (fetch, pairs and train if none is named):
  pin         ask the registries for the listed packages and pin what they offer today
  fetch       fetch and unpack what is pinned; what is here already stays
  pairs       find comments with their code in all of it
  train       learn from the pairs, measure, write the table
  speed       how fast the table in the program is, on one core

options:
  --data FOLDER     for what is fetched (target/model-data)
  --output FILE     the table (crates/search/src/model/table.bin)
  --share SHARE     learn from that share of the packages only
  --epochs COUNT    --words COUNT    --width COUNT    --written COUNT    --seed NUMBER
  --batch COUNT     --block COUNT    --rate NUMBER    --weight-rate NUMBER
  --drop-queries SHARE    --drop-codes SHARE    --temperature NUMBER    --back SHARE";

/// A part of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Pin,
    Fetch,
    Pairs,
    Train,
    Speed,
}

/// Everything that can be chosen. Defaults are those of the table in the repository.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) steps: Vec<Step>,
    pub(super) data: PathBuf,
    pub(super) output: PathBuf,
    pub(super) share: f32,
    pub(super) epochs: usize,
    pub(super) words: usize,
    /// Numbers in a row while learning, of the second loss, and in the file.
    pub(super) width: usize,
    pub(super) narrow: usize,
    pub(super) written: usize,
    pub(super) seed: u64,
    pub(super) batch: usize,
    pub(super) block: usize,
    pub(super) rate: f32,
    pub(super) weight_rate: f32,
    pub(super) drop_queries: f32,
    pub(super) drop_codes: f32,
    pub(super) temperature: f32,
    pub(super) back: f32,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut options = Self {
            steps: Vec::new(),
            data: root.join("target/model-data"),
            output: root.join("crates/search/src/model/table.bin"),
            share: 1.0,
            epochs: 3,
            words: 26_500,
            width: 256,
            narrow: 128,
            written: 256,
            seed: 1,
            batch: 1_536,
            block: 96,
            rate: 0.003,
            weight_rate: 0.01,
            drop_queries: 0.1,
            drop_codes: 0.25,
            temperature: 0.05,
            back: 0.5,
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let step = match argument.as_str() {
                "pin" => Step::Pin,
                "fetch" => Step::Fetch,
                "pairs" => Step::Pairs,
                "train" => Step::Train,
                "speed" => Step::Speed,
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
            "--share" => self.share = value.parse()?,
            "--epochs" => self.epochs = value.parse()?,
            "--words" => self.words = value.parse()?,
            "--width" => self.width = value.parse()?,
            "--written" => self.written = value.parse()?,
            "--seed" => self.seed = value.parse()?,
            "--batch" => self.batch = value.parse()?,
            "--block" => self.block = value.parse()?,
            "--rate" => self.rate = value.parse()?,
            "--weight-rate" => self.weight_rate = value.parse()?,
            "--drop-queries" => self.drop_queries = value.parse()?,
            "--drop-codes" => self.drop_codes = value.parse()?,
            "--temperature" => self.temperature = value.parse()?,
            "--back" => self.back = value.parse()?,
            _ => bail!("there is no such option\n\n{USAGE}"),
        }
        Ok(())
    }
}
