//! References to secrets: where they can be, and that values are put in for a start alone.

use std::path::Path;

use toolbay_config::{
    ConfigFile, Origin, ServerConfig, ServerEndpoint, Variables, WrittenServer, load_from, parse, parse_with,
};

fn read(text: &str, path: &str) -> ConfigFile {
    parse(text, Path::new(path)).unwrap()
}

fn only(file: ConfigFile) -> ServerConfig {
    assert!(file.problems.is_empty(), "{:?}", file.problems);
    file.servers.into_iter().next().unwrap()
}

fn problem(entry: &str) -> String {
    read(&format!("[servers.s]\n{entry}"), "toolbay.toml").problems[0].message.clone()
}

fn resolved(server: &ServerConfig) -> ServerConfig {
    server.with_secrets(|name| if name.as_str() == "A" { "value-a" } else { "value-b" }).unwrap()
}

#[test]
fn every_format_may_refer_to_secrets() {
    for (path, text) in [
        ("toolbay.toml", "[servers.s]\ncommand = \"x\"\nenv = { K = \"1 ${secret:A} ${secret:b/c-d.e}\" }"),
        (
            ".mcp.json",
            r#"{"mcpServers": {"s": {"command": "x", "env": {"K": "1 ${secret:A} ${secret:b/c-d.e}"}}}}"#,
        ),
        (
            ".vscode/mcp.json",
            r#"{"servers": {"s": {"command": "x", "env": {"K": "1 ${secret:A} ${secret:b/c-d.e}"}}}}"#,
        ),
        (
            "opencode.json",
            r#"{"mcp": {"s": {"type": "local", "command": ["x"], "environment": {"K": "1 ${secret:A} ${secret:b/c-d.e}"}}}}"#,
        ),
        (
            "config.toml",
            "[mcp_servers.s]\ncommand = \"x\"\nenv = { K = \"1 ${secret:A} ${secret:b/c-d.e}\" }",
        ),
        (
            "settings.json",
            r#"{"context_servers": {"s": {"command": "x", "env": {"K": "1 ${secret:A} ${secret:b/c-d.e}"}}}}"#,
        ),
    ] {
        let server = only(read(text, path));
        let names: Vec<&str> = server.secret_names().into_iter().map(|name| name.as_str()).collect();
        assert_eq!(names, ["A", "b/c-d.e"], "{path}");
        let value = |server: &ServerConfig| match &server.endpoint {
            ServerEndpoint::Command(command) => command.env["K"].clone(),
            _ => panic!("{server:?}"),
        };
        assert_eq!(value(&server), "1 ${secret:A} ${secret:b/c-d.e}", "{path}");
        assert_eq!(value(&resolved(&server)), "1 value-a value-b", "{path}");
    }
}

#[test]
fn headers_urls_and_keys_get_values_too() {
    let server = only(read(
        "[servers.s]\nurl = \"https://h.example/${secret:A}?k=${secret:B}\"\nheaders = { X-Key = \"Bearer ${secret:B}\" }",
        "toolbay.toml",
    ));
    let ServerEndpoint::Url(remote) = resolved(&server).endpoint else { panic!() };
    assert_eq!(remote.url, "https://h.example/value-a?k=value-b");
    assert_eq!(remote.headers["x-key"], "Bearer value-b");
    assert!(remote.headers["x-key"].is_sensitive());

    // All of a URL may be secret.
    let server = only(read("[servers.s]\nurl = \"${secret:A}\"", "toolbay.toml"));
    let whole = server.with_secrets(|_| "wss://h.example/x").unwrap();
    assert!(matches!(whole.endpoint, ServerEndpoint::Url(remote) if remote.url == "wss://h.example/x"));
    let error = server.with_secrets(|_| "marble:willow").unwrap_err();
    assert_eq!(error, "cannot use secret `A` in `url`: the URL is not valid with it");

    let server = only(read(
        "[servers.s]\nbuiltin = \"codebase\"\nroot = \"/\"\nembeddings = { url = \"http://h/v1\", model = \"m\", api_key = \"${secret:A}\" }",
        "toolbay.toml",
    ));
    let ServerEndpoint::BuiltIn(built_in) = resolved(&server).endpoint else { panic!() };
    assert_eq!(serde_json::to_value(built_in).unwrap()["embeddings"]["api_key"], "value-a");
    let error = server.with_secrets(|_| "a\nb").unwrap_err();
    assert!(
        error.starts_with("cannot use secret `A` in `embeddings.api_key`: it contains characters"),
        "{error}"
    );
}

#[test]
fn arguments_are_visible_so_they_have_secrets_only_if_that_is_said() {
    let entry = "command = \"x\"\nargs = [\"-k\", \"${secret:A}\"]\n";
    let message = problem(entry);
    assert!(
        message.contains("other users can see arguments") && message.contains("secrets_in_args"),
        "{message}"
    );
    let file = read(&format!("[servers.s]\n{entry}secrets_in_args = true"), "toolbay.toml");
    assert!(
        file.warnings[0].message.contains("which other users of this machine can see"),
        "{:?}",
        file.warnings
    );
    let ServerEndpoint::Command(command) = resolved(&only(file)).endpoint else { panic!() };
    assert_eq!(command.args, ["-k", "value-a"]);
}

#[test]
fn secrets_decide_neither_what_runs_nor_where() {
    for entry in [
        "command = \"${secret:A}\"",
        "command = \"x\"\ncwd = \"${secret:A}\"",
        "command = \"x\"\nenv_file = \"${secret:A}\"",
        "builtin = \"filesystem\"\ndirectories = [\"${secret:A}\"]",
    ] {
        assert!(problem(entry).contains("cannot contain `${secret:A}`"), "{}", problem(entry));
    }
    let file = read("[hub]\ntoken_file = \"${secret:A}\"", "toolbay.toml");
    assert!(file.problems[0].message.contains("`token_file` cannot contain `${secret:A}`"));
}

/// What a variable or a file contains is a value, never a reference: an approval did not show it.
#[test]
fn values_are_not_read_as_references() {
    let variables =
        Variables { env: [("WORD".to_owned(), "${secret:A}".to_owned())].into(), ..Variables::default() };
    let text = "[servers.s]\ncommand = \"x\"\nenv = { A = \"${WORD}\", B = \"$${secret:B}\", C = \"${secret:not a name}\" }";
    let file = parse_with(text, Path::new("toolbay.toml"), &variables).unwrap();
    assert!(
        file.warnings.iter().any(|it| it.message.contains("not a name of a secret")),
        "{:?}",
        file.warnings
    );
    let server = only(file);
    assert!(server.secrets.is_empty(), "{server:?}");
    let ServerEndpoint::Command(command) = resolved(&server).endpoint else { panic!() };
    assert_eq!(command.env["A"], "${secret:A}");
    assert_eq!(command.env["B"], "${secret:B}");
}

#[test]
fn a_reference_is_part_of_the_launch_and_its_value_is_not() {
    let server = |value: &str| {
        only(read(&format!("[servers.s]\ncommand = \"x\"\nenv = {{ K = \"{value}\" }}"), "toolbay.toml"))
    };
    let (one, other, literal) = (server("${secret:A}"), server("${secret:B}"), server("$${secret:A}"));
    assert_ne!(one.launch_hash(), other.launch_hash());
    assert_ne!(
        one.launch_hash(),
        literal.launch_hash(),
        "a text that looks like a reference is another launch"
    );
    assert_ne!(one, literal);
    assert_eq!(one.launch_hash(), server("${secret:A}").launch_hash());
}

#[test]
fn commands_for_secrets_are_lists_and_the_users_own() {
    let file = read(
        "[secret_commands]\nA = [\"op\", \"read\", \"op://x/y\"]\nB = \"op read x\"\n\"c d\" = [\"x\"]\nE = []\n",
        "toolbay.toml",
    );
    let commands: Vec<_> =
        file.secret_commands.iter().map(|(name, words)| (name.as_str(), words.len())).collect();
    assert_eq!(commands, [("A", 3)]);
    let messages: Vec<&str> = file.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(messages.len(), 3, "{messages:?}");
    assert!(messages[0].contains("an array of strings") && messages[0].contains("no shell"), "{messages:?}");

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("toolbay.toml");
    std::fs::write(&path, "secret_commands.A = [\"x\"]\n[servers.s]\ncommand = \"x\"").unwrap();
    let is_approved = |_: &WrittenServer| true;
    let file =
        load_from(&path, &Variables::default(), Origin::Project { is_approved: &is_approved }).unwrap();
    assert!(file.secret_commands.is_empty());
    assert!(
        file.ignored[0].message.contains("`secret_commands` is ignored in a project file"),
        "{:?}",
        file.ignored
    );
}
