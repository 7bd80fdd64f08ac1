//! The test server as a program.

use serde_json::{Value, json};

use crate::program::Program;

const TEST_SERVER: &str = env!("CARGO_BIN_EXE_toolbay-test-server");

#[test]
fn it_serves_stdio_and_writes_down_what_arrived() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("received");
    let mut server = Program::start(TEST_SERVER, &["--log-received", file.to_str().unwrap()]);
    server.handshake();
    assert_eq!(server.call("echo", json!({"text": "hello"})), "hello");
    assert_eq!(server.call("add", json!({"a": 1, "b": 2})), r#"{"sum":3}"#);
    assert_eq!(server.call("counter", json!({})), r#"{"count":1}"#);
    assert_eq!(server.call("counter", json!({})), r#"{"count":2}"#);
    let pid: Value = serde_json::from_str(&server.call("pid", json!({}))).unwrap();
    assert_eq!(pid["pid"], server.pid().as_raw_pid());
    assert!(server.call("env", json!({"name": "PATH"})).contains("bin"));
    server.stdin = None;
    assert!(server.wait().success());
    assert_eq!(std::fs::read_to_string(file).unwrap().lines().count(), 8);
}

#[test]
fn it_crashes_on_demand() {
    let mut server = Program::start(TEST_SERVER, &[]);
    server.handshake();
    server.start_call("crash", json!({"code": 4}));
    assert_eq!(server.wait().code(), Some(4));
    assert_eq!(server.stderr(), "about to crash\n");
}

#[test]
fn it_supports_the_configured_revisions() {
    let discover = |revisions| {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
        Program::start(TEST_SERVER, &["--revisions", revisions])
            .ask("server/discover", json!({"_meta": meta}))
    };
    assert_eq!(discover("legacy")["error"]["code"], -32601);
    assert_eq!(discover("modern")["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(discover("both")["result"]["supportedVersions"].as_array().unwrap().len(), 5);
    let mut server = Program::start(TEST_SERVER, &["--revisions", "old"]);
    assert_eq!(server.wait().code(), Some(2));
}
