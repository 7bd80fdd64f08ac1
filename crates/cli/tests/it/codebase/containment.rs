//! Nothing outside of the folder is ever shown.

use std::{fs, os::unix::fs::symlink};

use serde_json::json;

use super::Project;

#[test]
fn no_path_leads_out() {
    let project = Project::new();
    project.home.write("secret.txt", "the secret\n");
    symlink("../secret.txt", project.path("link.txt")).unwrap();
    symlink("..", project.path("up")).unwrap();
    symlink("/etc", project.path("etc")).unwrap();
    symlink("src/main.rs", project.path("inside.rs")).unwrap();
    let outside = project.home.path("secret.txt");
    let mut client = project.connect();
    for path in [
        "../secret.txt",
        "src/../../secret.txt",
        "./../secret.txt",
        "link.txt",
        "up/secret.txt",
        "etc/passwd",
        "/etc/passwd",
        outside.to_str().unwrap(),
        "\0",
        "/proc/self/environ",
        "file:///etc/passwd",
        "~/.ssh/id_rsa",
    ] {
        for (tool, key) in
            [("read_file", "file_path"), ("chunk_file", "file_path"), ("list_directory", "path")]
        {
            let why = client.failure(tool, json!({ key: path }));
            assert!(!why.contains("the secret") && !why.contains("root:"), "{tool} {path}: {why}");
        }
        let many = client.call("chunk_files", json!({ "file_paths": [path] }));
        assert_eq!(many["isError"], true, "{path}: {many}");
        for tool in ["search_code", "search_by_embedding"] {
            let found = client.call(tool, json!({ "query": "secret", "path": path }));
            let hits = &found["structuredContent"]["results"];
            assert!(found["isError"] == true || *hits == json!([]), "{tool} {path}: {found}");
        }
    }
    assert_eq!(client.list("search_code", json!({ "query": "the secret" })), [] as [serde_json::Value; 0]);
    let inside = client.call("read_file", json!({ "file_path": "inside.rs" }));
    assert!(inside["content"][0]["text"].as_str().unwrap().contains("function add"), "links within are fine");
    let absolute = project.path("src/main.rs");
    let absolute = client.call("read_file", json!({ "file_path": absolute }));
    assert!(
        absolute["content"][0]["text"].as_str().unwrap().contains("function add"),
        "as are absolute paths to within"
    );
}

#[test]
fn only_regular_files_are_opened() {
    let project = Project::new();
    let fifo = project.path("pipe");
    #[expect(clippy::disallowed_methods, reason = "std makes no pipes with names")]
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    symlink("/dev/zero", project.path("zero")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(project.path("socket")).unwrap();
    let mut client = project.connect();
    for path in ["pipe", "zero", "socket"] {
        let why = client.failure("read_file", json!({ "file_path": path }));
        assert!(why.starts_with("Reading failed: "), "{path}: {why}");
    }
    // Nobody waits for someone to write into the pipe.
    assert!(client.list("search_code", json!({ "query": "no such thing" })).is_empty());
    let kinds: Vec<String> = client
        .list("list_directory", json!({ "path": "." }))
        .iter()
        .filter(|entry| entry["type"] == "other" || entry["type"] == "symlink")
        .map(|entry| entry["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(kinds.contains(&"pipe".to_owned()) && kinds.contains(&"zero".to_owned()), "{kinds:?}");
}

#[test]
fn a_removed_directory_is_reported() {
    let project = Project::new();
    let mut client = project.connect();
    assert_eq!(client.list("search_code", json!({ "query": "function add" })).len(), 1);
    fs::remove_dir_all(project.path("")).unwrap();
    let gone = client.call("read_file", json!({ "file_path": "src/main.rs" }));
    assert_eq!(gone["isError"], true, "{gone}");
    let found = client.call("search_code", json!({ "query": "function add" }));
    assert!(found["isError"] == true || found["structuredContent"]["results"] == json!([]), "{found}");
}
