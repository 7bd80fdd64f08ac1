//! The tools that agents know: `read`, `write`, `edit`, `glob` and `grep`.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolbay_builtin::{
    filesystem::{FilesystemConfig, FilesystemToolset, filesystem},
    text_editor::{TextEditorConfig, TextEditorToolset, text_editor},
};

use crate::client::Client;

async fn client(directory: &TempDir) -> Client {
    let config = FilesystemConfig {
        directories: vec![directory.path().to_owned()],
        toolset: FilesystemToolset::Agent,
        ..FilesystemConfig::default()
    };
    Client::new(filesystem(config).0).await
}

async fn names(client: &mut Client) -> Vec<String> {
    let listed = client.request("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    for tool in tools {
        assert!(tool["outputSchema"].is_object() && tool["annotations"].is_object(), "{tool}");
    }
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn both_servers_offer_them() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(names(&mut client(&directory).await).await, ["read", "write", "edit", "glob", "grep"]);
    let config = TextEditorConfig {
        directories: vec![directory.path().to_owned()],
        toolset: TextEditorToolset::Agent,
        ..TextEditorConfig::default()
    };
    assert_eq!(names(&mut Client::new(text_editor(config).0).await).await, ["read", "write", "edit"]);
}

#[tokio::test]
async fn files_are_read_in_parts() {
    let directory = tempfile::tempdir().unwrap();
    let mut client = client(&directory).await;
    fs::write(directory.path().join("a"), "one\r\ntwo\nthree\n").unwrap();
    fs::write(directory.path().join("wide"), b"\xff\xfea\0\n\0b\0\n\0c\0").unwrap();
    let long: String = (1..=60_000).map(|number| format!("line {number}\n")).collect();
    fs::write(directory.path().join("long"), long + &"x".repeat(300_000)).unwrap();
    for (path, range, expected) in [
        ("a", None, "one\r\ntwo\nthree\n"),
        ("a", Some([1, 2]), "one\r\ntwo"),
        ("a", Some([3, 0]), "three\n"),
        ("a", Some([0, 1]), "one"),
        ("a", Some([3, 2]), ""),
        ("wide", Some([2, 2]), "b"),
        ("long", Some([50_000, 50_001]), "line 50000\nline 50001"),
    ] {
        let mut arguments = json!({ "file_path": path });
        if let Some(range) = range {
            arguments["view_range"] = json!(range);
        }
        assert_eq!(client.call("read", arguments).await.unwrap(), expected, "{path} {range:?}");
    }
    for (arguments, expected) in [
        (json!({ "file_path": "none" }), "read: none: no such file or directory"),
        (json!({ "file_path": "." }), "read: .: not a regular file"),
        (
            json!({ "file_path": "/etc/passwd" }),
            "read: path '/etc/passwd' is outside the session's working directory",
        ),
        (
            json!({ "file_path": "long", "view_range": [60_001, 60_001] }),
            "read: line 60001 of long alone exceeds",
        ),
        (
            json!({ "file_path": "long", "view_range": [1, -1] }),
            "read: view_range [1, -1] of long exceeds 262144-byte limit",
        ),
        (json!({ "file_path": "a", "view_range": [1] }), "/view_range"),
    ] {
        let error = client.call("read", arguments).await.unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let long = client.call("read", json!({ "file_path": "long" })).await.unwrap_err();
    assert!(long.contains("exceeds 262144-byte limit. Use the view_range parameter"), "{long}");
}

#[tokio::test]
async fn images_and_documents_are_blocks() {
    let directory = tempfile::tempdir().unwrap();
    let mut client = client(&directory).await;
    fs::write(directory.path().join("a.PNG"), b"\x89PNG").unwrap();
    fs::write(directory.path().join("a.pdf"), b"%PDF").unwrap();
    fs::write(directory.path().join("a.bin"), b"\0\0\0").unwrap();
    let mut call = async |arguments: Value| {
        client.request("tools/call", json!({ "name": "read", "arguments": arguments })).await["result"].take()
    };
    let image = call(json!({ "file_path": "a.PNG" })).await;
    assert_eq!(image["content"][0], json!({ "type": "image", "data": "iVBORw==", "mimeType": "image/png" }));
    let document = call(json!({ "file_path": "a.pdf" })).await;
    assert_eq!(document["content"][0]["resource"]["mimeType"], "application/pdf");
    let refused = call(json!({ "file_path": "a.png", "view_range": [1, 2] })).await;
    assert_eq!(refused["isError"], true);
    let binary = call(json!({ "file_path": "a.bin" })).await;
    assert!(binary["content"][0]["text"].as_str().unwrap().contains("not a text file"), "{binary}");
}

#[tokio::test]
async fn files_are_written_and_edited() {
    let directory = tempfile::tempdir().unwrap();
    let mut client = client(&directory).await;
    let path = directory.path().join("new/deep/a");
    let written =
        client.call("write", json!({ "file_path": "new/deep/a", "content": "a\r\n\tb\r\na\r\n" })).await;
    assert_eq!(written.unwrap(), "wrote 10 bytes to new/deep/a");
    let edit =
        |old: &str, new: &str| json!({ "file_path": "new/deep/a", "old_string": old, "new_string": new });
    assert_eq!(
        client.call("edit", edit("\tb\na", "\tc\na")).await.unwrap(),
        "edited new/deep/a (1 replacement(s))"
    );
    assert_eq!(fs::read(&path).unwrap(), b"a\r\n\tc\r\na\r\n", "line endings and tabs stay");
    let twice = client.call("edit", edit("a", "x")).await.unwrap_err();
    assert!(
        twice.starts_with("edit: old_string appears 2 times in new/deep/a (must be unique), in lines [1, 3]"),
        "{twice}"
    );
    let near = client.call("edit", edit("    c", "x")).await.unwrap_err();
    assert!(near.starts_with("edit: old_string not found in new/deep/a"), "{near}");
    let mut all = edit("a", "x");
    all["replace_all"] = true.into();
    assert_eq!(client.call("edit", all).await.unwrap(), "edited new/deep/a (2 replacement(s))");
    assert_eq!(fs::read(&path).unwrap(), b"x\r\n\tc\r\nx\r\n");
    let outside = client.call("write", json!({ "file_path": "../a", "content": "" })).await.unwrap_err();
    assert_eq!(outside, "write: path '../a' is outside the session's working directory");
    let protected =
        client.call("write", json!({ "file_path": ".git/hooks/x", "content": "" })).await.unwrap_err();
    assert!(protected.contains("protect = false"), "{protected}");
}

#[tokio::test]
async fn the_newest_matches_come_first_and_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let mut client = client(&directory).await;
    fs::create_dir(directory.path().join("src")).unwrap();
    let begun = SystemTime::now() - Duration::from_secs(10_000);
    for number in 0..250 {
        let file = fs::File::create(directory.path().join(format!("src/{number:03}.rs"))).unwrap();
        file.set_modified(begun + Duration::from_secs(number)).unwrap();
    }
    fs::write(directory.path().join("src/.env"), "SECRET=1").unwrap();
    let found = client.call("glob", json!({ "pattern": "**/*.rs" })).await.unwrap();
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines[0], directory.path().join("src/249.rs").to_str().unwrap());
    assert_eq!(lines[199], directory.path().join("src/050.rs").to_str().unwrap());
    assert_eq!(lines[200], "[the 200 newest of 250 matches; use a narrower pattern or path]");
    let narrow = client.call("glob", json!({ "pattern": "00?.{rs,md}", "path": "src" })).await.unwrap();
    assert_eq!(narrow.lines().count(), 10);
    for pattern in ["*.none", ".env"] {
        let found = client.call("glob", json!({ "pattern": pattern, "path": "src" })).await;
        assert_eq!(found.unwrap(), "no matches", "{pattern}");
    }
    for (pattern, expected) in
        [("/etc/*", "absolute pattern"), ("../*", "'..' is not permitted"), ("a[", "/pattern")]
    {
        let error = client.call("glob", json!({ "pattern": pattern })).await.unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    fs::write(directory.path().join("src/000.rs"), "fn main() {}\nfn other() {}\n").unwrap();
    let matches = client.call("grep", json!({ "pattern": r"fn \w+\(", "path": "src" })).await.unwrap();
    let file = directory.path().join("src/000.rs");
    assert_eq!(matches.trim_end(), format!("{0}:1:fn main() {{}}\n{0}:2:fn other() {{}}", file.display()));
    assert_eq!(client.call("grep", json!({ "pattern": "nowhere" })).await.unwrap(), "no matches");
}
