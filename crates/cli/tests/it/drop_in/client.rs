//! A client of one server on stdin and stdout.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use toolbay_testkit::harness::Pipe;

/// More than any answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// The newest revision that all originals know.
const REVISION: &str = "2025-06-18";

/// A running server, and the directory that it works in.
pub(crate) struct Server {
    pub(crate) root: PathBuf,
    pipe: Pipe,
    id: u64,
}

impl Server {
    /// Starts a server and shakes hands.
    pub(crate) fn start(command: Command, root: &Path) -> Self {
        let shown = format!("{command:?}");
        let pipe = Pipe::start(command).unwrap_or_else(|error| panic!("{shown}: {error:#}"));
        let mut server = Self { root: root.to_owned(), pipe, id: 0 };
        let hello = json!({
            "protocolVersion": REVISION,
            "capabilities": {},
            "clientInfo": { "name": "drop-in", "version": "1" }
        });
        let answer = server.request("initialize", hello, PATIENCE);
        let answer = answer.unwrap_or_else(|| panic!("{shown} does not answer"));
        assert!(answer["result"]["capabilities"]["tools"].is_object(), "{shown}: {answer}");
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        server.pipe.send(&ready.to_string()).unwrap();
        server
    }

    /// The tools that it offers.
    pub(crate) fn tools(&mut self) -> Vec<Value> {
        let answer = self.request("tools/list", json!({}), PATIENCE).expect("tools are listed");
        answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}")).clone()
    }

    /// What became of a call; without a limit, it must be answered.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value, limit: Option<Duration>) -> Option<Value> {
        let arguments = self.localized(arguments);
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.request("tools/call", params, limit.unwrap_or(PATIENCE));
        assert!(answer.is_some() || limit.is_some(), "`{tool}` with {arguments} is not answered");
        answer.map(|answer| self.anonymous(answer))
    }

    /// Ends it as clients do, so that it can finish its work.
    pub(crate) fn end(&mut self) {
        self.pipe.close();
    }

    /// Sends a call and does not wait for the answer.
    pub(crate) fn send_call(&mut self, tool: &str, arguments: &Value) {
        self.send("tools/call", json!({ "name": tool, "arguments": arguments }));
    }

    /// Kills it, so that it can finish nothing.
    pub(crate) fn kill(&mut self) {
        self.pipe.kill();
    }

    /// Whether the last request was answered with success before it was killed.
    pub(crate) fn has_succeeded(&mut self) -> bool {
        let answer = self.answer(Duration::from_millis(10));
        answer.is_some_and(|answer| answer["result"].is_object() && answer["result"]["isError"] != true)
    }

    fn request(&mut self, method: &str, params: Value, limit: Duration) -> Option<Value> {
        self.send(method, params);
        self.answer(limit)
    }

    fn send(&mut self, method: &str, params: Value) {
        self.id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        self.pipe.send(&request.to_string()).unwrap();
    }

    /// The answer to the last request, if it comes in time.
    fn answer(&self, limit: Duration) -> Option<Value> {
        let end = Instant::now() + limit;
        loop {
            let line = self.pipe.line_within(end.saturating_duration_since(Instant::now())).ok()?;
            // Some print what is no message.
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            if message["id"] == self.id {
                return Some(message);
            }
        }
    }

    /// Puts the directory in the place of `{root}`.
    fn localized(&self, value: &Value) -> Value {
        let text = value.to_string().replace("{root}", &self.root.to_string_lossy());
        serde_json::from_str(&text).expect("a path needs no escapes")
    }

    /// Puts `{root}` in the place of the directory, and leaves out what is the same as nothing.
    fn anonymous(&self, mut answer: Value) -> Value {
        if let Some(message) = answer.as_object_mut() {
            message.retain(|key, _| ["result", "error"].contains(&key.as_str()));
        }
        if let Some(result) = answer["result"].as_object_mut() {
            result.retain(|key, value| key != "isError" || *value == true);
        }
        let text = answer.to_string().replace(&*self.root.to_string_lossy(), "{root}");
        serde_json::from_str(&text).expect("a path needs no escapes")
    }
}

/// Every file below a directory with its content, sorted by path.
pub(crate) fn files(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let (mut files, mut directories) = (Vec::new(), vec![root.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let kind = entry.file_type().unwrap();
            let path = entry.path();
            let name = path.strip_prefix(root).unwrap().to_owned();
            if kind.is_dir() {
                directories.push(path);
                files.push((name, b"(directory)".to_vec()));
            } else if kind.is_file() {
                files.push((name, fs::read(path).unwrap()));
            }
        }
    }
    files.sort();
    files
}
