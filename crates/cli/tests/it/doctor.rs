//! `doctor`: problems of servers and their hints.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    time::Instant,
};

use serde_json::{Value, json};

use crate::program::{Home, is_running, signal};

/// The checks with that status, as `about: message`.
fn found(report: &Value, status: &str) -> Vec<String> {
    let checks = report["checks"].as_array().unwrap().iter();
    checks
        .filter(|check| check["status"] == status)
        .map(|check| {
            let about = check["server"].as_str().or(check["check"].as_str()).unwrap();
            format!("{about}: {}", check["message"].as_str().unwrap())
        })
        .collect()
}

#[track_caller]
fn has(found: &[String], about: &str, text: &str) {
    assert!(
        found.iter().any(|one| one.starts_with(about) && one.contains(text)),
        "{about} {text}: {found:#?}"
    );
}

#[test]
fn passed_checks_are_ticked() {
    let home = Home::with_server();
    let ran = home.run(&["doctor", "--config", "mcp.json"]).expect(0);
    for said in [
        "mcp.json: 1 server\n",
        "✓ programs: python3 is /",
        "✓ small: ready after ",
        "2025-11-25 (handshake) over stdio, 4 tools, 2 resources, 1 prompt\n",
        "✓ open files: ",
        " sandbox: ",
        "hub: not running",
    ] {
        assert!(ran.stdout.contains(said), "{said:?} {ran:#?}");
    }
    assert!(!ran.stdout.contains('✗'), "{ran:#?}");
    assert!(!is_running(&home.path("server.py")));
    assert!(!home.path("cache").exists(), "it leaves no trace");
}

#[test]
fn each_ill_has_its_line_and_a_remedy() {
    let home = Home::new();
    let python = |script: &str| json!({ "command": "python3", "args": ["-c", script] });
    let noisy = format!("print('hello there', flush=True)\nexec(open({:?}).read())", home.path("server.py"));
    let long = "a_tool_with_a_name_that_is_longer_than_any_client_would_ever_take";
    let named = fs::read_to_string(home.path("server.py")).unwrap();
    home.write(
        "named.py",
        &named
            .replace("\"hang\"", &format!("{long:?}"))
            .replace("\"evil\", \"inputSchema\": {\"type\": \"object\"}", "\"evil\""),
    );
    let servers = json!({
        "good": { "command": "python3", "args": [home.path("server.py")] },
        "mute": { "command": "sleep", "args": ["1000"] },
        "mute2": { "command": "sleep", "args": ["1000"] },
        "mute3": { "command": "sleep", "args": ["1000"] },
        "mute4": { "command": "sleep", "args": ["1000"] },
        "gone": { "command": "no-such-program" },
        "dies": python("import sys; print('no key', file=sys.stderr); sys.exit(3)"),
        "noisy": python(&noisy),
        "named": { "command": "python3", "args": [home.path("named.py")] },
        "floats": { "command": "npx", "args": ["-y", "some-package"], "disabled": true },
        "bad": { "command": 5 },
    });
    home.write("mcp.json", &json!({ "mcpServers": servers }).to_string());
    let began = Instant::now();
    let ran = home.run(&["--json", "doctor", "--timeout", "5", "--config", "mcp.json"]).expect(1);
    let took = began.elapsed().as_secs();
    assert!(took < 25, "those that hang must not wait for each other: {took} s");
    let report = ran.json();
    assert_eq!(report["ok"], false);
    let bad = found(&report, "error");
    has(&bad, "mute: ", "not ready within 5 s");
    has(&bad, "mute2: ", "not ready within 5 s");
    has(&bad, "gone: ", "command `no-such-program` not found");
    has(&bad, "programs: ", "needed by gone");
    has(&bad, "dies: ", "exit code 3");
    has(&bad, "bad: ", "mcp.json:1:");
    assert_eq!(bad.len(), 8, "{bad:#?}");
    assert_eq!(report["errors"], 8);
    let odd = found(&report, "warning");
    has(&odd, "noisy: ", "wrote a line to stdout");
    has(&odd, "named: ", "the tool `evil` is not offered");
    has(&odd, "named: ", "some tools are renamed");
    has(&odd, "mute: ", "did not exit when its stdin was closed");
    has(&odd, "floats: ", "`some-package` is not pinned to a version, such as `some-package@1.2.3`");
    let good = found(&report, "ok");
    has(&good, "good: ", "ready after");
    has(&good, "noisy: ", "ready after");
    has(&good, "floats: ", "disabled");
    let checks = report["checks"].as_array().unwrap();
    assert!(checks.iter().all(|check| check["status"] != "error" || check["fix"].is_string()), "{report:#}");
    let dies = checks.iter().find(|check| check["server"] == "dies").unwrap();
    assert_eq!(dies["details"][0], "no key");
    assert!(ran.stderr.contains("8 problems were found"), "{ran:#?}");
}

#[test]
fn files_are_looked_at_closely() {
    let home = Home::new();
    home.write_user_config(
        "[servers.twice]\ncommand = \"true\"\nenabled = false\n[servers.bad]\ncommand = 5\n",
    );
    home.write(".mcp.json", r#"{"mcpServers": {"twice": {"command": "true"}, "brought": {"command": "touch", "args": ["MARK"]}}}"#);
    fs::set_permissions(home.path(".mcp.json"), fs::Permissions::from_mode(0o664)).unwrap();
    let report = home.run(&["doctor", "--json"]).expect(1).json();
    let odd = found(&report, "warning");
    has(&odd, "config: ", ".mcp.json is writable by its group");
    has(&odd, "twice: ", "is not approved; the one in");
    has(&odd, "brought: ", "needs approval");
    has(&found(&report, "error"), "bad: ", "toolbay.toml:");
    assert!(!home.path("MARK").exists());

    home.write("config/toolbay/toolbay.toml", "[servers.x\n");
    let ran = home.run(&["doctor"]).expect(1);
    assert!(ran.stdout.contains("✗ config: ") && ran.stdout.contains("toolbay.toml:1:"), "{ran:#?}");
    assert!(ran.stdout.contains("    fix: "), "{ran:#?}");
}

#[test]
fn one_server_can_be_shown_alone() {
    let home = Home::new();
    let servers =
        format!(r#"{{"mcpServers": {{{}, "gone": {{"command": "no-such-program"}}}}}}"#, home.entry("small"));
    home.write("mcp.json", &servers);
    let ran = home.run(&["doctor", "small", "--config", "mcp.json"]).expect(0);
    assert!(ran.stdout.contains("✓ small: ready") && !ran.stdout.contains("gone"), "{ran:#?}");
    let ran = home.run(&["doctor", "smal", "--config", "mcp.json"]).expect(1);
    assert!(ran.stderr.contains("did you mean `small`?"), "{ran:#?}");
}

#[test]
fn doctor_reports_problems_of_the_running_hub() {
    let home = Home::with_server();
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("small ready");
    let report = home.run(&["doctor", "--json", "--config", "mcp.json"]).expect(0).json();
    let said = format!("process {} serves at {}, 1 of 1 servers ready", hub.pid(), hub.url);
    has(&found(&report, "ok"), "hub: ", &said);
    home.write("mcp.json", "{");
    hub.until("stays in effect");
    let report = home.run(&["doctor", "--json", "--config", "mcp.json"]).expect(1).json();
    has(&found(&report, "warning"), "hub: ", "older configuration");
}

#[test]
fn a_built_in_server_is_looked_at_like_any_other() {
    let home = Home::new();
    home.write("mcp.json", r#"{"mcpServers": {"code": {"builtin": "codebase", "root": "."}}}"#);
    let ran = home.run(&["doctor", "--config", "mcp.json"]).expect(0);
    assert!(ran.stdout.contains("✓ code: ready after "), "{ran:#?}");
    assert!(!home.path("cache").exists(), "it leaves no trace");
}

#[test]
fn results_are_shown_as_they_come() {
    let home = Home::new();
    let mute = r#""mute": {"command": "sleep", "args": ["1000"]}"#;
    home.write("mcp.json", &format!(r#"{{"mcpServers": {{{mute}, {}}}}}"#, home.entry("small")));
    let mut doctor = home.command(&["doctor", "--timeout", "600", "--config", "mcp.json"]).spawn().unwrap();
    let mut lines = BufReader::new(doctor.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("✓ small: ready after ")));
    assert_eq!(doctor.try_wait().unwrap(), None, "the other one still starts");
    signal(doctor.id(), "INT");
    assert_eq!(doctor.wait().unwrap().code(), Some(130));

    home.write("mcp.json", &format!(r#"{{"mcpServers": {{{}}}}}"#, home.entry("small")));
    let ran = home.run_on_terminal(&["doctor", "--config", "mcp.json"], "").expect(0);
    assert!(ran.stdout.contains("checking 1 server: small"), "{ran:#?}");
}

#[test]
fn many_packages_without_a_version_take_one_line() {
    let home = Home::new();
    let entry =
        |name: &str| format!(r#""{name}": {{"command": "npx", "args": ["{name}"], "disabled": true}}"#);
    home.write("mcp.json", &format!(r#"{{"mcpServers": {{{}, {}}}}}"#, entry("a"), entry("b")));
    let ran = home.run(&["doctor", "--config", "mcp.json"]).expect(0);
    assert!(
        ran.stdout.contains("! versions: 2 servers are not pinned to a version; -v lists them\n"),
        "{ran:#?}"
    );
    let ran = home.run(&["doctor", "-v", "--config", "mcp.json"]).expect(0);
    assert!(ran.stdout.contains("! b: `b` is not pinned to a version, such as `b@1.2.3`\n"), "{ran:#?}");
}

#[test]
fn common_failures_have_a_hint_of_their_own() {
    let home = Home::new();
    let in_use =
        "import sys; print('OSError: [Errno 98] Address already in use', file=sys.stderr); sys.exit(1)";
    let servers = json!({
        "typo": { "command": "nxp", "args": ["-y", "x@1.0.0"] },
        "port": { "command": "python3", "args": ["-c", in_use] },
        "host": { "url": "http://no-such-host.invalid/mcp" },
    });
    home.write("mcp.json", &json!({ "mcpServers": servers }).to_string());
    let hints = [
        ("typo", "did you mean `npx`?"),
        ("port", "another process uses the server's port"),
        ("host", "its host name cannot be resolved"),
    ];
    let report = home.run(&["--json", "doctor", "--config", "mcp.json"]).expect(1).json();
    for (server, hint) in hints {
        let checks = report["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["server"] == server).unwrap();
        assert!(check["fix"].as_str().unwrap().contains(hint), "{check}");
    }
    let serving = home.serve(&["--config", "mcp.json"]);
    let mut said = String::new();
    while !hints.iter().all(|(_, hint)| said.contains(hint)) {
        said = home.run(&["status", "--config", "mcp.json"]).expect(0).stdout;
    }
    drop(serving);
}
