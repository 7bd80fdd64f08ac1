//! Hubs that are servers of themselves, and chains of hubs.

use std::{fs, os::unix::fs::PermissionsExt, time::Duration};

use serde_json::Value;
use toolbay_testkit::harness::processes;

use crate::program::{Home, post, within};

const TOOLBAY: &str = env!("CARGO_BIN_EXE_toolbay");

/// A server of a running hub, as `status` shows it.
fn server(home: &Home, config: &str, name: &str) -> Value {
    let status = home.run(&["status", "--json", "--config", config]).expect(0).json();
    let servers = status["servers"].as_array().unwrap();
    servers.iter().find(|server| server["name"] == name).unwrap_or_else(|| panic!("{status}")).clone()
}

/// The names of all tools that a hub lists.
fn tools(url: &str) -> Vec<String> {
    let answer = post(url, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    body["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].to_string()).collect()
}

/// How many processes name a file.
fn processes_with(home: &Home, file: &str) -> usize {
    let path = home.path(file).display().to_string();
    processes().iter().filter(|process| process.arguments.contains(&path)).count()
}

#[test]
fn an_entry_that_starts_this_hub_is_switched_off_and_named() {
    let home = Home::new();
    let path = home.path("a.json").display().to_string();
    home.write(
        "a.json",
        &format!(
            r#"{{"mcpServers": {{"me": {{"command": "{TOOLBAY}", "args": ["stdio", "--config", "{path}"]}}, {}}}}}"#,
            home.entry("small")
        ),
    );
    let mut hub = home.serve(&["--config", "a.json"]);
    hub.until("small ready");
    assert!(hub.said.contains("server `me`: it is this hub itself"), "{}", hub.said);
    assert_eq!(server(&home, "a.json", "me")["state"], "disabled");
    assert_eq!(processes_with(&home, "a.json"), 0, "only the hub itself, which has a shorter name for it");
    assert_eq!(hub.stop(), Some(0));
    let checked = home.run(&["config", "check", "a.json"]).expect(2);
    assert!(checked.stdout.contains("error: server `me`: it is this hub itself"), "{checked:#?}");
    let doctor = home.run(&["doctor", "--config", "a.json"]).expect(1);
    assert!(doctor.stdout.contains("it is this hub itself"), "{doctor:#?}");
}

#[test]
fn a_hub_that_starts_itself_in_disguise_ends_after_a_handful_of_processes() {
    let home = Home::new();
    let path = home.path("a.json").display().to_string();
    let script = home.path("disguise");
    fs::write(&script, format!("#!/bin/sh\nexec {TOOLBAY} stdio --alone --config {path}\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    home.write("a.json", &format!(r#"{{"mcpServers": {{"me": {{"command": "{}"}}}}}}"#, script.display()));
    let mut hub = home.serve(&["--config", "a.json"]);
    hub.until("me failed");
    let me = server(&home, "a.json", "me").to_string();
    assert!(me.contains("it would serve itself"), "{me}");
    assert_eq!(processes_with(&home, "a.json"), 0);
    assert_eq!(hub.stop(), Some(0));
}

#[test]
fn a_hub_at_its_own_url_is_refused_on_every_transport() {
    let home = Home::new();
    home.write("a.json", r#"{"mcpServers": {}}"#);
    let mut hub = home.serve(&["--config", "a.json"]);
    let base = hub.url.trim_end_matches("/mcp").to_owned();
    let web_socket = base.replace("http", "ws");
    for (name, entry) in [
        ("http", format!(r#"{{"url": "{base}/mcp"}}"#)),
        ("sse", format!(r#"{{"url": "{base}/sse", "type": "sse"}}"#)),
        ("ws", format!(r#"{{"url": "{web_socket}/ws"}}"#)),
        ("bridge", format!(r#"{{"command": "{TOOLBAY}", "args": ["connect", "{base}/mcp"]}}"#)),
    ] {
        home.write("a.json", &format!(r#"{{"mcpServers": {{"{name}": {entry}, {}}}}}"#, home.entry("small")));
        hub.until(&format!("{name} failed"));
        let it = server(&home, "a.json", name).to_string();
        assert!(it.contains("this hub itself") || it.contains("leads back"), "{it}");
        assert!(!tools(&hub.url).iter().any(|tool| tool.contains(name)), "{:?}", tools(&hub.url));
    }
    home.write("client.json", &format!(r#"{{"mcpServers": {{"x": {{"url": "{base}/mcp"}}}}}}"#));
    let found = home.run(&["import", "client.json", "--dry-run", "--config", "a.json"]).expect(0);
    assert!(found.stdout.contains("this hub"), "{found:#?}");
    // For another configuration it is a server like any other.
    let found = home.run(&["import", "client.json", "--dry-run"]).expect(0);
    assert!(!found.stdout.contains("this hub"), "{found:#?}");
    assert_eq!(hub.stop(), Some(0));
}

#[test]
fn two_hubs_that_point_at_each_other_list_nothing_twice() {
    let home = Home::new();
    home.write("a.json", &format!(r#"{{"mcpServers": {{{}}}}}"#, home.entry("one")));
    let mut first = home.serve(&["--config", "a.json"]);
    first.until("one ready");
    home.write("b.json", &format!(r#"{{"mcpServers": {{"a": {{"url": "{}"}}}}}}"#, first.url));
    let mut second = home.serve(&["--config", "b.json"]);
    second.until("a ready");
    assert!(tools(&second.url).iter().any(|tool| tool.contains("a__one__echo")), "{:?}", tools(&second.url));
    home.write(
        "a.json",
        &format!(r#"{{"mcpServers": {{"b": {{"url": "{}"}}, {}}}}}"#, second.url, home.entry("one")),
    );
    first.until("b failed");
    let b = server(&home, "a.json", "b").to_string();
    assert!(b.contains("it leads back to this hub"), "{b}");
    // Long enough for a list to go round.
    std::thread::sleep(Duration::from_millis(500));
    assert!(!tools(&first.url).iter().any(|tool| tool.contains("b__")), "{:?}", tools(&first.url));
    assert!(!tools(&second.url).iter().any(|tool| tool.contains("a__b__")), "{:?}", tools(&second.url));
}

#[test]
fn chains_of_hubs_are_allowed() {
    let home = Home::new();
    home.write("other.json", &format!(r#"{{"mcpServers": {{{}}}}}"#, home.entry("small")));
    let other = home.path("other.json").display().to_string();
    home.write(
        "a.json",
        &format!(
            r#"{{"mcpServers": {{"other": {{"command": "{TOOLBAY}", "args": ["stdio", "--alone", "--config", "{other}"]}},
                "code": {{"command": "{TOOLBAY}", "args": ["codebase", "."]}}}}}}"#
        ),
    );
    let mut hub = home.serve(&["--config", "a.json"]);
    // Each hub lists its servers as they become ready.
    within("the chain".to_owned(), {
        let url = hub.url.clone();
        move || while !tools(&url).iter().any(|tool| tool.contains("other__small__echo")) {}
    });
    let called = home.run(&["call", "--config", "a.json", "other__small__echo", "n=1"]).expect(0);
    assert_eq!(called.stdout, "{\"n\": 1}\n");
    let names = tools(&hub.url);
    assert!(names.iter().any(|tool| tool.contains("code__")), "{names:?}");
    assert_eq!(hub.stop(), Some(0));
}
