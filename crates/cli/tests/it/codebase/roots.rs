//! Clients that are started in no project, and name one with their roots.

use std::path::Path;

use serde_json::{Value, json};

use super::{Project, StdioClient, list};

/// A client with roots that is started in the home directory.
fn client(project: &Project) -> StdioClient {
    std::fs::create_dir_all(project.home.path("home")).unwrap();
    let mut command = project.home.command(&["stdio"]);
    command.current_dir(project.home.path("home"));
    let mut client = StdioClient::run(command);
    let capabilities = json!({ "roots": { "listChanged": true } });
    client.ask("initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities }));
    client
}

fn tell(client: &mut StdioClient, method: &str) {
    client.send(&json!({ "jsonrpc": "2.0", "method": method }).to_string());
}

fn send_call(client: &mut StdioClient, id: &str) {
    let params = json!({ "name": "codebase__list_directory", "arguments": { "path": "." } });
    client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string());
}

/// The next message that is no notification.
fn next(client: &mut StdioClient) -> Value {
    loop {
        let message = client.next();
        if message.get("id").is_some() {
            return message;
        }
    }
}

/// Waits for the request for roots, and answers it.
fn name_roots(client: &mut StdioClient, roots: &[&Path]) {
    let request = next(client);
    assert_eq!(request["method"], "roots/list", "{request}");
    let roots: Vec<Value> =
        roots.iter().map(|root| json!({ "uri": format!("file://{}", root.display()) })).collect();
    let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": { "roots": roots } });
    client.send(&answer.to_string());
}

#[test]
fn the_first_folder_among_the_roots_is_searched() {
    let project = Project::new();
    let mut client = client(&project);
    tell(&mut client, "notifications/initialized");
    // A call that comes before the roots are known waits for them.
    send_call(&mut client, "early");
    let (missing, file) = (project.path("missing"), project.path("README.md"));
    name_roots(&mut client, &[&missing, &file, &project.path("src"), &project.path("")]);
    let found = next(&mut client);
    assert_eq!((&found["id"], &list(&found["result"])[0]["name"]), (&json!("early"), &json!("main.rs")));
    let status = project.home.run(&["hub", "status", "--json"]).expect(0).json();
    assert_eq!(status["clients"][0]["root"].as_str(), project.path("src").to_str());

    // Other roots take effect when the client says that there are others.
    tell(&mut client, "notifications/roots/list_changed");
    name_roots(&mut client, &[&project.path("")]);
    send_call(&mut client, "other");
    assert_eq!(list(&next(&mut client)["result"])[0]["name"], "src");
}

#[test]
fn a_client_without_roots_learns_why_nothing_is_searched() {
    let project = Project::new();
    let mut client = client(&project);
    tell(&mut client, "notifications/initialized");
    assert_eq!(next(&mut client)["method"], "roots/list");
    // Nothing but calls waits for an answer that does not come, and calls do not wait for long.
    send_call(&mut client, "call");
    client.send(r#"{"jsonrpc": "2.0", "id": "list", "method": "tools/list"}"#);
    assert_eq!(next(&mut client)["id"], "list");
    let refused = next(&mut client);
    let why = refused["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(refused["id"] == "call" && why.contains("No codebase is offered"), "{refused}");
}

#[test]
fn a_client_in_a_project_is_not_asked_for_roots() {
    let project = Project::new();
    let mut command = project.home.command(&["stdio"]);
    command.current_dir(project.path("src"));
    let mut client = StdioClient::run(command);
    let capabilities = json!({ "roots": {} });
    client.ask("initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities }));
    tell(&mut client, "notifications/initialized");
    send_call(&mut client, "call");
    let found = next(&mut client);
    assert_eq!(found["id"], "call", "{found}");
}
