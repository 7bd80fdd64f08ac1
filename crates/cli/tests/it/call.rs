//! `call`: progress, server requests, files and errors.

use std::path::Path;

use serde_json::json;
use toolbay_testkit::harness::Programs;

use crate::program::{Home, Ran};

/// A home whose only server has something of everything, in a revision.
fn home(revision: &str) -> Home {
    let home = Home::new();
    let programs = Programs::beside(Path::new(env!("CARGO_BIN_EXE_toolbay"))).unwrap();
    let command = programs.path("toolbay-test-server");
    let entry = json!({ "mcpServers": { "it": { "command": command, "args": ["--revision", revision] } } });
    home.write("mcp.json", &entry.to_string());
    home
}

fn call<'a>(args: &[&'a str]) -> Vec<&'a str> {
    ["--config", "mcp.json", "call"].iter().chain(args).copied().collect()
}

/// Calls on a terminal where somebody types.
fn typed(home: &Home, args: &[&str], input: &str) -> Ran {
    let args: Vec<&str> = call(args).into_iter().chain(["--color", "never"]).collect();
    home.run_on_terminal(&args, input)
}

#[test]
fn elicitation_forms_are_shown_on_a_terminal() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let home = home(revision);
        let ran = typed(&home, &["it__elicit", "text=please"], "\n\nAda\n").expect(0);
        assert!(ran.stdout.contains("it asks: Who are you? please"), "{ran:#?}");
        assert!(ran.stdout.contains("a value is required"), "the first empty line says yes: {ran:#?}");
        assert!(ran.stdout.ends_with("\r\nAda\r\n") || ran.stdout.ends_with(": Ada\r\n"), "{ran:#?}");
        assert!(typed(&home, &["it__elicit"], "d\n").stdout.contains("declined"), "{revision}");
        assert!(typed(&home, &["it__elicit"], "c\n").stdout.contains("cancelled"), "{revision}");
        let twice = typed(&home, &["it__elicit_rounds"], "y\nAda\ny\nGrace\n").expect(0);
        assert!(twice.stdout.contains("Ada then Grace"), "{twice:#?}");
    }
}

#[test]
fn pages_are_shown_and_nothing_is_opened() {
    let home = home("2025-11-25");
    let ran = typed(&home, &["it__elicit_url"], "y\n").expect(0);
    assert!(ran.stdout.contains("http") && ran.stdout.contains("Open this page yourself"), "{ran:#?}");
    assert!(ran.stdout.contains("visited"), "{ran:#?}");
    assert!(
        typed(&home, &["it__elicit_url"], "\n").stdout.contains("cancelled"),
        "an empty line is no consent"
    );
}

#[test]
fn server_requests_without_a_handler_are_refused() {
    let home = home("2025-11-25");
    // No terminal, so nobody can fill in a form; and there is never a model.
    for tool in ["it__elicit", "it__sample"] {
        let ran = home.run(&call(&[tool]));
        assert!(matches!(ran.code, Some(1 | 5)), "{ran:#?}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains("does not support"), "{ran:#?}");
    }
}

#[test]
fn progress_and_log_messages_are_shown() {
    let home = home("2025-11-25");
    let sleep = ["it__sleep", "ms:=1500", "progress_ms:=300"];
    let ran = typed(&home, &sleep, "").expect(0);
    assert!(ran.stdout.contains("60%") && ran.stdout.contains("it__sleep  █"), "{ran:#?}");
    assert!(ran.stdout.trim_end().ends_with("slept 1500 ms"), "nothing of it stays: {ran:#?}");
    let piped = home.run(&call(&sleep)).expect(0);
    assert_eq!((piped.stdout.as_str(), piped.stderr.contains('%')), ("slept 1500 ms\n", false));
    let verbose = home.run(&call(&["-v", "it__log", "text=hello"])).expect(0);
    assert!(verbose.stderr.contains("it test info: ") && verbose.stderr.contains("hello"), "{verbose:#?}");
}

#[test]
fn bytes_are_saved_in_files() {
    let home = home("2025-11-25");
    let ran = home.run(&call(&["it__kinds", "--output", "out.bin"])).expect(0);
    assert!(ran.stdout.starts_with("words\n"), "{ran:#?}");
    assert!(ran.stderr.contains("saved out-1.bin (image/png, 5 bytes)"), "{ran:#?}");
    let read = |name: &str| std::fs::read(home.path(name)).unwrap();
    assert_eq!((read("out-1.bin"), read("out-2.bin")), (b"image".to_vec(), b"audio".to_vec()));
    home.run(&call(&["it__echo", "text=hello", "-o", "text"])).expect(0);
    assert_eq!(read("text"), b"hello");
    let missing = home.run(&call(&["it__kinds", "-o", "no/such/folder"])).expect(1);
    assert!(missing.stderr.contains("cannot write `no/such/folder-1`"), "{missing:#?}");
}

#[test]
fn an_error_names_its_server_and_its_code() {
    let home = Home::with_server();
    let ran = home.run(&["call", "small__nothing", "--config", "mcp.json"]).expect(1);
    assert!(ran.stderr.contains("no server offers the tool `small__nothing`"), "{ran:#?}");
    let script = std::fs::read_to_string(home.path("server.py")).unwrap();
    home.write("server.py", &script.replace("name == \"fail\"", "name == \"other\""));
    let ran = home.run(&["call", "small__fail", "--config", "mcp.json"]).expect(1);
    // Its data is not taken for the hub's: no hint of its own making is shown.
    assert!(ran.stderr.ends_with("error: server `small` returned error -32601: unknown\n"), "{ran:#?}");
}

#[test]
fn servers_that_do_not_run_are_named() {
    let home = Home::new();
    let typo = r#""typo": {"command": "no-such-program"}"#;
    let off = r#""off": {"command": "x", "disabled": true}"#;
    home.write("mcp.json", &format!(r#"{{"mcpServers": {{{}, {typo}, {off}}}}}"#, home.entry("small")));
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("small ready");
    home.run(&["stop", "small"]).expect(0);
    for (tool, message, hint) in [
        ("small__echo", "error: server `small` is stopped", "toolbay start small"),
        ("typo__x", "error: server `typo` has failed: it could not be started: ", "toolbay restart typo"),
        ("off__x", "error: server `off` is disabled", "toolbay enable off"),
    ] {
        let ran = home.run(&["call", tool]).expect(4);
        assert!(ran.stderr.contains(message) && ran.stderr.contains(hint), "{ran:#?}");
    }
    home.run(&["prompt", "small__greet"]).expect(4);
    assert_eq!(hub.stop(), Some(0));
}

#[test]
fn a_tool_that_was_set_aside_says_why() {
    let home = Home::new();
    let programs = Programs::beside(Path::new(env!("CARGO_BIN_EXE_toolbay"))).unwrap();
    let command = programs.path("toolbay-hostile");
    let entry = json!({ "mcpServers": { "bad": { "command": command, "args": ["--bad-schema"] } } });
    home.write("mcp.json", &entry.to_string());
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("bad degraded");
    let ran = home.run(&["call", "bad__bad_schema"]).expect(4);
    assert!(ran.stderr.contains("the tool `bad_schema` of server `bad` is not offered: "), "{ran:#?}");
}
