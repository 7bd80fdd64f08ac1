mod languages;

use super::*;

/// Cuts a text and checks what is true of every cut: chunks cover the text in order, lines are right.
fn check(path: &str, text: &str) -> Vec<Chunk> {
    let chunks = cut(language(path, text), text);
    let mut at = 0;
    for chunk in &chunks {
        assert_eq!(chunk.bytes.start, at, "{chunk:?}");
        at = chunk.bytes.end;
        let before = &text[..chunk.bytes.start + text[chunk.bytes.clone()].len()
            - text[chunk.bytes.clone()].trim_start().len()];
        assert!(chunk.start_line <= chunk.end_line);
        if !text[chunk.bytes.clone()].trim().is_empty() {
            assert_eq!(chunk.start_line as usize, before.matches('\n').count() + 1);
        }
        assert!(text[chunk.bytes.clone()].trim().len() <= MAX + 4, "{}", chunk.bytes.len());
    }
    assert_eq!(at, text.len());
    chunks
}

/// `symbol | names` of each chunk.
fn symbols(path: &str, text: &str) -> Vec<String> {
    let show = |chunk: &Chunk| format!("{} | {}", chunk.symbol().unwrap_or("-"), chunk.names.join(" "));
    check(path, text).iter().map(show).collect()
}

fn long(indent: &str, line: &str) -> String {
    format!("{indent}{line}\n").repeat(300 / (line.len() + indent.len()) + 1)
}

#[test]
fn rust_definitions_keep_scope_comment_and_attributes() {
    let body = long("        ", "call_something(1, 2);");
    let text = format!(
        "use std::fmt;\n\n/// A thing.\n#[derive(Debug)]\npub struct Thing;\n\nimpl fmt::Display for Thing {{\n    /// First.\n    #[inline]\n    fn one(&self) {{\n{body}    }}\n\n    /// Second.\n    fn two(&self) {{\n{body}    }}\n}}\n\nfn free() {{\n{body}}}\n"
    );
    let chunks = check("a.rs", &text);
    let symbols: Vec<_> = chunks.iter().map(|chunk| chunk.symbol().unwrap_or("-")).collect();
    assert_eq!(symbols, ["impl Thing › fn one", "impl Thing › fn two", "fn free"]);
    assert_eq!(chunks[0].names, ["Thing", "one"]);
    assert_eq!(chunks[0].kind, ChunkKind::Method);
    assert_eq!(
        (chunks[1].names.join(" "), chunks[1].scopes.join(" ")),
        ("two".to_owned(), "Thing".to_owned())
    );
    assert!(text[chunks[1].bytes.clone()].trim_start().starts_with("/// Second."));
    assert_eq!(chunks[2].kind, ChunkKind::Function);
}

#[test]
fn what_no_grammar_knows_is_cut_by_lines() {
    let text = "some words here\n".repeat(200);
    let chunks = check("notes.txt", &text);
    assert!(chunks.len() >= 3 && chunks.iter().all(|chunk| chunk.kind == ChunkKind::Text));
    assert_eq!(symbols("empty.rs", ""), Vec::<String>::new());
    check("one-line.js", &"a=1;".repeat(10_000));
}

/// Texts that make parsers guess: nesting without end, what never closes. They must be cut all the same, and soon.
#[test]
fn hostile_texts_are_cut_in_bounded_time() {
    for path in ["a.rs", "a.py", "a.ts", "a.go", "a.cc", "a.kt", "a.hs", "a.lua", "a.java", "a.ex"] {
        for piece in ["(", "{\n", "/*\n", "\"${\n", "if (a) \n", "x => \n", "a::"] {
            check(path, &piece.repeat(6_000 / piece.len()));
        }
    }
}

#[test]
fn markdown_is_cut_by_heading() {
    let body = long("", "Some words of text.");
    let text =
        format!("# Title\n\n{body}\n## Install\n\n{body}\n```sh\n# not a heading\n```\n## Use\n\n{body}");
    assert_eq!(
        symbols("README.md", &text),
        ["Title | Title", "Title › Install | Install", "Title › Use | Use"]
    );
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(120))]
    #[test]
    fn any_text_is_covered(
        text in "(fn |def |class |\\{|\\}|\\(|\n|    |//|#|\"|'|x1|=|;|é|/\\*|\\*/|@|<\\?php|end){0,200}",
        name in "a\\.(rs|py|js|ts|tsx|go|c|php|rb|md|txt|sh|cc|cs|ex|hs|java|kt|lua|scala|swift|zig)",
    ) {
        check(&name, &text);
    }
}
