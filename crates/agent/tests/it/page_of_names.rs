//! The migration page names nothing that does not exist: neither a type, nor a method, field or variant of it.

use std::{
    collections::{BTreeMap, BTreeSet},
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

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The paths in the code of a cell: `` `Agent::apply` `` gives `["Agent", "apply"]`.
fn paths(cell: &str) -> Vec<Vec<String>> {
    let quoted = cell.split('`').skip(1).step_by(2);
    let words = quoted.flat_map(|code| code.split(|c: char| !(is_word(c) || c == ':')));
    let words = words.filter(|word| word.len() > 2 && !word.starts_with(|c: char| c.is_ascii_digit()));
    words.map(|word| word.split("::").map(str::to_owned).collect()).collect()
}

/// The words that a source defines: items, renamed imports, and the variants and fields at the start of a line.
fn defined(text: &str) -> BTreeSet<&str> {
    const KEYWORDS: [&str; 9] = ["fn", "struct", "enum", "trait", "type", "mod", "const", "static", "as"];
    let mut found = BTreeSet::new();
    for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
        let words: Vec<&str> = line.split(|c: char| !is_word(c)).filter(|word| !word.is_empty()).collect();
        found.extend(words.windows(2).filter(|pair| KEYWORDS.contains(&pair[0])).map(|pair| pair[1]));
        found.extend(member(line));
    }
    found
}

/// A variant or field at the start of a line.
fn member(line: &str) -> Option<&str> {
    let member = line.strip_prefix("pub ").unwrap_or(line);
    let rest = member.trim_start_matches(is_word);
    let is_member = [",", "(", " {", ": "].iter().any(|after| rest.starts_with(after));
    is_member.then(|| &member[..member.len() - rest.len()])
}

/// The type that a block is about: the last name before its generics and its brace.
fn subject(header: &str) -> Option<&str> {
    let header = header.trim_start_matches("pub ");
    let of_trait = header.rsplit_once(" for ").map(|(_, subject)| subject);
    let subject = of_trait.or_else(|| {
        let rest =
            ["impl", "struct ", "enum ", "trait "].iter().find_map(|word| header.strip_prefix(word))?;
        // `impl<S: Bound> Type<S>`
        Some(if rest.starts_with('<') { rest.split_once("> ").map_or(rest, |(_, rest)| rest) } else { rest })
    })?;
    let subject = subject.trim_start();
    let end = subject.find(|c: char| !is_word(c) && c != '$' && c != ':').unwrap_or(subject.len());
    subject[..end].trim_end_matches(':').rsplit("::").next()
}

/// The functions, fields and variants of each type, also those that a macro gives to several.
fn members(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut members: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let (mut block, mut depth_of_block, mut of_macro) = (None::<String>, 0, None::<String>);
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let (indent, code) = (line.len() - line.trim_start().len(), line.trim());
        if indent == 0 {
            of_macro = code.strip_prefix("macro_rules! ").map(|rest| rest.trim_end_matches(" {").to_owned());
            if let Some((name, of)) = code.strip_suffix(");").and_then(|call| call.split_once("!(")) {
                let given = members.get(&format!("${name}")).cloned().unwrap_or_default();
                members.entry(of.to_owned()).or_default().extend(given);
            }
        }
        let starts = ["impl", "pub struct", "struct", "pub enum", "enum", "pub trait", "trait"];
        let is_header = starts
            .iter()
            .any(|word| code.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', '<'])));
        if is_header && (block.is_none() || indent <= depth_of_block) {
            let name = subject(code).unwrap_or_default();
            block = Some(if name.starts_with('$') {
                format!("${}", of_macro.clone().unwrap_or_default())
            } else {
                name.to_owned()
            });
            depth_of_block = indent;
            continue;
        }
        let Some(of) = &block else { continue };
        let words: Vec<&str> = code.split(|c: char| !is_word(c)).filter(|word| !word.is_empty()).collect();
        let functions = words.windows(2).filter(|pair| pair[0] == "fn").map(|pair| pair[1]);
        let found = functions.chain(member(code).filter(|_| indent == depth_of_block + 4));
        members.entry(of.clone()).or_default().extend(found.map(str::to_owned));
        if code == "}" && indent <= depth_of_block {
            block = None;
        }
    }
    members
}

#[test]
fn every_name_of_ours_is_defined_in_the_sources() {
    let (mut text, mut crates) = (String::new(), Vec::new());
    // Macros are defined in the agent library, and used after that.
    for folder in fs::read_dir(repository().join("crates")).unwrap().flatten() {
        sources(&folder.path().join("src"), &mut text);
        crates.push(format!("toolbay_{}", folder.file_name().to_string_lossy()));
    }
    let mut known = defined(&text);
    known.extend(crates.iter().map(String::as_str));
    // Twice, because a macro may be used before the file that defines it.
    let members = members(&format!("{text}\n{text}"));
    let page = fs::read_to_string(repository().join("docs/names.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with('|'));
    let ours: Vec<Vec<String>> =
        rows.filter_map(|row| row.trim_end_matches([' ', '|']).rsplit('|').next()).flat_map(paths).collect();
    assert!(ours.iter().filter(|path| path.len() > 1).count() > 120, "the page was not read: {ours:?}");
    let is_type = |name: &str| name.starts_with(|c: char| c.is_ascii_uppercase());
    let mut strange: Vec<String> = Vec::new();
    for path in &ours {
        strange.extend(path.iter().filter(|name| name.len() > 2 && !known.contains(name.as_str())).cloned());
        for pair in path.windows(2).filter(|pair| is_type(&pair[0])) {
            if !members.get(&pair[0]).is_some_and(|members| members.contains(&pair[1])) {
                strange.push(pair.join("::"));
            }
        }
    }
    assert!(strange.is_empty(), "not in the sources: {strange:?}");
}

#[test]
fn a_method_of_another_type_is_noticed() {
    let text = "pub struct A<T> {\n    pub field: T,\n}\nimpl<T> A<T> {\n    pub fn own(&self) {\n        x(1);\n    }\n}\nimpl B {\n    fn other() {}\n}\n";
    let members = members(text);
    let of = |name: &str| members[name].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!((of("A"), of("B")), (vec!["field", "own"], vec!["other"]));
}
