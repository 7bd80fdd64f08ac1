//! Questions as developers ask them, each with the file and the symbol that answer it.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

/// Tab-separated: package, file, symbol, question.
const QUESTIONS: &str = include_str!("../../data/questions.tsv");

/// A question as written down.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) path: &'static str,
    pub(super) symbol: &'static str,
    pub(super) text: &'static str,
}

/// The questions of each package.
pub(super) fn all() -> Result<BTreeMap<String, Vec<Written>>> {
    let mut all: BTreeMap<String, Vec<Written>> = BTreeMap::new();
    for line in QUESTIONS.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let fields: Vec<&'static str> = line.split('\t').collect();
        let &[package, path, symbol, text] = fields.as_slice() else {
            anyhow::bail!("questions.tsv: not package, file, symbol and question: {line}");
        };
        all.entry(package.to_owned()).or_default().push(Written { path, symbol, text });
    }
    all.first_key_value().context("questions.tsv is empty")?;
    Ok(all)
}
