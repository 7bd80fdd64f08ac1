//! Clients on stdio that share one hub in the background.

mod client;
mod commands;
mod identity;
mod loss;

use std::{fs, thread, time::Duration};

use serde_json::Value;

use crate::program::{Home, is_alive, is_running, within};

use client::SharingClient;

/// A home whose user has the server `small`, and whose hubs end soon after their last client.
fn home() -> Home {
    let home = Home::new();
    fs::create_dir_all(home.path("home")).unwrap();
    home.write_user_config(&settings(&home, "small"));
    home
}

/// A file with a server of that name.
fn settings(home: &Home, server: &str) -> String {
    let script = home.path("server.py");
    format!(
        "[hub]\nlinger = \"300ms\"\n\n[servers.{server}]\ncommand = \"python3\"\nargs = [{script:?}, \"--plain\"]\n"
    )
}

/// The hub that serves what counts in the home, as it says itself.
fn hub(home: &Home, args: &[&str]) -> Value {
    home.run(&[&["hub", "status", "--json"], args].concat()).expect(0).json()
}

fn pid(hub: &Value) -> u32 {
    hub["pid"].as_u64().unwrap().try_into().unwrap()
}

/// Waits until something is true.
#[track_caller]
fn until(what: &str, is: impl Fn() -> bool + Send + 'static) {
    within(what.to_owned(), move || {
        while !is() {
            thread::sleep(Duration::from_millis(20));
        }
    });
}

/// Waits until a process has ended.
#[track_caller]
fn gone(pid: u32) {
    until("the hub ends", move || !is_alive(pid));
}

/// How many processes run our server.
fn servers(home: &Home) -> usize {
    let script = home.path("server.py");
    let lines = fs::read_dir("/proc").unwrap().flatten();
    let lines = lines.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(script.to_str().unwrap())).count()
}

#[test]
fn ten_clients_at_once_share_one_hub_and_one_set_of_servers() {
    let home = home();
    let mut clients: Vec<SharingClient> = (0..10)
        .map(|number| {
            let mut command = home.command(&["stdio"]);
            // Whoever comes first must not decide what servers see.
            command.env("NUMBER", number.to_string()).env_remove("TERM");
            SharingClient::start(command)
        })
        .collect();
    clients.iter_mut().for_each(SharingClient::initialize);
    for client in &mut clients {
        assert_eq!(client.call("small__echo", &serde_json::json!({ "n": 1 })), "{\"n\": 1}");
    }
    assert_eq!(servers(&home), 1);
    let found = hub(&home, &[]);
    let pids: Vec<u64> =
        found["clients"].as_array().unwrap().iter().map(|client| client["pid"].as_u64().unwrap()).collect();
    assert_eq!(pids.len(), 10);
    assert!(clients.iter().all(|client| pids.contains(&client.pid().into())));
    let first = &found["clients"][0];
    assert_eq!((&first["name"], &first["transport"]), (&"test 1".into(), &"stdio".into()));
    let folder = home.path(".").canonicalize().unwrap();
    assert_eq!(first["root"].as_str(), folder.to_str());
    assert_eq!(found["background"], true);
    for memory in ["memory_kib", "servers_memory_kib"] {
        assert!(found[memory].as_u64().is_some_and(|kib| kib > 1024), "{found}");
    }

    // Nothing of any client is in its environment.
    let environ = fs::read(format!("/proc/{}/environ", pid(&found))).unwrap();
    assert!(!String::from_utf8_lossy(&environ).contains("NUMBER="));
    let cwd = fs::read_link(format!("/proc/{}/cwd", pid(&found))).unwrap();
    assert_eq!(cwd.to_str(), Some("/"));

    for client in clients {
        client.leave();
    }
    gone(pid(&found));
    assert!(!is_running(&home.path("server.py")), "servers end with their hub");
    home.run(&["hub", "status"]).expect(4);
}

#[test]
fn stdio_with_alone_shares_nothing() {
    let home = home();
    let mut alone = SharingClient::start(home.command(&["stdio", "--alone"]));
    alone.initialize();
    home.run(&["hub", "status"]).expect(4);
    alone.leave();
    home.write_user_config(&settings(&home, "small").replace("linger", "share = false\nlinger"));
    let mut unshared = SharingClient::start(home.command(&["stdio"]));
    unshared.initialize();
    home.run(&["hub", "status"]).expect(4);
    assert_eq!(unshared.leave(), "");
}

#[test]
fn a_hub_that_cannot_start_does_not_keep_a_client_from_its_servers() {
    let home = home();
    // Where the log should be.
    fs::create_dir_all(home.path("toolbay")).unwrap();
    home.write("toolbay/logs", "");
    let mut client = SharingClient::start(home.command(&["stdio"]));
    client.initialize();
    assert_eq!(client.call("small__echo", &serde_json::json!({ "n": 1 })), "{\"n\": 1}");
    let said = client.leave();
    assert!(said.contains("cannot start the background hub") && said.contains("this client only"), "{said}");
    assert!(!is_running(&home.path("server.py")));
}

#[test]
fn stdio_explains_itself_on_a_terminal() {
    let home = home();
    let said = home.run_on_terminal(&["stdio", "--alone"], "\u{4}").stdout;
    assert!(said.contains("MCP server") && said.contains("Ctrl-D"), "{said}");
}
