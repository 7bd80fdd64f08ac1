//! Every format, with the same servers.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};
use toolbay_config::{
    ConfigFile, Format, Problem, ServerConfig, ServerEndpoint, ServerOptions, Variables, parse, parse_with,
};

/// Each sample, where such a file usually lies, and whose it is.
const SAMPLES: [(&str, &str, Format); 32] = [
    ("amp.json", "/p/.amp/settings.json", Format::Amp),
    ("antigravity.json", "/p/.agents/mcp_config.json", Format::Antigravity),
    ("claude-code.json", "/p/.mcp.json", Format::ClaudeCode),
    ("claude-desktop.json", "/h/.config/Claude/claude_desktop_config.json", Format::ClaudeDesktop),
    ("claude-managed.json", "/etc/claude-code/managed-mcp.json", Format::ClaudeManaged),
    ("claude-plugin.json", "/p/plugins/x/.mcp.json", Format::ClaudePlugin),
    ("claude-user.json", "/h/.claude.json", Format::ClaudeUser),
    ("cline-nested.json", "/h/cline_mcp_settings.json", Format::Cline),
    ("cline.json", "/h/cline_mcp_settings.json", Format::Cline),
    ("codex.toml", "/h/.codex/config.toml", Format::Codex),
    ("copilot.json", "/h/.copilot/mcp-config.json", Format::CopilotCli),
    ("cursor.json", "/p/.cursor/mcp.json", Format::Cursor),
    ("devcontainer.json", "/p/.devcontainer/devcontainer.json", Format::VsCode),
    ("devin.json", "/p/.devin/mcp_config.json", Format::Devin),
    ("factory.json", "/p/.factory/mcp.json", Format::Factory),
    ("gemini.json", "/h/.gemini/settings.json", Format::Gemini),
    ("goose.yaml", "/h/.config/goose/config.yaml", Format::Goose),
    ("jetbrains.json", "/p/.junie/mcp/mcp.json", Format::JetBrains),
    ("kiro.json", "/p/.kiro/settings/mcp.json", Format::Kiro),
    ("list.json", "/p/mcp.json", Format::McpServers),
    ("opencode.json", "/p/opencode.json", Format::OpenCode),
    ("roo.json", "/p/.roo/mcp.json", Format::Roo),
    ("rovo.json", "/p/.rovodev/mcp.json", Format::Rovo),
    ("snake-case.json", "/p/mcp.json", Format::McpServers),
    ("toolbay.toml", "/h/.config/toolbay/toolbay.toml", Format::Toolbay),
    ("vscode-settings.json", "/p/.vscode/settings.json", Format::VsCode),
    ("vscode.json", "/p/.vscode/mcp.json", Format::VsCode),
    ("warp.json", "/p/.warp/.mcp.json", Format::Warp),
    ("windsurf.json", "/h/.codeium/windsurf/mcp_config.json", Format::Windsurf),
    ("zed-legacy.json", "/p/.zed/settings.json", Format::Zed),
    ("zed-project.json", "/p/.zed/settings.json", Format::Zed),
    ("zed.json", "/h/.config/zed/settings.json", Format::Zed),
];

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/formats"))
}

fn read(sample: &str) -> String {
    fs::read_to_string(folder().join(sample)).unwrap()
}

/// A sample with values for its variables.
fn sample(name: &str) -> ConfigFile {
    let (_, path, _) = SAMPLES.iter().find(|(it, ..)| *it == name).unwrap();
    let env = [("FILES_KEY", "f1"), ("SEARCH_TOKEN", "s1")];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let variables = Variables { env: BTreeMap::from(env), ..Variables::default() };
    parse_with(&read(name), Path::new(path), &variables).unwrap()
}

fn tuning(sample_name: &str) -> ServerOptions {
    sample(sample_name).servers[0].tuning.clone()
}

fn problem_text(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

#[test]
fn every_format_is_read_as_the_same_servers() {
    let expected: Value = serde_json::from_str(&read("expected.json")).unwrap();
    for (name, path, format) in SAMPLES {
        let file = parse(&read(name), Path::new(path)).unwrap();
        assert_eq!(problem_text(&file.problems), "", "{name}");
        assert_eq!(file.format, format, "{name}");
        assert_eq!(json!(file.normalized()), expected, "{name}");
    }
}

#[test]
fn the_same_server_is_recognized_in_any_format() {
    let ours = sample("toolbay.toml").written;
    for name in ["cursor.json", "codex.toml", "opencode.json", "claude-code.json"] {
        let theirs = sample(name).written;
        for (one, other) in ours.iter().flat_map(|one| theirs.iter().map(move |other| (one, other))) {
            assert_eq!(one.is_same_server(other), one.name == other.name, "{name}: {one:?} {other:?}");
        }
    }
}

#[test]
fn the_content_is_enough() {
    let expected: Value = serde_json::from_str(&read("expected.json")).unwrap();
    for (name, ..) in SAMPLES {
        for path in [folder().join(name), folder().join("config")] {
            let file = parse(&read(name), &path).unwrap();
            assert_eq!(json!(file.normalized()), expected, "{}", path.display());
        }
    }
}

#[test]
fn no_sample_is_forgotten() {
    let names =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "expected.json").collect();
    names.sort();
    assert_eq!(names, SAMPLES.map(|(name, ..)| name));
}

#[test]
fn every_format_has_its_variables() {
    for (name, _, format) in SAMPLES {
        if format == Format::Zed {
            continue; // It has none.
        }
        let file = sample(name);
        assert!(file.incomplete.is_empty(), "{name}: {}", problem_text(&file.warnings));
        let [files, search, _] = &file.servers[..] else { panic!("{name}: {file:?}") };
        let ServerEndpoint::Command(command) = &files.endpoint else { panic!("{name}: {files:?}") };
        assert_eq!(command.env["FILES_KEY"], "f1", "{name}");
        let ServerEndpoint::Url(remote) = &search.endpoint else { panic!("{name}: {search:?}") };
        assert_eq!(remote.headers["authorization"], "Bearer s1", "{name}");
        let shown = json!(file.normalized()).to_string();
        assert!(
            !shown.contains("f1") && !shown.contains("s1") && !shown.contains("debug"),
            "{name}: {shown}"
        );
    }
}

#[test]
fn timeouts_have_the_unit_of_their_format() {
    let seconds = |time: Option<std::time::Duration>| time.map(|time| time.as_secs_f64());
    for (name, idle, total, start) in [
        ("claude-code.json", Some(30.0), Some(30.0), None),
        ("zed.json", Some(30.0), Some(30.0), None),
        ("codex.toml", Some(45.0), Some(45.0), Some(20.0)),
        ("gemini.json", Some(600.0), Some(600.0), None),
        ("cline.json", Some(3600.0), Some(3600.0), None),
        ("cline-nested.json", Some(60.0), Some(60.0), None),
        ("roo.json", Some(90.0), Some(90.0), None),
        ("goose.yaml", Some(300.0), Some(300.0), None),
        ("opencode.json", None, None, Some(8.0)),
    ] {
        let tuning = tuning(name);
        let found =
            (seconds(tuning.idle_timeout), seconds(tuning.total_timeout), seconds(tuning.startup_timeout));
        assert_eq!(found, (idle, total, start), "{name}");
    }
    let warnings = problem_text(&sample("cline.json").warnings);
    assert!(warnings.contains("3:5: server `files`: `timeout` is in seconds, at most 3600"), "{warnings}");
    let odd = r#"{"mcpServers": {"a": {"command": "x", "timeout": 30}}}"#;
    let file = parse(odd, Path::new(".mcp.json")).unwrap();
    assert_eq!(file.servers[0].tuning, ServerOptions::default());
    assert!(
        problem_text(&file.warnings).contains("30 is implausibly short"),
        "{}",
        problem_text(&file.warnings)
    );
}

#[test]
fn lists_of_tools_become_filters() {
    for (name, allow, deny) in [
        ("codex.toml", Some(vec!["read", "list"]), vec!["delete"]),
        ("gemini.json", Some(vec!["read", "list"]), vec!["delete"]),
        ("goose.yaml", Some(vec!["read", "list"]), vec![]),
        ("amp.json", Some(vec!["read"]), vec![]),
        ("windsurf.json", None, vec!["delete"]),
        ("roo.json", None, vec!["delete"]),
        ("kiro.json", None, vec!["delete"]),
        ("opencode.json", None, vec!["delete"]),
        ("copilot.json", None, vec![]),
        ("toolbay.toml", Some(vec!["read*"]), vec!["delete"]),
    ] {
        let tools = tuning(name).tools;
        let allow: Option<Vec<String>> = allow.map(|names| names.into_iter().map(str::to_owned).collect());
        assert_eq!(
            (tools.allow, tools.deny),
            (allow, deny.into_iter().map(str::to_owned).collect()),
            "{name}"
        );
    }
    let search = &sample("copilot.json").servers[1];
    assert_eq!(search.tuning.tools.allow, Some(vec!["find".to_owned()]));
}

#[test]
fn unknown_keys_are_kept() {
    for (name, server, kept) in [
        ("claude-code.json", 0, json!({"claude-code": {"alwaysLoad": true}})),
        ("claude-code.json", 1, json!({"claude-code": {"oauth": {"clientId": "abc", "callbackPort": 8080}}})),
        ("cursor.json", 1, json!({"cursor": {"auth": {"CLIENT_ID": "abc", "scopes": ["read"]}}})),
        ("vscode.json", 0, json!({"vscode": {"dev": {"watch": "src/**"}}})),
        ("codex.toml", 0, json!({"codex": {"supports_parallel_tool_calls": true}})),
        ("cline.json", 0, json!({"cline": {"autoApprove": ["read"]}})),
        ("roo.json", 0, json!({"roo": {"alwaysAllow": ["read"], "watchPaths": ["/srv/data/index"]}})),
        ("list.json", 0, json!({})),
        ("list.json", 1, json!({})),
        ("goose.yaml", 0, json!({})),
    ] {
        assert_eq!(json!(sample(name).written[server].extra), kept, "{name}");
    }
}

#[test]
fn entries_that_are_no_servers_are_reported_and_skipped() {
    let goose = sample("goose.yaml");
    assert!(
        problem_text(&goose.warnings).contains("server `developer`: `builtin` is built into goose"),
        "{}",
        problem_text(&goose.warnings)
    );
    let opencode = sample("opencode.json");
    assert!(
        problem_text(&opencode.warnings).contains("server `elsewhere`: it only enables or disables"),
        "{}",
        problem_text(&opencode.warnings)
    );
    let zed = sample("zed-project.json");
    let [extension] = &zed.extensions[..] else { panic!("{zed:?}") };
    assert_eq!(
        (extension.name.as_str(), &extension.settings),
        ("mcp-server-filesystem", &json!({"rootPath": "/workspace"}))
    );
    assert_eq!(sample("vscode.json").inputs[0].default.as_deref(), Some("debug"));
}

#[test]
fn folders_are_those_of_the_program() {
    let cwd = |server: &ServerConfig| match &server.endpoint {
        ServerEndpoint::Command(command) => command.cwd.clone(),
        ServerEndpoint::Url(_) | ServerEndpoint::BuiltIn(_) => None,
    };
    for name in ["warp.json", "jetbrains.json"] {
        assert_eq!(cwd(&sample(name).servers[0]).as_deref(), Some(Path::new("/srv")), "{name}");
    }
    let relative = r#"{"servers": {"a": {"command": "x", "cwd": "sub"}}}"#;
    let file = parse(relative, Path::new("/p/.vscode/mcp.json")).unwrap();
    assert_eq!(cwd(&file.servers[0]).as_deref(), Some(Path::new("/p/sub")));
    let silent = r#"{"mcpServers": {"a": {"command": "x"}}, "projects": {"/q": {"mcpServers": {"b": {"command": "x"}}}}}"#;
    let home = Variables { home: Some("/h".into()), ..Variables::default() };
    let cwds = |path: &str| {
        let file = parse_with(silent, Path::new(path), &home).unwrap();
        file.servers.iter().map(cwd).collect::<Vec<_>>()
    };
    let (none, p, q) = (None, Some("/p".into()), Some("/q".into()));
    assert_eq!(cwds("/p/.mcp.json"), [p.clone(), q.clone()], "programs of a project run there");
    assert_eq!(cwds("/p/.cursor/mcp.json"), [p, q.clone()]);
    assert_eq!(cwds("/h/.cursor/mcp.json"), [none.clone(), q.clone()], "those of a user run anywhere");
    assert_eq!(cwds("/h/.claude.json"), [none.clone(), q.clone()]);
    assert_eq!(cwds("/etc/mcp.json"), [none, q]);
}

#[test]
fn a_bare_url_means_what_its_format_says() {
    for (path, transport) in [
        ("/h/cline_mcp_settings.json", "sse"),
        ("/p/.kiro/settings/mcp.json", "http"),
        ("/h/.copilot/mcp-config.json", "http"),
        ("/p/.mcp.json", "http"),
    ] {
        let text = r#"{"mcpServers": {"a": {"url": "https://h/mcp"}}}"#;
        assert_eq!(parse(text, Path::new(path)).unwrap().normalized()[0]["transport"], transport, "{path}");
    }
    let text = r#"{"mcpServers": {"a": {"url": "https://h/sse"}, "b": {"url": "wss://h/"}}}"#;
    let shown = parse(text, Path::new("mcp.json")).unwrap().normalized();
    assert_eq!((&shown[0]["transport"], &shown[1]["transport"]), (&json!("sse"), &json!("ws")));
}

#[test]
fn servers_of_a_project_count_in_that_project() {
    let text = r#"{"mcpServers": {"a": {"command": "user"}, "b": {"command": "user"}}, "projects": {
        "/p": {"mcpServers": {"a": {"command": "project"}}},
        "/q": {"mcpServers": {"c": {"command": "other"}}}}}"#;
    let names = |workspace: Option<&str>| {
        let variables = Variables { workspace: workspace.map(Into::into), ..Variables::default() };
        let file = parse_with(text, Path::new("/h/.claude.json"), &variables).unwrap();
        let shown = file.normalized().into_iter().map(|it| format!("{}={}", it["name"], it["command"]));
        shown.collect::<Vec<_>>().join(" ").replace('"', "")
    };
    assert_eq!(names(Some("/p/sub")), "a=project b=user");
    assert_eq!(names(Some("/q")), "c=other a=user b=user");
    assert_eq!(names(None), "a=user b=user c=other");
}

#[test]
fn descriptions_of_servers_are_named() {
    for (text, said) in [
        (
            r#"{"manifest_version": "0.3", "name": "x", "server": {"type": "node"}}"#,
            "manifest of an MCPB bundle",
        ),
        (r#"{"name": "io.github.x/y", "packages": []}"#, "`server.json` of the MCP registry"),
        (r#"{"something": "else"}"#, "it contains no servers"),
        (r#"{"mcp": {"allowed": ["x"]}}"#, "it contains no servers"),
    ] {
        let error = parse(text, Path::new("f.json")).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn other_shapes_of_the_same_programs_are_known() {
    let opencode = r#"{"mcp": {"servers": {"a": {"type": "local", "command": ["x", "y"], "disabled": true,
                       "timeout": {"startup": 8000, "request": 9000}}}}}"#;
    let file = parse(opencode, Path::new("opencode.json")).unwrap();
    assert_eq!((file.format, problem_text(&file.problems).as_str()), (Format::OpenCode, ""));
    let tuning = &file.servers[0].tuning;
    let seconds = |time: Option<std::time::Duration>| time.map(|time| time.as_secs());
    assert_eq!((seconds(tuning.startup_timeout), seconds(tuning.total_timeout)), (Some(8), Some(9)));
    assert_eq!(file.normalized()[0]["args"], json!(["y"]));
    let goose = "extensions:\n  a:\n    enabled: false\n    config:\n      type: stdio\n      name: a\n      cmd: x\n";
    let file = parse(goose, Path::new("config.yaml")).unwrap();
    assert_eq!((file.format, problem_text(&file.problems).as_str()), (Format::Goose, ""));
    assert_eq!(
        (&file.normalized()[0]["command"], &file.normalized()[0]["enabled"]),
        (&json!("x"), &json!(false))
    );
    let goose = "extensions:\n  - type: stdio\n    name: a\n    cmd: x\n";
    assert_eq!(parse(goose, Path::new("config.yaml")).unwrap().normalized()[0]["name"], "a");
}
