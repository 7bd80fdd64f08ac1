//! The page of names says nothing that is not there.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All sources of the crates, as one text.
fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

/// The names in a cell of a table: `` `Host::apply` `` gives `Host` and `apply`.
fn names(cell: &str) -> BTreeSet<String> {
    let quoted = cell.split('`').skip(1).step_by(2);
    let words = quoted.flat_map(|code| code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')));
    let words = words.filter(|word| word.len() > 2 && !word.starts_with(|c: char| c.is_ascii_digit()));
    words.map(str::to_owned).collect()
}

#[test]
fn every_name_of_ours_is_in_the_sources() {
    let mut text = String::new();
    for crate_ in fs::read_dir(repository().join("crates")).unwrap().flatten() {
        sources(&crate_.path().join("src"), &mut text);
    }
    let known: BTreeSet<&str> = text
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .collect();
    let page = fs::read_to_string(repository().join("docs/names.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with('|'));
    let ours: BTreeSet<String> =
        rows.filter_map(|row| row.trim_end_matches([' ', '|']).rsplit('|').next()).flat_map(names).collect();
    assert!(ours.len() > 80, "the page was not read: {ours:?}");
    let strange: Vec<&String> = ours.iter().filter(|name| !known.contains(name.as_str())).collect();
    assert!(strange.is_empty(), "not in the sources: {strange:?}");
}
