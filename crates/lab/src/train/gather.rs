//! Finds the pairs in unpacked packages.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use super::{
    corpus::{Kind, Record},
    parallel,
};
use crate::{packages::Source, pairs};

/// Larger files are data or made by a program.
const LARGEST_FILE: u64 = 400_000;
/// So are those with lines like this.
const LONGEST_LINE: usize = 5_000;

/// At most so many of a package, taken evenly from all over it: many packages teach more than much of one.
fn most(kind: Kind) -> usize {
    match kind {
        Kind::Function => 1_500,
        Kind::Class => 300,
        Kind::Comment => 250,
    }
}

/// The pairs of all packages, in their order.
pub(super) fn gather(sources: &[Source]) -> Vec<Record> {
    let next = AtomicUsize::new(0);
    let found = parallel::join(vec![(); parallel::parts()], |()| {
        let mut found = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(source) = sources.get(number) else { return found };
            found.push((number, of_package(source)));
            if number.is_multiple_of(100) {
                println!("{number} packages read");
            }
        }
    });
    let mut found: Vec<(usize, Vec<Record>)> = found.into_iter().flatten().collect();
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().flat_map(|(_, records)| records).collect()
}

fn of_package(source: &Source) -> Vec<Record> {
    let (mut files, folder) = (Vec::new(), inner(&source.folder));
    list(&folder, &mut files);
    files.sort();
    let mut records: Vec<Record> = Vec::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        if text.lines().any(|line| line.len() > LONGEST_LINE) {
            continue;
        }
        let path = file.strip_prefix(&folder).unwrap_or(&file).to_string_lossy().into_owned();
        records.extend(pairs::extract(&path, &text).into_iter().map(|pair| Record {
            package: source.package.clone(),
            kind: match pair.source {
                pairs::Source::Function => Kind::Function,
                pairs::Source::Type => Kind::Class,
                pairs::Source::Inline => Kind::Comment,
            },
            query: pair.query,
            names: pair.scopes.into_iter().chain(pair.names).collect(),
            path: pair.path,
            code: pair.code,
        }));
    }
    evenly(records)
}

fn evenly(records: Vec<Record>) -> Vec<Record> {
    let counts = [Kind::Function, Kind::Class, Kind::Comment]
        .map(|kind| records.iter().filter(|record| record.kind == kind).count());
    let mut seen = [0_usize; 3];
    let mut is_taken = |record: &Record| {
        let (most, count) = (most(record.kind), counts[record.kind as usize]);
        let number = &mut seen[record.kind as usize];
        *number += 1;
        // True `most` times of `count`, or always.
        count <= most || *number * most / count > (*number - 1) * most / count
    };
    records.into_iter().filter(|record| is_taken(record)).collect()
}

/// Archives wrap everything into a folder with the name and the version, which no tree has that is searched.
pub(crate) fn inner(folder: &Path) -> PathBuf {
    let entries: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    match entries.as_slice() {
        [only] if only.is_dir() => inner(only),
        _ => folder.to_owned(),
    }
}

/// Every file below a folder that may be source; links are not followed.
fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_dir() {
            list(&path, files);
        } else if kind.is_file() && entry.metadata().is_ok_and(|about| about.len() <= LARGEST_FILE) {
            files.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_package_gives_no_more_than_its_share_and_from_all_over() {
        let record = |number: usize| Record {
            package: String::new(),
            kind: if number.is_multiple_of(3) { Kind::Class } else { Kind::Function },
            query: number.to_string(),
            names: Vec::new(),
            path: String::new(),
            code: String::new(),
        };
        let taken = evenly((0..6_000).map(record).collect());
        let count = |kind: Kind| taken.iter().filter(|record| record.kind == kind).count();
        assert_eq!((count(Kind::Function), count(Kind::Class)), (1_500, 300));
        let late = taken.iter().filter(|record| record.query.parse::<usize>().unwrap() >= 3_000).count();
        assert_eq!(late, 900);
        assert_eq!(evenly((0..30).map(record).collect()).len(), 30);
    }
}
