//! Commands while servers are slow, stopped or missing.

use std::time::{Duration, Instant};

use crate::program::{Home, Ran, is_running};

/// Far less than the start-up timeout of a server that hangs, which a command must not wait for.
const AT_ONCE: Duration = Duration::from_secs(10);

/// A home whose configuration has `small` and one server that never comes up.
fn with_hanging_server() -> Home {
    let home = Home::new();
    let hang = r#""hang": {"command": "sleep", "args": ["1000"]}"#;
    home.write("mcp.json", &format!(r#"{{"mcpServers": {{{}, {hang}}}}}"#, home.entry("small")));
    home
}

#[track_caller]
fn at_once(home: &Home, args: &[&str]) -> Ran {
    let started = Instant::now();
    let ran = home.run(args);
    assert!(started.elapsed() < AT_ONCE, "{args:?} took {:?}", started.elapsed());
    ran
}

#[test]
fn a_running_hub_is_not_waited_for() {
    let home = with_hanging_server();
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("small ready");
    let tools = at_once(&home, &["tools", "--config", "mcp.json"]).expect(0);
    assert!(tools.stdout.contains("small__echo"), "{tools:#?}");
    assert_eq!(tools.stderr, "still starting: hang\n");
    assert!(at_once(&home, &["resources"]).expect(0).stdout.contains("mem://note"));
    assert!(at_once(&home, &["prompts"]).expect(0).stdout.contains("small__greet"));
    assert!(at_once(&home, &["logs", "small"]).expect(0).stdout.contains("started red"));
    at_once(&home, &["logs"]).expect(0);
    at_once(&home, &["status"]).expect(0);
    at_once(&home, &["call", "small__echo", "n=1"]).expect(0);
    at_once(&home, &["call", "small__nothing"]).expect(1);
    at_once(&home, &["call", "nobody__nothing"]).expect(1);
    at_once(&home, &["prompt", "small__greet", "who=x"]).expect(0);
    at_once(&home, &["read", "mem://note"]).expect(0);
}

#[test]
fn waiting_for_a_server_is_possible() {
    let home = Home::new();
    let script = home.path("server.py");
    let slow = format!(
        r#""slow": {{"command": "sh", "args": ["-c", "sleep 2; exec python3 {}"]}}"#,
        script.to_str().unwrap()
    );
    home.write("mcp.json", &format!(r#"{{"mcpServers": {{{slow}}}}}"#));
    let _hub = home.serve(&["--config", "mcp.json"]);
    let tools = home.run(&["tools", "--wait"]).expect(0);
    assert!(tools.stdout.contains("slow__echo"), "{tools:#?}");
    let status = home.run(&["status", "--wait", "--json"]).expect(0).json();
    assert_eq!(status["servers"][0]["state"], "ready");
}

#[test]
fn without_a_hub_only_what_is_needed_is_started() {
    let home = with_hanging_server();
    let alone = |args: &[&str]| {
        let args: Vec<&str> = args.iter().copied().chain(["--config", "mcp.json"]).collect();
        at_once(&home, &args)
    };
    // Nothing is known of `small` yet, and nothing at all of `hang`.
    let ran = alone(&["call", "small__echo", "n=1"]).expect(0);
    assert_eq!(ran.stdout, "{\"n\": 1}\n");
    assert!(!ran.stderr.contains("hang"), "{ran:#?}");
    let tools = alone(&["tools", "--server", "small"]).expect(0);
    assert!(tools.stdout.contains("small__echo"), "{tools:#?}");
    alone(&["prompt", "small__greet", "who=x"]).expect(0);
    let status = alone(&["status"]).expect(4);
    assert!(
        status.stdout.contains("small   not running") && status.stdout.contains("hang    not running"),
        "{status:#?}"
    );
    assert!(status.stderr.starts_with("error: no hub is running"), "{status:#?}");
    let logs = alone(&["logs"]).expect(4);
    assert!(logs.stderr.starts_with("error: no hub is running"), "{logs:#?}");
    assert!(!is_running(&home.path("server.py")));
}

#[test]
fn lists_come_from_the_cache_unless_live() {
    let home = Home::with_server();
    let tools = |more: &[&str]| {
        let args: Vec<&str> = ["tools", "--config", "mcp.json"].iter().chain(more).copied().collect();
        home.run(&args).expect(0)
    };
    let first = tools(&[]);
    assert!(first.stderr.contains("small ready"), "nothing is known, so it is started: {first:#?}");
    // From here on it says something else, but nobody asks it.
    let script = std::fs::read_to_string(home.path("server.py")).unwrap();
    home.write("server.py", &script.replace("\"evil\"", "\"kind\""));
    let second = tools(&[]);
    assert_eq!((second.stdout, second.stderr.as_str()), (first.stdout.clone(), ""));
    let live = tools(&["--live"]).stdout;
    assert_eq!(live, first.stdout.replace("small__evil", "small__kind"));
    assert_eq!(tools(&[]).stdout, live);
}

#[test]
fn one_tool_is_shown_with_its_parameters_and_an_example() {
    let home = Home::with_server();
    for name in ["small__echo", "echo"] {
        let ran = home.run(&["tools", name, "--config", "mcp.json"]).expect(0);
        let lines: Vec<&str> = ran.stdout.lines().collect();
        assert_eq!(lines[0], "small__echo  server small", "{ran:#?}");
        assert!(lines.contains(&"PARAMETER  TYPE     REQUIRED  DESCRIPTION"), "{ran:#?}");
        assert!(lines.contains(&"n          number   no"), "{ran:#?}");
        assert_eq!(lines.last().unwrap().trim(), "toolbay call small__echo text=…", "{ran:#?}");
    }
    let json = home.run(&["tools", "small__echo", "--config", "mcp.json", "--json"]).expect(0).json();
    assert_eq!(json["tools"].as_array().unwrap().len(), 1);
}

#[test]
fn the_cost_of_tools_is_a_token_for_four_bytes_of_their_definitions() {
    let home = Home::with_server();
    let listed = home.run(&["tools", "--config", "mcp.json", "--json"]).expect(0).stdout;
    let cost = home.run(&["tools", "--cost", "--config", "mcp.json", "--json"]).expect(0).json();
    let tools = cost["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 4, "{cost:#}");
    for tool in tools {
        let name = format!(r#""name":{}"#, tool["name"]);
        let bytes = tool["bytes"].as_u64().unwrap();
        assert!(listed.replace(' ', "").contains(&name) && tool["server"] == "small", "{tool}");
        assert_eq!(tool["tokens"], bytes.div_ceil(4), "{tool}");
    }
    let bytes: u64 = tools.iter().map(|tool| tool["bytes"].as_u64().unwrap()).sum();
    // The list is these definitions, with commas between them, and no more.
    assert!(
        listed.len() as u64 >= bytes && (listed.len() as u64) < bytes + 50,
        "{} and {bytes}",
        listed.len()
    );
    assert_eq!((&cost["bytes"], &cost["tokens"]), (&bytes.into(), &bytes.div_ceil(4).into()));
    assert_eq!(cost["servers"][0]["tokens"], cost["tokens"]);
    let table = home.run(&["tools", "--cost", "--config", "mcp.json"]).expect(0).stdout;
    assert!(table.lines().last().unwrap().starts_with("4 tools of 1 server: about "), "{table}");
}

#[test]
fn status_sums_up_and_tells_times() {
    let home = Home::new();
    let typo = r#""typo": {"command": "no-such-program"}"#;
    let off = r#""off": {"command": "x", "disabled": true}"#;
    home.write("mcp.json", &format!(r#"{{"mcpServers": {{{}, {typo}, {off}}}}}"#, home.entry("small")));
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("small ready");
    home.run(&["call", "small__echo"]).expect(0);
    let status = home.run(&["status"]).expect(0).stdout;
    let lines: Vec<&str> = status.lines().collect();
    assert!(lines[0].starts_with("1 ready, 1 failed, 1 disabled · 4 tools, about "), "{status}");
    assert!(lines[2].contains("SERVER  STATE     TOOLS  TOKENS  CALLS  UPTIME"), "{status}");
    assert!(lines[3].contains("typo    failed"), "trouble comes first: {status}");
    assert!(status.contains("(-v lists them)") && !status.contains("/usr/bin"), "{status}");
    assert!(home.run(&["status", "-v"]).expect(0).stdout.contains("/usr/bin"));
    let small = lines.iter().find(|line| line.contains("small")).unwrap();
    let cells: Vec<&str> = small.split_whitespace().collect();
    assert_eq!((cells[3], cells[5]), ("4", "1"), "tools and calls: {small}");
    assert!(["s", "min"].contains(&cells[7]), "uptime: {small}");
    let told = home.run(&["status", "--json"]).expect(0).json();
    assert_eq!(told["tool_tokens"].to_string(), cells[4], "tokens: {small}");
    assert!(told["servers"][0]["state_ms"].is_u64() && told["servers"][0]["start_ms"].is_u64(), "{told}");
    assert_eq!(hub.stop(), Some(0));
}

#[test]
fn a_start_is_timed_anew() {
    let home = Home::with_server();
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("small ready");
    let started = Instant::now();
    home.run(&["stop", "small"]).expect(0);
    hub.until("small stopped");
    std::thread::sleep(Duration::from_millis(1500)); // not waiting for anything: time that must not count
    let before = started.elapsed();
    let server = home.run(&["start", "small", "--json"]).expect(0).json();
    let took = Duration::from_millis(server["server"]["start_ms"].as_u64().unwrap());
    assert!(took <= started.elapsed() - before, "{took:?} of {:?}", started.elapsed());
    hub.until("small ready");
}

#[test]
fn a_naming_that_a_running_hub_does_not_follow_is_reported() {
    let home = Home::with_server();
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("small ready");
    let tools = home.run(&["tools", "--config", "mcp.json", "--naming", "none"]).expect(0);
    assert!(
        tools.stdout.contains("small__echo") && tools.stderr.contains("--naming is ignored"),
        "{tools:#?}"
    );
    assert_eq!(home.run(&["tools", "--config", "mcp.json"]).expect(0).stderr, "");
}

#[test]
fn commands_search_the_project_that_they_run_in() {
    let home = Home::new();
    for folder in ["project", "other", "home"] {
        std::fs::create_dir(home.path(folder)).unwrap();
        home.write(&format!("{folder}/{folder}.rs"), "fn main() {}\n");
    }
    let command = |folder: &str, args: &[&str]| {
        let mut command = home.command(args);
        command.current_dir(home.path(folder));
        command
    };
    let _hub = crate::program::Serving::start(command("project", &["serve", "--listen", "0"]));
    for (folder, searched) in [("other", "other.rs"), ("project", "project.rs"), ("home", "project.rs")] {
        for args in [&["call", "codebase__list_directory", "path=."][..], &["read", "codebase://files"]] {
            let output = command(folder, args).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && said.contains(searched), "{folder}, {args:?}: {output:?}");
        }
    }
    // Where that is no project, it is said which one is searched.
    let call = command("home", &["call", "codebase__list_directory", "path=."]).output().unwrap();
    let said = String::from_utf8_lossy(&call.stderr).into_owned();
    assert!(said.contains("the running hub searches ") && said.contains("/project"), "{said}");
}
