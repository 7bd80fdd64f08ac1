//! Rules about names: the glossary of ARCHITECTURE.md is the vocabulary of the code.
//!
//! In the glossary's column "instead of", a word in backticks is retired everywhere: no type, module or file may use it. Other
//! words of that column are retired in that meaning only, which people must judge.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::crates::ALL;
use crate::workspace::{files, read};

/// In how many crates a type name may occur before readers take one for the other.
const MOST_CRATES_PER_NAME: usize = 2;

/// Retired words, each with the term to use instead.
type Retired = BTreeMap<String, String>;

pub(super) fn findings(root: &Path) -> Result<Vec<String>> {
    let retired = retired_words(&read(&root.join("ARCHITECTURE.md"))?)?;
    let mut findings = Vec::new();
    let mut crates_by_type: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    // Those that are shipped: tests and tools of the project may name their own things as they like.
    for owner in ALL.iter().chain(&["cli"]) {
        let source = root.join("crates").join(owner).join("src");
        if !source.exists() {
            continue;
        }
        for file in files(&source, "rs")? {
            let name = file.strip_prefix(root)?.to_string_lossy().into_owned();
            let module = file.strip_prefix(&source)?.with_extension("").to_string_lossy().into_owned();
            findings.extend(retired_in(&name, &module, &retired));
            for declared in types(&read(&file)?) {
                findings.extend(retired_in(&name, declared, &retired));
                crates_by_type.entry(declared.to_owned()).or_default().insert(owner);
            }
        }
    }
    for (name, crates) in crates_by_type.iter().filter(|(_, crates)| crates.len() > MOST_CRATES_PER_NAME) {
        let crates: Vec<&str> = crates.iter().copied().collect();
        findings
            .push(format!("type `{name}` is declared in {}; give each a name of its own", crates.join(", ")));
    }
    Ok(findings)
}

/// The glossary's retired words.
fn retired_words(architecture: &str) -> Result<Retired> {
    let (_, section) =
        architecture.split_once("\n## Glossary\n").context("ARCHITECTURE.md has no glossary")?;
    let section = section.split("\n## ").next().unwrap_or_default();
    let mut retired = Retired::new();
    for row in section.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        if let [term, _, instead_of] = cells.as_slice() {
            for word in instead_of.split('`').skip(1).step_by(2) {
                retired.insert(word.to_owned(), (*term).to_owned());
            }
        }
    }
    ensure!(!retired.is_empty(), "the glossary of ARCHITECTURE.md retires no word");
    Ok(retired)
}

fn retired_in(file: &str, name: &str, retired: &Retired) -> Vec<String> {
    let found = words(name).into_iter().filter_map(|word| retired.get_key_value(&word));
    found.map(|(word, term)| format!("{file}: `{name}`: `{word}` is retired; see {term}")).collect()
}

/// The words of a name, in lower case: `CamelCase`, `snake_case` and paths.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for character in name.chars() {
        if character.is_uppercase() || !character.is_alphanumeric() {
            words.push(String::new());
        }
        if character.is_alphanumeric() {
            words.last_mut().expect("never empty").extend(character.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The types that a file declares at its top level.
fn types(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| {
        let item = match line.strip_prefix("pub(").and_then(|rest| rest.split_once(") ")) {
            Some((_, item)) => item,
            None => line.strip_prefix("pub ").unwrap_or(line),
        };
        let mut words = item.split([' ', '<', '(', ';', '{', ':']);
        let is_type = matches!(words.next()?, "struct" | "enum" | "trait" | "type" | "union");
        words.next().filter(|_| is_type)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLOSSARY: &str = "# A\n\n## Glossary\n\n| term | meaning | instead of |\n|---|---|---|\n\
        | listener | accepts clients | `door` |\n| server registry | state | store, `roster` |\n\n## Next\n| a | b | `c` |\n";

    #[test]
    fn words_in_backticks_are_retired_everywhere_and_others_are_not() {
        let retired = retired_words(GLOSSARY).unwrap();
        assert_eq!(retired.keys().collect::<Vec<_>>(), ["door", "roster"]);
        assert!(retired_words("# A\n").is_err());
    }

    #[test]
    fn a_retired_word_is_found_in_types_and_paths_but_not_inside_of_other_words() {
        let retired = retired_words(GLOSSARY).unwrap();
        for name in ["HttpDoor", "Door", "door/post", "open_door"] {
            let findings = retired_in("f.rs", name, &retired);
            assert!(findings.len() == 1 && findings[0].ends_with("see listener"), "{name}: {findings:?}");
        }
        for name in ["Indoors", "Listener", "store"] {
            assert_eq!(retired_in("f.rs", name, &retired), [""; 0]);
        }
    }

    #[test]
    fn types_are_found_whatever_their_visibility() {
        let source = "pub struct A<T>(T);\nenum B {\npub(crate) trait C: Send {\n    type D = u8;\npub(in crate::x) type E = F;\nfn g() {}\n";
        assert_eq!(types(source).collect::<Vec<_>>(), ["A", "B", "C", "E"]);
    }
}
