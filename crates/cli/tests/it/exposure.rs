//! Hubs that list few tools: what commands and clients see of that.

use serde_json::Value;

use crate::program::Home;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

/// The names that a client of `toolbay stdio` is listed.
fn listed(home: &Home, args: &[&str]) -> Vec<String> {
    let ran = home.run_with_input(args, &format!("{INITIALIZE}\n{LIST}\n")).expect(0);
    let list = ran.stdout.lines().find(|line| line.contains(r#""tools":["#)).unwrap();
    let list: Value = serde_json::from_str(list).unwrap();
    let tools = list["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_hub_and_a_single_client_can_be_told_to_search() {
    let home = Home::with_server();
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("small ready");
    let all = listed(&home, &["stdio", "--config", "mcp.json"]);
    assert!(all.contains(&"small__echo".to_owned()) && all.len() == 4, "{all:?}");
    let searching = listed(&home, &["stdio", "--config", "mcp.json", "--exposure", "search"]);
    assert_eq!(searching.first().map(String::as_str), Some("search_tools"), "{searching:?}");
    assert_eq!(searching.len(), 5, "one client on the same hub: {searching:?}");
    let status = home.run(&["status"]).expect(0).stdout;
    assert!(!status.contains("exposure"), "{status}");
    assert_eq!(hub.stop(), Some(0));

    let mut hub = home.serve(&["--config", "mcp.json", "--exposure", "search"]);
    hub.until("small ready");
    let status = home.run(&["status"]).expect(0).stdout;
    let line = "exposure search: 0 of 4 tools are listed, and search_tools finds the others: the exposure of tools is `search`";
    assert!(status.contains(line), "{status}");
    let status = home.run(&["status", "--json"]).expect(0).json();
    assert_eq!((&status["exposure"]["mode"], &status["exposure"]["hidden"]), (&"search".into(), &4.into()));
    // Commands of the user see everything.
    assert_eq!(home.run(&["tools", "--json"]).expect(0).json()["tools"].as_array().unwrap().len(), 4);
    assert_eq!(home.run(&["call", "small__echo", "n=1"]).expect(0).stdout, "{\"n\": 1}\n");
    home.run(&["serve", "--exposure", "some"]).expect(2);
}

#[test]
fn auto_is_recommended_beyond_the_budget() {
    let home = Home::with_server();
    let python = home.path("server.py").display().to_string();
    home.write(
        "hub.toml",
        &format!("[hub]\nexposure_budget = 10\n[servers.small]\ncommand = 'python3'\nargs = ['{python}']\n"),
    );
    let mut hub = home.serve(&["--config", "hub.toml"]);
    hub.until("small ready");
    let status = home.run(&["status", "--config", "hub.toml"]).expect(0).stdout;
    assert!(status.contains("consider `exposure = \"auto\"` in [hub]"), "{status}");
    let doctor = home.run(&["doctor", "--config", "hub.toml", "--json"]).json();
    let checks = doctor["checks"].as_array().unwrap();
    let advice = checks.iter().find(|check| check["check"] == "context").unwrap();
    assert!(advice["fix"].as_str().unwrap().contains("--exposure auto"), "{advice}");
}

#[test]
fn a_search_explains_its_ranking() {
    let home = Home::with_server();
    let found = home.run(&["tools", "--search", "echo", "--config", "mcp.json", "--json"]).expect(0).json();
    assert_eq!(
        (&found["tools"][0]["name"], &found["tools"][0]["named"]),
        (&"small__echo".into(), &true.into())
    );
    let text = home.run(&["tools", "--search", "echo", "--config", "mcp.json"]).expect(0).stdout;
    assert!(text.lines().nth(1).unwrap().contains("the query names it"), "{text}");
    let nothing = home.run(&["tools", "--search", "zymurgy", "--config", "mcp.json"]).expect(1);
    assert!(nothing.stderr.contains("in no tool: zymurgy"), "{nothing:#?}");
}
