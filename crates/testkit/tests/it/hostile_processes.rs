//! Flags of the hostile server for start, stop and pipes.

use std::{
    fs,
    io::{Read, Write},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

use crate::program::{HOSTILE, PATIENCE, Program};

#[test]
fn a_slow_start() {
    let start = Instant::now();
    Program::hostile(&["--start-delay-ms", "200"]);
    assert!(start.elapsed() >= Duration::from_millis(200));
}

#[test]
fn never_initialize_is_silent() {
    let mut server = Program::start(HOSTILE, &["--never-initialize"]);
    server.request("initialize", json!({}));
    assert!(server.is_silent());
    assert!(server.is_running());
}

#[test]
fn exit_at_start_says_why_and_counts() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("spawns");
    for _ in 0..2 {
        let flags = ["--exit-at-start", "3", "--spawn-log", log.to_str().unwrap()];
        let mut server = Program::start(HOSTILE, &flags);
        assert_eq!(server.wait().code(), Some(3));
        assert!(server.stderr().contains("API_KEY is not set"));
    }
    assert_eq!(fs::read_to_string(log).unwrap().lines().count(), 2);
}

#[test]
fn unknown_flags_are_reported() {
    let mut server = Program::start(HOSTILE, &["--kind"]);
    assert_eq!(server.wait().code(), Some(2));
    assert!(server.stderr().contains("unknown flag --kind"));
}

#[test]
fn bad_initialize_in_many_ways() {
    let answer = |kind| Program::start(HOSTILE, &["--bad-initialize", kind]).ask_first("initialize");
    assert!(answer("types").contains("20251125"));
    assert!(answer("version").contains("1999-12-31"));
    assert!(answer("empty").contains(r#""result":{}"#));
    assert!(answer("null").contains(r#""result":null"#));
    assert!(answer("error").contains("-32603"));
    assert!(answer("string-id").contains(r#""id":"1""#));
}

impl Program {
    /// The first line after a request.
    fn ask_first(&mut self, method: &str) -> String {
        self.request(method, json!({}));
        self.text()
    }
}

#[test]
fn discover_in_many_ways() {
    assert!(Program::start(HOSTILE, &[]).ask_first("server/discover").contains("-32601"));
    let found = Program::start(HOSTILE, &["--discover", "ok"]).ask_first("server/discover");
    assert!(found.contains("supportedVersions"), "{found}");
    let mut silent = Program::start(HOSTILE, &["--discover", "silent"]);
    silent.request("server/discover", json!({}));
    silent.handshake();
    let mut leaving = Program::start(HOSTILE, &["--discover", "exit"]);
    leaving.request("server/discover", json!({}));
    assert_eq!(leaving.wait().code(), Some(1));
}

#[test]
fn modern_requests_get_a_result_type() {
    let mut server = Program::start(HOSTILE, &["--discover", "ok"]);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let answer = server.ask("tools/call", json!({"name": "ok", "_meta": meta}));
    assert_eq!(answer["result"]["resultType"], "complete");
}

#[test]
fn sigterm_ends_it_unless_it_is_ignored() {
    let mut plain = Program::hostile(&[]);
    kill_process(plain.pid(), Signal::TERM).unwrap();
    assert!(!plain.wait().success());
    let mut stubborn = Program::hostile(&["--ignore-sigterm"]);
    kill_process(stubborn.pid(), Signal::TERM).unwrap();
    assert_eq!(stubborn.call("ok", json!({})), "ok");
    stubborn.stdin = None;
    assert!(stubborn.wait().success());
}

#[test]
fn the_end_of_stdin_ends_it_unless_it_is_ignored() {
    let mut plain = Program::hostile(&[]);
    plain.stdin = None;
    assert!(plain.wait().success());
    let mut stubborn = Program::hostile(&["--ignore-eof"]);
    stubborn.stdin = None;
    assert!(stubborn.is_silent());
    assert!(stubborn.is_running());
}

#[test]
fn grandchildren_stay_behind() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pids");
    let server = Program::hostile(&["--grandchildren", "--pid-file", file.to_str().unwrap()]);
    let start = Instant::now();
    let pids: Vec<(String, Pid)> = loop {
        let text = fs::read_to_string(&file).unwrap_or_default();
        if text.lines().count() == 3 {
            break text.lines().map(read_pid).collect();
        }
        assert!(start.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(5));
    };
    drop(server);
    let mut kinds: Vec<&str> = pids.iter().map(|(kind, _)| kind.as_str()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["daemon", "plain", "setsid"]);
    for (kind, pid) in &pids {
        assert!(test_kill_process(*pid).is_ok(), "{kind} is gone");
        kill_process(*pid, Signal::KILL).unwrap();
    }
}

fn read_pid(line: &str) -> (String, Pid) {
    let (kind, pid) = line.split_once(' ').unwrap();
    (kind.to_owned(), Pid::from_raw(pid.parse().unwrap()).unwrap())
}

#[test]
fn never_read_stdin_lets_the_pipe_fill_up() {
    let mut server = Program::hostile(&["--never-read-stdin"]);
    let mut stdin = server.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&vec![b' '; 1_000_000]));
    assert!(server.is_silent());
    assert!(!writer.is_finished());
    drop(server);
    assert!(writer.join().unwrap().is_err());
}

#[test]
fn stop_reading_after_a_method() {
    let mut server = Program::hostile(&["--stop-reading-after", "tools/list"]);
    assert!(server.ask("tools/list", json!({}))["result"]["tools"].is_array());
    server.request("ping", json!({}));
    assert!(server.is_silent());
}

#[test]
fn close_stdout_after_init() {
    let mut server = Program::hostile(&["--close-stdout-after-init"]);
    assert!(server.ends());
    assert!(server.is_running());
}

#[test]
fn garbage_stands_between_messages() {
    let mut server = Program::hostile(&["--garbage"]);
    server.start_call("ok", json!({}));
    let lines: Vec<String> = (0..9).map(|_| server.text()).collect();
    for garbage in ["[]", "42", "{bad", "", "\u{1b}[32mready\u{1b}[0m"] {
        assert!(lines.iter().any(|line| line == garbage), "{garbage:?} in {lines:?}");
    }
    assert!(lines[8].contains("ok"));
}

#[test]
fn stderr_is_flooded_from_the_start() {
    for amount in ["300000", "forever"] {
        let mut server = Program::start(HOSTILE, &["--stderr-flood", amount]);
        let mut read = vec![0; 300_000];
        server.take_stderr().read_exact(&mut read).unwrap();
        server.handshake();
    }
}

#[test]
fn what_was_received_is_written_down() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("received");
    let mut server = Program::hostile(&["--received", file.to_str().unwrap()]);
    server.send_text(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#);
    server.ask("ping", json!({}));
    let text = fs::read_to_string(file).unwrap();
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.contains(r#""requestId":7"#));
}
