//! Servers of extensions: the configuration has only their settings.

use crate::program::Home;

fn manifest(command: &str, script: &str) -> String {
    serde_json::json!({ "context_servers": { "small": {
        "command": { "path": command, "args": [script] },
        "settings_schema": {
            "type": "object", "required": ["level"], "properties": { "level": { "type": "integer" } },
        },
        "installation_instructions": "Get python from your distribution.",
    }}})
    .to_string()
}

fn home(command: &str, settings: &str) -> Home {
    let home = Home::new();
    let folder = home.path("data/toolbay/extensions");
    std::fs::create_dir_all(&folder).unwrap();
    let script = home.path("server.py");
    std::fs::write(folder.join("small.json"), manifest(command, script.to_str().unwrap())).unwrap();
    home.write(
        "settings.json",
        &format!("{{\"context_servers\": {{\n  \"small\": {{\"settings\": {settings}}}\n}}}}"),
    );
    home
}

/// R091–R093.
#[test]
fn settings_become_a_server() {
    let home = home("python3", r#"{"level": 1}"#);
    let tools = home.run(&["tools", "--config", "settings.json"]).expect(0).stdout;
    assert!(tools.contains("small__echo"), "{tools}");
}

#[test]
fn a_server_of_an_extension_is_checked_and_shown_like_any_other() {
    let home = home("python3", r#"{"level": 1}"#);
    let ran = home.run(&["config", "check", "settings.json"]).expect(0);
    assert!(ran.stderr.contains("1 server, read as zed"), "{ran:#?}");
    let script = home.path("server.py");
    let ran = home.run(&["config", "show", "--config", "settings.json"]).expect(0);
    assert!(ran.stdout.contains(&format!("command    python3 {}\n", script.display())), "{ran:#?}");
    assert!(ran.stdout.contains("enabled    yes"), "{ran:#?}");

    let home = self::home("python3", r#"{"level": "high"}"#);
    let ran = home.run(&["config", "check", "settings.json"]).expect(2);
    assert!(
        ran.stdout.contains("settings.json:2:3: error: server `small`: JSON schema validation failed"),
        "{ran:#?}"
    );
}

/// R086, R092.
#[test]
fn invalid_settings_are_reported_with_their_location() {
    let home = home("python3", r#"{"level": "high"}"#);
    let ran = home.run(&["tools", "--config", "settings.json"]);
    assert!(ran.stderr.contains("settings.json:2:3"), "{ran:#?}");
    assert!(
        ran.stderr.contains("JSON schema validation failed") && ran.stderr.contains("/level"),
        "{ran:#?}"
    );
}

#[test]
fn a_missing_command_is_reported_with_how_to_install_it() {
    let home = home("no-such-program", r#"{"level": 1}"#);
    let ran = home.run(&["tools", "--config", "settings.json"]);
    assert!(ran.stderr.contains("Get python from your distribution."), "{ran:#?}");
}
