//! Results of tools and resources: paging, limits and errors.

use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};
use toolbay_builtin::codebase::{CodeError, SearchByEmbedding, SearchCode};

use super::client::{client_of, directory, lazy, list};

fn numbered(lines: usize) -> String {
    (1..=lines).map(|line| format!("line {line} x\n")).collect()
}

#[tokio::test]
async fn results_tell_the_total_and_the_next_page() {
    let (mut client, _directory) = client_of(&[("many.txt", numbered(120))]).await;
    let first = client.call("search_code", json!({ "query": "x" })).await;
    assert_eq!((list(&first).len(), first["content"].as_array().unwrap().len()), (50, 2));
    let structured = &first["structuredContent"];
    assert_eq!(structured["results"], json!(list(&first)));
    assert_eq!(
        (&structured["total"], &structured["truncated"], &structured["next_offset"]),
        (&json!(120), &json!(true), &json!(50))
    );
    assert!(first["content"][1]["text"].as_str().unwrap().contains("`offset` 50"), "{first}");
    let last = client.call("search_code", json!({ "query": "x", "offset": 100.0, "max_results": 30 })).await;
    assert_eq!((list(&last).len(), last["content"].as_array().unwrap().len()), (20, 1));
    assert_eq!(
        (&list(&last)[0]["line_number"], &last["structuredContent"]["truncated"]),
        (&json!(101), &json!(false))
    );
}

#[tokio::test]
async fn every_argument_reaches_the_search() {
    let files = [
        ("src/a.rs", "one\ntwo\nlet a.b = Word;\nfour\nfive\nlet acb = wordy;\n".to_owned()),
        ("src/b.py", "a.b Word\n".to_owned()),
        ("top.rs", "a.b word\n".to_owned()),
    ];
    let (mut client, _directory) = client_of(&files).await;
    for (arguments, expected) in [
        (json!({ "query": "a.b" }), vec!["src/a.rs:3", "src/b.py:1", "top.rs:1"]),
        (
            json!({ "query": "a.b", "regex": true }),
            vec!["src/a.rs:3", "src/a.rs:6", "src/b.py:1", "top.rs:1"],
        ),
        (json!({ "query": "word" }), vec!["src/a.rs:3", "src/a.rs:6", "src/b.py:1", "top.rs:1"]),
        (json!({ "query": "word", "case": "sensitive" }), vec!["src/a.rs:6", "top.rs:1"]),
        (
            json!({ "query": "WORD", "case": "insensitive", "word": true }),
            vec!["src/a.rs:3", "src/b.py:1", "top.rs:1"],
        ),
        (json!({ "query": "Word", "case": null }), vec!["src/a.rs:3", "src/b.py:1"]),
        (json!({ "query": "a.b", "glob": ["*.rs", "!top*"] }), vec!["src/a.rs:3"]),
        (json!({ "query": "a.b", "glob": "*.py" }), vec!["src/b.py:1"]),
        (json!({ "query": "a.b", "path": "src" }), vec!["src/a.rs:3", "src/b.py:1"]),
        (json!({ "query": "a.b", "max_results": 2 }), vec!["src/a.rs:3", "src/b.py:1"]),
        (json!({ "query": "a.b", "offset": 2 }), vec!["top.rs:1"]),
    ] {
        let found = list(&client.call("search_code", arguments.clone()).await);
        let places: Vec<String> = found
            .iter()
            .map(|hit| format!("{}:{}", hit["file_path"].as_str().unwrap(), hit["line_number"]))
            .collect();
        assert_eq!(places, expected, "{arguments}");
    }
    let found = list(&client.call("search_code", json!({ "query": "let a.b", "context": 2 })).await);
    assert_eq!((&found[0]["before"], &found[0]["after"]), (&json!(["one", "two"]), &json!(["four", "five"])));
    let python = client.call("search_by_embedding", json!({ "query": "word", "language": "python" })).await;
    let languages: Vec<Value> = list(&python).iter().map(|hit| hit["language"].clone()).collect();
    assert_eq!(languages, ["python"]);
    assert_eq!(
        python["structuredContent"]["index"],
        json!({ "complete": true, "indexed_files": 0, "files": 3 })
    );
}

#[tokio::test]
async fn invalid_arguments_are_named() {
    let (mut client, _directory) = client_of(&[("a", numbered(3))]).await;
    for (tool, arguments, expected) in [
        ("search_code", json!({}), "/query is missing"),
        ("search_code", json!({ "query": "" }), "/query is empty"),
        ("search_code", json!({ "query": 1 }), "/query must be a string"),
        ("search_code", json!({ "query": "(", "regex": true }), "/query cannot be used: "),
        (
            "search_code",
            json!({ "query": "x", "max_results": 0 }),
            "/max_results must be an integer from 1 to 1000",
        ),
        ("search_code", json!({ "query": "x", "max_results": 1.5 }), "/max_results must be an integer"),
        (
            "search_code",
            json!({ "query": "x", "case": "upper" }),
            "/case must be one of smart, sensitive, insensitive",
        ),
        ("search_code", json!({ "query": "x", "glob": 1 }), "/glob must be a string or a list of strings"),
        ("search_code", json!({ "query": "x", "glob": [1] }), "/glob/0 must be a string"),
        (
            "search_code",
            json!({ "query": "x", "limit": 3 }),
            "/limit is unknown; expected one of: query, max_results",
        ),
        (
            "search_by_embedding",
            json!({ "query": "x", "max_tokens": 3 }),
            "/max_tokens must be an integer of at least 100",
        ),
        (
            "read_file",
            json!({ "file_path": "a", "start_line": 9 }),
            "/start_line is past the end: the file has 3 lines",
        ),
        (
            "read_file",
            json!({ "file_path": "a", "start_line": 3, "end_line": 2 }),
            "/end_line is before `start_line`",
        ),
        (
            "chunk_files",
            json!({ "file_paths": [] }),
            "/file_paths must be a string or a list of 1 to 1000 strings",
        ),
    ] {
        let result = client.call(tool, arguments.clone()).await;
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(
            result["isError"] == true && text.contains(expected) && text.contains(tool),
            "{arguments}: {result}"
        );
    }
}

#[tokio::test]
async fn files_are_read_by_lines_up_to_a_limit() {
    let (mut client, _directory) = client_of(&[
        ("a", "one\ntwo\nthree\n".to_owned()),
        ("empty", String::new()),
        ("long", "0123456789abcde\n".repeat(40_000)),
        ("one-line", "ä".repeat(400_000)),
    ])
    .await;
    let whole = client.call("read_file", json!({ "file_path": "a" })).await;
    assert_eq!(whole["content"], json!([{ "type": "text", "text": "one\ntwo\nthree\n" }]));
    let some = client.call("read_file", json!({ "file_path": "a", "start_line": 2, "end_line": 2 })).await;
    assert_eq!(some["content"][0]["text"], "two\n");
    let structured = &some["structuredContent"];
    assert_eq!(
        (&structured["start_line"], &structured["end_line"], &structured["total_lines"]),
        (&json!(2), &json!(2), &json!(3))
    );
    assert_eq!(client.call("read_file", json!({ "file_path": "empty" })).await["content"][0]["text"], "");
    let long = client.call("read_file", json!({ "file_path": "long" })).await;
    let text = long["content"][0]["text"].as_str().unwrap();
    assert_eq!((text.len(), &long["structuredContent"]["end_line"]), (256 * 1024, &json!(16384)));
    let more = long["content"][1]["text"].as_str().unwrap();
    assert!(more.contains("`start_line` 16385"), "{more}");
    assert_eq!(long["structuredContent"]["more"], more);
    let one = client.call("read_file", json!({ "file_path": "one-line" })).await;
    assert!(one["content"][0]["text"].as_str().unwrap().len() <= 256 * 1024);
    assert!(
        one["content"][1]["text"].as_str().unwrap().contains("line 1 is too long"),
        "{}",
        one["content"][1]
    );
}

#[tokio::test]
async fn long_lines_and_long_results_are_cut() {
    let text = format!("{}\n", "z".repeat(5000)).repeat(1000);
    let (mut client, _directory) = client_of(&[("long", text)]).await;
    let result = client.call("search_code", json!({ "query": "z", "max_results": 1000 })).await;
    let found = list(&result);
    assert_eq!(found[0]["line_truncated"], true);
    assert_eq!(found[0]["line_content"].as_str().unwrap().len(), 1000);
    assert_eq!(found.len(), 256 * 1024 / (1000 + "long".len() + 64));
    assert_eq!(result["structuredContent"]["next_offset"], found.len());
}

#[tokio::test]
async fn chunks_of_several_files_come_together() {
    let file = || format!("{}\n", "y".repeat(99)).repeat(2000);
    let mut files: Vec<(&str, String)> = ["a", "b", "c", "d"].map(|name| (name, file())).into();
    files.push(("long", file().repeat(4)));
    let (mut client, _directory) = client_of(&files).await;
    let some = client.call("chunk_files", json!({ "file_paths": ["a", "gone", "b", "c", "d"] })).await;
    let mut paths: Vec<Value> = list(&some).iter().map(|chunk| chunk["file_path"].clone()).collect();
    paths.dedup();
    assert_eq!(paths, ["a", "b"], "200 KB each, and 512 KB are the limit");
    let structured = &some["structuredContent"];
    assert_eq!(
        (&structured["remaining"], &structured["errors"][0]["file_path"]),
        (&json!(["c", "d"]), &json!("gone"))
    );
    let alone = client.call("chunk_files", json!({ "file_paths": ["long", "a"] })).await;
    assert_eq!(alone["structuredContent"]["remaining"], json!(["a"]));
    assert!(alone["content"][1]["text"].as_str().unwrap().starts_with("long has more chunks"), "{alone}");
    let none = client.call("chunk_files", json!({ "file_paths": ["gone"] })).await;
    assert_eq!(none["isError"], true, "{none}");
    let long = client.call("chunk_file", json!({ "file_path": "long" })).await;
    let next = &long["structuredContent"]["next_start_line"];
    assert_eq!(list(&long).last().unwrap()["end_line"].as_u64().unwrap() + 1, next.as_u64().unwrap());
    let rest = client.call("chunk_file", json!({ "file_path": "long", "start_line": next })).await;
    assert_eq!(
        (&list(&rest)[0]["start_line"], &rest["structuredContent"]["truncated"]),
        (next, &json!(false))
    );
}

#[tokio::test]
async fn directories_are_listed() {
    let (mut client, _directory) =
        client_of(&[("src/a", "1".to_owned()), ("src/.hidden", String::new())]).await;
    let result = client.call("list_directory", json!({ "path": "src" })).await;
    assert_eq!(list(&result), [json!({ "name": "a", "path": "src/a", "type": "file", "size": 1 })]);
    let hidden = client.call("list_directory", json!({ "path": "src", "hidden": true })).await;
    assert_eq!(list(&hidden).len(), 2);
    let root = client.call("list_directory", json!({ "path": "." })).await;
    assert_eq!(list(&root), [json!({ "name": "src", "path": "src", "type": "directory" })]);
}

#[tokio::test]
async fn files_come_in_pages() {
    let (mut client, _directory) = client_of(&["a b", "c&d", "e"].map(|name| (name, "1".to_owned()))).await;
    let (mut uri, mut seen) = ("codebase://files?limit=2".to_owned(), Vec::new());
    loop {
        let response = client.request("resources/read", json!({ "uri": uri })).await;
        let contents = &response["result"]["contents"][0];
        assert_eq!(
            (&contents["uri"], &contents["mimeType"]),
            (&json!(uri), &json!("application/json")),
            "{response}"
        );
        let page: Value = serde_json::from_str(contents["text"].as_str().unwrap()).unwrap();
        assert_eq!(page["total"], 3);
        seen.extend(
            page["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap().to_owned()),
        );
        match page["next"].as_str() {
            Some(next) => uri = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(seen, ["a b", "c&d", "e"]);
    for (uri, code) in
        [("codebase://files?limit=0", -32602), ("codebase://files?x=1", -32602), ("codebase://no", -32002)]
    {
        let response = client.request("resources/read", json!({ "uri": uri })).await;
        assert_eq!(response["error"]["code"], code, "{response}");
    }
    let templates = client.request("resources/templates/list", json!({})).await;
    assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "codebase://files{?after,limit}");
}

/// What a cancelled call sets while its search runs.
#[test]
fn cancelled_searches_stop() {
    let directory = directory(&[("a.rs", numbered(10))]);
    let codebase = lazy(directory.path()).get().unwrap();
    for cancelled in [false, true].map(AtomicBool::new) {
        let lines = SearchCode { query: "x".to_owned(), ..SearchCode::default() };
        let chunks = SearchByEmbedding { query: "line".to_owned(), ..SearchByEmbedding::default() };
        let lines = lines.search(&codebase, &cancelled).map(|answer| answer.hits.len());
        let chunks = chunks.search(&codebase, &cancelled).map(|answer| answer.hits.len());
        if cancelled.into_inner() {
            assert!(matches!((lines, chunks), (Err(CodeError::Cancelled), Err(CodeError::Cancelled))));
        } else {
            assert!(matches!((&lines, &chunks), (Ok(10), Ok(1))), "{lines:?} {chunks:?}");
        }
    }
}
