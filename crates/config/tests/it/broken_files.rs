//! Files that are half written or damaged: they are reported, and nothing panics.

use std::{fs, path::PathBuf};

use serde_json::json;
use toolbay_config::{Edit, edit_text, parse};

fn samples() -> Vec<(PathBuf, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/formats");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| (path.clone(), fs::read_to_string(&path).unwrap())).collect()
}

/// F28: editors write in pieces.
#[test]
fn half_a_file_is_no_panic() {
    let server = json!({"mcpServers": {"new": {"command": "x"}}}).to_string();
    let server = parse(&server, "mcp.json".as_ref()).unwrap().written.remove(0);
    for (path, text) in samples() {
        for (end, _) in text.char_indices().step_by(5) {
            let half = &text[..end];
            if let Ok(edited) = edit_text(half, &path, None, &[Edit::Put(&server)]) {
                let file = parse(&edited.text, &path).unwrap();
                assert!(
                    file.written.iter().any(|it| it.name == "new"),
                    "{}: {}",
                    path.display(),
                    edited.text
                );
            }
        }
    }
}

#[test]
fn a_file_with_a_character_too_few_or_too_many_is_no_panic() {
    for (path, text) in samples() {
        let odd = ['"', '{', ']', '\n', '$', 'ä', '\0'].into_iter().cycle();
        for ((at, character), odd) in text.char_indices().step_by(2).zip(odd) {
            let (before, after) = text.split_at(at);
            let _ = parse(&format!("{before}{}", &after[character.len_utf8()..]), &path);
            let _ = parse(&format!("{before}{odd}{after}"), &path);
        }
    }
}

#[test]
fn a_mark_at_the_beginning_and_foreign_line_ends_do_no_harm() {
    for (path, text) in samples() {
        let expected = parse(&text, &path).map(|file| file.normalized()).ok();
        for odd in [format!("\u{feff}{text}"), text.replace('\n', "\r\n")] {
            assert_eq!(parse(&odd, &path).map(|file| file.normalized()).ok(), expected, "{}", path.display());
        }
    }
}

#[test]
fn deep_and_growing_files_are_refused() {
    let deep = format!("{{\"mcpServers\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(parse(&deep, "f.json".as_ref()).is_err());
    let deep = format!("[servers.a]\nx = {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    assert!(parse(&deep, "f.toml".as_ref()).is_err());
    let deep = format!("extensions: {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    assert!(parse(&deep, "f.yaml".as_ref()).is_err());
    let growing: String = (1..40).map(|n| format!("a{n}: &a{n} [*a{}, *a{}]\n", n - 1, n - 1)).collect();
    let error = parse(&format!("a0: &a0 x\n{growing}"), "f.yaml".as_ref()).unwrap_err().to_string();
    assert!(error.contains("too deep or too large"), "{error}");
}

/// Copies take memory, whether of many values or of long ones, and whether they are used or kept.
#[test]
fn copies_in_yaml_are_counted_with_their_texts_and_kept_ones_too() {
    let long = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 10_000].join(","));
    let long_key =
        format!("a: &a {{\"{}\": 1}}\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 10_000].join(","));
    let nested: String = (0..60).map(|n| format!("&a{n} [")).collect();
    let nested = format!("a: {nested}{}{}\n", vec!["1"; 10_000].join(","), "]".repeat(60));
    for text in [long, long_key, nested] {
        let error = parse(&text, "f.yaml".as_ref()).unwrap_err().to_string();
        assert!(error.contains("too deep or too large"), "{error}");
    }
}
