//! Debian: what programs are for, in one line and in a paragraph.

use std::fs;

use anyhow::{Context, Result};

use super::{Kind, Pair, files, markdown::plain, pair};
use crate::packages::Source;

/// `Package:`, `Description-en:` with a paragraph of which each line begins with a space, an empty line.
pub(super) fn descriptions(source: &Source) -> Result<Vec<Pair>> {
    let text = read(source)?;
    let mut pairs = Vec::new();
    for entry in text.split("\n\n") {
        let Some((_, description)) = entry.split_once("Description-en: ") else { continue };
        let (short, long) = description.split_once('\n').unwrap_or((description, ""));
        // ` .` is an empty line. What follows the first paragraph is about the package more than about the program.
        let first = long.split("\n .").next().unwrap_or_default();
        pairs.extend(pair(Kind::Debian, &source.package, short, &plain(first)));
    }
    Ok(pairs)
}

/// The catalog of applications, as YAML that a program wrote: `Summary:` and `Description:`, each with `C:` for English.
pub(super) fn appstream(source: &Source) -> Result<Vec<Pair>> {
    let text = read(source)?;
    let mut pairs = Vec::new();
    for entry in text.split("\n---\n") {
        let summary = english(entry, "\nSummary:\n");
        let (description, keywords) = (english(entry, "\nDescription:\n"), english(entry, "\nKeywords:\n"));
        for text in [plain(&description), keywords.replace("- ", ", ")] {
            pairs.extend(pair(Kind::Debian, &source.package, &summary, &text));
        }
    }
    Ok(pairs)
}

fn read(source: &Source) -> Result<String> {
    let file = files(&source.folder, &|_| true).into_iter().next();
    let file = file.with_context(|| format!("nothing in {}", source.folder.display()))?;
    fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
}

/// The lines of the language `C` in a section.
fn english(entry: &str, section: &str) -> String {
    let Some((_, rest)) = entry.split_once(section) else { return String::new() };
    let mut lines =
        rest.lines().take_while(|line| line.starts_with(' ')).skip_while(|line| !line.starts_with("  C:"));
    let first = lines.next().unwrap_or_default().trim_start_matches("  C:");
    let more = lines.take_while(|line| line.starts_with("   ") || line.starts_with("  -"));
    let text = [first].into_iter().chain(more).collect::<Vec<_>>().join(" ");
    text.replace(">-", " ").trim().trim_matches(['\'', '"']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_english_lines_of_a_section_are_found() {
        let entry = "ID: a\nSummary:\n  de: Karten\n  C: Maps\nDescription:\n  C: >-\n    <p>Find places\n    on a map.</p>\n  de: x\nKeywords:\n  C:\n  - road\n  - city\n";
        assert_eq!(english(entry, "\nSummary:\n"), "Maps");
        assert_eq!(plain(&english(entry, "\nDescription:\n")), "Find places on a map.");
        assert_eq!(
            english(entry, "\nKeywords:\n").split_whitespace().collect::<Vec<_>>().join(" "),
            "- road - city"
        );
        assert_eq!(english(entry, "\nNothing:\n"), "");
    }
}
