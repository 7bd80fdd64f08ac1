//! The codebase server over a tree that is made up: its words, limits and manners.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_builtin::{
    codebase::{
        Code, CodeChunk, CodeError, DirEntry, EntryKind, Face, FileText, FilesPage, IndexState, ListedFile,
        MeaningAnswer, MeaningHit, MeaningQuery, Opener, TextAnswer, TextHit, TextQuery, Work, codebase,
    },
    in_process,
};
use toolbay_protocol::Rope;
use toolbay_transport::{Incoming, Wire};

/// A tree with `hits` lines and chunks that fit everything.
#[derive(Debug, Default)]
struct Made {
    hits: usize,
    line: String,
    complete: bool,
    /// Told when a search has started and when it was stopped.
    news: Option<mpsc::Sender<&'static str>>,
}

impl Code for Made {
    fn search_text(&self, query: &TextQuery, work: &Work) -> Result<TextAnswer, CodeError> {
        if query.pattern == "(" {
            return Err(CodeError::Misfit("/query is no regular expression".to_owned()));
        }
        if query.pattern == "broken" {
            return Err(CodeError::Failed("the disk is gone".to_owned()));
        }
        if let Some(news) = &self.news {
            news.send("started").unwrap();
            while !work.is_stopped() {
                std::thread::sleep(Duration::from_millis(1));
            }
            news.send("stopped").unwrap();
            return Err(CodeError::Stopped);
        }
        let hit = |number: usize| TextHit {
            file_path: "src/main.rs".to_owned(),
            line_number: number as u64,
            line_content: if self.line.is_empty() {
                format!("line {number} {query:?}")
            } else {
                self.line.clone()
            },
            is_part: self.line.len() > 1000,
            before: vec!["before".to_owned(); query.context],
            after: Vec::new(),
        };
        let hits = (query.offset..self.hits).take(query.limit).map(|index| hit(index + 1)).collect();
        Ok(TextAnswer { hits, total: self.hits, is_total_exact: true })
    }

    fn search_meaning(&self, query: &MeaningQuery, work: &Work) -> Result<MeaningAnswer, CodeError> {
        work.tell(1, Some(2), "indexing");
        work.tell(2, Some(2), "indexing");
        let hit = |index: usize| MeaningHit {
            file_path: "src/lib.rs".to_owned(),
            start_line: index as u64 + 1,
            end_line: index as u64 + 9,
            content: "x".repeat(400),
            score: 1.0 / (index + 1) as f64,
            symbol: Some("impl A › fn b".to_owned()),
            language: query.language.clone().unwrap_or("rust".to_owned()),
        };
        let hits = (query.offset..self.hits).take(query.limit).map(hit).collect();
        let index = IndexState { complete: self.complete, indexed_files: 3, files: 5 };
        Ok(MeaningAnswer { hits, total: self.hits, index, notices: Vec::new() })
    }

    fn list(&self, path: &str, hidden: bool) -> Result<Vec<DirEntry>, CodeError> {
        let entry = |name: &str| DirEntry {
            name: name.to_owned(),
            path: format!("{path}/{name}"),
            kind: EntryKind::File,
            size: Some(1),
        };
        Ok(if hidden { vec![entry(".git"), entry("a")] } else { vec![entry("a")] })
    }

    fn read(&self, path: &str) -> Result<FileText, CodeError> {
        match path {
            "a" => Ok(FileText { file_path: "a".to_owned(), text: "one\ntwo\nthree\n".to_owned() }),
            "empty" => Ok(FileText { file_path: "empty".to_owned(), text: String::new() }),
            "long" => Ok(FileText { file_path: "long".to_owned(), text: "0123456789abcde\n".repeat(40_000) }),
            "one-line" => Ok(FileText { file_path: "one-line".to_owned(), text: "ä".repeat(400_000) }),
            _ => Err(CodeError::Failed(format!("there is no file {path}"))),
        }
    }

    fn chunks(&self, path: &str) -> Result<Vec<CodeChunk>, CodeError> {
        if path == "gone" {
            return Err(CodeError::Failed("there is no such file".to_owned()));
        }
        let chunk = |index: u64| CodeChunk {
            file_path: path.to_owned(),
            start_line: index * 10 + 1,
            end_line: index * 10 + 10,
            content: "y".repeat(200_000),
            symbol: None,
            language: "text".to_owned(),
            kind: "lines".to_owned(),
        };
        Ok((0..if path == "long" { 4 } else { 1 }).map(chunk).collect())
    }

    fn files(&self, after: Option<&str>, limit: usize) -> Result<FilesPage, CodeError> {
        let all = ["a b", "c&d", "e"];
        let rest: Vec<&str> =
            all.into_iter().filter(|path| after.is_none_or(|after| *path > after)).collect();
        let files =
            rest.iter().take(limit).map(|path| ListedFile { path: (*path).to_owned(), size: 1 }).collect();
        Ok(FilesPage { files, total: all.len(), has_more: rest.len() > limit })
    }
}

/// A client of a server over a made-up tree.
struct Client {
    wire: Wire,
    tasks: TaskTracker,
    id: u64,
}

impl Client {
    async fn new(made: Made, face: Face) -> Self {
        let tasks = TaskTracker::new();
        let tree: Arc<dyn Code> = Arc::new(made);
        let opener = Arc::new(Opener::new(move || Ok(tree.clone())));
        let wire = in_process(codebase(opener, face))(&tasks);
        let mut client = Self { wire, tasks, id: 0 };
        client.ask("initialize", json!({ "protocolVersion": "2025-06-18" })).await;
        client
    }

    async fn with_hits(hits: usize) -> Self {
        Self::new(Made { hits, complete: true, ..Made::default() }, Face::IN_HUB).await
    }

    async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        self.wire.outgoing.send(Rope::from(request.to_string())).await.unwrap();
        self.id
    }

    async fn next(&mut self) -> Value {
        match self.wire.incoming.recv().await.unwrap() {
            Incoming::Message(message) => serde_json::from_slice(message.text()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        loop {
            let answer = self.next().await;
            if answer["id"] == id {
                return answer;
            }
        }
    }

    /// The result of a call.
    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let mut answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        answer["result"].take()
    }
}

/// The list in the first block of a result.
fn list(result: &Value) -> Vec<Value> {
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"));
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

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
            "/max_results must be a whole number from 1 to 1000",
        ),
        ("search_code", json!({ "query": "x", "max_results": 1.5 }), "/max_results must be a whole number"),
        (
            "search_code",
            json!({ "query": "x", "case": "upper" }),
            "/case must be one of smart, sensitive, insensitive",
        ),
        ("search_code", json!({ "query": "x", "glob": [1] }), "/glob must be a string or a list of strings"),
        (
            "search_code",
            json!({ "query": "x", "limit": 3 }),
            "/limit is unknown; there are: query, max_results",
        ),
        (
            "read_file",
            json!({ "file_path": "a", "start_line": 9 }),
            "/start_line is behind the end: the file has 3 lines",
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
async fn failures_are_results_unless_the_document_is_wanted_to_the_letter() {
    let broken = json!({ "name": "search_code", "arguments": { "query": "broken" } });
    let mut client = Client::with_hits(1).await;
    let answer = client.ask("tools/call", broken.clone()).await;
    assert_eq!(answer["result"]["content"][0]["text"], "Search failed: the disk is gone");
    assert_eq!(answer["result"]["isError"], true);
    let mut literal = Client::new(Made::default(), Face { s3_errors: true, ..Face::ALONE }).await;
    let answer = literal.ask("tools/call", broken).await;
    assert_eq!(answer["error"], json!({ "code": -32603, "message": "Search failed: the disk is gone" }));
    for (params, message) in [
        (json!({ "name": "rm" }), "Unknown tool: rm"),
        (json!({}), "Missing tool name"),
        (json!({ "name": "search_code", "arguments": [] }), "`params.arguments` must be an object"),
    ] {
        let answer = client.ask("tools/call", params).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().starts_with(message), "{answer}");
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
        one["content"][1]["text"].as_str().unwrap().contains("line 1 is longer"),
        "{}",
        one["content"][1]
    );
}

#[tokio::test]
async fn an_answer_never_floods() {
    let made = Made { hits: 1000, line: "z".repeat(5000), ..Made::default() };
    let mut client = Client::new(made, Face::IN_HUB).await;
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
    let mut client = Client::new(Made { hits: 1, ..Made::default() }, Face::IN_HUB).await;
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

#[tokio::test]
async fn progress_comes_before_the_answer() {
    let mut client = Client::with_hits(1).await;
    let params = json!({ "name": "search_by_embedding", "arguments": { "query": "x" }, "_meta": { "progressToken": "p" } });
    let id = client.send("tools/call", params).await;
    for done in [1, 2] {
        let note = client.next().await;
        let expected = json!({ "progressToken": "p", "progress": done, "total": 2, "message": "indexing" });
        assert_eq!((&note["method"], &note["params"]), (&json!("notifications/progress"), &expected));
    }
    assert_eq!(client.next().await["id"], id);
}

#[tokio::test]
async fn a_cancelled_search_stops_working() {
    let (news, heard) = mpsc::channel();
    let mut client = Client::new(Made { news: Some(news), ..Made::default() }, Face::IN_HUB).await;
    let id = client.send("tools/call", json!({ "name": "search_code", "arguments": { "query": "x" } })).await;
    let hear = |heard: mpsc::Receiver<&'static str>| async move {
        tokio::task::spawn_blocking(move || (heard.recv_timeout(Duration::from_secs(20)), heard))
            .await
            .unwrap()
    };
    let (started, heard) = hear(heard).await;
    assert_eq!(started, Ok("started"));
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    client.wire.outgoing.send(Rope::from(cancel.to_string())).await.unwrap();
    assert_eq!(hear(heard).await.0, Ok("stopped"));
    // It has no answer; the next one does not wait for it.
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn a_tree_that_cannot_be_opened_is_tried_again() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = tries.clone();
    let opener = Opener::new(move || match counted.fetch_add(1, Ordering::Relaxed) {
        0 => Err(CodeError::Failed("there is no such folder".to_owned())),
        _ => Ok(Arc::new(Made::default())),
    });
    let tasks = TaskTracker::new();
    let wire = in_process(codebase(Arc::new(opener), Face::IN_HUB))(&tasks);
    let mut client = Client { wire, tasks, id: 0 };
    client.ask("initialize", json!({ "protocolVersion": "2025-06-18" })).await;
    let failed = client.call("search_code", json!({ "query": "x" })).await;
    assert_eq!(failed["content"][0]["text"], "Search failed: there is no such folder");
    for _ in 0..2 {
        assert_eq!(list(&client.call("search_code", json!({ "query": "x" })).await), [] as [Value; 0]);
    }
    assert_eq!(tries.load(Ordering::Relaxed), 2, "opened once for all calls");
    let Client { wire, tasks, .. } = client;
    drop(wire);
    tasks.close();
    tasks.wait().await; // it ends with its client
}

#[tokio::test]
async fn a_client_that_sends_no_more_gets_its_answers() {
    let client = Client::with_hits(1).await;
    let Client { wire: Wire { outgoing, mut incoming }, .. } = client;
    let call = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": { "name": "search_code", "arguments": { "query": "x" } } });
    outgoing.send(Rope::from(call.to_string())).await.unwrap();
    drop(outgoing);
    let mut answers = 0;
    while incoming.recv().await.is_some() {
        answers += 1;
    }
    assert_eq!(answers, 1);
}

#[tokio::test]
async fn nothing_but_the_handshake_comes_first() {
    let tasks = TaskTracker::new();
    let opener = Arc::new(Opener::new(|| Ok(Arc::new(Made::default()) as Arc<dyn Code>)));
    let wire = in_process(codebase(opener, Face::ALONE))(&tasks);
    let mut client = Client { wire, tasks, id: 0 };
    let refused = json!({ "code": -32000, "message": "Not initialized" });
    for method in ["tools/list", "tools/call", "resources/list", "resources/read", "no/such"] {
        assert_eq!(client.ask(method, json!({})).await["error"], refused, "{method}");
    }
    // Requests of the stateless era need no handshake.
    let meta = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } });
    assert_eq!(client.ask("resources/list", meta.clone()).await["result"]["resultType"], "complete");
    let mut read = meta;
    read["uri"] = json!("codebase://nothing");
    assert_eq!(client.ask("resources/read", read).await["error"]["code"], -32602);
}
