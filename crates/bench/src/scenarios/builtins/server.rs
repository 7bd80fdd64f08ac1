//! A server on stdin and stdout, asked one request after the other.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::scenarios::process;

pub(super) struct Server {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    id: u64,
}

impl Server {
    /// Starts a server; it has answered once when this returns.
    pub(super) fn start(mut command: Command) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("it does not start")?;
        let stdin = child.stdin.take().context("it was piped")?;
        let stdout = BufReader::new(child.stdout.take().context("it was piped")?);
        let mut server = Self { child, stdin, stdout, id: 0 };
        let client = json!({ "name": "bench", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        server.request("initialize", &hello)?;
        writeln!(server.stdin, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#)?;
        Ok(server)
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How many bytes its list of tools has.
    pub(super) fn tools(&mut self) -> Result<usize> {
        let (line, _) = self.request("tools/list", &json!({}))?;
        let answer: Value = serde_json::from_slice(&line)?;
        let tools = &answer["result"]["tools"];
        ensure!(tools.as_array().is_some_and(|tools| !tools.is_empty()), "it has no tools");
        Ok(tools.to_string().len())
    }

    /// Calls a tool, which must succeed.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Result<()> {
        self.timed(tool, arguments).map(drop)
    }

    /// How long a call takes, from the first byte sent to the last received.
    pub(super) fn timed(&mut self, tool: &str, arguments: &Value) -> Result<Duration> {
        let (line, took) = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        let answer: Value = serde_json::from_slice(&line)?;
        let result = &answer["result"];
        ensure!(result["isError"] != true && result["content"].is_array(), "{tool} fails: {answer}");
        Ok(took)
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<(Vec<u8>, Duration)> {
        self.id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        let mut request = request.to_string();
        request.push('\n');
        let began = Instant::now();
        self.stdin.write_all(request.as_bytes())?;
        loop {
            let mut line = Vec::new();
            ensure!(self.stdout.read_until(b'\n', &mut line)? > 0, "it ended");
            let took = began.elapsed();
            // Log lines and notifications are passed over; only answers have an id.
            let is_answer =
                serde_json::from_slice::<Value>(&line).is_ok_and(|message| message["id"] == self.id);
            if is_answer {
                return Ok((line, took));
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        process::end(&mut self.child);
    }
}
