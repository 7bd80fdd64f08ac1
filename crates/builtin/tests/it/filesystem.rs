//! The server `filesystem`, where the published one fails.

use std::{fs, path::Path};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolbay_builtin::filesystem::{FilesystemConfig, filesystem};

use crate::client::Client;

async fn client(directory: &TempDir) -> Client {
    let config =
        FilesystemConfig { directories: vec![directory.path().to_owned()], ..FilesystemConfig::default() };
    let (connect, skipped) = filesystem(config);
    assert!(skipped.is_empty());
    Client::new(connect).await
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "path": path, "edits": [{ "oldText": old, "newText": new }] })
}

fn bytes(directory: &TempDir, path: &str) -> Vec<u8> {
    fs::read(directory.path().join(path)).unwrap()
}

#[tokio::test]
async fn what_an_edit_does_not_touch_stays() {
    let directory = tempfile::tempdir().unwrap();
    let mut client = client(&directory).await;
    for (before, after) in [
        (&b"one\r\ntwo\r\nthree\r\n"[..], &b"one\r\n2\r\nthree\r\n"[..]),
        (b"gr\xfcn\ntwo\n", b"gr\xfcn\n2\n"),
        (b"\xef\xbb\xbftwo", b"\xef\xbb\xbf2"),
        (b"\xff\xfet\0w\0o\0\r\0\n\0", b"\xff\xfe2\0\r\0\n\0"),
        (b"a:\n\ttwo\r\nb\n", b"a:\n\t2\r\nb\n"),
    ] {
        fs::write(directory.path().join("file"), before).unwrap();
        client.call("edit_file", edit("file", "two", "2")).await.unwrap();
        assert_eq!(bytes(&directory, "file"), after, "{before:?}");
    }
}

#[tokio::test]
async fn ambiguous_and_wrong_edits_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut client = client(&directory).await;
    let content = "let a = 1;\nlet b = 2;\nlet a = 1;\n";
    fs::write(directory.path().join("file"), content).unwrap();
    let error = client.call("edit_file", edit("file", "let a = 1;", "x")).await.unwrap_err();
    assert!(error.contains("occurs 2 times, in lines 1, 3"), "{error}");
    let error = client.call("edit_file", edit("file", "let b = 3;", "x")).await.unwrap_err();
    assert!(error.starts_with("Could not find exact match for edit:\nlet b = 3;"), "{error}");
    assert!(error.contains("line 2") && error.contains("+let b = 2;"), "{error}");
    let stale = json!({ "path": "file", "edits": [], "expected_hash": "00" });
    assert!(client.call("edit_file", stale).await.unwrap_err().contains("the file has changed"));
    assert_eq!(bytes(&directory, "file"), content.as_bytes());
    // All of them, if that is meant.
    let all = json!({ "path": "file", "edits": [{ "oldText": "let a = 1;", "newText": "x", "replace_all": true }] });
    client.call("edit_file", all).await.unwrap();
    assert_eq!(bytes(&directory, "file"), b"x\nlet b = 2;\nx\n");
}

#[tokio::test]
async fn edits_show_a_diff_and_keep_the_indentation() {
    let directory = tempfile::tempdir().unwrap();
    let mut client = client(&directory).await;
    fs::write(directory.path().join("file"), "fn f() {\n    if x {\n        y();\n    }\n}\n").unwrap();
    let diff = client
        .call("edit_file", edit("file", "if x {\n    y();\n}", "if z {\n    y();\n    w();\n}"))
        .await
        .unwrap();
    let path = directory.path().join("file");
    let expected = format!(
        "```diff\nIndex: {0}\n{1}\n--- {0}\toriginal\n+++ {0}\tmodified\n@@ -1,5 +1,6 @@\n",
        path.display(),
        "=".repeat(67)
    );
    assert!(diff.starts_with(&expected) && diff.ends_with("```\n\n"), "{diff}");
    assert!(diff.contains("-    if x {\n") && diff.contains("+    if z {\n"), "{diff}");
    let preview =
        json!({ "path": "file", "edits": [{ "oldText": "fn f", "newText": "fn g" }], "dryRun": true });
    client.call("edit_file", preview).await.unwrap();
    assert!(fs::read_to_string(path).unwrap().starts_with("fn f()"));
}

#[tokio::test]
async fn no_read_waits_or_returns_too_much() {
    let directory = tempfile::tempdir().unwrap();
    let mut client = client(&directory).await;
    let fifo = directory.path().join("fifo");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(
        client
            .call("read_text_file", json!({ "path": "fifo" }))
            .await
            .unwrap_err()
            .contains("not a regular file")
    );
    let lines: String = (1..=200_000).map(|n| format!("line {n}\n")).collect();
    fs::write(directory.path().join("long"), &lines).unwrap();
    let error = client.call("read_text_file", json!({ "path": "long" })).await.unwrap_err();
    assert!(error.contains("head, tail, or offset and limit"), "{error}");
    for (arguments, expected) in [
        (json!({ "path": "long", "head": 2 }), "line 1\nline 2"),
        (json!({ "path": "long", "tail": 2 }), "line 199999\nline 200000"),
        (json!({ "path": "long", "offset": 100_000, "limit": 1 }), "line 100000"),
        (
            json!({ "path": "long", "offset": 199_999, "line_numbers": true }),
            "199999\tline 199999\n200000\tline 200000\n",
        ),
    ] {
        assert_eq!(client.call("read_text_file", arguments.clone()).await.unwrap(), expected, "{arguments}");
    }
    fs::write(directory.path().join("binary"), b"\x7fELF\0\0\0").unwrap();
    let error = client.call("read_text_file", json!({ "path": "binary" })).await.unwrap_err();
    assert!(error.contains("binary") && error.contains("read_media_file"), "{error}");
    let both =
        client.call("read_text_file", json!({ "path": "long", "head": 1, "tail": 1 })).await.unwrap_err();
    assert_eq!(both, "Cannot specify both head and tail parameters simultaneously");
}

#[tokio::test]
async fn directories_are_listed_and_searched_in_pages() {
    let directory = tempfile::tempdir().unwrap();
    let at = |path: &str| directory.path().join(path);
    for number in 0..3_000 {
        let path = at(&format!("src/module_{}/a_file_with_a_long_name_{number}.rs", number % 30));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    fs::write(at(".gitignore"), "target/\n*.log\n").unwrap();
    fs::create_dir_all(at("target/debug")).unwrap();
    fs::write(at("target/debug/x.rs"), "x").unwrap();
    fs::write(at("debug.log"), "x").unwrap();
    let mut client = client(&directory).await;

    let first = client.call("search_files", json!({ "path": ".", "pattern": "**/*.rs" })).await.unwrap();
    assert!(first.len() < 52 * 1024, "{}", first.len());
    let next = first.rsplit_once("offset=").unwrap().1.trim_end_matches(']');
    assert!(first.contains("of 3001;"), "{}", &first[first.len() - 100..]);
    let second =
        json!({ "path": ".", "pattern": "**/*.rs", "offset": next.parse::<u64>().unwrap(), "limit": 2 });
    let second = client.call("search_files", second).await.unwrap();
    assert_eq!(second.lines().take_while(|line| line.starts_with('/')).count(), 2);
    let tracked = json!({ "path": ".", "pattern": "**/x.rs", "gitignore": true });
    assert_eq!(client.call("search_files", tracked).await.unwrap(), "No matches found");

    let tree = client.call("directory_tree", json!({ "path": ".", "depth": 2 })).await.unwrap();
    let tree: Value = serde_json::from_str(&tree).unwrap();
    let names: Vec<_> = tree.as_array().unwrap().iter().map(|node| node["name"].as_str().unwrap()).collect();
    assert_eq!(names, [".gitignore", "src"], "what git ignores is left out");
    assert_eq!(tree[1]["children"].as_array().unwrap().len(), 30);
    let below = &tree[1]["children"][0]["children"];
    assert_eq!(*below, json!([{ "name": "[100 more entries]", "type": "truncated" }]));
    // Rules of directories above count, too.
    let inside = client.call("directory_tree", json!({ "path": "target" })).await.unwrap();
    assert!(inside.contains("debug"), "what is asked for by name is shown: {inside}");
    let cut = client.call("directory_tree", json!({ "path": ".", "max_entries": 10 })).await.unwrap();
    let cut: Value = serde_json::from_str(&cut).unwrap();
    let module = &cut[1]["children"][0]["children"];
    assert_eq!(module.as_array().unwrap().len(), 8, "{module}");
    assert_eq!(module[7], json!({ "name": "[93 more entries]", "type": "truncated" }));
    assert_eq!(cut[1]["children"][1], json!({ "name": "[29 more entries]", "type": "truncated" }));

    let listed = client.call("list_directory", json!({ "path": "." })).await.unwrap();
    assert_eq!(listed, "[FILE] .gitignore\n[FILE] debug.log\n[DIR] src\n[DIR] target");
    let sizes = client.call("list_directory_with_sizes", json!({ "path": "." })).await.unwrap();
    assert!(sizes.starts_with("[FILE] .gitignore                           14 B\n"), "{sizes}");
    assert!(sizes.ends_with("\n\nTotal: 2 files, 2 directories\nCombined size: 15 B"), "{sizes}");
}

#[tokio::test]
async fn files_are_written_moved_and_described() {
    let directory = tempfile::tempdir().unwrap();
    let mut client = client(&directory).await;
    let write = |path: &str, content: &str| json!({ "path": path, "content": content });
    assert_eq!(
        client.call("write_file", write("a.txt", "one\r\n")).await.unwrap(),
        "Successfully wrote to a.txt"
    );
    let error = client.call("write_file", write("no/such/a.txt", "x")).await.unwrap_err();
    assert_eq!(
        error,
        format!("Parent directory does not exist: {}", directory.path().join("no/such").display())
    );
    let deep = json!({ "path": "no/such/a.txt", "content": "x", "create_dirs": true });
    client.call("write_file", deep).await.unwrap();
    let append = json!({ "path": "a.txt", "content": "two\n", "mode": "append" });
    client.call("write_file", append).await.unwrap();
    assert_eq!(bytes(&directory, "a.txt"), b"one\r\ntwo\r\n");
    let moved = client.call("move_file", json!({ "source": "a.txt", "destination": "b.txt" })).await.unwrap();
    assert_eq!(moved, "Successfully moved a.txt to b.txt");
    let taken =
        client.call("move_file", json!({ "source": "b.txt", "destination": "no" })).await.unwrap_err();
    assert!(taken.starts_with("Destination already exists:"), "{taken}");
    let info = client.call("get_file_info", json!({ "path": "b.txt" })).await.unwrap();
    assert!(
        info.starts_with("size: 10\ncreated: 20") && info.contains("isDirectory: false\nisFile: true\n"),
        "{info}"
    );
    let outside = client.call("read_text_file", json!({ "path": "/etc/passwd" })).await.unwrap_err();
    assert!(
        outside.starts_with("Access denied - path outside allowed directories: /etc/passwd not in "),
        "{outside}"
    );
    let allowed = client.call("list_allowed_directories", json!({})).await.unwrap();
    assert_eq!(allowed, format!("Allowed directories:\n{}", directory.path().display()));
    let config = client.call("write_file", write(".mcp.json", "{}")).await.unwrap_err();
    assert!(config.contains("`protect = false`"), "{config}");
}

#[tokio::test]
async fn media_and_several_files_are_read() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.png"), b"\x89PNG").unwrap();
    fs::write(directory.path().join("a b.bin"), b"\0").unwrap();
    fs::write(directory.path().join("a.txt"), "text").unwrap();
    let mut client = client(&directory).await;
    let mut call = async |tool: &str, arguments: Value| {
        client.request("tools/call", json!({ "name": tool, "arguments": arguments })).await["result"].take()
    };
    let image = call("read_media_file", json!({ "path": "a.png" })).await;
    let expected = json!({ "type": "image", "data": "iVBORw==", "mimeType": "image/png" });
    assert_eq!((&image["content"][0], &image["structuredContent"]["content"][0]), (&expected, &expected));
    let other = call("read_media_file", json!({ "path": "a b.bin" })).await;
    let uri = format!("file://{}/a%20b.bin", Path::new(directory.path()).display());
    assert_eq!(other["content"][0]["resource"]["uri"], uri);
    let several = call("read_multiple_files", json!({ "paths": ["a.txt", "missing", "a.txt"] })).await;
    let missing = directory.path().join("missing");
    let expected = format!(
        "a.txt:\ntext\n\n---\nmissing: Error - ENOENT: no such file or directory, open '{}'\n---\na.txt:\ntext\n",
        missing.display()
    );
    assert_eq!(several["content"][0]["text"], expected);
    assert_eq!(several["structuredContent"]["content"], expected);
}

#[tokio::test]
async fn tools_beyond_the_contract_are_offered_where_configured() {
    let directory = tempfile::tempdir().unwrap();
    let names = async |config: FilesystemConfig| {
        let directories = vec![directory.path().to_owned()];
        let mut client = Client::new(filesystem(FilesystemConfig { directories, ..config }).0).await;
        let listed = client.request("tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().unwrap();
        let names: Vec<String> = tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        (client, names)
    };
    let (_, contract) = names(FilesystemConfig::default()).await;
    assert_eq!(contract.len(), 14, "{contract:?}");
    let config = FilesystemConfig { extra_tools: true, delete: true, ..FilesystemConfig::default() };
    let (mut client, all) = names(config).await;
    assert_eq!(all[14..], ["delete_file", "copy_file", "read_file_lines", "file_hash"]);

    fs::write(directory.path().join("a"), "one\r\ntwo\r\nthree\r\n").unwrap();
    let copy = json!({ "source": "a", "destination": "b" });
    let copied = client.call("copy_file", copy.clone()).await.unwrap();
    assert_eq!(copied, "Successfully copied a to b (17 bytes)");
    assert!(client.call("copy_file", copy).await.unwrap_err().starts_with("Destination already exists:"));
    assert_eq!(bytes(&directory, "b"), bytes(&directory, "a"));
    let lines = client.call("read_file_lines", json!({ "path": "b", "start": 2, "end": 3 })).await.unwrap();
    assert_eq!(lines, "     2\ttwo\r\n     3\tthree");
    let past = client.call("read_file_lines", json!({ "path": "b", "start": 9 })).await.unwrap_err();
    assert!(past.contains("/start is past the end"), "{past}");
    let hash = client.call("file_hash", json!({ "path": "b" })).await.unwrap();
    let write = |hash: &str| json!({ "path": "b", "content": "new", "expected_hash": hash });
    client.call("write_file", write(&hash)).await.unwrap();
    assert!(client.call("write_file", write(&hash)).await.unwrap_err().contains("the file has changed"));
    client.call("delete_file", json!({ "path": "b" })).await.unwrap();
    assert!(!directory.path().join("b").exists());
}

#[tokio::test]
async fn only_the_last_line_ending_of_a_part_is_left_out() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("blank"), "one\n\n\ntwo\n").unwrap();
    let mut client = client(&directory).await;
    for (arguments, expected) in [
        (json!({ "path": "blank", "head": 3 }), "one\n\n"),
        (json!({ "path": "blank", "head": 9 }), "one\n\n\ntwo"),
        (json!({ "path": "blank", "tail": 2 }), "\ntwo"),
        (json!({ "path": "blank", "offset": 2, "limit": 2 }), "\n"),
        (json!({ "path": "blank", "offset": 4 }), "two\n"),
    ] {
        assert_eq!(client.call("read_text_file", arguments.clone()).await.unwrap(), expected, "{arguments}");
    }
}

#[tokio::test]
async fn parts_of_wide_texts_are_whole_lines() {
    let directory = tempfile::tempdir().unwrap();
    let wide: Vec<u8> = "\u{feff}one\nzwölf\nthree\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(directory.path().join("wide"), wide).unwrap();
    let mut client = client(&directory).await;
    for (arguments, expected) in [
        (json!({ "path": "wide", "head": 2 }), "one\nzwölf"),
        (json!({ "path": "wide", "tail": 2 }), "zwölf\nthree"),
        (json!({ "path": "wide", "offset": 2, "limit": 1 }), "zwölf"),
    ] {
        assert_eq!(client.call("read_text_file", arguments.clone()).await.unwrap(), expected, "{arguments}");
    }
}

#[tokio::test]
async fn secrets_are_not_listed_and_rules_above_count() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("src/target")).unwrap();
    for path in [".gitignore", ".env", "src/id_rsa", "src/a.log", "src/b.rs", "src/target/x"] {
        fs::write(directory.path().join(path), "*.log\ntarget\n").unwrap();
    }
    let mut client = client(&directory).await;
    assert_eq!(
        client.call("list_directory", json!({ "path": "." })).await.unwrap(),
        "[FILE] .gitignore\n[DIR] src"
    );
    let tree = client.call("directory_tree", json!({ "path": "src" })).await.unwrap();
    let tree: Value = serde_json::from_str(&tree).unwrap();
    assert_eq!(tree, json!([{ "name": "b.rs", "type": "file" }]));
    let found =
        client.call("search_files", json!({ "path": ".", "pattern": "**/*", "type": "file" })).await.unwrap();
    assert!(!found.contains(".env") && !found.contains("id_rsa") && found.contains("a.log"), "{found}");
    let past = json!({ "path": ".", "pattern": "**/*", "offset": 99 });
    assert_eq!(client.call("search_files", past).await.unwrap(), "[no more matches: offset=99 of 6]");
    let invalid = client.call("search_files", json!({ "path": ".", "pattern": "a[" })).await.unwrap_err();
    assert!(invalid.contains("/pattern is not a valid pattern"), "{invalid}");
}
