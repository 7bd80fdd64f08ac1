//! Examples in a file: making them takes minutes, fitting seconds.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use toolbay_search::semantic::{Features, RankedCandidate};

use super::examples::{Example, Kind};

pub(super) fn write(path: &Path, examples: &[Example]) -> Result<()> {
    let mut bytes = Vec::new();
    let mut put = |number: u32| bytes.extend_from_slice(&number.to_le_bytes());
    for example in examples {
        put(example.kind as u32);
        put(example.group as u32);
        put(example.targets as u32);
        put(example.candidates.len() as u32);
        for (one, hits) in example.candidates.iter().zip(&example.hits) {
            put(one.file);
            put(one.symbol.unwrap_or(u32::MAX));
            put(one.bonus.to_bits());
            put((hits >> 32) as u32);
            put(*hits as u32);
            one.features.iter().for_each(|feature| put(feature.to_bits()));
        }
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

pub(super) fn read(path: &Path) -> Result<Vec<Example>> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut numbers = bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
    let mut examples = Vec::new();
    while let Some(kind) = numbers.next() {
        let mut next = || numbers.next().context("the file of examples ends too early: remove it");
        let kind = *Kind::ALL.get(kind as usize).context("not a file of examples")?;
        let (group, targets, count) = (next()? as usize, next()? as usize, next()?);
        let mut example = Example { kind, group, targets, candidates: Vec::new(), hits: Vec::new() };
        for _ in 0..count {
            let (file, symbol, bonus) = (next()?, next()?, f32::from_bits(next()?));
            example.hits.push(u64::from(next()?) << 32 | u64::from(next()?));
            let mut features = Features::default();
            for feature in &mut features {
                *feature = f32::from_bits(next()?);
            }
            let symbol = Some(symbol).filter(|symbol| *symbol != u32::MAX);
            example.candidates.push(RankedCandidate { file, symbol, features, bonus });
        }
        examples.push(example);
    }
    ensure!(!examples.is_empty(), "{} is empty", path.display());
    Ok(examples)
}
