//! `inspect`: messages on both hops, and messages in the log.

use std::{
    io::{BufRead, BufReader},
    process::{Child, ChildStderr, ChildStdout},
};

use serde_json::Value;

use crate::program::{Home, Serving, signal};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"editor","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
/// A call with a secret, which the server repeats in its result.
const CALL: &str = r#"{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"name":"small__echo","arguments":{"text":"open","password":"hunter2"}}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#;

fn hub(home: &Home) -> Serving {
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("small ready");
    hub
}

/// `toolbay inspect -f`.
struct Inspecting {
    child: Child,
    stdout: BufReader<ChildStdout>,
    _stderr: BufReader<ChildStderr>,
}

impl Inspecting {
    /// Returns once it watches.
    fn start(home: &Home, args: &[&str]) -> Self {
        let args: Vec<&str> = ["inspect", "-f", "--config", "mcp.json"].iter().chain(args).copied().collect();
        let mut child = home.command(&args).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        assert!(line.contains("watching"), "{line}");
        Self { child, stdout, _stderr: stderr }
    }

    /// The lines up to one that contains `text`.
    fn until(&mut self, text: &str) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        while lines.last().is_none_or(|line| !line.contains(text)) {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "it ended before {text}: {lines:#?}");
            lines.push(line.trim_end().to_owned());
        }
        lines
    }

    fn stop(mut self) {
        signal(self.child.id(), "INT");
        assert_eq!(self.child.wait().unwrap().code(), Some(130));
    }
}

impl Drop for Inspecting {
    fn drop(&mut self) {
        // Gone already in most tests.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is common to the four messages of one call: the ids on both hops, names, times, and that the secret is hidden.
fn check_call(lines: &[String], client_id: &Value, client: &Value) {
    assert!(!lines.iter().any(|line| line.contains("hunter2")), "{lines:#?}");
    let messages: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |hop: &str, direction: &str| {
        let is =
            |it: &&Value| it["hop"] == hop && it["direction"] == direction && it["method"] == "tools/call";
        let found: Vec<&Value> = messages.iter().filter(is).collect();
        assert_eq!(found.len(), 1, "{hop} {direction}: {lines:#?}");
        found[0].clone()
    };
    let (asked, passed_on) = (of("client", "received"), of("server", "sent"));
    let (answered, told) = (of("server", "received"), of("client", "sent"));
    let server_id = &passed_on["id"];
    assert!(server_id.is_number() && *server_id == passed_on["message"]["id"], "{passed_on}");
    for (message, id, paired) in [
        (&asked, client_id, &Value::Null),
        (&passed_on, server_id, client_id),
        (&answered, server_id, client_id),
        (&told, client_id, server_id),
    ] {
        assert_eq!((&message["id"], &message["paired_id"]), (id, paired), "{message}");
        assert_eq!((&message["server"], &message["client"]), (&"small".into(), client), "{message}");
        assert_eq!(message["schema_version"], 1);
        assert!(message["time"].is_string() && message["size"].as_u64().unwrap() > 50, "{message}");
    }
    assert!(asked["duration_ms"].is_null() && passed_on["duration_ms"].is_null());
    assert!(answered["duration_ms"].as_f64() <= told["duration_ms"].as_f64(), "{answered} {told}");
    assert_eq!(passed_on["message"]["params"]["arguments"]["password"], "***");
    assert_eq!(passed_on["message"]["params"]["arguments"]["text"], "open");
    assert_eq!(told["message"]["result"]["content"][0]["text"], r#"{"text": "open", "password": "***"}"#);
}

#[test]
fn a_call_is_seen_on_both_hops_without_its_secret() {
    let home = Home::with_server();
    let hub = hub(&home);
    let mut inspecting = Inspecting::start(&home, &["--json"]);

    let input = format!("{INITIALIZE}\n{INITIALIZED}\n{CALL}\n{PING}\n");
    let ran = home.run_with_input(&["stdio", "--config", "mcp.json"], &input).expect(0);
    assert!(ran.stdout.contains("hunter2"), "clients and servers see everything: {ran:#?}");
    let mut lines =
        inspecting.until(r#""hop":"client","direction":"sent","client":"editor 1","server":"small""#);
    check_call(&lines, &"mine".into(), &"editor 1".into());
    assert!(lines.iter().any(|line| line.contains(r#""method":"initialize""#)), "{lines:#?}");

    // Over HTTP, without a handshake.
    assert!(hub.post(&CALL.replace("\"mine\"", "7")).contains("hunter2"));
    lines = inspecting.until(r#""hop":"client","direction":"sent","client":null,"server":"small""#);
    check_call(&lines, &7.into(), &Value::Null);
    inspecting.stop();
}

#[test]
fn people_get_one_line_per_message_of_the_server_they_name() {
    let home = Home::with_server();
    let hub = hub(&home);
    let mut inspecting = Inspecting::start(&home, &["small"]);
    hub.post(r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#);
    hub.post(CALL);
    let lines = inspecting.until("hub → client");
    assert_eq!(lines.len(), 4, "{lines:#?}");
    for (line, way) in lines.iter().zip(["client → hub", "hub → server", "server → hub", "hub → client"])
    {
        assert!(line.contains(way) && line.contains("  small  ") && line.contains("tools/call"), "{line}");
        assert!(line.contains("#\"mine\"") && !line.contains("hunter2"), "{line}");
        assert!(line.chars().count() <= 160, "{line}");
    }
    assert!(lines[1].contains("(client #\"mine\")") && lines[3].contains("(server #"), "{lines:#?}");
    inspecting.stop();
    let ran = home.run(&["inspect", "--config", "mcp.json", "other"]).expect(1);
    assert!(ran.stderr.contains("no server named `other`"), "{ran:#?}");
}

#[test]
fn nothing_is_kept_without_a_watcher() {
    let home = Home::with_server();
    let hub = hub(&home);
    hub.post(CALL);
    let nothing = |home: &Home| {
        let ran = home.run(&["inspect", "--config", "mcp.json", "--json"]).expect(0);
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.contains("`toolbay inspect -f`"), "{ran:#?}");
    };
    nothing(&home);
    let mut inspecting = Inspecting::start(&home, &[]);
    hub.post(CALL);
    let seen = inspecting.until("hub → client");
    assert_eq!(seen.len(), 4, "what passed before is not known: {seen:#?}");
    let shown = home.run(&["inspect", "--config", "mcp.json"]).expect(0);
    assert_eq!(shown.stdout.lines().collect::<Vec<_>>(), seen, "another one sees what is kept");
    inspecting.stop();
    // The hub notices that it has gone as soon as it reads the end of its connection.
    let begin = std::time::Instant::now();
    while home.run(&["inspect", "--config", "mcp.json"]).expect(0).stderr.is_empty() {
        assert!(begin.elapsed() < std::time::Duration::from_secs(30), "it is still watched");
    }
    nothing(&home);
}

#[test]
fn the_log_shows_handshakes_and_calls_with_debug() {
    let home = Home::with_server();
    for (variable, args, shows) in
        [("toolbay=debug", &[][..], true), ("", &["-vv"], true), ("info", &[], false)]
    {
        let mut command = home.command(&["serve", "--listen", "127.0.0.1:0", "--config", "mcp.json"]);
        command.args(args);
        if !variable.is_empty() {
            command.env("RUST_LOG", variable);
        }
        let mut hub = Serving::start(command);
        hub.until("small ready");
        hub.post(CALL);
        assert_eq!(hub.stop(), Some(0));
        let said = &hub.said;
        assert!(!said.contains("hunter2"), "{said}");
        for shown in [
            r#"hub→server {"jsonrpc":"2.0","id":"#,
            r#""method":"initialize""#,
            r#"server→hub {"jsonrpc": "2.0", "id": "#,
            r#""serverInfo": {"name": "small""#,
            r#"client→hub {"jsonrpc":"2.0","id":"mine","method":"tools/call""#,
            r#""password":"***""#,
        ] {
            assert_eq!(said.contains(shown), shows, "{shown} with {variable} {args:?}: {said}");
        }
        let longest = said.lines().map(str::len).max();
        assert!(longest < Some(3_000), "{longest:?}: {said}");
    }
}
