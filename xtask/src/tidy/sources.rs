//! Rules about source files: their size, their names, and that no test is forgotten.

use std::path::Path;

use anyhow::Result;

use crate::workspace::{files, read};

/// Room for one object in one file; most files are far shorter.
const LONGEST_FILE: usize = 700;
const LONGEST_LIB: usize = 80;

/// Long files of flat data: a table is not easier to read in pieces.
const FLAT_DATA: &[&str] = &[];

/// Names without an edge, so that such files only grow.
const EDGELESS: &[&str] = &["manager", "helper", "util", "common", "misc"];

pub(super) fn findings(root: &Path) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for folder in ["crates", "xtask", "fuzz"].map(|it| root.join(it)).iter().filter(|it| it.exists()) {
        for file in files(folder, "rs")? {
            let name = file.strip_prefix(root)?.to_string_lossy().into_owned();
            findings.extend(file_findings(&name, read(&file)?.lines().count()));
            findings.extend(stray_test(root, &name)?);
        }
    }
    Ok(findings)
}

fn file_findings(name: &str, lines: usize) -> Vec<String> {
    let mut findings = Vec::new();
    if lines > LONGEST_FILE && !FLAT_DATA.contains(&name) {
        findings.push(format!("{name}: {lines} lines; split files over {LONGEST_FILE}"));
    }
    if name.ends_with("src/lib.rs") && lines > LONGEST_LIB {
        findings
            .push(format!("{name}: {lines} lines; a lib.rs is a table of contents, at most {LONGEST_LIB}"));
    }
    if name.ends_with("/mod.rs") {
        findings.push(format!("{name}: write `foo.rs` beside `foo/`, not `foo/mod.rs`"));
    }
    let inside = name.splitn(3, '/').nth(2).unwrap_or(name);
    let words = inside.trim_end_matches(".rs").split(['/', '_', '-']);
    for word in words.map(|word| word.trim_end_matches('s')).filter(|word| EDGELESS.contains(word)) {
        findings.push(format!("{name}: `{word}` says nothing about what is inside"));
    }
    findings
}

/// A crate has one integration test binary, and its `main.rs` names every file beside it.
fn stray_test(root: &Path, name: &str) -> Result<Option<String>> {
    let parts: Vec<&str> = name.split('/').collect();
    let ["crates", owner, "tests", rest @ ..] = parts.as_slice() else {
        return Ok(None);
    };
    match rest {
        [file] => Ok(Some(format!("{name}: a second test binary; move {file} to crates/{owner}/tests/it/"))),
        ["it", "main.rs"] => Ok(None),
        ["it", file] => {
            let main = root.join("crates").join(owner).join("tests/it/main.rs");
            let module = file.trim_end_matches(".rs");
            let named = main.exists() && read(&main)?.lines().any(|line| declares(line, module));
            Ok((!named).then(|| format!("{name}: no `mod {module};` in tests/it/main.rs, so it never runs")))
        }
        _ => Ok(None),
    }
}

fn declares(line: &str, module: &str) -> bool {
    let line = line.trim();
    let line = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
    line.strip_prefix("mod ").and_then(|rest| rest.split(';').next()) == Some(module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_judged_by_its_name_and_length() {
        assert_eq!(file_findings("crates/host/src/registry.rs", 700), [""; 0]);
        let cases = [
            ("crates/host/src/registry.rs", 701, "701 lines"),
            ("crates/host/src/lib.rs", 81, "table of contents"),
            ("crates/host/src/registry/mod.rs", 9, "not `foo/mod.rs`"),
            ("crates/host/src/string_utils.rs", 9, "`util` says nothing"),
            ("crates/host/src/misc/read.rs", 9, "`misc` says nothing"),
        ];
        for (name, lines, part) in cases {
            let findings = file_findings(name, lines);
            assert!(findings.len() == 1 && findings[0].contains(part), "{name}: {findings:?}");
        }
    }

    #[test]
    fn a_test_file_counts_as_named_only_by_a_mod_line() {
        assert!(declares("mod interop; // against the official SDKs", "interop"));
        assert!(!declares("// mod interop;", "interop"));
        assert!(!declares("mod interop_http;", "interop"));
    }
}
