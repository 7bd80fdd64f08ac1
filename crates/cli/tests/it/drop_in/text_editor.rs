//! `mcp-text-editor`.

use std::{fs, path::Path};

use serde_json::{Value, json};
use sha2::Digest;

use super::{ARGUMENTS, Call, Comparison, Servers, UNKNOWN_TOOL, call};

const SERVERS: Servers = Servers {
    page: "text-editor",
    program: "python-originals/bin/mcp-text-editor",
    script: None,
    ours: &["text-editor", "--toolset", "hashes"],
    arguments: &[],
    environment: &[],
    own_files: &[],
};

// Where ours is better, in the words of docs/text-editor.md.
const NOT_ESCAPED: &str =
    "Characters that are not ASCII are not escaped in results, which takes fewer tokens.";
const ONE_NAME: &str =
    "All errors name the hash of a file `file_hash`. The original names it `hash` for overlapping patches.";
const LINE_ENDINGS: &str =
    r"Line endings, encoding and byte-order mark are kept. The original writes `\n` everywhere.";
const ENCODING: &str =
    "The encoding is detected, unless `encoding` is given. The original fails for what is not UTF-8.";
const NEW_FILES: &str = "New files are written in `encoding`, too. The original writes them in UTF-8.";
const APPENDING: &str = "Appending as the original describes it (`line_start` = lines + 1, `line_end` = lines) works. The \
                         original refuses it.";
const NEW_LINE: &str = "What is appended to a file without a final line ending begins on a new line. The original glues it to \
                        the last line.";
const SEPARATORS: &str = "Lines end at line breaks only, not at form feeds and other separators, so that the numbers of both \
                          tools agree.";

const PLAIN: &str = "one\ntwo\nthree\nfour\nfive\n";
const OPEN: &str = "one\ntwo";
const UNICODE: &str = "Grüße\n世界\n";

const FILES: [(&str, &[u8]); 8] = [
    ("plain.txt", PLAIN.as_bytes()),
    ("list.txt", PLAIN.as_bytes()),
    ("open.txt", OPEN.as_bytes()),
    ("grüße.txt", UNICODE.as_bytes()),
    ("empty.txt", b""),
    ("dos.txt", b"one\r\ntwo\r\n"),
    ("latin1.txt", b"gr\xfcn\n"),
    ("pages.txt", b"one\x0cstill one\ntwo\n"),
];

#[test]
fn text_editor() {
    let mut servers = Comparison::start(&SERVERS, prepare);
    servers.tools();
    servers.calls([reads(), refusals(), edits()].into_iter().flatten());
}

fn prepare(root: &Path) {
    for (name, content) in FILES {
        fs::write(root.join(name), content).unwrap();
    }
}

/// Reads ranges of lines; line 0 stands for the end of the file.
fn read(file: &str, ranges: &[(u64, u64)]) -> Call {
    let range = |&(start, end): &(u64, u64)| match end {
        0 => json!({ "start": start }),
        end => json!({ "start": start, "end": end }),
    };
    let ranges: Vec<Value> = ranges.iter().map(range).collect();
    let files = json!([{ "file_path": format!("{{root}}/{file}"), "ranges": ranges }]);
    call("get_text_file_contents", json!({ "files": files }))
}

/// Edits a file that has this content; an empty one stands for a new file.
fn edit(file: &str, before: &str, patches: &[Value]) -> Call {
    let hash = if before.is_empty() { String::new() } else { hash(before) };
    let files = json!([{ "path": format!("{{root}}/{file}"), "file_hash": hash, "patches": patches }]);
    call("edit_text_file_contents", json!({ "files": files }))
}

/// Replaces lines that have this content.
fn patch(start: u64, end: u64, old: &str, new: &str) -> Value {
    json!({ "line_start": start, "line_end": end, "contents": new, "range_hash": hash(old) })
}

fn append(start: u64, new: &str) -> Value {
    json!({ "line_start": start, "contents": new })
}

fn hash(text: &str) -> String {
    sha2::Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn reads() -> Vec<Call> {
    vec![
        read("plain.txt", &[(1, 0)]),
        read("plain.txt", &[(2, 3)]),
        read("plain.txt", &[(1, 1), (4, 0)]),
        read("plain.txt", &[(4, 100)]),
        read("plain.txt", &[(9, 0)]),
        read("plain.txt", &[]),
        read("open.txt", &[(1, 0)]),
        read("empty.txt", &[(1, 0)]),
        read("none.txt", &[(1, 0)]),
        read("latin1.txt", &[(1, 0)]).with(&json!({ "encoding": "latin-1" })).better(NOT_ESCAPED),
        read("grüße.txt", &[(1, 0)]).better(NOT_ESCAPED),
        read("latin1.txt", &[(1, 0)]).better(ENCODING),
        call("get_text_file_contents", json!({ "files": [{ "file_path": "plain.txt", "ranges": [] }] })),
        call("get_text_file_contents", json!({ "files": [] })),
        call("get_text_file_contents", json!({})).better(ARGUMENTS),
        call("get_text", json!({})).better(UNKNOWN_TOOL),
    ]
}

fn refusals() -> Vec<Call> {
    let two = |new: &str| patch(2, 2, "two\n", new);
    vec![
        edit("plain.txt", "something else", &[two("2\n")]),
        edit("plain.txt", PLAIN, &[patch(2, 2, "wrong\n", "2\n")]),
        edit("plain.txt", PLAIN, &[patch(3, 2, "two\n", "2\n")]),
        edit("plain.txt", PLAIN, &[json!({ "line_start": 2, "line_end": 2, "contents": "x\n" })]),
        edit("plain.txt", PLAIN, &[]),
        edit("plain.txt", PLAIN, &[patch(1, 3, "x", "a\n"), patch(2, 4, "y", "b\n")]).better(ONE_NAME),
        edit("open.txt", "", &[append(1, "x\n")]),
        edit("none.txt", "not there", &[append(1, "x\n")]),
        call("edit_text_file_contents", json!({})).better(ARGUMENTS),
    ]
}

fn edits() -> Vec<Call> {
    vec![
        edit("plain.txt", PLAIN, &[patch(2, 2, "two\n", "2\n"), patch(4, 5, "four\nfive\n", "4\n5\n")]),
        edit("plain.txt", "one\n2\nthree\n4\n5\n", &[append(6, "six")]),
        edit("plain.txt", "one\n2\nthree\n4\n5\nsix\n", &[patch(3, 3, "", "inserted\n")]),
        edit("new/deep.txt", "", &[append(1, "created\n")]),
        edit("latin1-new.txt", "", &[append(1, "grün\n")])
            .with(&json!({ "encoding": "latin-1" }))
            .better(NEW_FILES)
            .leaving("latin1-new.txt"),
        edit("empty.txt", "", &[append(1, "filled\n")]),
        edit("grüße.txt", UNICODE, &[patch(2, 2, "世界\n", "Welt")]).better(NOT_ESCAPED),
        edit("list.txt", PLAIN, &[json!({ "line_start": 6, "line_end": 5, "contents": "six\n" })])
            .better(APPENDING)
            .leaving("list.txt"),
        edit("open.txt", OPEN, &[append(3, "three\n")]).better(NEW_LINE).leaving("open.txt"),
        edit("dos.txt", "one\ntwo\n", &[patch(2, 2, "two\n", "2\n")]).better(LINE_ENDINGS).leaving("dos.txt"),
        edit("pages.txt", "one\x0cstill one\ntwo\n", &[patch(2, 2, "two\n", "2\n")])
            .better(SEPARATORS)
            .leaving("pages.txt"),
    ]
}
