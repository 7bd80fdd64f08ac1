//! In a hub, with and without a configuration.

use std::{thread, time::Duration};

use serde_json::{Value, json};
use toolbay_testkit::own_loopback;

use super::{Project, StdioClient, list};
use crate::program::{Home, Serving, is_alive, within};

fn body(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

fn call(hub: &Serving, tool: &str, arguments: &Value) -> Value {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
    body(&hub.post(&call.to_string()))["result"].take()
}

fn tools(hub: &Serving) -> Vec<String> {
    let answer = body(&hub.post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#));
    let tools = answer["result"]["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// A client that starts Toolbay in a folder of the project.
fn client(project: &Project, folder: &str) -> StdioClient {
    let mut command = project.home.command(&[]);
    command.current_dir(project.path(folder));
    let mut client = StdioClient::run(command);
    client.ask("initialize", json!({ "protocolVersion": "2025-06-18" }));
    client
}

/// The first entry of the folder that a client searches.
fn first_entry(client: &mut StdioClient) -> String {
    let entries = list(&client.call("codebase__list_directory", json!({ "path": "." })));
    entries[0]["name"].as_str().unwrap().to_owned()
}

fn clients(status: &Value) -> usize {
    status["clients"].as_array().unwrap().len()
}

/// The README's first command.
#[test]
fn any_folder_is_served_with_no_configuration() {
    let project = Project::new();
    let mut command = project.home.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.current_dir(project.path(""));
    let mut hub = Serving::start(command);
    hub.until("codebase ready");
    assert!(hub.said.contains("`codebase`, which searches and reads"), "{}", hub.said);
    let found = list(&call(&hub, "codebase__search_code", &json!({ "query": "function add" })));
    assert_eq!(found[0]["file_path"], "src/main.rs");
    assert!(tools(&hub).contains(&"hub__status".to_owned()));
    // Clients on stdio join it, and each searches its own folder.
    let (mut above, mut below) = (client(&project, ""), client(&project, "src"));
    assert_eq!((first_entry(&mut above), first_entry(&mut below)), ("src".to_owned(), "main.rs".to_owned()));
    let status = project.home.run(&["hub", "status", "--json"]).expect(0).json();
    assert_eq!((status["pid"].as_u64(), clients(&status)), (Some(hub.pid().into()), 2), "{status}");
    assert_eq!(hub.stop(), Some(0));
    assert_eq!(first_entry(&mut below), "main.rs");
}

#[test]
fn clients_share_a_hub_with_no_configuration() {
    let project = Project::new();
    let (mut above, mut below) = (client(&project, ""), client(&project, "src"));
    assert_eq!((first_entry(&mut above), first_entry(&mut below)), ("src".to_owned(), "main.rs".to_owned()));
    let status = project.home.run(&["hub", "status", "--json"]).expect(0).json();
    assert_eq!((&status["background"], clients(&status)), (&json!(true), 2), "{status}");
    // A hub that nobody can find any more ends when its clients have left.
    drop((above, below));
    let pid = status["pid"].as_u64().unwrap();
    drop(project);
    within("the hub".to_owned(), move || {
        while is_alive(pid) {
            thread::sleep(Duration::from_millis(20));
        }
    });
}

#[test]
fn the_home_directory_is_not_offered_by_default() {
    let home = Home::new();
    std::fs::create_dir(home.path("home")).unwrap();
    let mut command = home.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.current_dir(home.path("home"));
    let mut hub = Serving::start(command);
    hub.until("hub ready");
    assert_eq!(tools(&hub), ["hub__status"]);
    assert!(hub.said.contains("Started in a project"), "{}", hub.said);
    // Those who see only what clients see are told why.
    let listed = hub.post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let introduced = hub.post(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#,
    );
    for said in [listed, introduced] {
        assert!(
            said.contains("No codebase is offered") && said.contains("toolbay add code --builtin"),
            "{said}"
        );
    }
    // A client in a project has its codebase all the same.
    let project = Project { home };
    project.write("src/main.rs", "fn main() {}\n");
    assert_eq!(first_entry(&mut client(&project, "src")), "main.rs");
    assert_eq!(hub.stop(), Some(0));
}

/// What is there without a configuration stays when a server is added, unless the configuration says otherwise.
#[test]
fn a_first_server_takes_nothing_away() {
    let project = Project::new();
    let serve = || {
        let mut command = project.home.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.current_dir(project.path(""));
        Serving::start(command)
    };
    let small = format!(
        "[servers.small]\ncommand = 'python3'\nargs = [{:?}]\n",
        project.home.path("server.py").display().to_string()
    );
    project.home.write_user_config(&small);
    let mut hub = serve();
    hub.until("small ready");
    let found = list(&call(&hub, "codebase__search_code", &json!({ "query": "function add" })));
    assert_eq!(found[0]["file_path"], "src/main.rs");
    let names = tools(&hub);
    assert!(
        ["hub__status", "small__echo"].iter().all(|name| names.contains(&(*name).to_owned())),
        "{names:?}"
    );

    // A running hub follows what the file says of it.
    project
        .home
        .write_user_config(&format!("{small}[servers.codebase]\nbuiltin = 'codebase'\nenabled = false\n"));
    hub.until("codebase disabled");
    assert!(!tools(&hub).iter().any(|name| name.starts_with("codebase__")), "{:?}", tools(&hub));
    project
        .home
        .write_user_config(&format!("{small}[servers.mine]\nbuiltin = 'codebase'\nroot = '/nowhere'\n"));
    hub.until("configuration: codebase removed");
    assert_eq!(hub.stop(), Some(0));
}

/// One hub for all, and each client searches the folder that it was started in.
#[test]
fn clients_that_share_a_hub_search_their_own_projects() {
    let project = Project::new();
    project.home.write_user_config(&format!(
        "[hub]\nlinger = '300ms'\n[servers.small]\ncommand = 'python3'\nargs = [{:?}]\n",
        project.home.path("server.py").display().to_string()
    ));
    let (mut above, mut below) = (client(&project, ""), client(&project, "src"));
    assert_eq!(first_entry(&mut above), "src");
    assert_eq!(first_entry(&mut below), "main.rs");
    assert_eq!(first_entry(&mut above), "src");
    let hub = project.home.run(&["hub", "status", "--json"]).expect(0).json();
    assert_eq!(clients(&hub), 2, "{hub}");
    // One that is in no project is told why.
    std::fs::create_dir_all(project.home.path("home")).unwrap();
    let mut nowhere = client(&project, "../home");
    let refused = nowhere.call("codebase__list_directory", json!({ "path": "." }));
    let why = refused["content"][0]["text"].as_str().unwrap_or_default();
    assert!(refused["isError"] == true && why.contains("No codebase is offered"), "{refused}");
}

#[test]
fn a_configuration_names_several_trees() {
    let project = Project::new();
    project.home.write(
        "mcp.json",
        r#"{"mcpServers": {
            "numbers": {"builtin": "codebase", "root": "project/src"},
            "docs": {"builtin": "codebase", "root": "./project", "compat": {"s3_errors": true}},
            "gone": {"builtin": "codebase", "root": "no/such/folder"}
        }}"#,
    );
    let mut hub = project.home.serve(&["--config", "mcp.json"]);
    hub.until("gone ready");
    let names = tools(&hub);
    assert_eq!(names.len(), 18, "{names:?}");
    let name = |server: &str| format!("{server}__search_code");
    let query = json!({ "query": "Numbers" });
    assert_eq!(list(&call(&hub, &name("docs"), &query))[0]["file_path"], "README.md");
    assert!(list(&call(&hub, &name("numbers"), &query)).is_empty());
    let gone = call(&hub, &name("gone"), &query);
    let why = gone["content"][0]["text"].as_str().unwrap();
    assert!(gone["isError"] == true && why.contains("no/such/folder"), "{gone}");
    let listed = project.home.run(&["list", "--config", "mcp.json"]).expect(0).stdout;
    assert!(listed.contains("builtin") && listed.contains("built-in codebase of project/src"), "{listed}");
    assert_eq!(hub.stop(), Some(0));
}

#[test]
fn servers_of_a_project_wait_for_approval() {
    let home = Home::new();
    home.write(".mcp.json", r#"{"mcpServers": {"code": {"builtin": "codebase", "root": "/"}}}"#);
    let shown = home.run(&["approve", "--diff"]);
    assert!(shown.stdout.contains("shows the folder: /"), "{shown:?}");
    let mut hub = home.serve(&[]);
    assert!(!tools(&hub).iter().any(|name| name.starts_with("code__")));
    assert_eq!(hub.stop(), Some(0));
}

/// Vectors may come from elsewhere; while they do not, the built-in model answers.
#[test]
fn an_endpoint_that_is_down_costs_a_note_only() {
    let project = Project::new();
    let closed = std::net::TcpListener::bind((own_loopback(), 0)).unwrap().local_addr().unwrap();
    let embeddings =
        json!({ "url": format!("http://{closed}/v1/embeddings"), "model": "m", "api_key": "s3cret" });
    let entry = json!({ "builtin": "codebase", "root": "project", "embeddings": embeddings });
    project.home.write("mcp.json", &json!({ "mcpServers": { "code": entry } }).to_string());
    let mut hub = project.home.serve(&["--config", "mcp.json"]);
    hub.until("code ready");
    let result = call(&hub, "code__search_by_embedding", &json!({ "query": "how many retries" }));
    assert_eq!(list(&result)[0]["file_path"], "src/main.rs");
    let said = result["content"][1]["text"].as_str().unwrap_or_else(|| panic!("{result}"));
    assert!(said.contains("the built-in model was used") && !said.contains("s3cret"), "{said}");
    assert_eq!(hub.stop(), Some(0));
    assert!(!hub.said.contains("s3cret"), "{}", hub.said);
}
