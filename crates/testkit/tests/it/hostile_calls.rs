//! Each tool of the hostile server.

use std::{
    io::Read,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::program::{HOSTILE, Program};

#[test]
fn ok_answers() {
    let mut server = Program::hostile(&[]);
    assert_eq!(server.call("ok", json!({})), "ok");
    assert_eq!(server.call("ok", json!({"text": "hello"})), "hello");
    assert_eq!(server.ask("tools/call", json!({"name": "nothing"}))["error"]["code"], -32602);
    assert_eq!(server.ask("some/method", json!({}))["error"]["code"], -32601);
    assert_eq!(server.ask("ping", json!({}))["result"], json!({}));
}

#[test]
fn crash_exits_with_its_code_and_a_last_word() {
    let mut server = Program::hostile(&[]);
    server.start_call("crash", json!({"code": 9}));
    assert_eq!(server.wait().code(), Some(9));
    assert!(server.ends());
    assert_eq!(server.stderr(), "about to crash\n");
}

#[test]
fn half_an_answer_and_a_whole_one_before_the_end() {
    let mut server = Program::hostile(&[]);
    server.start_call("half_answer", json!({}));
    assert_eq!(server.wait().code(), Some(7));
    assert!(serde_json::from_str::<Value>(&server.text()).is_err());
    let mut server = Program::hostile(&[]);
    assert_eq!(server.call("answer_then_crash", json!({"code": 3})), "ok");
    assert_eq!(server.wait().code(), Some(3));
}

#[test]
fn hang_and_late_leave_others_alone() {
    let mut server = Program::hostile(&[]);
    server.start_call("hang", json!({}));
    let start = Instant::now();
    let late = server.start_call("late", json!({"ms": 200}));
    assert_eq!(server.call("ok", json!({})), "ok");
    let answer: Value = serde_json::from_str(&server.text()).unwrap();
    assert_eq!(answer["id"], late);
    assert!(start.elapsed() >= Duration::from_millis(200));
    assert!(server.is_silent());
}

#[test]
fn progress_comes_before_the_answer() {
    let mut server = Program::hostile(&[]);
    let params = json!({"name": "progress", "arguments": {"steps": 2, "every_ms": 1},
        "_meta": {"progressToken": "p"}});
    server.request("tools/call", params);
    for step in 1..=2 {
        let message: Value = serde_json::from_str(&server.text()).unwrap();
        assert_eq!(message["params"], json!({"progressToken": "p", "progress": step, "total": 2}));
    }
    assert!(server.text().contains("done"));
}

#[test]
fn big_lines_have_the_requested_size() {
    let mut server = Program::hostile(&[]);
    for id_last in [false, true] {
        let id = server.start_call("big_line", json!({"bytes": 300_000, "id_last": id_last}));
        let line = server.line();
        assert_eq!(line.len(), 300_000);
        assert_eq!(line.ends_with(format!("\"id\":{id}}}").as_bytes()), id_last);
        assert_eq!(serde_json::from_slice::<Value>(&line).unwrap()["id"], id);
    }
}

#[test]
fn an_endless_line_goes_on() {
    let (mut server, mut stdout) = Program::start_unread(HOSTILE, &[]);
    server.start_call("endless_line", json!({}));
    let mut read = vec![0; 20_000_000];
    stdout.read_exact(&mut read).unwrap();
    assert!(!read.contains(&b'\n'));
}

#[test]
fn utf8_is_broken_or_split() {
    let mut server = Program::hostile(&[]);
    server.start_call("invalid_utf8", json!({}));
    let line = server.line();
    assert!(line.contains(&0xff));
    assert!(std::str::from_utf8(&line).is_err());
    assert_eq!(server.call("split_utf8", json!({"ms": 20})), "grüße 😀");
}

#[test]
fn close_stdout_ends_the_pipe_but_not_the_process() {
    let mut server = Program::hostile(&[]);
    server.start_call("close_stdout", json!({}));
    assert!(server.ends());
    assert!(server.is_running());
}

#[test]
fn stop_reading_fills_the_pipe() {
    let mut server = Program::hostile(&[]);
    assert_eq!(server.call("stop_reading", json!({})), "ok");
    server.request("ping", json!({}));
    assert!(server.is_silent());
    assert!(server.is_running());
}

#[test]
fn a_storm_of_changes() {
    let mut server = Program::hostile(&[]);
    server.start_call("list_changed_storm", json!({"count": 1000}));
    for _ in 0..1000 {
        assert!(server.text().contains("notifications/tools/list_changed"));
    }
    assert!(server.text().contains("ok"));
}

/// The lines that answer a call of `tool`, without line breaks; the id is 2.
fn lines(tool: &str, count: usize) -> Vec<String> {
    let mut server = Program::hostile(&[]);
    assert_eq!(server.start_call(tool, json!({})), 2);
    let lines = (0..count).map(|_| server.text()).collect();
    assert_eq!(server.call("ok", json!({})), "ok", "the next call works");
    lines
}

#[test]
fn ids_are_confused() {
    let ids = |tool, count| -> Vec<Value> {
        let lines = lines(tool, count);
        lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].clone()).collect()
    };
    assert_eq!(ids("duplicate_answer", 2), [2, 2]);
    assert_eq!(ids("unknown_id_answer", 2), [987_654_321, 2]);
    assert_eq!(ids("string_id_answer", 2), [json!("2"), json!(2)]);
    assert_eq!(ids("unknown_notification", 2), [json!(null), json!(2)]);
}

#[test]
fn envelopes_are_wrong() {
    let ok = r#"{"content":[{"type":"text","text":"ok"}]}"#;
    assert_eq!(lines("null_result", 1), [r#"{"jsonrpc":"2.0","id":2,"result":null}"#]);
    assert_eq!(lines("error_without_message", 1), [r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000}}"#]);
    assert_eq!(lines("wrong_jsonrpc", 1), [format!(r#"{{"jsonrpc":"1.0","id":2,"result":{ok}}}"#)]);
    assert_eq!(lines("no_jsonrpc", 1), [format!(r#"{{"id":2,"result":{ok}}}"#)]);
    assert_eq!(lines("batch_answer", 1), [format!(r#"[{{"jsonrpc":"2.0","id":2,"result":{ok}}}]"#)]);
    assert_eq!(lines("two_envelopes_one_line", 1)[0].matches("jsonrpc").count(), 2);
    assert_eq!(lines("duplicate_keys", 1)[0].matches("\"id\"").count(), 2);
    assert!(lines("result_and_error", 1)[0].contains(r#""error""#));
    let extra = &lines("extra_fields", 1)[0];
    assert!(extra.contains("12345678901234567890,") && extra.contains("1e400") && extra.contains("1.0,"));
}

#[test]
fn stderr_can_be_flooded() {
    let mut server = Program::hostile(&[]);
    let mut stderr = server.take_stderr();
    let reader = std::thread::spawn(move || {
        let mut read = vec![0; 1_000_000];
        stderr.read_exact(&mut read).unwrap();
        stderr
    });
    assert_eq!(server.call("stderr_flood", json!({"bytes": 1_000_000})), "ok");
    reader.join().unwrap();
}

#[test]
fn server_requests_are_sent_and_their_responses_shown() {
    for (tool, method) in
        [("ask_ping", "ping"), ("ask_roots", "roots/list"), ("ask_unknown", "hostile/unknown")]
    {
        let mut server = Program::hostile(&[]);
        server.start_call(tool, json!({}));
        let question: Value = serde_json::from_str(&server.text()).unwrap();
        assert_eq!(question["method"], method);
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {}}).to_string();
        server.send_text(&answer);
        let told: Value = serde_json::from_str(&server.text()).unwrap();
        assert_eq!(told["result"]["content"][0]["text"], answer);
    }
    let mut server = Program::hostile(&[]);
    assert_eq!(server.call("ask_ping", json!({"ms": 10})), "no answer");
}
