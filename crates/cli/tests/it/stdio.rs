//! The hub on stdin and stdout.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::Stdio,
};

use serde_json::Value;
use toolbay_protocol::Revision;
use toolbay_testkit::harness::{Profile, Programs, Setup};

use crate::program::{Home, is_running, within};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

#[test]
fn connect_offers_a_url_on_stdio() {
    let home = Home::new();
    let ran = home.run_with_input(&[], &format!("{INITIALIZE}\n{INITIALIZED}\n")).expect(0);
    let answer: Value = serde_json::from_str(ran.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(ran.stderr, "", "stdio is quiet");
}

#[test]
fn an_invalid_line_gets_an_error_and_is_logged_without_secrets() {
    let home = Home::new();
    let input = format!("{INITIALIZE}\nnot JSON: DB_PASSWORD=hunter2\u{1b}[2J\n");
    let ran = home.run_with_input(&["stdio", "--alone"], &input).expect(0);
    assert!(ran.stdout.contains("-32700"), "{}", ran.stdout);
    for part in ["WARN", "cannot read a message", "not JSON: DB_PASSWORD=***", "test 1"] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
    assert!(!ran.stderr.contains("hunter2") && !ran.stderr.contains("\u{1b}[2J"), "{}", ran.stderr);
}

/// Otherwise five clients would start every server five times.
#[test]
fn clients_share_the_servers_of_a_running_hub() -> anyhow::Result<()> {
    let programs = Programs::beside(Path::new(env!("CARGO_BIN_EXE_toolbay")))?;
    let folder = tempfile::Builder::new().prefix("toolbay-").tempdir()?;
    let setup = || Setup::new(programs.clone(), folder.path()).healthy("it");
    let hub = setup().start()?;
    hub.wait_for("it", "ready")?;
    let process = |revision| -> anyhow::Result<String> {
        let mut client = Profile::new(revision, "Ada").over(setup().join_stdio()?)?;
        client.text("it__elicit", serde_json::json!({ "text": "Who?" })).ok();
        client.text("it__pid", serde_json::json!({}))
    };
    let first = process(Revision::LATEST_LEGACY)?;
    assert_eq!(process(Revision::LATEST)?, first);
    Ok(())
}

#[test]
fn tools_of_the_configuration_are_offered() {
    let home = Home::with_server();
    let args = ["stdio", "--alone", "--config", "mcp.json"];
    let mut child = home.command(&args).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    writeln!(stdin, "{INITIALIZE}\n{INITIALIZED}").unwrap();
    let names = within("tools/list".to_owned(), move || {
        // Lists never wait for a start, so ask again when they change.
        loop {
            writeln!(stdin, "{LIST}").unwrap();
            let answer = lines.find(|line| line.contains("\"tools\":[")).unwrap();
            let answer: Value = serde_json::from_str(&answer).unwrap();
            let tools = answer["result"]["tools"].as_array().unwrap();
            if !tools.is_empty() {
                return tools
                    .iter()
                    .map(|tool| tool["name"].as_str().unwrap().to_owned())
                    .collect::<Vec<_>>();
            }
            lines.find(|line| line.contains("tools/list_changed")).unwrap();
        }
    });
    assert_eq!(names, ["small__echo", "small__fail", "small__evil", "small__hang"]);
    // The client is gone: so are we, and so is the server.
    let status = within("toolbay stdio".to_owned(), move || child.wait().unwrap());
    assert_eq!(status.code(), Some(0));
    assert!(!is_running(&home.path("server.py")));
}
