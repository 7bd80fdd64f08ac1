//! `@modelcontextprotocol/server-filesystem`.

use std::{fs, os::unix::fs::symlink, path::Path};

use serde_json::json;

use super::{ARGUMENTS, Call, Comparison, Servers, UNKNOWN_TOOL, call};

const SERVERS: Servers = Servers {
    page: "filesystem",
    program: "bin/node",
    script: Some("npm/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"),
    ours: &["filesystem"],
    arguments: &["{root}/files"],
    environment: &[],
    own_files: &[],
};

// Where ours is better, in the words of docs/filesystem.md.
const TAIL: &str = "`tail` counts lines as the program `tail` does: a line break at the end of the file begins no further line, and line endings are kept.";
const HEAD: &str = "`head` leaves out the whole line ending of its last line, `\\r\\n` included.";
const ENCODING: &str = "Text is decoded from the encoding of the file (UTF-8, UTF-16, Windows-1252) and written back in it; a byte-order mark is not part of the text.";
const BINARY: &str =
    "Binary files are refused with a hint at `read_media_file`, instead of read as replacement characters.";
const TIMES: &str = "Times are written as ISO 8601, with milliseconds.";
const LINK_SIZE: &str =
    "The size of a link is its own, because what is outside the allowed directories is never looked at.";
const ONE_PATH: &str = "Errors name the path that is wrong: a missing source, a missing parent directory, a link to nothing, a NUL byte.";
const NOT_A_FILE: &str =
    "What is no regular file is refused by name and never opened: directories, FIFOs, sockets and devices.";
const AMBIGUOUS: &str = "An edit whose text occurs more than once is refused with the numbers of the lines.";
const LINE_ENDINGS: &str = "Line endings that an edit does not touch stay as they are.";
const EQUAL_LINES: &str = "Where equal lines follow each other, a diff may mark another one of them.";

#[test]
fn filesystem() {
    let mut servers = Comparison::start(&SERVERS, prepare);
    servers.tools();
    servers.calls([reads(), lists(), writes(), edits(), failures()].into_iter().flatten());
}

fn prepare(root: &Path) {
    let at = |path: &str| root.join("files").join(path);
    for directory in ["src/deep/deeper", "empty", "dots/.hidden", "old/tree"] {
        fs::create_dir_all(at(directory)).unwrap();
    }
    fs::create_dir(root.join("outside")).unwrap();
    fs::write(root.join("outside/secret.txt"), "secret").unwrap();
    let lines: String = (1..=500).map(|number| format!("line {number}\n")).collect();
    let files: &[(&str, &[u8])] = &[
        ("plain.txt", b"one\ntwo\nthree\n"),
        ("open.txt", b"one\ntwo\nthree"),
        ("blank.txt", b"one\n\n\ntwo\n"),
        ("empty.txt", b""),
        ("unicode grüße.txt", "Grüße, 世界 🎉\n".as_bytes()),
        ("long.txt", lines.as_bytes()),
        ("mixed.txt", b"one\r\ntwo\nthree\r\n"),
        ("windows.txt", b"one\r\ntwo\r\nthree\r\n"),
        ("bom.txt", b"\xef\xbb\xbfone\ntwo\n"),
        ("latin1.txt", b"Gr\xfc\xdfe\nzwei\n"),
        ("utf16.txt", b"\xff\xfeo\0n\0e\0\n\0"),
        ("twice.txt", b"same\nother\nsame\n"),
        ("binary.dat", b"\0\x01\x02\xff\xfe\0"),
        ("picture.PNG", b"\x89PNG\r\n\x1a\n"),
        ("sound.mp3", b"ID3"),
        ("indent.txt", b"fn main() {\n    if x {\n        y();\n    }\n}\n"),
        ("edit.txt", b"a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\n"),
        ("fence.md", b"text\n```rust\ncode\n```\n````\n"),
        ("move me.txt", b"moved\n"),
        ("target.txt", b"kept\n"),
        ("src/main.rs", b"fn main() {}\n"),
        ("src/deep/lib.rs", b""),
        ("src/deep/deeper/mod.rs", b""),
        ("src/notes.md", b"notes\n"),
        ("dots/.hidden/file.rs", b""),
        ("dots/.config", b""),
        ("old/tree/leaf", b"leaf"),
        ("dollar.txt", b"price: X\n"),
    ];
    for (path, content) in files {
        fs::write(at(path), content).unwrap();
    }
    fs::write(at("big.bin"), vec![b'x'; 3_500_000]).unwrap();
    symlink(at("plain.txt"), at("link.txt")).unwrap();
    symlink(root.join("outside/secret.txt"), at("escape.txt")).unwrap();
    symlink(root.join("outside"), at("escape")).unwrap();
    symlink(at("nowhere"), at("dangling")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, at("fifo"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
}

fn reads() -> Vec<Call> {
    let read = |path: &str| call("read_text_file", json!({ "path": format!("{{root}}/files/{path}") }));
    let part = |path: &str, which: &str, count: u64| {
        call("read_text_file", json!({ "path": format!("{{root}}/files/{path}"), which: count }))
    };
    vec![
        read("plain.txt"),
        read("open.txt"),
        read("empty.txt"),
        read("unicode grüße.txt"),
        read("windows.txt"),
        read("mixed.txt"),
        read("blank.txt"),
        part("blank.txt", "head", 3),
        part("blank.txt", "head", 4),
        read("link.txt"),
        read("src/../plain.txt"),
        call("read_text_file", json!({ "path": "plain.txt" })),
        call("read_file", json!({ "path": "{root}/files/plain.txt" })),
        call("read_file", json!({ "path": "{root}/files/plain.txt", "head": 1 })),
        part("long.txt", "head", 3),
        part("long.txt", "head", 1000),
        part("long.txt", "tail", 3).better(TAIL),
        part("long.txt", "tail", 1000).better(TAIL),
        part("open.txt", "tail", 2),
        part("open.txt", "head", 2),
        part("plain.txt", "head", 3),
        part("plain.txt", "head", 4),
        part("plain.txt", "tail", 1).better(TAIL),
        part("empty.txt", "tail", 1),
        part("empty.txt", "head", 1),
        part("windows.txt", "head", 2).better(HEAD),
        part("windows.txt", "tail", 2).better(TAIL),
        read("bom.txt").better(ENCODING),
        read("latin1.txt").better(ENCODING),
        read("utf16.txt").better(ENCODING),
        read("binary.dat").better(BINARY),
        call("read_media_file", json!({ "path": "{root}/files/picture.PNG" })),
        call("read_media_file", json!({ "path": "{root}/files/sound.mp3" })),
        call("read_media_file", json!({ "path": "{root}/files/binary.dat" })),
        call("read_media_file", json!({ "path": "{root}/files/unicode grüße.txt" })),
        call("read_multiple_files", json!({ "paths": ["{root}/files/plain.txt", "{root}/files/open.txt"] })),
        call("read_multiple_files", json!({ "paths": ["{root}/files/none", "/etc/passwd", "plain.txt"] })),
        call("get_file_info", json!({ "path": "{root}/files/plain.txt" })).better(TIMES),
        call("get_file_info", json!({ "path": "{root}/files/src" })).better(TIMES),
        call("get_file_info", json!({ "path": "{root}/files/link.txt" })).better(TIMES),
        call("list_allowed_directories", json!({})),
    ]
}

fn lists() -> Vec<Call> {
    let tree = |path: &str, excludes: &[&str]| {
        call(
            "directory_tree",
            json!({ "path": format!("{{root}}/files/{path}"), "excludePatterns": excludes }),
        )
    };
    let search = |pattern: &str, excludes: &[&str]| {
        let arguments = json!({ "path": "{root}/files", "pattern": pattern, "excludePatterns": excludes });
        call("search_files", arguments)
    };
    vec![
        call("list_directory", json!({ "path": "{root}/files" })),
        call("list_directory", json!({ "path": "{root}/files/empty" })),
        call("list_directory", json!({ "path": "src" })),
        call("list_directory_with_sizes", json!({ "path": "{root}/files/src" })),
        call("list_directory_with_sizes", json!({ "path": "{root}/files/src", "sortBy": "size" })),
        call("list_directory_with_sizes", json!({ "path": "{root}/files/empty" })),
        call("list_directory_with_sizes", json!({ "path": "{root}/files", "sortBy": "size" }))
            .better(LINK_SIZE),
        call("list_directory_with_sizes", json!({ "path": "{root}/files", "sortBy": "name" }))
            .better(LINK_SIZE),
        call("directory_tree", json!({ "path": "{root}/files/src" })),
        tree("src", &["deep"]),
        tree("src", &["*.md"]),
        tree("src", &["**/*.rs"]),
        tree("dots", &[]),
        tree("empty", &[]),
        call("directory_tree", json!({ "path": "src" })),
        search("*.txt", &[]),
        search("**/*.rs", &[]),
        search("**/*.rs", &["src/deep/**"]),
        search("**/*.rs", &["deep"]),
        search("src/**", &[]),
        search("**", &["**/*.txt"]),
        search("*.{md,mp3}", &[]),
        search("p*", &[]),
        search("[pq]lain.txt", &[]),
        search("nothing*", &[]),
        search("PLAIN.txt", &[]),
    ]
}

fn writes() -> Vec<Call> {
    let write = |path: &str, content: &str| {
        call("write_file", json!({ "path": format!("{{root}}/files/{path}"), "content": content }))
    };
    let moved = |from: &str, to: &str| {
        let at = |path: &str| format!("{{root}}/files/{path}");
        call("move_file", json!({ "source": at(from), "destination": at(to) }))
    };
    vec![
        write("new.txt", "new\n"),
        write("new.txt", "newer"),
        write("empty.txt", ""),
        write("grün.txt", "ü\r\nö\n"),
        call("write_file", json!({ "path": "relative.txt", "content": "x" })),
        call("create_directory", json!({ "path": "{root}/files/made/by/us" })),
        call("create_directory", json!({ "path": "{root}/files/made" })),
        moved("move me.txt", "made/moved.txt"),
        moved("old/tree", "made/tree"),
        moved("target.txt", "plain.txt"),
        moved("none.txt", "other.txt").better(ONE_PATH),
        moved("plain.txt", "nowhere/other.txt").better(ONE_PATH),
    ]
}

fn edits() -> Vec<Call> {
    let edit = |path: &str, edits: &[(&str, &str)]| {
        let edits: Vec<_> =
            edits.iter().map(|(old, new)| json!({ "oldText": old, "newText": new })).collect();
        call("edit_file", json!({ "path": format!("{{root}}/files/{path}"), "edits": edits }))
    };
    let preview = json!({
        "path": "{root}/files/edit.txt", "edits": [{ "oldText": "b", "newText": "B" }], "dryRun": true
    });
    vec![
        call("edit_file", preview),
        edit("edit.txt", &[("c\nd", "C\nD\nD2")]),
        edit("edit.txt", &[("a\n", ""), ("o\n", "last\n")]),
        edit("edit.txt", &[("j", "j $& $1 \\n")]),
        edit("edit.txt", &[("g", "g")]),
        edit("edit.txt", &[]),
        edit("open.txt", &[("three", "four")]),
        edit("open.txt", &[("four", "four\n")]),
        edit("dollar.txt", &[("X", "$1 $$ $&")]),
        edit("indent.txt", &[("if x {\n    y();\n}", "if z {\n    w();\n    v();\n}")]).better(EQUAL_LINES),
        edit("fence.md", &[("code", "other")]),
        edit("edit.txt", &[("no such text", "x")]),
        edit("edit.txt", &[("h", "H"), ("no such text", "x")]),
        edit("windows.txt", &[("two", "2")]).better(LINE_ENDINGS).leaving("files/windows.txt"),
        edit("mixed.txt", &[("two", "2")]).better(LINE_ENDINGS).leaving("files/mixed.txt"),
        edit("bom.txt", &[("two", "2")]).better(ENCODING),
        edit("latin1.txt", &[("zwei", "drei")]).better(ENCODING).leaving("files/latin1.txt"),
        edit("twice.txt", &[("same", "changed")]).better(AMBIGUOUS).leaving("files/twice.txt"),
    ]
}

fn failures() -> Vec<Call> {
    let read = |path: &str| call("read_text_file", json!({ "path": path }));
    vec![
        read("{root}/files/none.txt"),
        read("{root}/files/none/none.txt"),
        read("{root}/files/src").better(NOT_A_FILE),
        read("{root}/outside/secret.txt"),
        read("/etc/passwd"),
        read("../outside/secret.txt"),
        read("{root}/files/escape.txt"),
        read("{root}/files/escape/secret.txt"),
        read("{root}/files/dangling").better(ONE_PATH),
        read("").better(NOT_A_FILE),
        read("C:\\Users\\file.txt"),
        read("{root}/files/plain.txt\u{0}").better(ONE_PATH),
        call("read_text_file", json!({ "path": "{root}/files/plain.txt", "head": 1, "tail": 1 })),
        call("write_file", json!({ "path": "{root}/files/no/parent.txt", "content": "x" })).better(ONE_PATH),
        call("write_file", json!({ "path": "{root}/files/src", "content": "x" })).better(NOT_A_FILE),
        call("write_file", json!({ "path": "{root}/outside/new.txt", "content": "x" })),
        call("write_file", json!({ "path": "{root}/files/escape/new.txt", "content": "x" })),
        call("create_directory", json!({ "path": "{root}/outside/new" })),
        call("create_directory", json!({ "path": "{root}/files/plain.txt" })),
        call("list_directory", json!({ "path": "{root}/files/plain.txt" })),
        call("list_directory", json!({ "path": "{root}/files/none" })),
        call("list_directory", json!({ "path": "{root}/outside" })),
        call("directory_tree", json!({ "path": "{root}/files/none" })),
        call("search_files", json!({ "path": "{root}/files/none", "pattern": "*" })),
        call("get_file_info", json!({ "path": "{root}/files/none" })),
        call("move_file", json!({ "source": "{root}/files/plain.txt", "destination": "{root}/outside/x" })),
        call("read_text_file", json!({})).better(ARGUMENTS),
        call("read_text_file", json!({ "path": 1 })).better(ARGUMENTS),
        call("read_multiple_files", json!({ "paths": [] })).better(ARGUMENTS),
        call("list_directory_with_sizes", json!({ "path": "{root}/files", "sortBy": "date" }))
            .better(ARGUMENTS),
        call("no_such_tool", json!({})).better(UNKNOWN_TOOL),
        call("read_text_file", json!({ "path": "{root}/files/fifo" })).unanswered(NOT_A_FILE),
    ]
}
