//! The hub on stdin and stdout.

use std::{
    io::{BufRead, BufReader, Write},
    process::Stdio,
};

use serde_json::Value;

use crate::program::{Home, is_running, within};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

#[test]
fn a_client_that_knows_only_a_command_gets_a_server() {
    let home = Home::new();
    let ran = home.run_with_input(&[], &format!("{INITIALIZE}\n{INITIALIZED}\n")).expect(0);
    let answer: Value = serde_json::from_str(ran.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(ran.stderr, "", "stdio is quiet");
}

#[test]
fn tools_of_the_configuration_are_offered() {
    let home = Home::with_server();
    let mut child = home.command(&["stdio", "--config", "mcp.json"]).stdin(Stdio::piped()).spawn().unwrap();
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
