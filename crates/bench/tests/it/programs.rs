use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

const ECHO: &str = env!("CARGO_BIN_EXE_toolbay-echo");
const FORWARD: &str = env!("CARGO_BIN_EXE_toolbay-forward");
const LOAD: &str = env!("CARGO_BIN_EXE_toolbay-load");

/// A program that says on stderr where it listens; it ends with the test.
struct Listening {
    child: Child,
    url: String,
}

impl Listening {
    #[expect(clippy::disallowed_methods, reason = "the programs under test")]
    fn start(program: &str, args: &[&str]) -> Self {
        let mut child = Command::new(program).args(args).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap();
        Self { url: format!("http://{address}/mcp"), child }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the load generator for a moment.
#[expect(clippy::disallowed_methods, reason = "the program under test")]
fn load(args: &[&str]) -> Value {
    let output = Command::new(LOAD).args(["--seconds", "0.3"]).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn assert_flawless(report: &Value) {
    assert_eq!(report["errors"], 0, "{report}");
    assert_eq!(report["stalled"], false, "{report}");
    assert!(report["calls"].as_u64().unwrap() > 0, "{report}");
}

#[test]
fn the_echo_server_answers_on_stdio() {
    assert_flawless(&load(&["--in-flight", "8", "--stdio", "--", ECHO, "stdio"]));
    assert_flawless(&load(&["--payload", "1000000", "--in-flight", "4", "--stdio", "--", ECHO, "stdio"]));
    assert_flawless(&load(&["--modern", "--stdio", "--", ECHO, "stdio"]));
}

#[test]
fn the_echo_server_answers_on_http() {
    let echo = Listening::start(ECHO, &["http", "--port", "0"]);
    assert_flawless(&load(&["--in-flight", "8", "--url", &echo.url]));
    assert_flawless(&load(&["--payload", "1000000", "--in-flight", "4", "--url", &echo.url]));
    assert_flawless(&load(&["--modern", "--url", &echo.url]));
}

#[test]
fn the_forwarder_keeps_calls_apart() {
    let forward = Listening::start(FORWARD, &["--port", "0", "--", ECHO, "stdio"]);
    assert_flawless(&load(&["--in-flight", "32", "--url", &forward.url]));
    assert_flawless(&load(&["--payload", "200000", "--in-flight", "32", "--url", &forward.url]));
}

#[test]
fn wrong_answers_are_counted() {
    let report = load(&["--tool", "nonesuch", "--stdio", "--", ECHO, "stdio"]);
    assert_eq!(report["calls"], 0);
    assert!(report["errors"].as_u64().unwrap() > 0);
    assert!(report["first_error"].as_str().unwrap().contains("-32602"));
}
