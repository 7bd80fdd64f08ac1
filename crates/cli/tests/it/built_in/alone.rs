//! `toolbay builtin`: each server as a process of its own.

use std::{fs, process::Command};

use serde_json::{Value, json};

use crate::{
    codebase::StdioClient,
    program::{Home, sandbox_level},
};

/// A server after the handshake, and what it said about itself.
fn connect(command: Command) -> (StdioClient, Value) {
    let mut client = StdioClient::run(command);
    let client_info = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client_info });
    let mut answer = client.ask("initialize", params);
    assert!(answer["error"].is_null(), "{answer}");
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    (client, answer["result"].take())
}

fn tools(client: &mut StdioClient) -> Vec<String> {
    let answer = client.ask("tools/list", json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// The servers as `toolbay builtin --json` lists them.
fn listed(home: &Home) -> Vec<Value> {
    let list = home.run(&["builtin", "--json"]).expect(0).json();
    list["servers"].as_array().unwrap().clone()
}

#[test]
fn every_server_of_the_list_has_the_tools_of_the_list() {
    let home = Home::new();
    fs::create_dir(home.path("files")).unwrap();
    let servers = listed(&home);
    for server in &servers {
        let name = server["name"].as_str().unwrap();
        for toolset in server["toolsets"].as_array().unwrap() {
            let set = toolset["name"].as_str().unwrap();
            let mut args = vec!["builtin", name];
            args.extend(["filesystem", "codebase"].contains(&name).then_some("files"));
            args.extend(
                (name == "brave-search").then_some(["--brave-api-key", "none"]).into_iter().flatten(),
            );
            args.extend((set != "default").then_some(["--toolset", set]).into_iter().flatten());
            let (mut client, about) = connect(home.command(&args));
            assert!(about["serverInfo"]["name"].is_string(), "{about}");
            assert_eq!(json!(tools(&mut client)), toolset["tools"], "{name} {set}");
        }
    }
    let names: Vec<&str> = servers.iter().map(|server| server["name"].as_str().unwrap()).collect();
    let table = home.run(&["builtin"]).expect(0).stdout;
    let rows: Vec<&str> = table.lines().skip(1).filter(|row| !row.starts_with(' ')).collect();
    assert!(rows.iter().zip(&names).all(|(row, name)| row.starts_with(name)), "{table}");
    assert_eq!(rows.len(), names.len(), "{table}");
}

#[test]
fn a_server_alone_looks_like_the_original() {
    let home = Home::new();
    for (name, expected) in
        [("filesystem", "secure-filesystem-server"), ("memory", "memory-server"), ("time", "mcp-time")]
    {
        let (_client, about) = connect(home.command(&["builtin", name]));
        assert_eq!(about["serverInfo"]["name"], expected, "{about}");
        assert!(about["capabilities"]["tools"].is_object(), "{about}");
    }
}

#[test]
fn arguments_and_variables_are_those_of_the_originals() {
    let home = Home::new();
    for folder in ["one", "two", "three"] {
        fs::create_dir(home.path(folder)).unwrap();
        fs::write(home.path(folder).join("a.txt"), folder).unwrap();
    }
    let (mut files, _) = connect(home.command(&["builtin", "filesystem", "one", "two"]));
    let text = |result: &Value| result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    let read = files.call("read_text_file", json!({ "path": home.path("two").join("a.txt") }));
    assert_eq!(text(&read), "two");
    let outside = files.failure("read_text_file", json!({ "path": home.path("three").join("a.txt") }));
    assert!(outside.contains("outside allowed directories"), "{outside}");

    let mut command = home.command(&["builtin", "memory"]);
    command.env("MEMORY_FILE_PATH", home.path("m.jsonl"));
    let (mut memory, _) = connect(command);
    let entity = json!({ "name": "Ada", "entityType": "person", "observations": ["wrote programs"] });
    memory.call("create_entities", json!({ "entities": [entity] }));
    let kept = text(&memory.call("search_nodes", json!({ "query": "Ada" })));
    assert!(kept.contains("wrote programs"), "{kept}");
    assert!(home.path("m.jsonl.lock").exists() || home.path("m.jsonl").exists());

    let (mut time, _) = connect(home.command(&["builtin", "time", "--local-timezone", "Europe/Paris"]));
    let list = time.ask("tools/list", json!({})).to_string();
    assert!(list.contains("Europe/Paris"), "{list}");

    let (mut shell, _) = connect(home.command(&["builtin", "shell", "one", "--sandbox", sandbox_level()]));
    assert_eq!(text(&shell.call("exec", json!({ "argv": ["cat", "a.txt"] }))), "one");
    let other = home.path("two").join("a.txt");
    let refused = shell.call("exec", json!({ "argv": ["cat", other] }));
    assert_eq!(refused["isError"], true, "{refused}");
}

/// Projects of the same name have different memories, which are kept where data belongs.
#[test]
fn memories_are_kept_for_each_project() {
    let home = Home::new();
    let mut files = Vec::new();
    for project in ["a/work", "b/work"] {
        fs::create_dir_all(home.path(project).join(".git")).unwrap();
        let mut command = home.command(&["builtin", "memory"]);
        command.current_dir(home.path(project));
        let (mut memory, _) = connect(command);
        let entity = json!({ "name": project, "entityType": "project", "observations": [] });
        memory.call("create_entities", json!({ "entities": [entity] }));
        let graph = memory.call("read_graph", json!({}));
        assert_eq!(graph["structuredContent"]["entities"].as_array().unwrap().len(), 1, "{graph}");
    }
    for entry in fs::read_dir(home.path("data/toolbay/memory")).unwrap() {
        files.push(entry.unwrap().file_name().into_string().unwrap());
    }
    let of_projects: std::collections::BTreeSet<&str> =
        files.iter().map(|name| name.split('.').next().unwrap()).collect();
    assert_eq!(of_projects.len(), 2, "{files:?}");
    assert!(of_projects.iter().all(|name| name.starts_with("work-")), "{files:?}");
}

#[test]
fn directories_that_are_not_there_are_reported() {
    let home = Home::new();
    fs::create_dir(home.path("there")).unwrap();
    let err = home.run(&["builtin", "filesystem", "missing"]).expect(4).stderr;
    assert!(err.contains("missing`: No such file or directory"), "{err}");
    let (mut client, _) = connect(home.command(&["builtin", "filesystem", "missing", "there"]));
    let allowed = client.call("list_allowed_directories", json!({}));
    let text = allowed["content"][0]["text"].as_str().unwrap();
    assert!(text.ends_with("/there") && !text.contains("missing"), "{text}");
}

#[test]
fn what_is_no_message_is_answered() {
    let home = Home::new();
    let (mut client, _) = connect(home.command(&["builtin", "time"]));
    client.send("nonsense");
    assert_eq!(client.next()["error"]["code"], -32700);
    assert_eq!(tools(&mut client).len(), 2);
}

#[test]
fn a_server_is_offered_over_http() {
    let home = Home::new();
    let server = home.start(&["builtin", "time", "--http", "127.0.0.1:0"]);
    assert!(server.said.contains("The time server listens on http://127.0.0.1:"), "{}", server.said);
    let health = server.get("/health");
    assert!(health.contains(r#""service":"mcp-time""#), "{health}");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta } });
    let headers = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n";
    let answer = server.ask_with("POST /mcp", headers, &request.to_string());
    // Names without a prefix.
    assert!(answer.contains(r#""name":"get_current_time""#), "{answer}");
}
