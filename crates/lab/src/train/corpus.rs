//! Pairs as they were found in packages, kept in a file between runs.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, BufWriter, Write},
    path::Path,
};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// What the question of a pair was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Function,
    Class,
    Comment,
}

/// One pair.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) package: String,
    pub(super) kind: Kind,
    pub(super) query: String,
    pub(super) names: Vec<String>,
    pub(super) path: String,
    pub(super) code: String,
}

/// Writes pairs, a line each.
pub(super) fn write(path: &Path, records: &[Record]) -> Result<()> {
    let part = path.with_extension("part");
    let mut file =
        BufWriter::new(File::create(&part).with_context(|| format!("cannot write {}", part.display()))?);
    for Record { package, kind, query, names, path, code } in records {
        writeln!(file, "{}", json!([package, *kind as u8, query, names, path, code]))?;
    }
    file.flush()?;
    fs::rename(&part, path).with_context(|| format!("cannot write {}", path.display()))
}

/// Reads what `write` wrote.
pub(super) fn read(path: &Path) -> Result<Vec<Record>> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut records = Vec::new();
    for line in BufReader::new(file).lines() {
        let (package, kind, query, names, path, code): (String, u8, String, Vec<String>, String, String) =
            serde_json::from_value(serde_json::from_str::<Value>(&line?)?)?;
        let kind = [Kind::Function, Kind::Class, Kind::Comment][usize::from(kind.min(2))];
        records.push(Record { package, kind, query, names, path, code });
    }
    Ok(records)
}
