//! In a hub: entries of files, and servers that need none.

use std::fs;

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio_util::task::TaskTracker;
use toolbay_testkit::{HttpScript, Responder};

use crate::{
    codebase::StdioClient,
    program::{Home, Serving},
};

/// A home with two projects.
fn home() -> Home {
    let home = Home::new();
    for project in ["one", "two"] {
        fs::create_dir_all(home.path(project).join(".git")).unwrap();
        fs::write(home.path(project).join("a.txt"), format!("text of {project}\n")).unwrap();
    }
    home
}

fn serve_in(home: &Home, folder: &str, args: &[&str]) -> Serving {
    let args: Vec<&str> = ["serve", "--listen", "127.0.0.1:0"].iter().chain(args).copied().collect();
    let mut command = home.command(&args);
    command.current_dir(home.path(folder));
    Serving::start(command)
}

fn post(hub: &Serving, method: &str, params: Value) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let answer = hub.post(&request.to_string());
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str::<Value>(body).unwrap_or_else(|error| panic!("{error}: {answer}"))["result"].take()
}

fn call(hub: &Serving, tool: &str, arguments: Value) -> String {
    let result = post(hub, "tools/call", json!({ "name": tool, "arguments": arguments }));
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
}

/// The servers that offer tools.
fn offering(hub: &Serving) -> Vec<String> {
    let result = post(hub, "tools/list", json!({}));
    let names = result["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
    let mut servers: Vec<String> = names.map(|name| name.split("__").next().unwrap().to_owned()).collect();
    servers.dedup();
    servers.sort();
    servers.dedup();
    servers
}

fn status(home: &Home, folder: &str) -> String {
    let mut command = home.command(&["status", "--wait"]);
    command.current_dir(home.path(folder));
    let output = command.output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn builtins_are_offered_for_the_project_without_any_file() {
    let home = home();
    let mut hub = serve_in(&home, "one", &["--builtins"]);
    hub.until("`filesystem`, `text-editor`, `grep`, `memory`");
    let shown = status(&home, "one");
    for line in [
        "shell: off; enable with: toolbay add shell --builtin shell",
        "brave-search: off; enable with: toolbay add brave-search --builtin brave-search",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
    assert_eq!(offering(&hub), ["codebase", "filesystem", "grep", "hub", "memory", "text-editor"]);
    let read = call(&hub, "filesystem__read_text_file", json!({ "path": home.path("one").join("a.txt") }));
    assert_eq!(read, "text of one\n");
    let outside = call(&hub, "filesystem__read_text_file", json!({ "path": home.path("two").join("a.txt") }));
    assert!(outside.contains("outside allowed directories"), "{outside}");
    let entity = json!({ "name": "Ada", "entityType": "person", "observations": [] });
    call(&hub, "memory__create_entities", json!({ "entities": [entity] }));
    let files = fs::read_dir(home.path("data/toolbay/memory")).unwrap();
    let names: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().all(|name| name.starts_with("one-")), "{names:?}");
    assert_eq!(hub.stop(), Some(0));
    // Without it, there is nothing of the kind.
    let hub = serve_in(&home, "one", &[]);
    assert_eq!(offering(&hub), ["codebase", "hub"]);
}

#[test]
fn the_setting_counts_in_the_users_own_file_and_not_in_that_of_a_project() {
    let home = home();
    fs::write(home.path("one/toolbay.toml"), "[hub]\nbuiltins = true\n").unwrap();
    let mut hub = serve_in(&home, "one", &[]);
    assert_eq!(offering(&hub), ["codebase", "hub"]);
    assert_eq!(hub.stop(), Some(0));
    assert!(hub.said.contains("toolbay.toml") && hub.said.contains("ignored"), "{}", hub.said);
    home.write_user_config(
        "[hub]\nbuiltins = true\n[servers.memory]\nbuiltin = \"memory\"\nmemory_file = \"m.jsonl\"\n",
    );
    let hub = serve_in(&home, "two", &[]);
    status(&home, "two");
    assert_eq!(offering(&hub), ["codebase", "filesystem", "grep", "hub", "memory", "text-editor"]);
    // The entry of the same name wins.
    let entity = json!({ "name": "Ada", "entityType": "person", "observations": [] });
    call(&hub, "memory__create_entities", json!({ "entities": [entity] }));
    assert!(!home.path("data/toolbay/memory").exists());
    let of_entry = fs::read_dir(home.path("config/toolbay")).unwrap().flatten();
    assert!(of_entry.into_iter().any(|file| file.file_name().to_string_lossy().starts_with("m.jsonl")));
}

#[test]
fn each_client_has_the_built_in_servers_of_its_project() {
    let home = home();
    home.write_user_config("[hub]\nbuiltins = true\n");
    let client = |project: &str| {
        let mut command = home.command(&["stdio"]);
        command.current_dir(home.path(project));
        let mut client = StdioClient::run(command);
        client.ask("initialize", json!({ "protocolVersion": "2025-06-18" }));
        client
    };
    let (mut one, mut two) = (client("one"), client("two"));
    for (project, other, client) in [("one", "two", &mut one), ("two", "one", &mut two)] {
        let read = |project: &str| json!({ "path": home.path(project).join("a.txt") });
        let own = client.call("filesystem__read_text_file", read(project));
        assert_eq!(own["content"][0]["text"], format!("text of {project}\n"), "{own}");
        let refused = client.failure("filesystem__read_text_file", read(other));
        assert!(refused.contains("outside allowed directories"), "{refused}");
        let entity = json!({ "name": project, "entityType": "project", "observations": [] });
        client.call("memory__create_entities", json!({ "entities": [entity] }));
        let graph = client.call("memory__read_graph", json!({}));
        assert_eq!(graph["structuredContent"]["entities"].as_array().unwrap().len(), 1, "{graph}");
    }
    let stopped = home.run(&["hub", "stop"]);
    stopped.expect(0);
}

#[test]
fn entries_of_a_project_need_approval_that_shows_what_they_enable() {
    let home = home();
    let servers = json!({
        "files": { "builtin": "filesystem", "directories": ["src", "/srv"], "delete": true, "toolset": "agent" },
        "sh": { "builtin": "shell", "network": "allow", "write": ["/tmp/x"], "sandbox": "partial" },
        "web": { "builtin": "brave-search", "api_key": "s3cret" },
    });
    let project = home.path("one");
    fs::write(project.join(".mcp.json"), json!({ "mcpServers": servers }).to_string()).unwrap();
    let run = |args: &[&str]| {
        let mut command = home.command(args);
        command.current_dir(&project);
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    };
    let shown = run(&["approve"]);
    for line in [
        "built-in: filesystem",
        "/one/src, /srv",
        "setting: delete = true",
        "setting: toolset = agent",
        "built-in: shell",
        "lets programs use: the network",
        "lets programs change: /tmp/x",
        "setting: sandbox = partial",
        "built-in: brave-search",
        "setting: api_key = ***",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(!shown.contains("s3cret"), "{shown}");
    let approved = run(&["approve", "--all", "--yes"]);
    assert!(approved.contains("files: approved"), "{approved}");
    // Another directory is another launch.
    let changed = json!({ "mcpServers": servers }).to_string().replace("/srv", "/etc");
    fs::write(project.join(".mcp.json"), changed).unwrap();
    let list = run(&["list"]);
    let row = list.lines().find(|row| row.starts_with("files")).unwrap_or_else(|| panic!("{list}"));
    assert!(row.contains("needs approval"), "{list}");
}

#[test]
fn an_entry_that_cannot_be_served_says_why() {
    let home = home();
    let files = json!({ "builtin": "filesystem", "directories": ["missing"] });
    home.write(
        "mcp.json",
        &json!({ "mcpServers": { "files": files, "clock": { "builtin": "time" } } }).to_string(),
    );
    let hub = home.serve(&["--config", "mcp.json"]);
    let output = home.run(&["status", "--wait", "--config", "mcp.json"]);
    assert!(output.stdout.contains("cannot use directory"), "{output:#?}");
    let time = call(&hub, "clock__get_current_time", json!({ "timezone": "UTC" }));
    assert!(time.contains("UTC"), "{time}");
}

/// What a server is for is shown without its file, and secrets are not.
#[test]
fn commands_show_the_keys_of_an_entry() {
    let home = home();
    let files = json!({ "builtin": "filesystem", "directories": ["/srv", "/tmp"], "delete": true });
    let web = json!({ "builtin": "brave-search", "api_key": "s3cret" });
    let memory = json!({ "builtin": "memory", "memory_file": "/m.jsonl" });
    let servers = json!({ "files": files, "web": web, "memory": memory });
    home.write("mcp.json", &json!({ "mcpServers": servers }).to_string());
    let list = home.run(&["list", "--config", "mcp.json"]).expect(0).stdout;
    for target in
        ["built-in filesystem of /srv, /tmp\n", "built-in brave-search\n", "built-in memory of /m.jsonl\n"]
    {
        assert!(list.contains(target), "{target}: {list}");
    }
    let get = |name: &str| home.run(&["get", name, "--config", "mcp.json"]).expect(0).stdout;
    assert!(get("files").contains("delete=true"), "{}", get("files"));
    assert!(get("web").contains("api_key=***"), "{}", get("web"));
    let json = home.run(&["get", "memory", "--config", "mcp.json", "--json"]).expect(0).json();
    assert!(json.to_string().contains(r#""memory_file":"/m.jsonl""#), "{json}");
}

#[test]
fn the_status_says_what_is_left_of_a_quota() {
    let home = home();
    let runtime = Runtime::new().unwrap();
    let answer = |_, responder: Responder| async move {
        let headers = [
            ("content-type", "application/json"),
            ("x-ratelimit-policy", "1;w=1, 2000;w=2592000"),
            ("x-ratelimit-remaining", "0, 1990"),
            ("x-ratelimit-reset", "1, 1209600"),
        ];
        let results = json!([{ "url": "https://a", "title": "A", "description": "a" }]);
        responder
            .respond("200 OK", &headers, json!({ "web": { "results": results } }).to_string().as_str())
            .await;
    };
    let service = runtime.block_on(HttpScript::start(&TaskTracker::new(), answer)).unwrap();
    let web = json!({ "builtin": "brave-search", "api_key": "s3cret", "base_url": service.url });
    home.write("servers.json", &json!({ "mcpServers": { "web": web } }).to_string());
    let config = home.path("servers.json").display().to_string();
    let hub = serve_in(&home, "one", &["--config", &config]);
    let status = || home.run(&["status", "--wait", "--config", &config]).stdout;
    let before = status();
    assert!(!before.contains("left"), "nothing is known before the first search: {before}");
    call(&hub, "web__brave_web_search", json!({ "query": "x" }));
    let after = status();
    let expected = "web: 1 request, 0 from the cache, 0 waiting";
    assert!(after.contains(expected) && after.contains("1990 of 2000 per 30 days left"), "{after}");
    assert!(!after.contains("s3cret"), "{after}");
}
