//! Our own server over MCP: `toolbay codebase` on its stdin and stdout.
#![expect(clippy::disallowed_methods, reason = "the program that is measured; it ends when its stdin does")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use toolbay_search::text::Case;

use super::Question;

/// The server, started and greeted.
pub(crate) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    id: u64,
}

/// An answer, as far as it matters here.
pub(super) struct Answer {
    pub(super) took: Duration,
    pub(super) lines: u64,
    /// Whether that is all there are.
    pub(super) exact: bool,
}

impl Server {
    /// Starts it, with the index below `cache`.
    pub(crate) fn start(toolbay: &Path, cache: &Path, tree: &Path) -> Result<Self> {
        let mut child = Command::new(toolbay)
            .arg("codebase")
            .arg(tree)
            .env("XDG_CACHE_HOME", cache)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", toolbay.display()))?;
        let (input, output) = (child.stdin.take(), child.stdout.take().context("no stdout")?);
        let mut server = Self { child, input, output: BufReader::new(output), id: 0 };
        server.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": { "name": "toolbay-lab", "version": "0" },
            }),
        )?;
        server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(server)
    }

    /// Asks for the first page, 50 lines, as any client would; the answer says how many there are.
    pub(super) fn ask(&mut self, question: &Question) -> Result<Answer> {
        let case = if question.case == Case::Insensitive { "insensitive" } else { "sensitive" };
        let mut arguments = json!({ "query": question.pattern, "regex": question.regex, "case": case });
        if let Some(glob) = question.glob {
            arguments["glob"] = glob.into();
        }
        let (took, result) =
            self.call("search_code", &arguments).with_context(|| format!("asking for {}", question.name))?;
        let content = &result["structuredContent"];
        let lines = content["total"].as_u64().context("an answer without a total")?;
        let said = result["content"].to_string();
        Ok(Answer { took, lines, exact: !said.contains(&format!("of at least {lines} results")) })
    }

    /// Calls a tool: how long it takes, and what comes back.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<(Duration, Value)> {
        let start = Instant::now();
        let result = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        let took = start.elapsed();
        ensure!(result["isError"] != true, "{tool} failed: {result}");
        Ok((took, result))
    }

    /// Memory of its own, not that of files.
    pub(crate) fn anonymous_memory(&self) -> Option<u64> {
        anonymous_memory(self.child.id())
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.id += 1;
        let id = self.id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let mut line = String::new();
        loop {
            line.clear();
            ensure!(self.output.read_line(&mut line)? > 0, "the server has ended");
            let mut answer: Value = serde_json::from_str(&line)?;
            if answer["id"] == id {
                ensure!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return Ok(answer["result"].take());
            }
        }
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let input = self.input.as_mut().context("the server was told to end")?;
        input.write_all(format!("{message}\n").as_bytes())?;
        Ok(input.flush()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// Kilobytes of anonymous memory of a process.
pub(super) fn anonymous_memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?.split_whitespace().next()?.parse().ok()
}
