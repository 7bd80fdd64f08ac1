//! Servers at a URL on the official Python SDK: HTTP+SSE, and WebSocket by a stock library.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use super::{
    hub::{await_listening, free_port},
    stage::peers,
};
use crate::program::Home;

/// A server, ended when the test ends.
struct Python(Child);

impl Python {
    fn start(speaks: &str) -> (Self, u16) {
        let port = free_port();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/interop/server.py");
        let mut command = Command::new(peers().join("python/bin/python"));
        command.arg(script).args([speaks, &port.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut server = Self(command.spawn().expect("Python starts"));
        assert!(await_listening(&mut server.0, port), "the server does not listen");
        (server, port)
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serves(speaks: &str, url: impl Fn(u16) -> String, transport: &str) {
    let (_server, port) = Python::start(speaks);
    let home = Home::new();
    let config = json!({"mcpServers": {"py": {"url": url(port)}}});
    home.write("mcp.json", &config.to_string());
    let mut hub = home.serve(&["--config", "mcp.json"]);
    let call = |tool: &str, arguments: Value| {
        let (tool, arguments) = (format!("py__{tool}"), arguments.to_string());
        let ran = home.run(&["call", &tool, "--args-json", &arguments, "--json"]).expect(0);
        let answer: Value = serde_json::from_str(&ran.stdout).expect("it is JSON");
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    assert_eq!(call("echo", json!({"text": "grüße \n 𝄞"})), "grüße \n 𝄞");
    assert_eq!(call("steps", json!({"count": 20})), "20 steps");
    assert_eq!(call("blow_up", json!({"times": 2_000_000})).len(), 4_000_000);
    let status = home.run(&["status", "--json"]).expect(0);
    let status: Value = serde_json::from_str(&status.stdout).expect("it is JSON");
    let server = &status["servers"][0];
    assert_eq!((&server["transport"], &server["starts"]), (&json!(transport), &json!(1)), "{status}");
    assert_eq!(hub.stop(), Some(0));
}

#[test]
fn python_over_sse() {
    serves("sse", |port| format!("http://127.0.0.1:{port}/sse"), "http+sse");
}

#[test]
fn python_over_web_socket() {
    serves("ws", |port| format!("ws://127.0.0.1:{port}/"), "websocket");
}
