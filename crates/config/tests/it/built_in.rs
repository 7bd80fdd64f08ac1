//! `builtin` in every format.

use std::{collections::BTreeMap, path::Path};

use serde_json::json;
use toolbay_config::{
    BuiltIn, CodebaseSettings, ConfigFile, Edit, Format, ServerEndpoint, Variables, edit_text, parse,
    parse_with, schema,
};

/// A file of each kind with the same entry, and whose it is.
const FILES: [(&str, &str, Format); 9] = [
    ("/p/.mcp.json", r#"{"mcpServers":{"code":{"builtin":"codebase","root":"src"}}}"#, Format::ClaudeCode),
    ("/p/.cursor/mcp.json", r#"{"mcpServers":{"code":{"builtin":"codebase","root":"src"}}}"#, Format::Cursor),
    ("/p/mcp.json", r#"{"mcpServers":{"code":{"builtin":"codebase","root":"src"}}}"#, Format::McpServers),
    ("/p/.vscode/mcp.json", r#"{"servers":{"code":{"builtin":"codebase","root":"src"}}}"#, Format::VsCode),
    (
        "/p/.zed/settings.json",
        r#"{"context_servers":{"code":{"builtin":"codebase","root":"src"}}}"#,
        Format::Zed,
    ),
    (
        "/p/.codex/config.toml",
        "[mcp_servers.code]\nbuiltin = \"codebase\"\nroot = \"/p/src\"\n",
        Format::Codex,
    ),
    ("/p/config.yaml", "extensions:\n  code:\n    builtin: codebase\n    root: src\n", Format::Goose),
    ("/p/opencode.json", r#"{"mcp":{"code":{"builtin":"codebase","root":"src"}}}"#, Format::OpenCode),
    ("/p/toolbay.toml", "[servers.code]\nbuiltin = \"codebase\"\nroot = \"src\"\n", Format::Toolbay),
];

fn codebase(file: &ConfigFile) -> &CodebaseSettings {
    match &file.servers[0].endpoint {
        ServerEndpoint::BuiltIn(BuiltIn::Codebase(codebase)) => codebase,
        other => panic!("{other:?}"),
    }
}

fn problem_text(file: &ConfigFile) -> String {
    file.problems.iter().map(|problem| format!("{problem}\n")).collect()
}

#[test]
fn every_format_reads_built_in_servers() {
    for (path, text, format) in FILES {
        let file = parse(text, Path::new(path)).unwrap();
        assert_eq!((problem_text(&file), file.format), (String::new(), format), "{path}");
        assert_eq!(codebase(&file).root, Path::new("/p/src"), "{path}");
        let shown = &file.normalized()[0];
        assert_eq!(
            (&shown["transport"], &shown["builtin"]),
            (&json!("builtin"), &json!("codebase")),
            "{path}"
        );
        assert!(shown["command"].is_null() && shown["url"].is_null(), "{shown}");
    }
}

#[test]
fn without_a_folder_it_is_that_of_the_file() {
    for path in ["/p/toolbay.toml", "/p/.mcp.json", "/p/.cursor/mcp.json"] {
        let text = match path.ends_with("toml") {
            true => "servers.code.builtin = \"codebase\"",
            false => r#"{"mcpServers":{"code":{"builtin":"codebase"}}}"#,
        };
        let file = parse(text, Path::new(path)).unwrap();
        assert_eq!(codebase(&file).root, Path::new("/p"), "{path}");
    }
}

const WITH_ENDPOINT: &str = r#"
[servers.code]
builtin = "codebase"
root = "~/work"
embeddings = { url = "http://localhost:11434/v1/embeddings", model = "nomic", api_key = "${EMBED_KEY}" }
compat = { s3_errors = true }
"#;

#[test]
fn the_endpoint_may_hold_a_secret() {
    let env = BTreeMap::from([("EMBED_KEY".to_owned(), "hush".to_owned())]);
    let variables = Variables { env, home: Some("/h".into()), ..Variables::default() };
    let file = parse_with(WITH_ENDPOINT, Path::new("/p/toolbay.toml"), &variables).unwrap();
    assert_eq!(problem_text(&file), "");
    let codebase = codebase(&file);
    let embeddings = codebase.embeddings.as_ref().unwrap();
    assert_eq!((codebase.root.as_path(), codebase.compat.s3_errors), (Path::new("/h/work"), true));
    assert_eq!(
        (embeddings.model.as_str(), embeddings.api_key.as_ref().map(|key| key.expose())),
        ("nomic", Some("hush"))
    );
    let shown = format!("{:?} {}", file.servers, json!(file.normalized()));
    assert!(!shown.contains("hush") && shown.contains("${EMBED_KEY}"), "{shown}");
    let literal =
        parse(&WITH_ENDPOINT.replace("${EMBED_KEY}", "hush"), Path::new("/p/toolbay.toml")).unwrap();
    assert!(!json!(literal.normalized()).to_string().contains("hush"));
    assert_eq!(literal.written[0].literal_secrets(), ["embeddings.api_key"]);
}

#[test]
fn secrets_are_shown_only_where_a_file_says_so() {
    for (path, text) in [
        ("/p/toolbay.toml", "[servers.code]\nbuiltin = \"codebase\"\nsecrets = true"),
        ("/p/.mcp.json", r#"{"mcpServers":{"code":{"builtin":"codebase","secrets":true}}}"#),
        ("/p/.cursor/mcp.json", r#"{"mcpServers":{"code":{"builtin":"codebase","secrets":true}}}"#),
        ("/p/.vscode/mcp.json", r#"{"servers":{"code":{"builtin":"codebase","secrets":true}}}"#),
        ("/p/.zed/settings.json", r#"{"context_servers":{"code":{"builtin":"codebase","secrets":true}}}"#),
    ] {
        let file = parse(text, Path::new(path)).unwrap();
        assert_eq!(problem_text(&file), "", "{path}");
        assert!(codebase(&file).secrets, "{path}");
        assert!(json!(file.normalized()).to_string().contains(r#""secrets":true"#), "{path}");
        let text = text.replace("true", "false");
        assert!(!codebase(&parse(&text, Path::new(path)).unwrap()).secrets, "{path}");
    }
    let wrong =
        parse("[servers.code]\nbuiltin = \"codebase\"\nsecrets = 1", Path::new("/p/toolbay.toml")).unwrap();
    assert!(problem_text(&wrong).contains("`secrets`"), "{}", problem_text(&wrong));
}

#[test]
fn problems_are_reported() {
    for (entry, expected) in [
        ("builtin = \"codebas\"", "unknown built-in server `codebas`; did you mean `codebase`?"),
        (
            "builtin = \"x\"",
            "unknown built-in server `x`; available: filesystem, text-editor, grep, shell, memory, brave-search, fetch, time, codebase, hub",
        ),
        ("builtin = \"codebase\"\ncommand = \"x\"", "`builtin` cannot be combined with `command`"),
        ("builtin = \"codebase\"\nembeddings = { url = \"http://x\" }", "`embeddings.model` is missing"),
        (
            "builtin = \"codebase\"\nembeddings = { url = \"x\", model = \"m\" }",
            "`embeddings.url` must begin with",
        ),
        (
            "builtin = \"codebase\"\nembeddings = { url = \"http://x\", model = \"m\", dims = 2 }",
            "`embeddings.dims` is unknown",
        ),
        ("builtin = \"codebase\"\ncompat = { s4 = true }", "`compat.s4` is unknown"),
        ("builtin = \"codebase\"\nroot = 1", "`root` must be a string"),
        ("command = \"x\"\nroot = \".\"", "`root` is for servers with `builtin`"),
    ] {
        let file = parse(&format!("[servers.code]\n{entry}\n"), Path::new("/p/toolbay.toml")).unwrap();
        assert!(problem_text(&file).contains(expected), "{entry}: {}", problem_text(&file));
        assert!(file.servers.is_empty(), "{entry}");
    }
}

#[test]
fn another_folder_or_endpoint_is_another_launch() {
    let hash = |text: &str| parse(text, Path::new("/p/toolbay.toml")).unwrap().servers[0].launch_hash();
    let here = hash("servers.code.builtin = \"codebase\"");
    assert_eq!(here, hash("servers.code.builtin = \"codebase\"\nservers.code.idle_timeout = 5"));
    assert_ne!(here, hash("servers.code = { builtin = \"codebase\", root = \"src\" }"));
    assert_ne!(
        here,
        hash("servers.code = { builtin = \"codebase\", embeddings = { url = \"http://x\", model = \"m\" } }")
    );
}

#[test]
fn built_in_servers_are_written_to_our_own_formats_only() {
    let file =
        parse(r#"{"mcpServers":{"code":{"builtin":"codebase","root":"src"}}}"#, Path::new("/p/mcp.json"))
            .unwrap();
    let written = &file.portable[0];
    let put =
        edit_text("", Path::new("/q/toolbay.toml"), Some(Format::Toolbay), &[Edit::Put(written)]).unwrap();
    let again = parse(&put.text, Path::new("/q/toolbay.toml")).unwrap();
    assert_eq!(codebase(&again).root, Path::new("/p/src"), "{}", put.text);
    assert!(again.written[0].is_same_server(&file.portable[0]), "{}", put.text);
    let refused =
        edit_text("{}", Path::new("/q/.cursor/mcp.json"), Some(Format::Cursor), &[Edit::Put(written)])
            .unwrap_err();
    let refused = format!("{refused:?}");
    assert!(refused.contains("built into Toolbay"), "{refused}");
}

#[test]
fn the_schema_takes_it() {
    let schema = schema();
    assert_eq!(
        schema["definitions"]["server"]["properties"]["builtin"]["enum"],
        json!([
            "filesystem",
            "text-editor",
            "grep",
            "shell",
            "memory",
            "brave-search",
            "fetch",
            "time",
            "codebase",
            "hub"
        ])
    );
}

/// An entry of each server with all its keys.
fn whole_entries() -> Vec<(&'static str, serde_json::Value)> {
    let files = json!({ "directories": ["src", "/srv"], "client_roots": "ignore", "secrets": true });
    let with = |mut entry: serde_json::Value, more: serde_json::Value| {
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        entry
    };
    vec![
        (
            "filesystem",
            with(
                files.clone(),
                json!({ "toolset": "agent", "protect": false, "write_in_place": true, "delete": true, "extra_tools": true }),
            ),
        ),
        (
            "text-editor",
            with(
                files.clone(),
                json!({ "toolset": "hashes", "protect": false, "max_characters": 99, "write_in_place": true }),
            ),
        ),
        ("grep", with(files, json!({ "toolset": "ripgrep", "time_limit": "5s" }))),
        (
            "shell",
            json!({
                "root": "src", "toolset": "bash", "read": ["data"], "write": ["/tmp/x"], "network": "allow",
                "sandbox": "partial", "allow_commands": ["ls"],
                "limits": { "processes": 9, "memory_mb": 64, "cpu_seconds": 5, "file_mb": 7 },
            }),
        ),
        (
            "memory",
            json!({ "memory_file": "m.jsonl", "toolset": "anthropic", "max_entities": 5, "max_mb": 1 }),
        ),
        (
            "brave-search",
            json!({
                "api_key": "hush", "api_key_file": "key", "base_url": "http://localhost:1/res",
                "enabled_tools": ["a"], "disabled_tools": ["b"],
                "cache_time": 0, "request_timeout": "1m", "max_wait": 1.5,
            }),
        ),
        (
            "fetch",
            json!({ "user_agent": "me", "ignore_robots_txt": true, "proxy_url": "http://localhost:1/", "private_addresses": true }),
        ),
        ("time", json!({ "local_timezone": "Europe/Paris" })),
        (
            "codebase",
            json!({
                "root": "src", "embeddings": { "url": "http://h/", "model": "m", "api_key": "hush" },
                "compat": { "s3_errors": true }, "secrets": true,
            }),
        ),
        ("hub", json!({})),
    ]
}

/// A `toolbay.toml` with this entry.
fn toml_file(entry: &serde_json::Value) -> String {
    format!("[servers]\nit = {}\n", toml_value(entry))
}

fn toml_value(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(key, value)| format!("{key} = {}", toml_value(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(toml_value).collect::<Vec<String>>().join(", "))
        }
        scalar => scalar.to_string(),
    }
}

/// Each key of each server, read from every format, changes the settings; written again, it is the same.
#[test]
fn every_key_of_every_server_is_read_in_every_format_and_written_again() {
    for (name, mut entry) in whole_entries() {
        entry["builtin"] = name.into();
        let mut settings = Vec::new();
        for (path, key) in [
            ("/p/.mcp.json", "mcpServers"),
            ("/p/.cursor/mcp.json", "mcpServers"),
            ("/p/.vscode/mcp.json", "servers"),
            ("/p/.zed/settings.json", "context_servers"),
            ("/p/opencode.json", "mcp"),
            ("/p/toolbay.toml", "servers"),
        ] {
            let whole = json!({ key: { "it": entry } });
            let text = match path.ends_with("toml") {
                true => toml_file(&entry),
                false => whole.to_string(),
            };
            let file = parse(&text, Path::new(path)).unwrap();
            assert_eq!(problem_text(&file), "", "{path}: {text}");
            let ServerEndpoint::BuiltIn(built_in) = &file.servers[0].endpoint else { panic!("{file:?}") };
            settings.push(built_in.clone());
            assert!(!format!("{:?} {}", file.servers, json!(file.normalized())).contains("hush"), "{path}");
            let put = edit_text(
                "",
                Path::new("/q/toolbay.toml"),
                Some(Format::Toolbay),
                &[Edit::Put(&file.portable[0])],
            );
            let put = put.unwrap().text;
            let again = parse(&put, Path::new("/q/toolbay.toml")).unwrap();
            assert_eq!(again.servers[0].endpoint, file.servers[0].endpoint, "{put}");
        }
        assert!(settings.windows(2).all(|pair| pair[0] == pair[1]), "{settings:#?}");
        // Each key counts: without it, it is another launch.
        let server = |text: &str| parse(text, Path::new("/p/toolbay.toml")).unwrap().servers[0].clone();
        let whole = server(&toml_file(&entry)).launch_hash();
        for key in entry.as_object().unwrap().keys().filter(|key| *key != "builtin") {
            let mut without = entry.clone();
            without.as_object_mut().unwrap().remove(key);
            assert_ne!(server(&toml_file(&without)).launch_hash(), whole, "{name}.{key}");
        }
        let shown = schema();
        let document = json!({ "servers": { "it": entry } });
        assert!(jsonschema::is_valid(&shown, &document), "{document}");
    }
}

#[test]
fn keys_that_a_server_does_not_have_are_refused_in_every_format() {
    for (entry, expected) in [
        (json!({ "builtin": "filesystem", "directries": ["."] }), "did you mean `directories`?"),
        (
            json!({ "builtin": "time", "delete": true }),
            "the built-in server `time` has no key `delete`; it has: local_timezone",
        ),
        (json!({ "builtin": "hub", "root": "." }), "the built-in server `hub` has no key `root`"),
        (json!({ "builtin": "shell", "sandbox": "ful" }), "`sandbox` cannot be `ful`; did you mean `full`?"),
        (json!({ "builtin": "shell", "network": true }), "`network` must be a string"),
        (
            json!({ "builtin": "shell", "limits": { "processes": 0 } }),
            "`limits.processes` must be a positive integer",
        ),
        (json!({ "builtin": "shell", "limits": { "cores": 1 } }), "`limits.cores` is unknown"),
        (json!({ "builtin": "grep", "directories": [] }), "`directories` must name a directory"),
        (json!({ "builtin": "grep", "toolset": "agent" }), "`toolset` cannot be `agent`"),
        (
            json!({ "builtin": "memory", "env": { "MEMORY_FILE_PATH": "x" } }),
            "`builtin` cannot be combined with `env`",
        ),
        (json!({ "builtin": "brave-search", "base_url": "ftp://h" }), "`base_url` must begin with"),
    ] {
        for path in ["/p/.mcp.json", "/p/toolbay.toml"] {
            let text = match path.ends_with("toml") {
                true => toml_file(&entry),
                false => json!({ "mcpServers": { "it": entry } }).to_string(),
            };
            let file = parse(&text, Path::new(path)).unwrap();
            assert!(problem_text(&file).contains(expected), "{path}: {entry}: {}", problem_text(&file));
            assert!(file.servers.is_empty(), "{entry}");
        }
        let is_url = entry.get("base_url").is_some();
        assert!(
            is_url || !jsonschema::is_valid(&schema(), &json!({ "servers": { "it": entry } })),
            "{entry}"
        );
    }
    // What other programs keep in their entries is none of our business.
    let foreign = r#"{"mcpServers":{"it":{"builtin":"time","alwaysAllow":["x"],"description":"clock"}}}"#;
    assert_eq!(problem_text(&parse(foreign, Path::new("/p/.mcp.json")).unwrap()), "");
}

/// A key whose variable is not set is no key, and not the name of the variable.
#[test]
fn a_secret_that_is_not_set_is_left_out() {
    let text = r#"{"mcpServers":{"web":{"builtin":"brave-search","api_key":"${NO_SUCH_KEY}"}}}"#;
    let file = parse(text, Path::new("/p/.mcp.json")).unwrap();
    let ServerEndpoint::BuiltIn(BuiltIn::BraveSearch(settings)) = &file.servers[0].endpoint else { panic!() };
    assert_eq!(settings.api_key, None);
}

#[test]
fn paths_start_at_the_file() {
    let text = r#"{"mcpServers":{"it":{"builtin":"filesystem","directories":["src","~/x","/y","${workspaceFolder}/z"]}}}"#;
    let variables = Variables { home: Some("/h".into()), ..Variables::default() };
    let file = parse_with(text, Path::new("/p/.mcp.json"), &variables).unwrap();
    let ServerEndpoint::BuiltIn(BuiltIn::Filesystem(settings)) = &file.servers[0].endpoint else { panic!() };
    assert_eq!(settings.directories, ["/p/src", "/h/x", "/y", "/p/z"].map(std::path::PathBuf::from));
    let bare =
        parse(r#"{"mcpServers":{"it":{"builtin":"grep"}}}"#, Path::new("/p/.cursor/mcp.json")).unwrap();
    let ServerEndpoint::BuiltIn(BuiltIn::Grep(settings)) = &bare.servers[0].endpoint else { panic!() };
    assert_eq!(settings.directories, [Path::new("/p")]);
}
