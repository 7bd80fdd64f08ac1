//! The tools that code calls, and the runner.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_code::{CodeOptions, CodeRunner, Finished, ToolCall, ToolCaller, ToolReply};
use toolbay_sandbox::{Helper, Level, probe};
use toolbay_supervise::Shim;

const PROGRAM: &str = env!("CARGO_BIN_EXE_code-test-host");

/// Answers calls, and counts them.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    pub(crate) calls: Mutex<Vec<ToolCall>>,
    running: AtomicUsize,
    pub(crate) most_at_once: AtomicUsize,
    pub(crate) cancelled: AtomicUsize,
}

/// Counts a call that is dropped before its end.
struct Running<'a>(&'a Tools, bool);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
        if !self.1 {
            self.0.cancelled.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl ToolCaller for Tools {
    async fn call(&self, call: ToolCall) -> ToolReply {
        let now = self.running.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_at_once.fetch_max(now, Ordering::Relaxed);
        let mut running = Running(self, false);
        self.calls.lock().push(call.clone());
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
        let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
        let result = match call.name.as_str() {
            "echo" | "test__echo" => json!({ "content": [], "structuredContent": arguments }),
            "text" => text("some text"),
            "number" => text("17"),
            "json" => text(" [1, {\"a\": 2}]"),
            "blocks" => json!({ "content": [{ "type": "image", "data": "", "mimeType": "image/png" }] }),
            "fail" => json!({ "content": [{ "type": "text", "text": "the disk is full" }], "isError": true }),
            "slow" => {
                tokio::time::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap_or(50))).await;
                text("slept")
            }
            "long" => text(&"x".repeat(5 << 20)),
            "denied" => {
                return finish(&mut running, ToolReply::Failed("no server offers the tool `denied`".into()));
            }
            other => panic!("unknown tool {other}"),
        };
        finish(&mut running, ToolReply::Result(result.to_string().into()))
    }
}

fn finish(running: &mut Running<'_>, reply: ToolReply) -> ToolReply {
    running.1 = true;
    reply
}

pub(crate) fn options() -> CodeOptions {
    let helper = Helper::program(PROGRAM);
    // The best that this machine has; the tests of the sandbox say what is missing.
    let level = probe(&helper).level;
    CodeOptions { sandbox: level, helper, shim: Shim::program(PROGRAM), ..CodeOptions::default() }
}

pub(crate) fn runner() -> CodeRunner {
    CodeRunner::new(options(), TaskTracker::new())
}

/// Runs code that may take ten seconds.
pub(crate) async fn run(code: &str) -> Finished {
    run_with(&Tools::default(), code).await
}

pub(crate) async fn run_with(tools: &Tools, code: &str) -> Finished {
    runner().run(code, Duration::from_secs(10), tools).await.unwrap()
}

/// The value of code that must not fail.
pub(crate) async fn value(code: &str) -> String {
    let finished = run(code).await;
    finished.outcome.clone().unwrap_or_else(|error| panic!("{error}: {finished:?}")).unwrap_or_default()
}

/// Why code fails.
pub(crate) async fn failure(code: &str) -> String {
    run(code).await.outcome.unwrap_err()
}

pub(crate) fn levels() -> Vec<Level> {
    let best = probe(&Helper::program(PROGRAM)).level;
    [Level::Full, Level::Partial, Level::None].into_iter().filter(|level| *level <= best).collect()
}
