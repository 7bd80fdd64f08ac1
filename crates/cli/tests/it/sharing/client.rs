//! A client on stdio that checks every line.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::program::within;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client of `toolbay stdio`.
pub(super) struct SharingClient {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<Value>,
    last_id: u64,
}

impl SharingClient {
    pub(super) fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        Self { child, stdin, lines, last_id: 0 }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn initialize(&mut self) {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let answer = self.ask("initialize", &params);
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    }

    pub(super) fn say(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").unwrap();
    }

    /// Sends a request, and gives its id.
    pub(super) fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The answer to a request; what comes before it must be no answer to anything.
    pub(super) fn response(&mut self, id: u64) -> Value {
        loop {
            let message = self.next();
            if message["id"] == id {
                return message;
            }
            assert!(message["method"].is_string(), "the client never asked for {message}");
        }
    }

    pub(super) fn next(&mut self) -> Value {
        self.lines.recv_timeout(PATIENCE).expect("the hub says something")
    }

    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.response(id)
    }

    /// The text that a tool answers with.
    #[track_caller]
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> String {
        let answer = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Leaves, and gives what was said on stderr.
    pub(super) fn leave(self) -> String {
        let Self { mut child, stdin, .. } = self;
        drop(stdin);
        within("toolbay stdio".to_owned(), move || {
            assert!(child.wait().unwrap().success());
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            said
        })
    }
}
