//! A thousand generated files, edited by every tool that edits: whatever an edit does not touch keeps its bytes.
//!
//! A failure names the seed of its file; `TOOLBAY_SEED` tries that one alone, `TOOLBAY_FILES` another number of them.
#![expect(clippy::disallowed_methods, reason = "a failing seed is tried again by setting a variable")]

mod generated;
mod tools;

use std::{env, fs, path::Path};

use generated::{Generated, Style};
use tools::{Editors, Outcome};

/// The seeds to try.
fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("TOOLBAY_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("TOOLBAY_FILES").unwrap_or(1_000),
    }
}

/// A directory in memory where there is one: a thousand files are written to disk too slowly.
fn directory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

#[tokio::test]
async fn bytes_outside_an_edit_are_kept() {
    let directory = directory();
    let path = directory.path().join("file.txt");
    let mut editors = Editors::new(directory.path()).await;
    let mut edits = 0;
    for seed in seeds() {
        let file = Generated::new(seed);
        for edit in file.edits() {
            for tool in 0..editors.count() {
                if !editors.can_check(tool, &file) {
                    continue;
                }
                fs::write(&path, file.bytes()).unwrap();
                let outcome = editors.replace(tool, &path, &edit, file.marker_line()).await;
                let name = editors.name(tool);
                let what = format!("seed {seed}: {name} of {:?} in {:?}", edit.old, file.style());
                outcome.unwrap_or_else(|error| panic!("{what}: {error}"));
                let after = fs::read(&path).unwrap();
                file.check(&edit, &after).unwrap_or_else(|error| panic!("{what}: {error}"));
                edits += 1;
                if let Outcome::Undone = editors.undo(tool, &path).await {
                    assert!(fs::read(&path).unwrap() == file.bytes(), "{what}: undo restores every byte");
                }
            }
        }
        for insertion in file.insertions() {
            for tool in 0..editors.count() {
                fs::write(&path, file.bytes()).unwrap();
                if !editors.insert(tool, &path, &insertion).await {
                    continue;
                }
                let after = fs::read(&path).unwrap();
                let name = editors.name(tool);
                let line = insertion.line;
                file.check_insertion(&insertion, &after).unwrap_or_else(|error| {
                    panic!("seed {seed}: {name} after line {line} in {:?}: {error}", file.style())
                });
                edits += 1;
            }
        }
    }
    eprintln!("{} files, {edits} edits", seeds().count());
}

#[tokio::test]
async fn ambiguous_edits_are_refused_with_their_lines() {
    let directory = directory();
    let path = directory.path().join("file.txt");
    let mut editors = Editors::new(directory.path()).await;
    for seed in seeds().step_by(10) {
        let file = Generated::new(seed);
        let (bytes, edit, lines) = file.twice();
        for tool in (0..editors.count()).filter(|tool| editors.replaces_text(*tool)).collect::<Vec<_>>() {
            fs::write(&path, &bytes).unwrap();
            let refused = editors.replace(tool, &path, &edit, file.marker_line()).await;
            let what = format!("seed {seed}: {} in {:?}", editors.name(tool), file.style());
            let text = refused.expect_err(&what);
            for line in lines {
                assert!(has_number(&text, line), "{what}: line {line} is missing in: {text}");
            }
            assert!(fs::read(&path).unwrap() == bytes, "{what}: the file was changed");
        }
    }
}

/// Characters that the encoding of a file does not have are refused.
#[tokio::test]
async fn what_cannot_be_written_is_refused() {
    let directory = directory();
    let path = directory.path().join("file.txt");
    let mut editors = Editors::new(directory.path()).await;
    let latin = seeds().map(Generated::new).filter(|file| file.style() == Style::Latin1);
    for file in latin.take(10) {
        let mut edit = file.edits().remove(0);
        edit.new = "世界".to_owned();
        for tool in 0..editors.count() {
            fs::write(&path, file.bytes()).unwrap();
            let refused = editors.replace(tool, &path, &edit, file.marker_line()).await;
            let refused = refused.expect_err("there is no such character");
            assert!(refused.contains("windows-1252"), "{}: {refused}", editors.name(tool));
            assert!(fs::read(&path).unwrap() == file.bytes(), "{}: the file was changed", editors.name(tool));
        }
    }
}

fn has_number(text: &str, number: usize) -> bool {
    text.split(|character: char| !character.is_ascii_digit()).any(|digits| digits == number.to_string())
}
