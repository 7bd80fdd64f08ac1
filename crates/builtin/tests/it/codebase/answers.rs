//! What tools and resources say, and how much of it.

use serde_json::{Value, json};
use toolbay_builtin::codebase::CodebaseIdentity;

use super::made::{Client, Made, list};

#[tokio::test]
async fn answers_say_how_many_there_are_and_how_to_get_more() {
    let mut client = Client::with_hits(120).await;
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
    let ten = client.call("search_by_embedding", json!({ "query": "x" })).await;
    assert_eq!((list(&ten).len(), &ten["structuredContent"]["next_offset"]), (10, &json!(10)));
    assert_eq!(ten["structuredContent"]["index"]["complete"], true);
}

#[tokio::test]
async fn arguments_reach_the_search() {
    let mut client = Client::with_hits(1).await;
    let arguments = json!({
        "query": "a.b", "regex": true, "case": "sensitive", "word": true, "glob": ["*.rs", "!x"], "path": "src",
        "context": 2, "max_results": 7,
    });
    let found = list(&client.call("search_code", arguments).await);
    let said = found[0]["line_content"].as_str().unwrap();
    for part in [
        "regex: true",
        "Sensitive",
        "word: true",
        r#"["*.rs", "!x"]"#,
        r#"Some("src")"#,
        "context: 2",
        "limit: 7",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(found[0]["before"], json!(["before", "before"]));
    let usual = list(&client.call("search_code", json!({ "query": "a" })).await);
    let usual = usual[0]["line_content"].as_str().unwrap();
    assert!(
        usual.contains("regex: false") && usual.contains("Smart") && usual.contains("limit: 50"),
        "{usual}"
    );
    let python = client.call("search_by_embedding", json!({ "query": "a", "language": "python" })).await;
    assert_eq!(list(&python)[0]["language"], "python");
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_named() {
    let mut client = Client::with_hits(1).await;
    for (tool, arguments, expected) in [
        ("search_code", json!({}), "/query is missing"),
        ("search_code", json!({ "query": "" }), "/query is empty"),
        ("search_code", json!({ "query": 1 }), "/query must be a string"),
        ("search_code", json!({ "query": "(" }), "/query is no regular expression"),
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
        ("search_code", json!({ "query": "x", "glob": [1] }), "/glob must be a string or a list of strings"),
        (
            "search_code",
            json!({ "query": "x", "limit": 3 }),
            "/limit is unknown; expected one of: query, max_results",
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
        ("chunk_files", json!({ "file_paths": [] }), "/file_paths must name 1 to 1000 files"),
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
async fn files_are_read_by_lines_and_never_flood() {
    let mut client = Client::with_hits(1).await;
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
    assert!(
        long["content"][1]["text"].as_str().unwrap().contains("`start_line` 16385"),
        "{}",
        long["content"][1]
    );
    let one = client.call("read_file", json!({ "file_path": "one-line" })).await;
    assert!(one["content"][0]["text"].as_str().unwrap().len() <= 256 * 1024);
    assert!(
        one["content"][1]["text"].as_str().unwrap().contains("line 1 is too long"),
        "{}",
        one["content"][1]
    );
}

#[tokio::test]
async fn an_answer_never_floods() {
    let made = Made { hits: 1000, line: "z".repeat(5000), ..Made::default() };
    let mut client = Client::new(made, CodebaseIdentity::IN_HUB).await;
    let result = client.call("search_code", json!({ "query": "z", "max_results": 1000 })).await;
    let found = list(&result);
    assert_eq!(found[0]["line_truncated"], true);
    assert!((40..60).contains(&found.len()), "{}", found.len());
    assert_eq!(result["structuredContent"]["next_offset"], found.len());
}

#[tokio::test]
async fn a_budget_of_tokens_is_kept() {
    let mut client = Client::with_hits(10).await;
    let result = client.call("search_by_embedding", json!({ "query": "x", "max_tokens": 500 })).await;
    assert_eq!(list(&result).len(), 3);
    assert!(result["content"][1]["text"].as_str().unwrap().contains("`offset` 3"), "{result}");
    let least = client.call("search_by_embedding", json!({ "query": "x", "max_tokens": 100 })).await;
    assert_eq!(list(&least).len(), 1, "the best one always fits");
}

#[tokio::test]
async fn an_unfinished_index_is_said() {
    let mut client = Client::new(Made { hits: 1, ..Made::default() }, CodebaseIdentity::IN_HUB).await;
    let result = client.call("search_by_embedding", json!({ "query": "x" })).await;
    assert!(
        result["content"][1]["text"].as_str().unwrap().starts_with("3 of 5 files are indexed"),
        "{result}"
    );
}

#[tokio::test]
async fn chunks_of_several_files_come_together() {
    let mut client = Client::with_hits(1).await;
    let some = client.call("chunk_files", json!({ "file_paths": ["a", "gone", "b", "c", "d"] })).await;
    let files: Vec<&str> = list(&some)
        .iter()
        .map(|chunk| match chunk["file_path"].as_str() {
            Some("a") => "a",
            Some("b") => "b",
            _ => "?",
        })
        .collect();
    assert_eq!(files, ["a", "b"], "200 KB each, and 512 KB are enough");
    let structured = &some["structuredContent"];
    assert_eq!(
        (&structured["remaining"], &structured["errors"][0]["file_path"]),
        (&json!(["c", "d"]), &json!("gone"))
    );
    let alone = client.call("chunk_files", json!({ "file_paths": ["long", "a"] })).await;
    assert_eq!((list(&alone).len(), &alone["structuredContent"]["remaining"]), (2, &json!(["a"])));
    assert!(alone["content"][1]["text"].as_str().unwrap().starts_with("long has more chunks"), "{alone}");
    let none = client.call("chunk_files", json!({ "file_paths": ["gone"] })).await;
    assert_eq!(none["isError"], true, "{none}");
    let long = client.call("chunk_file", json!({ "file_path": "long" })).await;
    assert_eq!((list(&long).len(), &long["structuredContent"]["next_start_line"]), (2, &json!(21)));
    let rest = client.call("chunk_file", json!({ "file_path": "long", "start_line": 21 })).await;
    assert_eq!((list(&rest).len(), &rest["structuredContent"]["truncated"]), (2, &json!(false)));
}

#[tokio::test]
async fn folders_are_listed() {
    let mut client = Client::with_hits(1).await;
    let result = client.call("list_directory", json!({ "path": "src" })).await;
    assert_eq!(list(&result), [json!({ "name": "a", "path": "src/a", "type": "file", "size": 1 })]);
    let hidden = client.call("list_directory", json!({ "path": "src", "hidden": true })).await;
    assert_eq!(list(&hidden).len(), 2);
}

#[tokio::test]
async fn files_come_in_pages() {
    let mut client = Client::with_hits(1).await;
    let (mut uri, mut seen) = ("codebase://files?limit=2".to_owned(), Vec::new());
    loop {
        let answer = client.ask("resources/read", json!({ "uri": uri })).await;
        let contents = &answer["result"]["contents"][0];
        assert_eq!(
            (&contents["uri"], &contents["mimeType"]),
            (&json!(uri), &json!("application/json")),
            "{answer}"
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
        let answer = client.ask("resources/read", json!({ "uri": uri })).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    let templates = client.ask("resources/templates/list", json!({})).await;
    assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "codebase://files{?after,limit}");
}
