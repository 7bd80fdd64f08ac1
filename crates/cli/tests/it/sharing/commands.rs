//! `toolbay hub`, and `toolbay serve` beside a hub in the background.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
};

use serde_json::json;

use super::{SharingClient, gone, home, hub, pid, settings};
use crate::program::within;

#[test]
fn a_second_hub_of_the_same_configuration_is_refused_with_the_address_of_the_first() {
    let home = home();
    let first = home.serve(&[]);
    let ran = home.run(&["serve", "--listen", "127.0.0.1:0"]).expect(1);
    assert!(ran.stderr.contains(&first.url) && ran.stderr.contains("--separate"), "{ran:#?}");
    let second = home.serve(&["--separate"]);
    assert_ne!(first.url, second.url);
    // Others find the first, as before.
    assert_eq!(hub(&home, &[])["pid"], first.pid());
    // And what runs in a terminal is stopped, but not started again for others.
    let ran = home.run(&["hub", "restart"]).expect(1);
    assert!(ran.stderr.contains("toolbay serve"), "{ran:#?}");
    home.run(&["hub", "stop"]).expect(0);
    home.run(&["hub", "status"]).expect(4);
}

#[test]
fn serve_takes_the_place_of_a_hub_in_the_background() {
    let home = home();
    let mut client = SharingClient::start(home.command(&["stdio"]));
    client.initialize();
    let before = pid(&hub(&home, &[]));
    let mut serving = home.serve(&[]);
    assert!(serving.said.contains("replacing the background hub"), "{}", serving.said);
    assert_eq!(hub(&home, &[])["pid"], serving.pid());
    // The client stays where it is, until it leaves.
    assert_eq!(client.call("small__echo", &json!({ "n": 1 })), "{\"n\": 1}");
    client.leave();
    gone(before);
    // Another one joins it, and is not left behind when it ends.
    let mut client = SharingClient::start(home.command(&["stdio"]));
    client.initialize();
    assert_eq!(hub(&home, &[])["clients"].as_array().unwrap().len(), 1);
    assert_eq!(serving.stop(), Some(0));
    assert_eq!(client.call("small__echo", &json!({ "n": 1 })), "{\"n\": 1}");
    client.leave();
}

#[test]
fn status_shows_the_hub_and_its_clients() {
    let home = home();
    let mut client = SharingClient::start(home.command(&["stdio"]));
    client.initialize();
    let shown = home.run(&["hub", "status"]).expect(0).stdout;
    for part in ["in the background", "toolbay.toml", ".sock", ".log", "MiB", "test 1", "stdio"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let log = home.run(&["hub", "logs", "-n", "1"]).expect(0).stdout;
    assert_eq!(log.lines().count(), 1, "{log}");
    client.leave();
}

#[test]
fn status_shows_sessions_over_http_until_they_end() {
    let home = home();
    let hub_in_terminal = home.serve(&[]);
    let http = |id: u32, name: &str| {
        let info = json!({ "name": name, "version": "2.1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": params });
        let answer = hub_in_terminal.post(&request.to_string());
        let header = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        header.unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let sessions = [http(1, "editor"), http(2, "agent")];
    let clients = || hub(&home, &[])["clients"].take();
    let found = clients();
    for (client, name) in found.as_array().unwrap().iter().zip(["editor 2.1", "agent 2.1"]) {
        assert_eq!((&client["name"], &client["transport"]), (&json!(name), &json!("http")), "{found}");
        assert!(client["since_ms"].as_u64() > Some(0), "{found}");
    }
    let shown = home.run(&["hub", "status"]).expect(0).stdout;
    assert!(shown.contains("editor 2.1") && shown.contains("http "), "{shown}");
    hub_in_terminal.ask_with("DELETE /mcp", &format!("Mcp-Session-Id: {}\r\n", sessions[0]), "");
    assert_eq!(clients()[0]["name"], "agent 2.1");
}

#[test]
fn a_long_log_is_put_aside_and_read_as_one() {
    let home = home();
    let mut client = SharingClient::start(home.command(&["stdio"]));
    client.initialize();
    let found = hub(&home, &[]);
    let log = PathBuf::from(found["log"].as_str().unwrap());
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
    let mut following = home.command(&["hub", "logs", "-f", "-n", "1"]).spawn().unwrap();
    let mut followed = BufReader::new(following.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(followed.next().is_some(), "the follower is at the end of the log");

    let long = format!("{}\n", "x".repeat(1023)).repeat(5 * 1024);
    let mut file = File::options().append(true).open(&log).unwrap();
    file.write_all(long.as_bytes()).unwrap();
    file.write_all(b"the last line of a full file\n").unwrap();
    // The hub has something to say about this.
    home.write_user_config(&(settings(&home, "small") + "[servers.more]\nbuiltin = 'codebase'\n"));
    within("the follower".to_owned(), move || {
        for awaited in ["the last line of a full file", "configuration: "] {
            assert!(followed.any(|line| line.contains(awaited)), "{awaited}");
        }
    });
    following.kill().unwrap();
    following.wait().unwrap();
    assert!(fs::metadata(&log).unwrap().len() < 5 * 1024 * 1024, "it was put aside");
    let older = PathBuf::from(format!("{}.1", log.display()));
    assert!(fs::metadata(older).unwrap().len() > 5 * 1024 * 1024);
    let read = home.run(&["hub", "logs", "-n", "1000"]).expect(0).stdout;
    assert!(read.contains("the last line of a full file") && read.contains("configuration: "));
    assert!(read.find("a full file") < read.find("configuration: "), "older lines come first");
    // What nobody catches, a panic for example, goes to the file that is written now.
    for descriptor in [1, 2] {
        let file = fs::read_link(format!("/proc/{}/fd/{descriptor}", pid(&found))).unwrap();
        assert_eq!(file, log.canonicalize().unwrap());
    }
    client.leave();
}
