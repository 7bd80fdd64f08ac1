//! Files with invalid entries, or invalid as a whole.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::program::Home;

#[test]
fn one_bad_entry_is_reported_with_its_location_and_the_others_work() {
    let home = Home::new();
    home.write(
        "mcp.json",
        &format!(
            "{{\n  // comments are fine\n  \"mcpServers\": {{\n    \"bad\": {{\"command\": 5}},\n    {},\n    \
             \"gone\": {{\"command\": \"no-such-program\"}},\n  }}\n}}",
            home.entry("good")
        ),
    );
    let ran = home.run(&["tools", "--config", "mcp.json"]).expect(0);
    assert!(ran.stdout.starts_with("good__echo"), "{ran:#?}");
    assert!(ran.stderr.contains("mcp.json:4:5: server `bad`"), "{ran:#?}");
    assert!(
        ran.stderr.contains("gone failed: it could not be started: command `no-such-program`"),
        "{ran:#?}"
    );
    assert!(ran.stderr.contains("hint: install it"), "{ran:#?}");
    let ran = home.run(&["call", "gone__x", "--config", "mcp.json"]).expect(4);
    assert!(ran.stderr.contains("server `gone` has failed: "), "{ran:#?}");
}

#[test]
fn an_invalid_file_is_reported_with_the_location() {
    for (text, said) in [
        ("{\n \"mcpServers\": {\n  \"a\": {\"command\": \"x\"} \"b\": 1\n }}", "mcp.json:3:"),
        ("[]", "a configuration must be a table"),
        ("{}", "it contains no servers"),
        (r#"{"manifest_version": "0.3", "server": {}}"#, "the manifest of an MCPB bundle"),
    ] {
        let home = Home::new();
        home.write("mcp.json", text);
        for args in [&["tools"][..], &["serve"], &["stdio"]] {
            let ran = home.run(&[args, &["--config", "mcp.json"]].concat()).expect(2);
            assert!(ran.stderr.contains(said), "{ran:#?}");
        }
    }
}

/// A file that cannot be read may be the one that says who may use the hub.
#[test]
fn a_hub_does_not_listen_while_the_file_of_its_user_is_invalid() {
    let home = Home::new();
    home.write_user_config("[auth\nissuer = 'https://id.example'\n");
    let ran = home.run(&["serve", "--listen", "127.0.0.1:0"]).expect(2);
    assert!(ran.stderr.contains("toolbay.toml:1:"), "{ran:#?}");
    assert!(ran.stderr.contains("cannot be read, and the hub would be open without it"), "{ran:#?}");
}

#[test]
fn a_missing_file_is_an_error_of_usage() {
    let ran = Home::new().run(&["serve", "--config", "none.json"]).expect(2);
    assert!(ran.stderr.contains("none.json") && ran.stderr.contains("--config FILE"), "{ran:#?}");
}

#[test]
fn a_file_that_anyone_may_write_to_is_refused() {
    let home = Home::with_server();
    fs::set_permissions(home.path("mcp.json"), fs::Permissions::from_mode(0o666)).unwrap();
    let ran = home.run(&["tools", "--config", "mcp.json"]).expect(2);
    assert!(ran.stderr.contains("chmod o-w"), "{ran:#?}");
}

#[test]
fn mistyped_commands_are_corrected() {
    let ran = Home::new().run(&["toolz"]).expect(2);
    assert!(ran.stderr.contains("'tools'"), "{ran:#?}");
}
