//! `toolbay hub`, and `toolbay serve` beside a hub in the background.

use super::{SharingClient, gone, home, hub, pid};

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
    assert!(serving.said.contains("taking the place of the background hub"), "{}", serving.said);
    assert_eq!(hub(&home, &[])["pid"], serving.pid());
    // The client stays where it is, until it leaves.
    assert_eq!(client.call("small__echo", &serde_json::json!({ "n": 1 })), "{\"n\": 1}");
    client.leave();
    gone(before);
    // Another one joins it, and is not left behind when it ends.
    let mut client = SharingClient::start(home.command(&["stdio"]));
    client.initialize();
    assert_eq!(hub(&home, &[])["clients"].as_array().unwrap().len(), 1);
    assert_eq!(serving.stop(), Some(0));
    assert_eq!(client.call("small__echo", &serde_json::json!({ "n": 1 })), "{\"n\": 1}");
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
