//! A server as a child process, spoken to in raw lines.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

pub(crate) const HOSTILE: &str = env!("CARGO_BIN_EXE_toolbay-hostile");
/// Far more than anything here takes, on the slowest machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A running program; killed when dropped.
pub(crate) struct Program {
    child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    lines: mpsc::Receiver<Vec<u8>>,
    next_id: u64,
}

impl Program {
    /// Starts it; its stdout is read line by line.
    pub(crate) fn start(path: &str, arguments: &[&str]) -> Self {
        let (mut this, stdout) = Self::start_unread(path, arguments);
        let (sender, lines) = mpsc::sync_channel(64);
        this.lines = lines;
        thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n') {
                if line.map(|line| sender.send(line)).is_err() {
                    return;
                }
            }
        });
        this
    }

    /// Starts it and leaves its stdout to the caller.
    pub(crate) fn start_unread(path: &str, arguments: &[&str]) -> (Self, ChildStdout) {
        #[expect(clippy::disallowed_methods, reason = "the program under test; killed on drop")]
        let mut command = Command::new(path);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        (Self { child, stdin, lines: mpsc::channel().1, next_id: 0 }, stdout)
    }

    /// Starts the hostile server and shakes hands.
    pub(crate) fn hostile(flags: &[&str]) -> Self {
        let mut this = Self::start(HOSTILE, flags);
        this.handshake();
        this
    }

    pub(crate) fn handshake(&mut self) {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "0"}});
        let answer = self.ask("initialize", params);
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string());
    }

    pub(crate) fn send_text(&mut self, text: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{text}").unwrap();
    }

    /// Sends a request and gives its id.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}));
        self.next_id
    }

    /// Sends a request and waits for the answer with its id; skips all else.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        loop {
            let line = self.line();
            match serde_json::from_slice::<Value>(&line) {
                Ok(message) if message["id"] == id && message.get("method").is_none() => return message,
                _ => {}
            }
        }
    }

    pub(crate) fn start_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool and gives the text of its answer.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// The next line.
    pub(crate) fn line(&self) -> Vec<u8> {
        self.lines.recv_timeout(PATIENCE).expect("a line in time")
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.line()).unwrap()
    }

    /// Whether nothing comes for a while.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(self.lines.recv_timeout(Duration::from_millis(300)), Err(mpsc::RecvTimeoutError::Timeout))
    }

    /// Whether stdout ends.
    pub(crate) fn ends(&self) -> bool {
        matches!(self.lines.recv_timeout(PATIENCE), Err(mpsc::RecvTimeoutError::Disconnected))
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "it does not end");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Everything on stderr; only for programs that end.
    pub(crate) fn stderr(&mut self) -> String {
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }

    pub(crate) fn take_stderr(&mut self) -> std::process::ChildStderr {
        self.child.stderr.take().unwrap()
    }

    pub(crate) fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
