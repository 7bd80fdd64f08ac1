//! A tree that is made up, and a client of a server over it.

use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_builtin::codebase::{
    Code, CodeChunk, CodeError, CodebaseIdentity, DirEntry, EntryKind, FileText, FilesPage, IndexState,
    ListedFile, MeaningAnswer, MeaningHit, MeaningQuery, Opener, TextAnswer, TextHit, TextQuery, TreeWork,
    codebase,
};
use toolbay_protocol::Rope;
use toolbay_server::in_process;
use toolbay_transport::{Connection, Incoming};

/// A tree with `hits` lines and chunks that fit everything.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub(super) hits: usize,
    pub(super) line: String,
    pub(super) complete: bool,
    /// Told when a search has started and when it was stopped.
    pub(super) news: Option<mpsc::Sender<&'static str>>,
}

impl Code for Made {
    fn search_text(&self, query: &TextQuery, work: &TreeWork) -> Result<TextAnswer, CodeError> {
        if query.pattern == "(" {
            let why = "is no regular expression".to_owned();
            return Err(CodeError::Misfit { argument: "query".to_owned(), why });
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
            matches: Vec::new(),
            before: vec!["before".to_owned(); query.context],
            after: Vec::new(),
        };
        let hits = (query.offset..self.hits).take(query.limit).map(|index| hit(index + 1)).collect();
        Ok(TextAnswer { hits, total: self.hits, is_total_exact: true })
    }

    fn search_meaning(&self, query: &MeaningQuery, work: &TreeWork) -> Result<MeaningAnswer, CodeError> {
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
pub(super) struct Client {
    pub(super) wire: Connection,
    pub(super) tasks: TaskTracker,
    pub(super) id: u64,
}

impl Client {
    pub(super) async fn new(made: Made, face: CodebaseIdentity) -> Self {
        let tasks = TaskTracker::new();
        let tree: Arc<dyn Code> = Arc::new(made);
        let opener = Arc::new(Opener::new(move || Ok(tree.clone())));
        let wire = in_process(codebase(opener, face))(&tasks);
        let mut client = Self { wire, tasks, id: 0 };
        client.ask("initialize", json!({ "protocolVersion": "2025-06-18" })).await;
        client
    }

    pub(super) async fn with_hits(hits: usize) -> Self {
        Self::new(Made { hits, complete: true, ..Made::default() }, CodebaseIdentity::IN_HUB).await
    }

    pub(super) async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        self.wire.outgoing.send(Rope::from(request.to_string())).await.unwrap();
        self.id
    }

    pub(super) async fn next(&mut self) -> Value {
        match self.wire.incoming.recv().await.unwrap() {
            Incoming::Message(message) => serde_json::from_slice(message.text()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        loop {
            let answer = self.next().await;
            if answer["id"] == id {
                return answer;
            }
        }
    }

    /// The result of a call.
    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let mut answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        answer["result"].take()
    }
}

/// The list in the first block of a result.
pub(super) fn list(result: &Value) -> Vec<Value> {
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"));
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
