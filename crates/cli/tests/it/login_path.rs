//! Where servers find programs when a desktop starts the hub: its `PATH` is bare, that of the login shell is not.

use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::program::{Home, Serving};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#;

fn write_program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A home with a server `tool` whose program only the login shell finds, and a shell that does `first` before it answers.
fn home(first: &str) -> Home {
    let home = Home::new();
    let server = format!("#!/bin/sh\nexec python3 {}\n", home.path("server.py").display());
    write_program(&home.path("bin/only-in-login"), &server);
    // Called as `shell -l -i -c SCRIPT`.
    let shell =
        format!("#!/bin/sh\n{first}\nPATH={}:$PATH exec /bin/sh -c \"$4\"\n", home.path("bin").display());
    write_program(&home.path("shell"), &shell);
    home.write("mcp.json", r#"{"mcpServers": {"tool": {"command": "only-in-login"}}}"#);
    home
}

/// As a desktop does it.
fn from_desktop(home: &Home, mut command: Command) -> Command {
    command.env_remove("TERM").env("SHELL", home.path("shell"));
    command
}

fn serve(home: &Home) -> Serving {
    let args = ["serve", "--listen", "127.0.0.1:0", "--config", "mcp.json"];
    Serving::start(from_desktop(home, home.command(&args)))
}

#[test]
fn a_hub_started_by_a_desktop_uses_the_path_of_the_login_shell() {
    let home = home("echo noise of a start-up file");
    let mut hub = serve(&home);
    hub.until("tool ready");
    // What joins later finds its programs, too; one that says itself where to look is left alone.
    home.write(
        "mcp.json",
        r#"{"mcpServers": {"later": {"command": "only-in-login"},
            "own": {"command": "only-in-login", "env": {"PATH": "/usr/bin:/bin"}}}}"#,
    );
    hub.until("later ready");
    let status = home.run(&["status", "--json"]).json();
    let own = status["servers"].as_array().unwrap().iter().find(|server| server["name"] == "own").unwrap();
    assert_eq!(own["state"], "failed", "{own}");
    assert_eq!(hub.stop(), Some(0));
}

#[test]
fn in_a_terminal_the_login_shell_is_not_run() {
    let home = home("touch ASKED");
    let mut command = home.command(&["serve", "--listen", "127.0.0.1:0", "--config", "mcp.json"]);
    command.env("SHELL", home.path("shell"));
    let mut hub = Serving::start(command);
    hub.until("tool failed");
    assert!(!home.path("ASKED").exists());
}

#[test]
fn a_shell_that_hangs_delays_servers_for_a_while_and_the_hub_not_at_all() {
    let home = home("sleep 600");
    home.write("mcp.json", &format!(r#"{{"mcpServers": {{{}}}}}"#, home.entry("small")));
    let began = Instant::now();
    let mut hub = serve(&home);
    assert!(hub.post(INITIALIZE).contains("serverInfo"));
    let status = home.run(&["status", "--json"]).expect(0).json();
    let served_after = began.elapsed();
    // On a machine so slow that the shell was given up meanwhile there is nothing left to see.
    if served_after < Duration::from_millis(2500) {
        assert_eq!(status["servers"][0]["state"], "starting", "{status}");
    }
    // A call waits for it, and then finds the programs that the hub finds.
    assert_eq!(home.run(&["call", "small__echo", "n=1"]).expect(0).stdout, "{\"n\": 1}\n");
    assert_eq!(hub.stop(), Some(0));
    assert!(hub.said.contains("did not print its environment within 3 s"), "{}", hub.said);
}

#[test]
fn a_hub_on_stdio_responds_at_once_and_lets_calls_wait() {
    let home = home("sleep 0.5");
    let mut command = from_desktop(&home, home.command(&["stdio", "--alone", "--config", "mcp.json"]));
    let mut hub = command.stdin(Stdio::piped()).spawn().unwrap();
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tool__echo","arguments":{"n":2}}}"#;
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    write!(hub.stdin.take().unwrap(), "{INITIALIZE}\n{ready}\n{call}\n").unwrap();
    let output = hub.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("serverInfo") && said.contains(r#"{\"n\": 2}"#), "{output:?}");
}

#[test]
fn a_command_on_its_own_asks_the_shell_as_well() {
    let home = home("");
    let args = ["--config", "mcp.json", "call", "tool__echo", "n=2"];
    let output = from_desktop(&home, home.command(&args)).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "{\"n\": 2}\n", "{output:?}");
}

#[test]
fn a_command_that_needs_no_program_does_not_wait_for_the_shell() {
    let home = home("sleep 600");
    home.write("mcp.json", r#"{"mcpServers": {"web": {"url": "http://127.0.0.1:9/mcp"}}}"#);
    let output =
        from_desktop(&home, home.command(&["tools", "--live", "--config", "mcp.json"])).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("PATH") && !said.contains("in time"), "{said}");
}

#[test]
fn the_doctor_looks_where_a_hub_would() {
    let home = home("");
    let mut command = from_desktop(&home, home.command(&["doctor", "tool", "--config", "mcp.json"]));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("only-in-login is /") && said.contains("✓ tool: ready"), "{said}");
}
