//! Which hub serves which client.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{SharingClient, gone, home, hub, pid, servers, settings};
use crate::program::Home;

/// Started in a folder.
fn in_folder(home: &Home, folder: &Path, args: &[&str]) -> Command {
    let mut command = home.command(args);
    command.current_dir(folder);
    command
}

fn run_in(home: &Home, folder: &Path, args: &[&str]) -> Value {
    let output = in_folder(home, folder, args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

/// What the SDKs pass on by default.
fn small(home: &Home, args: &[&str]) -> Command {
    let mut command = home.command(args);
    command.env_clear().env("HOME", home.path("home")).env("PATH", "/usr/bin:/bin");
    command
}

/// What a desktop has.
fn large(home: &Home, args: &[&str]) -> Command {
    let mut command = small(home, args);
    command.env("XDG_RUNTIME_DIR", home.path("run")).env("TMPDIR", home.path("run")).env("USER", "me");
    command
}

fn status(mut command: Command) -> Value {
    let output = command.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn a_small_environment_finds_the_hub_of_a_large_one() {
    type Start = fn(&Home, &[&str]) -> Command;
    let home = home();
    fs::create_dir_all(home.path("run")).unwrap();
    fs::create_dir_all(home.path("home/.config/toolbay")).unwrap();
    home.write("home/.config/toolbay/toolbay.toml", &settings(&home, "small"));
    for [first, second] in [[small as Start, large], [large, small]] {
        let mut one = SharingClient::start(first(&home, &["stdio"]));
        one.initialize();
        let mut other = SharingClient::start(second(&home, &["stdio"]));
        other.initialize();
        let found = status(first(&home, &["hub", "status", "--json"]));
        assert_eq!(found["clients"].as_array().unwrap().len(), 2);
        assert_eq!(status(second(&home, &["hub", "status", "--json"]))["pid"], found["pid"]);
        one.leave();
        other.leave();
        gone(pid(&found));
    }
}

#[test]
fn two_projects_have_two_hubs_and_folders_without_files_share_that_of_the_user() {
    let home = home();
    let folders = ["one", "two", "plain", "unapproved"].map(|name| home.path(name));
    for folder in &folders {
        fs::create_dir_all(folder).unwrap();
    }
    let [one, two, plain, unapproved] = &folders;
    for folder in [one, two, unapproved] {
        fs::write(folder.join("toolbay.toml"), settings(&home, "own")).unwrap();
    }
    for folder in [one, two] {
        in_folder(&home, folder, &["approve", "--all", "--yes"]).output().unwrap();
    }
    let mut clients = Vec::new();
    for (folder, has_own) in [(one, true), (two, true), (plain, false), (unapproved, false)] {
        let mut client = SharingClient::start(in_folder(&home, folder, &["stdio"]));
        client.initialize();
        assert_eq!(client.call("small__echo", &json!({ "n": 1 })), "{\"n\": 1}");
        let own = client.ask("tools/call", &json!({ "name": "own__echo", "arguments": { "n": 1 } }));
        assert_eq!(own.get("result").is_some(), has_own, "{own}");
        clients.push(client);
    }
    let hubs = folders.each_ref().map(|folder| run_in(&home, folder, &["hub", "status", "--json"]));
    assert_eq!(hubs[2]["pid"], hubs[3]["pid"]);
    let pids = [pid(&hubs[0]), pid(&hubs[1]), pid(&hubs[2])];
    assert!(pids[0] != pids[1] && pids[1] != pids[2] && pids[0] != pids[2], "{pids:?}");
    assert_eq!(servers(&home), 5, "two in each project, one of the user");
    for client in clients {
        client.leave();
    }
    pids.into_iter().for_each(gone);
}

#[test]
fn connected_clients_move_to_the_hub_of_their_project_when_that_is_approved() {
    let home = home();
    let project = home.path("project");
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join("toolbay.toml"), settings(&home, "own")).unwrap();
    let [mut idle, mut busy] = [(); 2].map(|()| {
        let mut client = SharingClient::start(in_folder(&home, &project, &["stdio"]));
        client.initialize();
        let refused = client.ask("tools/call", &json!({ "name": "own__echo", "arguments": {} }));
        assert!(refused.get("error").is_some(), "{refused}");
        client
    });
    let users = pid(&hub(&home, &[]));
    let hanging = busy.send("tools/call", &json!({ "name": "small__hang", "arguments": {} }));
    assert_eq!(busy.call("small__echo", &json!({ "n": 1 })), "{\"n\": 1}");
    in_folder(&home, &project, &["approve", "--all", "--yes"]).output().unwrap();

    let of_project = || run_in(&home, &project, &["hub", "status", "--json"]);
    let until_moved = |count: usize| {
        let began = Instant::now();
        loop {
            let hub = of_project();
            if pid(&hub) != users && hub["clients"].as_array().unwrap().len() == count {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{hub}");
        }
    };
    until_moved(1);
    assert_eq!(idle.call("own__echo", &json!({ "n": 2 })), "{\"n\": 2}");
    // A call that runs is not cut off, nor answered by anybody.
    assert_eq!(busy.call("small__echo", &json!({ "n": 1 })), "{\"n\": 1}");
    assert_eq!(hub(&home, &[])["clients"].as_array().map(Vec::len), Some(1));
    let cancelled = json!({ "requestId": hanging });
    busy.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }));
    until_moved(2);
    assert_eq!(busy.call("own__echo", &json!({ "n": 2 })), "{\"n\": 2}");
    gone(users);
    // And back.
    let hub = of_project();
    in_folder(&home, &project, &["approve", "own", "--reject"]).output().unwrap();
    gone(pid(&hub));
    assert_eq!(idle.call("small__echo", &json!({ "n": 3 })), "{\"n\": 3}");
    idle.leave();
    busy.leave();
}

#[test]
fn the_hub_of_another_configuration_is_never_used() {
    let home = home();
    home.write("other.json", &format!(r#"{{"mcpServers": {{{}}}}}"#, home.entry("other")));
    let mut other = home.serve(&["--config", "other.json"]);
    other.until("other ready");
    let mut client = SharingClient::start(home.command(&["stdio"]));
    client.initialize();
    assert_eq!(client.call("small__echo", &json!({ "n": 1 })), "{\"n\": 1}");
    let names = client.ask("tools/list", &json!({})).to_string();
    assert!(names.contains("small__echo") && !names.contains("other__echo"), "{names}");
    // Commands take the one that counts here, and say so; the other is there if it is named.
    let ran = home.run(&["status", "--json"]).expect(0);
    assert_eq!(ran.json()["pid"], hub(&home, &[])["pid"]);
    assert!(ran.stderr.contains("using the hub of") && ran.stderr.contains("other.json"), "{ran:#?}");
    let named = home.run(&["status", "--json", "--config", "other.json"]).expect(0);
    assert_eq!((named.json()["pid"].as_u64(), named.stderr.as_str()), (Some(other.pid().into()), ""));
    // Whoever names that file shares that hub.
    let mut named = SharingClient::start(home.command(&["stdio", "--config", "other.json"]));
    named.initialize();
    assert_eq!(named.call("other__echo", &json!({ "n": 1 })), "{\"n\": 1}");
    client.leave();
    named.leave();
    assert_eq!(other.stop(), Some(0));
    home.run(&["hub", "stop"]).expect(0);
    // With none that counts here, the one that runs is better than none, and is named.
    let _other = home.serve(&["--config", "other.json"]);
    let ran = home.run(&["status", "--quiet"]).expect(0);
    assert!(
        ran.stderr.starts_with("warning: no hub is running with") && ran.stderr.contains("other.json"),
        "{ran:#?}"
    );
    // But it is not stopped for another.
    let ran = home.run(&["hub", "stop"]).expect(4);
    assert!(ran.stderr.contains("other.json"), "{ran:#?}");
    home.run(&["hub", "status", "--config", "other.json"]).expect(0);
}

#[test]
fn a_variable_that_only_a_client_has_is_reported() {
    let home = home();
    home.write_user_config(
        &settings(&home, "small").replace("\nargs", "\nenv = { TOKEN = \"${ONLY_OF_CLIENT}\" }\nargs"),
    );
    let mut command = home.command(&["stdio"]);
    command.env("ONLY_OF_CLIENT", "secret-value").env("UNUSED_OF_CLIENT", "x").stderr(Stdio::null());
    let mut client = SharingClient::start(command);
    client.initialize();
    let found = loop {
        let found = hub(&home, &[]);
        if found["unset_variables"] != json!([]) {
            break found;
        }
    };
    assert_eq!(found["unset_variables"], json!(["ONLY_OF_CLIENT"]));
    let status = home.run(&["status"]).expect(0);
    assert!(status.stderr.contains("ONLY_OF_CLIENT"), "{status:#?}");
    let log = home.run(&["hub", "logs"]).expect(0).stdout;
    assert!(log.contains("variable ONLY_OF_CLIENT is set for a client"), "{log}");
    assert!(!log.contains("secret-value"));
}
