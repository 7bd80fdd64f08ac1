//! Servers in files of other programs.

use std::{fs, path::Path};

use serde_json::{Value, json};
use toolbay_config::{Edit, EditError, Folders, Format, WrittenServer, client_files, edit_text, parse};

fn sample(name: &str) -> Vec<WrittenServer> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats").join(name);
    parse(&fs::read_to_string(&path).unwrap(), &path).unwrap().written
}

fn path_of(format: Format) -> std::path::PathBuf {
    let folders = Folders { home: "/h".into(), config: "/h/.config".into() };
    format.user_file(&folders).or_else(|| format.project_file(Path::new("/p"))).unwrap_or("/h/x.json".into())
}

/// The text of a new file with these servers.
fn exported(servers: &[WrittenServer], format: Format) -> Result<String, EditError> {
    let edits: Vec<Edit<'_>> = servers.iter().map(Edit::Put).collect();
    edit_text("", &path_of(format), Some(format), &edits).map(|edited| edited.text)
}

/// What is exported reads back as the same servers, in every format that has words for them.
#[test]
fn there_and_back() {
    let servers = sample("toolbay.toml");
    for format in Format::CLIENTS.into_iter().chain([Format::Toolbay, Format::McpServers, Format::Devin]) {
        let mut servers = servers.clone();
        match format {
            // No variables but in the ways of Codex; no servers at a URL; no word for `off`.
            Format::Zed => servers = sample("zed.json"),
            Format::ClaudeDesktop => drop(servers.drain(1..)),
            Format::ClaudeCode
            | Format::Cursor
            | Format::VsCode
            | Format::CopilotCli
            | Format::Gemini
            | Format::Amp => drop(servers.pop()),
            Format::Warp | Format::Rovo | Format::Devin => drop(servers.pop()),
            _ => {}
        }
        let text = exported(&servers, format).unwrap();
        let file = parse(&text, &path_of(format)).unwrap();
        let wanted: Vec<Value> = servers.iter().map(WrittenServer::normalized).collect();
        assert_eq!(json!(file.normalized()), json!(wanted), "{format}: {text}");
        assert!(!text.contains("lost"), "{text}");
    }
}

#[test]
fn each_client_gets_its_own_format() {
    for (format, said) in [
        (
            Format::ClaudeCode,
            json!({"mcpServers": {"search": {"type": "http", "url": "https://search.example.com/mcp", "headers": {"Authorization": "Bearer ${SEARCH_TOKEN}"}}}}),
        ),
        (
            Format::Cursor,
            json!({"mcpServers": {"search": {"url": "https://search.example.com/mcp", "headers": {"Authorization": "Bearer ${env:SEARCH_TOKEN}"}}}}),
        ),
        (
            Format::VsCode,
            json!({"servers": {"search": {"type": "http", "url": "https://search.example.com/mcp", "headers": {"Authorization": "Bearer ${env:SEARCH_TOKEN}"}}}}),
        ),
        (
            Format::Gemini,
            json!({"mcpServers": {"search": {"httpUrl": "https://search.example.com/mcp", "headers": {"Authorization": "Bearer ${SEARCH_TOKEN}"}}}}),
        ),
        (
            Format::Windsurf,
            json!({"mcpServers": {"search": {"serverUrl": "https://search.example.com/mcp", "headers": {"Authorization": "Bearer ${env:SEARCH_TOKEN}"}}}}),
        ),
        (
            Format::OpenCode,
            json!({"mcp": {"search": {"type": "remote", "url": "https://search.example.com/mcp", "headers": {"Authorization": "Bearer {env:SEARCH_TOKEN}"}}}}),
        ),
        (
            Format::Amp,
            json!({"amp.mcpServers": {"search": {"url": "https://search.example.com/mcp", "headers": {"Authorization": "Bearer ${SEARCH_TOKEN}"}}}}),
        ),
    ] {
        let text = exported(&sample("toolbay.toml")[1..2], format).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), said, "{format}");
    }
    assert_eq!(
        exported(&sample("toolbay.toml"), Format::Codex).unwrap(),
        r#"[mcp_servers.files]
command = "npx"
args = ["-y", "@example/files", "/srv/data"]
env_vars = ["FILES_KEY"]
env = { LOG_LEVEL = "debug" }
enabled_tools = ["read*"]
disabled_tools = ["delete"]

[mcp_servers.search]
url = "https://search.example.com/mcp"
bearer_token_env_var = "SEARCH_TOKEN"

[mcp_servers.old]
command = "old-server"
enabled = false
"#
    );
}

#[test]
fn settings_without_a_counterpart_are_reported() {
    let servers = sample("toolbay.toml");
    for (server, format, said) in [
        (0, Format::Zed, "it uses the variable ${FILES_KEY}, which zed does not support"),
        (1, Format::ClaudeDesktop, "Claude Desktop runs programs only"),
        (2, Format::Cursor, "it is disabled, which cursor does not support"),
    ] {
        let error = exported(&servers[server..=server], format).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let edit = [Edit::Put(&servers[0])];
    let edited = edit_text("", Path::new("mcp.json"), Some(Format::Cursor), &edit).unwrap();
    assert_eq!(edited.lost, ["`tools.allow`", "`tools.deny`"]);
}

#[test]
fn the_rest_of_their_file_is_theirs() {
    let hub = r#"{"mcpServers": {"toolbay": {"command": "toolbay", "args": ["connect"]}}}"#;
    let hub = parse(hub, Path::new("mcp.json")).unwrap().written;
    let edits = [Edit::Put(&hub[0])];
    for (format, path, before, after) in [
        (
            Format::Zed,
            "/h/.config/zed/settings.json",
            "// mine\n{\n  \"theme\":   \"One\", // dark\n}\n",
            "// mine\n{\n  \"theme\":   \"One\", // dark\n  \"context_servers\": {\n    \"toolbay\": {\n      \"command\": \"toolbay\",\n      \"args\": [\"connect\"]\n    }\n  },\n}\n",
        ),
        (
            Format::Codex,
            "/h/.codex/config.toml",
            "model = 'x' # mine\n\n[tui]\nvim =   true\n",
            "model = 'x' # mine\n\n[tui]\nvim =   true\n\n[mcp_servers.toolbay]\ncommand = \"toolbay\"\nargs = [\"connect\"]\n",
        ),
        (
            Format::ClaudeCode,
            "/h/.claude.json",
            "{\n    \"numStartups\": 7,\n    \"projects\": {\"/p\": {\"mcpServers\": {\"toolbay\": {\"command\": \"other\"}}}}\n}\n",
            "{\n    \"numStartups\": 7,\n    \"projects\": {\"/p\": {\"mcpServers\": {\"toolbay\": {\"command\": \"other\"}}}},\n    \"mcpServers\": {\n        \"toolbay\": {\n            \"type\": \"stdio\",\n            \"command\": \"toolbay\",\n            \"args\": [\"connect\"]\n        }\n    }\n}\n",
        ),
        (
            Format::VsCode,
            "/p/.vscode/settings.json",
            "{\n  \"a\": 1\n}",
            "{\n  \"a\": 1,\n  \"mcp\": {\n    \"servers\": {\n      \"toolbay\": {\n        \"type\": \"stdio\",\n        \"command\": \"toolbay\",\n        \"args\": [\"connect\"]\n      }\n    }\n  }\n}",
        ),
    ] {
        let edited = edit_text(before, Path::new(path), Some(format), &edits).unwrap();
        assert_eq!(edited.text, after, "{format}");
        let again = edit_text(after, Path::new(path), Some(format), &edits).unwrap();
        assert_eq!(again.text, after, "{format}: once more changes nothing");
    }
}

#[test]
fn keys_of_the_program_come_back() {
    let servers = sample("roo.json");
    let native = exported(&servers, Format::Toolbay).unwrap();
    let imported = parse(&native, Path::new("/h/toolbay.toml")).unwrap();
    assert_eq!(imported.problems, []);
    let text = exported(&imported.written, Format::Roo).unwrap();
    let back: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(back["mcpServers"]["files"]["alwaysAllow"], json!(["read"]));
    assert_eq!(back["mcpServers"]["files"]["disabledTools"], json!(["delete"]));
}

#[test]
fn clients_are_found_by_the_names_that_people_type() {
    for format in Format::CLIENTS {
        assert_eq!(Format::client(format.name()), Some(format));
        assert!(path_of(format).is_absolute());
    }
    assert_eq!(Format::client("claude"), Some(Format::ClaudeCode));
    assert_eq!(Format::client("emacs"), None);
}

#[test]
fn keys_that_the_client_added_stay() {
    let hub = r#"{"mcpServers": {"toolbay": {"command": "toolbay", "args": ["connect"]}}}"#;
    let hub = parse(hub, Path::new("mcp.json")).unwrap().written;
    let before = "{\n  \"mcpServers\": {\n    \"toolbay\": {\n      \"command\": \"old\",\n      \"autoApprove\": [\"x\"], // mine\n      \"cwd\": \"/x\"\n    }\n  }\n}\n";
    let edited = edit_text(
        before,
        Path::new("/h/cline_mcp_settings.json"),
        Some(Format::Cline),
        &[Edit::Put(&hub[0])],
    );
    let text = edited.unwrap().text;
    assert!(text.contains("\"autoApprove\": [\"x\"], // mine"), "{text}");
    let back: Value = serde_json::from_str(&text.replace("// mine", "")).unwrap();
    let entry = json!({"type": "stdio", "command": "toolbay", "args": ["connect"], "autoApprove": ["x"]});
    assert_eq!(back["mcpServers"]["toolbay"], entry);
}

/// Codex knows no variables in texts, so what looks like one is none, and stays so.
#[test]
fn literal_text_does_not_become_a_variable() {
    let codex = "[mcp_servers.a]\ncommand = 'x'\nargs = ['${HOME}/y', '$${z']\n";
    let servers = parse(codex, Path::new("/h/.codex/config.toml")).unwrap().written;
    let native = exported(&servers, Format::Toolbay).unwrap();
    let file = parse(&native, Path::new("/h/toolbay.toml")).unwrap();
    let toolbay_config::ServerEndpoint::Command(command) = &file.servers[0].endpoint else {
        panic!("{file:?}")
    };
    assert_eq!(command.args, ["${HOME}/y", "$${z"], "{native}");
    assert!(file.warnings.is_empty() && exported(&servers, Format::Zed).is_ok());
    let error = exported(&servers, Format::ClaudeCode).unwrap_err().to_string();
    assert!(error.contains("would be read as a variable by claude-code"), "{error}");
}

#[test]
fn files_of_clients_are_found() {
    let place = tempfile::tempdir().unwrap();
    let folders = Folders { home: place.path().join("h"), config: place.path().join("h/.config") };
    let project = place.path().join("p");
    for file in ["h/.codex/config.toml", "h/.config/goose/config.yaml", "p/.mcp.json", "p/.vscode/mcp.json"] {
        let file = place.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
    }
    let found = |project| {
        let files = client_files(&folders, project).into_iter();
        files
            .map(|(format, path)| format!("{format} {}", path.strip_prefix(place.path()).unwrap().display()))
            .collect()
    };
    let all: Vec<String> = found(Some(project.as_path()));
    assert_eq!(
        all,
        [
            "claude-code p/.mcp.json",
            "vscode p/.vscode/mcp.json",
            "codex h/.codex/config.toml",
            "goose h/.config/goose/config.yaml"
        ]
    );
    let of_user: Vec<String> = found(None);
    assert_eq!(of_user, ["codex h/.codex/config.toml", "goose h/.config/goose/config.yaml"]);
}

#[test]
fn an_extension_has_its_file_in_the_editor_that_it_runs_in() {
    let place = tempfile::tempdir().unwrap();
    let folders = Folders { home: place.path().join("h"), config: place.path().join("h/.config") };
    for format in [Format::Cline, Format::Roo, Format::Warp] {
        assert_eq!(format.user_file(&folders), None, "{format}: nobody has it");
    }
    let roo = folders.config.join("VSCodium/User/globalStorage/rooveterinaryinc.roo-cline");
    fs::create_dir_all(&roo).unwrap();
    assert_eq!(Format::Roo.user_file(&folders), Some(roo.join("settings/mcp_settings.json")));
    let cline = "User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json";
    for editor in ["Code", "Code - Insiders", "VSCodium", "Cursor"] {
        let file = folders.config.join(editor).join(cline);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "").unwrap();
        assert!(client_files(&folders, None).contains(&(Format::Cline, file)), "{editor}");
    }
    let opencode = folders.config.join("opencode/opencode.json");
    assert_eq!(Format::OpenCode.user_file(&folders), Some(opencode.clone()));
    fs::create_dir_all(opencode.parent().unwrap()).unwrap();
    fs::write(opencode.with_extension("jsonc"), "").unwrap();
    assert_eq!(Format::OpenCode.user_file(&folders), Some(opencode.with_extension("jsonc")));
}

#[test]
fn inputs_become_secrets_or_variables() {
    let text = r#"{"inputs": [{"id": "level", "default": "debug"}], "servers": {
        "a": {"url": "https://h/mcp", "headers": {"A": "Bearer ${input:gh-token}", "B": "${input:level} ${input:2nd}"}}}}"#;
    let file = parse(text, Path::new("/p/.vscode/mcp.json")).unwrap();
    assert_eq!(file.written[0].inputs(), ["2nd", "gh-token", "level"]);
    assert_eq!(
        exported(&file.portable, Format::Toolbay).unwrap(),
        "[servers.a]\nurl = \"https://h/mcp\"\n\
         headers = { A = \"Bearer ${secret:GH_TOKEN}\", B = \"${LEVEL:-debug} ${secret:_2ND}\" }\n"
    );
}

/// What is imported from a project does the same in a file elsewhere.
#[test]
fn a_server_can_move_to_another_folder() {
    let text = r#"{"servers": {
        "a": {"command": "${workspaceFolder}/bin/x", "args": ["${workspaceFolderBasename}", "${env:KEY}", "${userHome}"],
              "envFile": "sub/.env", "env": {"A": "${file:secret}"}},
        "b": {"command": "x", "cwd": "sub", "toolbay": {"stderr": {"file": "log"}}},
        "c": {"command": "x", "cwd": "${env:DIR}/y"}}}"#;
    let file = parse(text, Path::new("/p/.vscode/mcp.json")).unwrap();
    assert_eq!(file.problems, []);
    assert_eq!(
        exported(&file.portable, Format::Toolbay).unwrap(),
        r#"[servers.a]
command = "/p/bin/x"
args = ["p", "${KEY}", "${userHome}"]
env = { A = "${file:/p/.vscode/secret}" }
cwd = "/p"
env_file = "/p/sub/.env"

[servers.b]
command = "x"
cwd = "/p/sub"
stderr = { file = "/p/log" }

[servers.c]
command = "x"
cwd = "${DIR}/y"
"#
    );
}

/// An entry to show to people: nothing that may be secret, and variables as they are.
#[test]
fn a_redacted_server_can_be_written_and_read() {
    let entry = json!({"mcpServers": {"x": {
        "command": "x", "args": ["--token", "t0p", "--level=2"],
        "env": {"API_KEY": "s3cret", "FROM": "${FROM}", "LOG": "debug", "OTHER": "ghp_0123456789abcdef"},
    }}});
    let written = parse(&entry.to_string(), Path::new("mcp.json")).unwrap().written.remove(0);
    let text = exported(&[written.redacted()], Format::Toolbay).unwrap();
    assert_eq!(
        text,
        "[servers.x]\ncommand = \"x\"\nargs = [\"--token\", \"***\", \"--level=2\"]\n\
         env = { API_KEY = \"***\", FROM = \"${FROM}\", LOG = \"***\", OTHER = \"***\" }\n"
    );
    assert_eq!(written.literal_secrets(), ["API_KEY", "OTHER", "args"]);
    assert_eq!(sample("toolbay.toml")[1].literal_secrets(), [""; 0]);
    let url = json!({"mcpServers": {"u": {"url": "https://h/mcp?api_key=abc&x=1", "headers": {"Authorization": "Bearer abc"}}}});
    let written = parse(&url.to_string(), Path::new("mcp.json")).unwrap().written.remove(0);
    assert_eq!(written.literal_secrets(), ["Authorization", "url"]);
    assert!(!exported(&[written.redacted()], Format::Cursor).unwrap().contains("abc"));
}
