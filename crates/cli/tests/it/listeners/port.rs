//! Addresses that are in use.

use std::net::TcpListener;

use crate::program::Home;

#[test]
fn the_process_that_uses_the_address_is_named() {
    let home = Home::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = home.run(&["serve", "--listen", &address]).expect(1);
    let holder = format!("process {} (", std::process::id());
    assert!(ran.stderr.contains(&holder) && ran.stderr.contains("--listen 127.0.0.1:0"), "{ran:#?}");
    assert!(!ran.stderr.contains("toolbay status"), "{ran:#?}");
}

#[test]
fn another_hub_is_recognised() {
    let home = Home::new();
    let hub = home.serve(&[]);
    let address = hub.url.trim_start_matches("http://").trim_end_matches("/mcp");
    let ran = home.run(&["serve", "--separate", "--listen", address]).expect(1);
    assert!(ran.stderr.contains("(toolbay)") && ran.stderr.contains("toolbay status"), "{ran:#?}");
}

#[test]
fn several_addresses_are_served_at_once() {
    let home = Home::new();
    let mut hub = home.serve(&["--listen", "127.0.0.2:0"]);
    assert!(hub.get("/health").starts_with("HTTP/1.1 200"));
    hub.url = hub.until("listens on").split_whitespace().last().unwrap().to_owned();
    assert!(hub.url.starts_with("http://127.0.0.2:"), "{}", hub.url);
    assert!(hub.get("/health").starts_with("HTTP/1.1 200"));
    assert_eq!(hub.stop(), Some(0));
}
