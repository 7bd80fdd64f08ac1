//! A token that clients must send.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::program::{Home, Serving};

const TOKEN: &str = "t0ken-0123456789abcdef";
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn home(text: &str, mode: u32) -> Home {
    let home = Home::new();
    home.write("token", text);
    fs::set_permissions(home.path("token"), fs::Permissions::from_mode(mode)).unwrap();
    home
}

fn status(hub: &Serving, what: &str, authorization: Option<&str>) -> u16 {
    let headers = authorization.map(|value| format!("Authorization: {value}\r\n")).unwrap_or_default();
    let answer = hub.ask_with(what, &headers, PING);
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn clients_without_the_token_are_refused_and_it_is_never_printed() {
    let home = home(&format!("{TOKEN}\nmore\n"), 0o600);
    let mut hub = home.serve(&["--token-file", "token", "-vv"]);
    assert_eq!(status(&hub, "POST /mcp", None), 401);
    assert_eq!(status(&hub, "POST /mcp", Some("Bearer wrong")), 401);
    assert_eq!(status(&hub, "POST /mcp", Some(&format!("Bearer {TOKEN}"))), 200);
    let health = hub.get("/health");
    assert!(health.contains(r#""status":"ok""#) && !health.contains("servers"), "{health}");
    // Whoever is this user needs none.
    let told = home.run(&["status", "--json"]).expect(0);
    assert_eq!(hub.stop(), Some(0));
    assert!(!format!("{}{told:?}", hub.said).contains("t0ken"), "{}", hub.said);
}

#[test]
fn a_file_that_keeps_no_secret_is_refused() {
    for (text, mode, said) in [
        (TOKEN, 0o644, "chmod 600"),
        (TOKEN, 0o640, "chmod 600"),
        ("", 0o600, "invalid token"),
        ("a b\n", 0o600, "invalid token"),
        ("t0ken-0123456789", 0o644, "chmod 600"),
        ("t0ken-012345678\n", 0o600, "at least 16 characters"),
    ] {
        let ran =
            home(text, mode).run(&["serve", "--listen", "127.0.0.1:0", "--token-file", "token"]).expect(2);
        assert!(ran.stderr.contains(said) && !ran.stderr.contains("t0ken"), "{ran:#?}");
    }
    let ran = Home::new().run(&["serve", "--token-file", "missing"]).expect(2);
    assert!(ran.stderr.contains("cannot read missing"), "{ran:#?}");
}

#[test]
fn other_machines_are_served_with_the_token() {
    let refused = Home::new().run(&["serve", "--listen", "0.0.0.0:0"]).expect(2);
    assert!(refused.stderr.contains("--token-file"), "{refused:#?}");
    let home = home(TOKEN, 0o600);
    let mut hub = home.start(&["serve", "--listen", "0.0.0.0:0", "--token-file", "token"]);
    assert!(hub.url.starts_with("http://0.0.0.0:"), "{}", hub.url);
    assert_eq!(hub.stop(), Some(0));
    let mut hub = home.start(&["serve", "--listen", "0.0.0.0:0", "--allow-unauthenticated"]);
    assert_eq!(hub.stop(), Some(0));
}
