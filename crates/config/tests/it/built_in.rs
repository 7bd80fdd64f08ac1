//! `"builtin": "codebase"` in every format.

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
