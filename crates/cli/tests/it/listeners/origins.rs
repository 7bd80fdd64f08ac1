//! Pages in a browser.

use crate::program::{Home, Serving};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn ask(hub: &Serving, origin: &str) -> String {
    hub.ask_with("POST /mcp", &format!("Origin: {origin}\r\n"), PING)
}

#[test]
fn pages_of_other_ports_are_refused_unless_their_origin_is_allowed() {
    let home = Home::new();
    for args in [&["serve", "--listen", "127.0.0.1:0"][..], &["codebase", ".", "--http", "127.0.0.1:0"]] {
        let mut hub = home.start(args);
        let own = hub.url.trim_end_matches("/mcp").to_owned();
        assert!(ask(&hub, &own).starts_with("HTTP/1.1 200"), "{args:?}");
        let refused = ask(&hub, "http://localhost:5173");
        assert!(
            refused.starts_with("HTTP/1.1 403") && refused.contains("--allow-origin"),
            "{args:?}: {refused}"
        );
        assert_eq!(hub.stop(), Some(0));

        let allow = ["--allow-origin", "http://localhost:5173", "--allow-origin", "https://app.example.com"];
        let mut hub = home.start(&[args, &allow].concat());
        for origin in ["http://localhost:5173", "https://app.example.com"] {
            let answer = ask(&hub, origin);
            assert!(answer.starts_with("HTTP/1.1 200"), "{args:?}: {answer}");
            assert!(answer.contains(&format!("access-control-allow-origin: {origin}\r\n")), "{answer}");
        }
        assert!(ask(&hub, "http://localhost:5174").starts_with("HTTP/1.1 403"), "{args:?}");
        assert_eq!(hub.stop(), Some(0));
    }
}

#[test]
fn invalid_origins_are_refused_at_the_start() {
    for (origin, said) in [
        ("*", "would allow any page"),
        ("null", "would allow any page"),
        ("localhost:5173", "an origin is SCHEME://HOST[:PORT]"),
        ("https://app.example.com/", "an origin is SCHEME://HOST[:PORT]"),
    ] {
        let ran = Home::new().run(&["serve", "--listen", "127.0.0.1:0", "--allow-origin", origin]).expect(2);
        assert!(ran.stderr.contains(said), "{ran:#?}");
    }
    let ran = Home::new().run(&["codebase", "--allow-local-users"]).expect(2);
    assert!(ran.stderr.contains("--http"), "{ran:#?}");
}

#[test]
fn the_users_file_may_allow_origins() {
    let home = Home::new();
    home.write_user_config("[hub]\nallow_origin = ['http://localhost:5173']\n");
    let mut hub = home.serve(&[]);
    assert!(ask(&hub, "http://localhost:5173").starts_with("HTTP/1.1 200"));
    assert_eq!(hub.stop(), Some(0));
    home.write_user_config("[hub]\nallow_origin = ['*']\n");
    let ran = home.run(&["serve", "--listen", "127.0.0.1:0"]).expect(2);
    assert!(ran.stderr.contains("allow_origin") && ran.stderr.contains("would allow any page"), "{ran:#?}");
}
