//! A hub that ends while clients use it.

use std::{fs, process::Command, time::Duration};

use serde_json::{Value, json};

use super::{SharingClient, gone, home, hub, pid, servers, until};
use crate::program::{Home, signal};

fn echo(client: &mut SharingClient) {
    assert_eq!(client.call("small__echo", &json!({ "n": 2 })), "{\"n\": 2}");
}

fn clients(home: &Home, count: usize) -> Vec<SharingClient> {
    let mut clients: Vec<SharingClient> =
        (0..count).map(|_| SharingClient::start(home.command(&["stdio"]))).collect();
    for client in &mut clients {
        client.initialize();
        echo(client);
    }
    clients
}

#[test]
fn after_a_kill_the_next_call_of_each_client_works() {
    let home = home();
    let mut clients = clients(&home, 4);
    for _ in 0..2 {
        let before = pid(&hub(&home, &[]));
        signal(before, "KILL");
        // At once: a call that the dying hub never read is not lost.
        clients.iter_mut().for_each(echo);
        let after = pid(&hub(&home, &[]));
        assert_ne!(before, after);
        // One hub, whoever noticed first. The server of the killed one may take a moment to end.
        let path = home.path("");
        until("one set of servers", move || servers(&Home::at(&path)) == 1);
    }
    let last = pid(&hub(&home, &[]));
    for client in clients {
        assert_eq!(client.leave(), "");
    }
    gone(last);
}

#[test]
fn a_call_in_flight_fails_once_and_is_not_sent_again() {
    let home = home();
    let mut client = clients(&home, 1).remove(0);
    let hanging = client.send("tools/call", &json!({ "name": "small__hang", "arguments": {} }));
    // It is at the server once something that was sent later is answered.
    echo(&mut client);
    let before = pid(&hub(&home, &[]));
    signal(before, "KILL");
    let answer = client.response(hanging);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("the hub exited") && message.contains("not sent again"), "{message}");
    echo(&mut client);
    let status = home.run(&["status", "--json"]).expect(0).json();
    let small =
        status["servers"].as_array().unwrap().iter().find(|server| server["name"] == "small").unwrap();
    assert_eq!(small["calls"], 1, "only the call after the loss: {status}");
    client.leave();
}

#[test]
fn a_stopped_hub_stays_down_until_a_client_wants_something() {
    let home = home();
    let mut client = clients(&home, 1).remove(0);
    let before = pid(&hub(&home, &[]));
    home.run(&["hub", "stop"]).expect(0);
    gone(before);
    assert_eq!(servers(&home), 0);
    home.run(&["hub", "status"]).expect(4);
    echo(&mut client);
    let after = pid(&hub(&home, &[]));
    // One that is started again is joined without being asked for anything.
    home.run(&["hub", "restart"]).expect(0);
    gone(after);
    let path = home.path(".");
    until("the client is connected again", move || {
        let home = Home::at(&path);
        hub(&home, &[])["clients"].as_array().is_some_and(|clients| clients.len() == 1)
    });
    echo(&mut client);
    assert_eq!(client.leave(), "");
}

#[test]
fn a_newer_program_takes_over_and_the_older_one_serves_its_clients_to_the_end() {
    let home = home();
    let mut old = clients(&home, 1).remove(0);
    let before = pid(&hub(&home, &[]));
    let newer = home.path("toolbay-new");
    fs::copy(env!("CARGO_BIN_EXE_toolbay"), &newer).unwrap();
    let later = std::time::SystemTime::now() + Duration::from_secs(60);
    fs::File::options().append(true).open(&newer).unwrap().set_modified(later).unwrap();
    let mut new = SharingClient::start(as_program(home.command(&["stdio"]), &newer));
    new.initialize();
    echo(&mut new);
    let after = pid(&hub(&home, &[]));
    assert_ne!(before, after);
    echo(&mut old);
    // An older program joins the newer hub.
    let mut third = clients(&home, 1).remove(0);
    assert_eq!(pid(&hub(&home, &[])), after);
    assert_eq!(servers(&home), 2, "the old hub still serves its client");
    old.leave();
    gone(before);
    echo(&mut new);
    echo(&mut third);
    for client in [new, third] {
        client.leave();
    }
    gone(after);
}

/// The same command with another program.
#[expect(clippy::disallowed_methods, reason = "the program under test")]
fn as_program(command: Command, program: &std::path::Path) -> Command {
    let mut other = Command::new(program);
    other.args(command.get_args());
    other.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    other.current_dir(command.get_current_dir().unwrap());
    other.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    other
}

#[test]
fn a_server_request_of_a_lost_hub_is_cancelled() {
    let home = home();
    let mut client = clients(&home, 1).remove(0);
    client.ask("logging/setLevel", &json!({ "level": "error" }));
    let subscribed = client.ask("resources/subscribe", &json!({ "uri": "mem://note" }));
    let before = pid(&hub(&home, &[]));
    signal(before, "KILL");
    gone(before);
    // What was subscribed to is subscribed to again, and the client sees no answer to that.
    echo(&mut client);
    let again = client.ask("resources/subscribe", &json!({ "uri": "mem://note" }));
    assert_eq!(again["result"], subscribed["result"]);
    assert_eq!(again["error"]["code"], subscribed["error"]["code"]);
    assert_eq!(client.ask("ping", &json!({}))["result"], Value::Object(Default::default()));
    client.leave();
}
