//! Rules about ARCHITECTURE.md: files and functions that its tables name exist.

use std::path::Path;

use anyhow::Result;

use crate::workspace::read;

/// So much is read from beginning to end; a third of it are tables of crates and of what they are built on.
const LONGEST: usize = 380;

pub(super) fn findings(root: &Path) -> Result<Vec<String>> {
    let text = read(&root.join("ARCHITECTURE.md"))?;
    let mut findings = Vec::new();
    let lines = text.lines().count();
    if lines > LONGEST {
        findings.push(format!("ARCHITECTURE.md: {lines} lines, more than {LONGEST}"));
    }
    for (path, function) in text.lines().filter_map(named) {
        let file = root.join("crates").join(path);
        if !file.exists() {
            findings.push(format!("ARCHITECTURE.md: `{path}` does not exist"));
        } else if let Some(function) = function
            && !defines(&read(&file)?, function)
        {
            findings.push(format!("ARCHITECTURE.md: `{path}` has no function `{function}`"));
        }
    }
    Ok(findings)
}

/// The source file that a row of a table begins with, and the function in its second cell.
fn named(line: &str) -> Option<(&str, Option<&str>)> {
    let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
    let path = code(cells.next()?).filter(|path| path.ends_with(".rs"))?;
    Some((path, cells.next().and_then(code)))
}

/// A cell that is one piece of code.
fn code(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`')
}

fn defines(source: &str, function: &str) -> bool {
    ["(", "<"].iter().any(|after| source.contains(&format!("fn {function}{after}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_name_a_file_and_perhaps_a_function() {
        assert_eq!(named("| `a/src/b.rs` | `run` | what happens |"), Some(("a/src/b.rs", Some("run"))));
        assert_eq!(named("| `a/src/b.rs` | what you learn |"), Some(("a/src/b.rs", None)));
        assert_eq!(named("| `protocol` | messages | – |"), None);
        assert_eq!(named("`a/src/b.rs`"), None);
    }

    #[test]
    fn a_function_is_found_by_its_whole_name() {
        assert!(defines("pub(crate) async fn run<T>(x: T) {}", "run"));
        assert!(!defines("fn run_all() {} // run(", "run"));
    }
}
