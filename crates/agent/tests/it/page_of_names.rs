//! The migration page names nothing that does not exist.

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

/// The words that a source defines: items, renamed imports, and the variants and fields at the start of a line.
fn defined(text: &str) -> BTreeSet<&str> {
    const KEYWORDS: [&str; 9] = ["fn", "struct", "enum", "trait", "type", "mod", "const", "static", "as"];
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = BTreeSet::new();
    for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
        let words: Vec<&str> = line.split(|c: char| !is_word(c)).filter(|word| !word.is_empty()).collect();
        found.extend(words.windows(2).filter(|pair| KEYWORDS.contains(&pair[0])).map(|pair| pair[1]));
        let member = line.strip_prefix("pub ").unwrap_or(line);
        let rest = member.trim_start_matches(is_word);
        let is_member = [",", "(", " {", ": "].iter().any(|after| rest.starts_with(after));
        found.extend(is_member.then(|| &member[..member.len() - rest.len()]));
    }
    found
}

#[test]
fn every_name_of_ours_is_defined_in_the_sources() {
    let (mut text, mut crates) = (String::new(), Vec::new());
    for crate_ in fs::read_dir(repository().join("crates")).unwrap().flatten() {
        sources(&crate_.path().join("src"), &mut text);
        crates.push(format!("toolbay_{}", crate_.file_name().to_string_lossy()));
    }
    let mut known = defined(&text);
    known.extend(crates.iter().map(String::as_str));
    let page = fs::read_to_string(repository().join("docs/names.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with('|'));
    let ours: BTreeSet<String> =
        rows.filter_map(|row| row.trim_end_matches([' ', '|']).rsplit('|').next()).flat_map(names).collect();
    assert!(ours.len() > 80, "the page was not read: {ours:?}");
    let strange: Vec<&String> = ours.iter().filter(|name| !known.contains(name.as_str())).collect();
    assert!(strange.is_empty(), "not in the sources: {strange:?}");
}
