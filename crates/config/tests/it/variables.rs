//! Variables of each format, with and without values.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::json;
use toolbay_config::{Command, ConfigFile, ReadFiles, ServerEndpoint, Variables, parse_with};

fn variables() -> Variables {
    let env = [("KEY", "p4ss"), ("EMPTY", "")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    Variables { env: BTreeMap::from(env), home: Some("/home/me".into()), ..Variables::default() }
}

fn read(text: &str, path: &str) -> ConfigFile {
    parse_with(text, Path::new(path), &variables()).unwrap()
}

fn command(file: &ConfigFile) -> &Command {
    match &file.servers[0].endpoint {
        ServerEndpoint::Command(command) => command,
        other => panic!("{other:?}"),
    }
}

/// What an argument comes to in a file.
fn expanded(arg: &str, path: &str) -> String {
    let key = if path.contains("opencode") { "mcp" } else { "mcpServers" };
    let text = json!({ key: { "a": { "command": ["x", arg] } } }).to_string();
    command(&read(&text, path)).args[0].clone()
}

#[test]
fn each_format_knows_its_own_variables() {
    const CLAUDE: &str = "/p/.mcp.json";
    const CURSOR: &str = "/p/.cursor/mcp.json";
    const GEMINI: &str = "/p/.gemini/settings.json";
    const OPENCODE: &str = "/p/opencode.json";
    for (path, written, value) in [
        (CLAUDE, "a-${KEY}-b", "a-p4ss-b"),
        (CLAUDE, "${NONE:-x y}", "x y"),
        (CLAUDE, "${EMPTY:-x}", "x"),
        (CLAUDE, "${KEY:-x}", "p4ss"),
        (CLAUDE, "${EMPTY}", ""),
        (CLAUDE, "${env:KEY}", "p4ss"),
        (CLAUDE, "$KEY {env:KEY} %KEY% $${KEY", "$KEY {env:KEY} %KEY% $${KEY"),
        (CLAUDE, "${NONE}", "${NONE}"),
        (CLAUDE, "${CLAUDE_PROJECT_DIR}/x", "/p/x"),
        (
            CLAUDE,
            "${KEY%x} ${KEY#x} ${#KEY} ${KEY/a/b} ${1} ${} ${KEY",
            "${KEY%x} ${KEY#x} ${#KEY} ${KEY/a/b} ${1} ${} ${KEY",
        ),
        (CURSOR, "${env:KEY}", "p4ss"),
        (CURSOR, "${env:NONE}x", "x"),
        (CURSOR, "${KEY}", "${KEY}"),
        (CURSOR, "${workspaceFolder}${/}${workspaceFolderBasename}${pathSeparator}a", "/p/p/a"),
        (CURSOR, "${userHome}", "/home/me"),
        (GEMINI, "$KEY/${KEY}/$NONE", "p4ss/p4ss/$NONE"),
        (OPENCODE, "{env:KEY} ${KEY} {x}", "p4ss ${KEY} {x}"),
    ] {
        assert_eq!(expanded(written, path), value, "{path}: {written}");
    }
}

#[test]
fn ours_can_be_escaped() {
    let text = "[servers.a]\ncommand = 'x'\nargs = ['$${KEY}', '${KEY}', '${NONE:-}', '$KEY']\n";
    let file = read(text, "/p/toolbay.toml");
    assert_eq!(command(&file).args, ["${KEY}", "p4ss", "", "$KEY"]);
}

#[test]
fn without_a_value_a_server_is_incomplete_and_the_text_stays() {
    let text = r#"{"mcpServers": {"a": {"command": "x", "env": {"A": "${NONE}", "B": "${KEY}"}}, "b": {"command": "y"}}}"#;
    let file = read(text, "/p/.mcp.json");
    assert_eq!(
        command(&file).env,
        BTreeMap::from([("A".into(), "${NONE}".into()), ("B".into(), "p4ss".into())])
    );
    let incomplete: Vec<_> =
        file.incomplete.iter().map(|(name, missing)| (name.as_str(), missing.clone())).collect();
    assert_eq!(incomplete, [("a", vec!["NONE".to_owned()])]);
    let [warning] = &file.warnings[..] else { panic!("{:?}", file.warnings) };
    assert_eq!(
        warning.to_string(),
        "1:17: server `a`: `NONE` is not set, so the text stays as written; set NONE in the environment"
    );
}

#[test]
fn disabled_servers_are_not_reported() {
    let text = r#"{"mcpServers": {"a": {"command": "x", "env": {"A": "${NONE}"}, "disabled": true}}}"#;
    let file = read(text, "/p/.mcp.json");
    assert!(file.incomplete.is_empty() && file.warnings.is_empty(), "{:?}", file.warnings);
}

#[test]
fn editors_take_nothing_for_a_variable_without_a_value() {
    let file =
        read(r#"{"servers": {"a": {"command": "x", "env": {"A": "${env:NONE}"}}}}"#, "/p/.vscode/mcp.json");
    assert_eq!(command(&file).env["A"], "");
    assert!(file.incomplete.is_empty());
    assert!(
        file.warnings[0].message.contains("`NONE` is not set, so it expands to nothing"),
        "{:?}",
        file.warnings
    );
}

#[test]
fn shells_have_variables_of_their_own() {
    let text = r#"{"mcpServers": {"a": {"command": "/bin/sh", "args": ["-c", "for x in 1; do echo ${x} ${KEY}; done"]}}}"#;
    let file = read(text, "/p/.mcp.json");
    assert_eq!(command(&file).args[1], "for x in 1; do echo ${x} p4ss; done");
    assert!(file.incomplete.is_empty() && file.warnings.is_empty(), "{:?}", file.warnings);
}

#[test]
fn inputs_are_asked_for_on_a_terminal() {
    let text = r#"{"inputs": [{"id": "t", "type": "promptString", "description": "Token", "password": true},
                              {"id": "l", "type": "pickString", "options": ["a", {"label": "B", "value": "b"}], "default": "b"}],
                   "servers": {"a": {"command": "x", "args": ["${input:t}", "${input:l}"]}}}"#;
    let mut variables = variables();
    let path = Path::new("/p/.vscode/mcp.json");
    let file = parse_with(text, path, &variables).unwrap();
    assert_eq!(command(&file).args, ["${input:t}", "b"]);
    assert_eq!(file.incomplete.values().next(), Some(&vec!["input:t".to_owned()]));
    assert_eq!(
        (file.inputs[0].password, &file.inputs[1].options),
        (true, &vec!["a".to_owned(), "b".to_owned()])
    );
    assert!(file.warnings[0].message.contains("set T in the environment"), "{:?}", file.warnings);
    variables.env.extend([("T".to_owned(), "set".to_owned()), ("L".to_owned(), "a".to_owned())]);
    assert_eq!(command(&parse_with(text, path, &variables).unwrap()).args, ["set", "a"]);
    variables.inputs.insert("t".to_owned(), "typed".to_owned());
    assert_eq!(command(&parse_with(text, path, &variables).unwrap()).args[0], "typed");
}

#[test]
fn files_are_read_when_servers_start_and_not_before() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("secret"), "p4ss\n").unwrap();
    let text = json!({"mcpServers": {"a": {"command": "x", "env": {"A": format!("${{file:{}/secret}}", folder.path().display())}}}});
    let path = Path::new("/h/.codeium/windsurf/mcp_config.json");
    let mut variables = variables();
    let file = parse_with(&text.to_string(), path, &variables).unwrap();
    assert!(command(&file).env["A"].starts_with("${file:"), "{file:?}");
    assert!(file.incomplete.is_empty());
    variables.files = ReadFiles::Now;
    let file = parse_with(&text.to_string(), path, &variables).unwrap();
    assert_eq!(command(&file).env["A"], "p4ss");
}

#[test]
fn a_url_may_be_a_variable() {
    let text = r#"{"mcpServers": {"a": {"url": "${BASE:-https://h}/mcp"}, "b": {"url": "${NONE}/mcp"}}}"#;
    let file = read(text, "/p/.mcp.json");
    let ServerEndpoint::Url(remote) = &file.servers[0].endpoint else { panic!("{file:?}") };
    assert_eq!(remote.url, "https://h/mcp");
    assert_eq!(file.normalized()[0]["url"], "${BASE:-https://h}/mcp");
    let [problem] = &file.problems[..] else { panic!("{:?}", file.problems) };
    assert!(problem.message.contains("`NONE` is not set"), "{problem}");
}

#[test]
fn an_env_file_is_read_and_its_values_are_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".env"), "# c\nexport A=p4ss\nB='x y'\n").unwrap();
    fs::create_dir(folder.path().join(".cursor")).unwrap();
    let text = r#"{"mcpServers": {"a": {"command": "x", "env": {"B": "own"}, "envFile": "${workspaceFolder}/.env"}}}"#;
    let path = folder.path().join(".cursor/mcp.json");
    let variables = Variables { files: ReadFiles::Now, ..variables() };
    let file = parse_with(text, &path, &variables).unwrap();
    assert_eq!(command(&file).env, BTreeMap::from([("A".into(), "p4ss".into()), ("B".into(), "own".into())]));
    assert!(!file.normalized()[0].to_string().contains("p4ss"));
    fs::remove_file(folder.path().join(".env")).unwrap();
    let file = parse_with(text, &path, &variables).unwrap();
    assert!(file.problems[0].message.contains("cannot read the env file"), "{:?}", file.problems);
    assert_eq!(read(text, "/p/.cursor/mcp.json").problems, [], "only who starts servers needs it");
}

#[test]
fn output_contains_no_secret() {
    let text = r#"{"mcpServers": {"a": {"command": "x",
        "args": ["--api-key", "p4ss", "--token=p4ss", "--key", "${KEY}", "--token=${KEY}", "--max-tokens", "5", "plain"],
        "env": {"A": "p4ss", "B": "${KEY}", "C": "x${KEY}", "D": "${KEY:-p4ss}"}},
        "b": {"url": "https://h/mcp?api_key=p4ss&q=1", "headers": {"Authorization": "Bearer ${KEY}", "X": "Bearer p4ss"}}}}"#;
    let file = read(text, "/p/.mcp.json");
    let shown = file.normalized();
    assert!(!json!(shown).to_string().contains("p4ss"), "{shown:?}");
    assert_eq!(
        shown[0]["args"],
        json!([
            "--api-key",
            "***",
            "--token=***",
            "--key",
            "${KEY}",
            "--token=${KEY}",
            "--max-tokens",
            "5",
            "plain"
        ])
    );
    assert_eq!(shown[0]["env"], json!({"A": "***", "B": "${KEY}", "C": "***", "D": "***"}));
    assert_eq!(shown[1]["url"], "https://h/mcp?api_key=***&q=***");
    assert_eq!(shown[1]["headers"], json!({"Authorization": "Bearer ${KEY}", "X": "***"}));
    assert!(!format!("{:?} {:?}", file.written, variables()).contains("p4ss"));
}

#[test]
fn variables_that_are_passed_on_are_left_out_without_a_value() {
    let text = "[mcp_servers.a]\ncommand = 'x'\nenv_vars = ['KEY', {name = 'NONE', source = 'local'}]\n
[mcp_servers.b]\nurl = 'https://h/'\nbearer_token_env_var = 'NONE'\nenv_http_headers = { X = 'KEY' }\n";
    let file = read(text, "/h/.codex/config.toml");
    assert_eq!(command(&file).env, BTreeMap::from([("KEY".into(), "p4ss".into())]));
    let ServerEndpoint::Url(remote) = &file.servers[1].endpoint else { panic!("{file:?}") };
    assert_eq!((remote.headers.get("authorization"), remote.headers.len()), (None, 1));
    let incomplete: Vec<&str> = file.incomplete.keys().map(|name| name.as_str()).collect();
    assert_eq!(incomplete, ["b"], "Codex passes what there is, but needs the token");
    assert!(
        file.warnings[0].message.contains("`NONE` is not set, so what needs it is omitted"),
        "{:?}",
        file.warnings
    );
}

#[test]
fn the_home_is_known_without_an_environment() {
    assert_eq!(expanded("${HOME}/x", "/p/.mcp.json"), "/home/me/x");
}
