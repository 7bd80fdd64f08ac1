//! Each tool on real files.

use std::fs;

use serde_json::json;

use super::Project;

#[test]
fn text_is_found_where_ripgrep_would_find_it() {
    let project = Project::new();
    let mut client = project.connect();
    let places = |found: Vec<serde_json::Value>| -> Vec<String> {
        found
            .iter()
            .map(|hit| format!("{}:{}", hit["file_path"].as_str().unwrap(), hit["line_number"]))
            .collect()
    };
    assert_eq!(
        places(client.list("search_code", json!({ "query": "adds" }))),
        ["README.md:3", "src/main.rs:1", "src/main.rs:3"]
    );
    assert_eq!(
        places(client.list("search_code", json!({ "query": "adds", "case": "sensitive" }))),
        [] as [&str; 0]
    );
    assert_eq!(
        places(client.list("search_code", json!({ "query": r"fn \w+\(", "regex": true }))),
        ["src/main.rs:4", "src/main.rs:9"]
    );
    assert_eq!(
        places(client.list("search_code", json!({ "query": r"fn \w+\(" }))),
        [] as [&str; 0],
        "literal unless said"
    );
    assert_eq!(
        places(client.list("search_code", json!({ "query": "number", "word": true }))),
        [] as [&str; 0]
    );
    assert_eq!(
        places(client.list("search_code", json!({ "query": "number", "glob": "*.md" }))),
        ["README.md:1", "README.md:3"]
    );
    assert_eq!(
        places(client.list("search_code", json!({ "query": "round", "path": "src" }))),
        ["src/shapes.py:2"]
    );
    assert_eq!(
        places(client.list(
            "search_code",
            json!({ "query": "a", "max_results": 1, "offset": 1, "path": "src/main.rs" })
        )),
        ["src/main.rs:3"]
    );
    let around = client.list("search_code", json!({ "query": "function add", "context": 1 }));
    assert_eq!(
        (&around[0]["before"], &around[0]["after"]),
        (&json!(["pub fn add(a: i32, b: i32) -> i32 {"]), &json!(["}"]))
    );
    let wrong = client.failure("search_code", json!({ "query": "(", "regex": true }));
    assert!(wrong.contains("`search_code`") && wrong.contains("/query"), "{wrong}");
}

#[test]
fn recent_changes_are_found_and_deleted_text_is_not() {
    let project = Project::new();
    let mut client = project.connect();
    for round in 0..20 {
        let word = format!("word_number_{round}");
        project.write("src/new.rs", &format!("fn {word}() {{}}\n"));
        assert_eq!(client.list("search_code", json!({ "query": word })).len(), 1, "{word}");
        let before = format!("word_number_{}", round + 100);
        assert!(client.list("search_code", json!({ "query": before })).is_empty());
        let found = client.list("search_by_embedding", json!({ "query": word, "max_results": 1 }));
        assert!(found[0]["content"].as_str().unwrap().contains(&word), "{found:?}");
    }
    fs::remove_file(project.path("src/new.rs")).unwrap();
    assert!(client.list("search_code", json!({ "query": "word_number_19" })).is_empty());
}

#[test]
fn code_is_found_by_what_it_does() {
    let project = Project::new();
    let mut client = project.connect();
    let result = client.call("search_by_embedding", json!({ "query": "how many times do we retry" }));
    let found = super::list(&result);
    let best = &found[0];
    assert_eq!(best["file_path"], "src/main.rs", "{found:?}");
    assert!(best["content"].as_str().unwrap().contains("retry_limit"), "{found:?}");
    assert!(best["symbol"].as_str().unwrap().contains("retry_limit"), "{found:?}");
    assert_eq!(best["language"], "rust");
    assert!(best["score"].is_number() && best["start_line"].as_u64() <= best["end_line"].as_u64());
    assert_eq!(result["structuredContent"]["results"], json!(found));
    assert_eq!(result["structuredContent"]["index"]["complete"], true);
    let python = client.list("search_by_embedding", json!({ "query": "retry", "language": "python" }));
    assert!(python.iter().all(|hit| hit["language"] == "python"), "{python:?}");
    let inside = client.list("search_by_embedding", json!({ "query": "numbers", "path": "README.md" }));
    assert!(!inside.is_empty() && inside.iter().all(|hit| hit["file_path"] == "README.md"), "{inside:?}");
    let fitting = client.list("search_by_embedding", json!({ "query": "numbers", "glob": ["*.py"] }));
    assert!(fitting.iter().all(|hit| hit["file_path"] == "src/shapes.py"), "{fitting:?}");
    let wrong = client.failure("search_by_embedding", json!({ "query": "x", "language": "klingon" }));
    assert!(wrong.contains("/language"), "{wrong}");
}

#[test]
fn lines_that_are_given_can_be_read() {
    let project = Project::new();
    let mut client = project.connect();
    let found =
        client.list("search_by_embedding", json!({ "query": "surface of a round shape", "max_results": 1 }));
    let hit = &found[0];
    let read = client.call(
        "read_file",
        json!({ "file_path": hit["file_path"], "start_line": hit["start_line"], "end_line": hit["end_line"] }),
    );
    let (read, hit) = (read["content"][0]["text"].as_str().unwrap(), hit["content"].as_str().unwrap());
    assert_eq!(read.trim_end(), hit.trim_end());
}

#[test]
fn folders_and_chunks() {
    let project = Project::new();
    let mut client = project.connect();
    let names = |found: Vec<serde_json::Value>| -> Vec<String> {
        found
            .iter()
            .map(|entry| format!("{} {}", entry["type"].as_str().unwrap(), entry["path"].as_str().unwrap()))
            .collect()
    };
    for root in [".", "", "./", project.path("").to_str().unwrap()] {
        let shown = names(client.list("list_directory", json!({ "path": root })));
        assert_eq!(shown, ["directory src", "file README.md"], "{root}");
    }
    let all = names(client.list("list_directory", json!({ "path": ".", "hidden": true })));
    assert_eq!(
        all,
        ["directory .git", "directory src", "directory target", "file .gitignore", "file README.md"]
    );
    let chunks = client.list("chunk_file", json!({ "file_path": "src/main.rs" }));
    assert!(
        chunks.iter().any(|chunk| chunk["symbol"].as_str().is_some_and(|it| it.starts_with("fn "))),
        "{chunks:?}"
    );
    for chunk in &chunks {
        for key in ["file_path", "start_line", "end_line", "content", "language", "kind"] {
            assert!(!chunk[key].is_null(), "{key}: {chunk}");
        }
    }
    let both = client.list("chunk_files", json!({ "file_paths": ["src/shapes.py", "README.md"] }));
    assert!(
        both.iter().any(|chunk| chunk["language"] == "python")
            && both.iter().any(|chunk| chunk["language"] == "markdown"),
        "{both:?}"
    );
}

#[test]
fn all_files_are_listed() {
    let project = Project::new();
    let mut client = project.connect();
    let answer = client.ask("resources/read", json!({ "uri": "codebase://files" }));
    let text = answer["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    let listed: serde_json::Value = serde_json::from_str(text).unwrap();
    let paths: Vec<&str> =
        listed["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!((paths, &listed["total"]), (vec!["README.md", "src/main.rs", "src/shapes.py"], &json!(3)));
}

#[test]
fn unusual_files_are_read_or_refused_with_a_reason() {
    let project = Project::new();
    let text = "héllo\nwörld\n";
    fs::write(
        project.path("utf16.txt"),
        "\u{feff}héllo\nwörld\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>(),
    )
    .unwrap();
    fs::write(project.path("bom.txt"), format!("\u{feff}{text}")).unwrap();
    fs::write(project.path("latin1.txt"), b"caf\xe9\n").unwrap();
    fs::write(project.path("crlf.txt"), "one\r\ntwo\r\n").unwrap();
    fs::write(project.path("binary.bin"), b"\x7fELF\0\0\0").unwrap();
    fs::write(project.path("empty.txt"), "").unwrap();
    fs::write(project.path("minified.js"), format!("var a=1;{}", "x();".repeat(100_000))).unwrap();
    let huge = fs::File::create(project.path("huge.log")).unwrap();
    huge.set_len(200 << 20).unwrap();
    let mut client = project.connect();
    for (file, expected) in [
        ("utf16.txt", text),
        ("bom.txt", text),
        ("latin1.txt", "caf\u{fffd}\n"),
        ("crlf.txt", "one\r\ntwo\r\n"),
        ("empty.txt", ""),
    ] {
        let read = client.call("read_file", json!({ "file_path": file }));
        assert_eq!(read["content"][0]["text"], expected, "{file}");
    }
    for (file, expected) in [
        ("binary.bin", "binary"),
        ("huge.log", "209715200 bytes"),
        ("src", "not a regular file"),
        ("no.txt", "no.txt"),
    ] {
        let why = client.failure("read_file", json!({ "file_path": file }));
        assert!(why.starts_with("Reading failed: ") && why.contains(expected), "{file}: {why}");
    }
    let found = client.list("search_code", json!({ "query": "wörld" }));
    assert_eq!(found.len(), 2, "{found:?}");
    let long = client.list("search_code", json!({ "query": "var a=1" }));
    assert!(long[0]["line_content"].as_str().unwrap().len() < 1100);
    let minified = client.call("read_file", json!({ "file_path": "minified.js" }));
    assert!(minified["content"][1]["text"].as_str().unwrap().contains("line 1 is too long"));
}
