//! `mcp-ripgrep`, with the `rg` of the peers.

use std::{fs, os::unix::fs::symlink, path::Path};

use serde_json::{Value, json};

use super::{ARGUMENTS, Call, Comparison, Servers, call};
use crate::interop;

const SERVERS: Servers = Servers {
    page: "grep",
    program: "bin/node",
    script: Some("npm/node_modules/mcp-ripgrep/dist/index.js"),
    ours: &["grep", "--toolset", "ripgrep"],
    arguments: &[],
    environment: &[],
    own_files: &[],
};

// Where ours is better, in the words of docs/grep.md.
const SHELL: &str = "Arguments are never passed to a shell. A pattern may begin with `-`, and a file type cannot run a command.";
const SECRETS: &str =
    "Only files of the allowed directories are searched, and no files whose names indicate secrets.";

#[test]
fn ripgrep() {
    // The original finds `rg` in PATH.
    let path = format!("{}:/usr/bin:/bin", interop::peers().join("python/bin").display());
    let variables: &'static [(&str, &str)] = Box::leak(Box::new([("PATH", &*path.leak())]));
    let servers = Servers { environment: variables, ..SERVERS };
    let mut servers = Comparison::start(&servers, prepare).masked(sorted);
    servers.tools();
    servers.calls([searches(), counts(), lists(), failures()].into_iter().flatten());
}

fn prepare(root: &Path) {
    fs::create_dir_all(root.join("src/deep")).unwrap();
    fs::create_dir(root.join(".hidden")).unwrap();
    let files: &[(&str, &[u8])] = &[
        ("one.txt", b"foo\nbar\nbaz foo foo\n\nlast\n"),
        ("Two.md", b"# Foo\n\nfoo(bar) costs $5\n"),
        ("src/main.rs", b"fn main() {\n    foo();\n}\n"),
        ("src/deep/lib.rs", b"pub fn foo() {}\r\npub fn food() {}\r\n"),
        ("binary", b"foo\n\0\x01foo\n"),
        ("unicode.txt", "Gr\u{fc}\u{df}e foo \u{1f389}\n".as_bytes()),
        ("latin1.txt", b"gr\xfcn foo\n"),
        (".hidden/file", b"foo\n"),
        (".ignore", b"*.log\n"),
        ("ignored.log", b"foo\n"),
        ("it's.txt", b"foo 'quoted'\n"),
        ("secret.pem", b"foo\n"),
    ];
    for (path, content) in files {
        fs::write(root.join(path), content).unwrap();
    }
    symlink("src/main.rs", root.join("link.rs")).unwrap();
}

fn searches() -> Vec<Call> {
    let simple = |pattern: &str, path: &str| call("search", json!({ "pattern": pattern, "path": path }));
    let options = |options: Value| {
        let mut arguments = json!({ "pattern": "foo", "path": "src" });
        arguments.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        call("advanced-search", arguments)
    };
    vec![
        simple("foo", "src"),
        simple("foo", "{root}/src"),
        simple("foo", "one.txt"),
        simple("^fn |bar$", "src"),
        simple("foo", "binary"),
        simple("Gr.*e", "unicode.txt"),
        simple("n foo", "latin1.txt"),
        simple("nowhere", "src"),
        simple("'quoted'", "it's.txt"),
        simple("foo", ".").better(SECRETS),
        call("search", json!({ "pattern": "FOO", "path": "src", "caseSensitive": false })),
        call("search", json!({ "pattern": "FOO", "path": "src", "caseSensitive": true })),
        call("search", json!({ "pattern": "foo", "path": ".", "filePattern": "*.txt" })),
        call("search", json!({ "pattern": "foo", "path": ".", "filePattern": "!*.{txt,pem,md}" })),
        call("search", json!({ "pattern": "foo", "path": "one.txt", "maxResults": 1, "context": 1 })),
        call("search", json!({ "pattern": "foo", "path": "one.txt", "maxResults": 0, "context": 0 })),
        call("search", json!({ "pattern": "foo", "path": "one.txt", "useColors": true, "context": 1 })),
        call("search", json!({ "pattern": "foo", "path": "src/main.rs", "useColors": true })),
        options(json!({ "fixedStrings": true, "pattern": "foo()" })),
        options(json!({ "wordMatch": true })),
        options(json!({ "invertMatch": true })),
        options(json!({ "fileType": "rust", "path": "." })),
        options(json!({ "showFilenamesOnly": true })),
        options(json!({ "showLineNumbers": false })),
        options(json!({ "includeHidden": true, "path": ".hidden" })),
        options(
            json!({ "followSymlinks": true, "filePattern": "*.rs", "path": ".", "showFilenamesOnly": true }),
        ),
        call("search", json!({ "pattern": "-n", "path": "src" })).unanswered(SHELL),
        options(json!({ "fileType": "rust; echo broken" })).better(SHELL),
    ]
}

fn counts() -> Vec<Call> {
    vec![
        call("count-matches", json!({ "pattern": "foo", "path": "src" })),
        call("count-matches", json!({ "pattern": "foo", "path": "src", "countLines": false })),
        call("count-matches", json!({ "pattern": "foo", "path": "one.txt", "countLines": false })),
        call("count-matches", json!({ "pattern": "foo", "path": "one.txt" })),
        call("count-matches", json!({ "pattern": "foo", "path": "binary" })),
        call("count-matches", json!({ "pattern": "FOO", "path": "src", "caseSensitive": false })),
        call("count-matches", json!({ "pattern": "nowhere", "path": "src" })),
        call(
            "count-matches",
            json!({ "pattern": "foo", "path": ".", "filePattern": "*.md", "useColors": true }),
        ),
    ]
}

fn lists() -> Vec<Call> {
    vec![
        call("list-files", json!({ "path": "src" })),
        call("list-files", json!({ "path": ".", "fileType": "rust" })),
        call("list-files", json!({ "path": ".", "filePattern": "*.md", "includeHidden": true })),
        call("list-files", json!({ "path": ".", "filePattern": "*.nothing" })),
        call("list-files", json!({ "path": "one.txt" })),
        call("list-file-types", json!({})),
    ]
}

fn failures() -> Vec<Call> {
    vec![
        call("search", json!({ "pattern": "", "path": "src" })),
        call("search", json!({ "pattern": "fo(o", "path": "src" })),
        call("search", json!({ "pattern": "foo", "path": "nowhere" })),
        call("search", json!({ "pattern": "foo", "path": "src", "filePattern": "src/[" })),
        call("advanced-search", json!({ "pattern": "foo", "path": "src", "fileType": "nothing" })),
        call("search", json!({ "path": "src" })).better(ARGUMENTS),
        call("search", json!({ "pattern": "foo", "path": "/etc" })).better(SECRETS),
        call("advanced-search", json!({ "pattern": "foo", "path": "/proc/self/none" })).better(SECRETS),
    ]
}

/// The original's order changes from call to call.
fn sorted(answer: String) -> String {
    let Ok(mut answer) = serde_json::from_str::<Value>(&answer) else { return answer };
    if let Some(Value::String(text)) = answer.pointer_mut("/result/content/0/text") {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        *text = lines.join("\n");
    }
    answer.to_string()
}
