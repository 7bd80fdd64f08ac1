//! Files whose names indicate secrets.

use std::{fs, os::unix::fs::symlink};

use serde_json::{Value, json};

use super::Project;

const SECRET: &str = "the_password_of_the_database = hunter2hunter2";

const NAMES: [&str; 10] = [
    ".env",
    ".ENV.local",
    "deploy/prod.env",
    "server.pem",
    "conf/id_rsa",
    ".git/config",
    ".ssh/config",
    ".npmrc",
    "conf/credentials.json",
    "home/.aws/anything",
];

/// A project with a secret in every file that must not be shown.
fn project() -> Project {
    let project = Project::new();
    for name in NAMES {
        project.write(name, SECRET);
    }
    project.write(".env.example", "the_password_of_the_database = changeme\n");
    symlink(".env", project.path("harmless.txt")).unwrap();
    symlink("harmless.txt", project.path("chain.txt")).unwrap();
    symlink(".ssh", project.path("folder")).unwrap();
    project
}

#[test]
fn no_tool_shows_a_secret_by_any_path() {
    let project = project();
    let mut client = project.connect();
    let absolute = project.path(".env").display().to_string();
    let spelled =
        ["./.env", ".//.env", "harmless.txt", "chain.txt", "folder/config", "./home/./.aws//anything"];
    for path in NAMES.iter().chain(&spelled).copied().chain([absolute.as_str()]) {
        for (tool, arguments) in [
            ("read_file", json!({ "file_path": path })),
            ("chunk_file", json!({ "file_path": path })),
            ("search_code", json!({ "query": "password", "path": path })),
            ("search_by_embedding", json!({ "query": "password of the database", "path": path })),
        ] {
            let why = client.failure(tool, arguments);
            let said = "is hidden because its name indicates secrets; set `secrets = true` to include it";
            assert!(why.contains(said) && !why.contains("hunter2"), "{tool} {path}: {why}");
        }
        let many = client.call("chunk_files", json!({ "file_paths": [path, "src/main.rs"] }));
        assert!(!many.to_string().contains("hunter2"), "{path}: {many}");
    }
    for path in [".ssh", "folder", "home/.aws"] {
        let why = client.failure("list_directory", json!({ "path": path, "hidden": true }));
        assert!(why.contains("indicates secrets"), "{path}: {why}");
    }
    // Nor is what `..` would lead to.
    assert!(!client.failure("read_file", json!({ "file_path": "src/../.env" })).contains("hunter2"));
    // That it is there is no secret.
    let names = client.list("list_directory", json!({ "path": ".", "hidden": true }));
    assert!(names.iter().any(|entry| entry["name"] == ".env"), "{names:?}");
}

#[test]
fn no_search_finds_one_and_no_list_of_files_has_one() {
    let project = project();
    let mut client = project.connect();
    for glob in [json!(null), json!(".env*"), json!(["**/.*", "**/*"]), json!("*.pem"), json!(".ssh/**")] {
        for tool in ["search_code", "search_by_embedding"] {
            let mut arguments = json!({ "query": "the_password_of_the_database" });
            if !glob.is_null() {
                arguments["glob"] = glob.clone();
            }
            let found = client.call(tool, arguments).to_string();
            assert!(!found.contains("hunter2"), "{tool} {glob}: {found}");
        }
    }
    // An example is none.
    let found = client.list("search_code", json!({ "query": "changeme", "glob": ".env*" }));
    assert_eq!(found[0]["file_path"], ".env.example");
    let files = client.ask("resources/read", json!({ "uri": "codebase://files" })).to_string();
    assert!(files.contains("src/main.rs") && !files.contains("server.pem"), "{files}");
    // A file that is a secret from now on is one at once.
    project.write("notes.txt", SECRET);
    assert_eq!(client.list("search_code", json!({ "query": "hunter2" })).len(), 1);
    fs::rename(project.path("notes.txt"), project.path("notes.key")).unwrap();
    assert_eq!(client.list("search_code", json!({ "query": "hunter2" })), [] as [Value; 0]);
}

#[test]
fn secrets_are_shown_with_the_option() {
    let project = project();
    let mut client = project.connect_with(&["--secrets"]);
    client.ask("initialize", json!({ "protocolVersion": "2025-06-18" }));
    let read = client.call("read_file", json!({ "file_path": ".env" }));
    assert!(read.to_string().contains("hunter2"), "{read}");
    let found = client.list("search_code", json!({ "query": "hunter2", "path": ".ssh" }));
    assert_eq!(found.len(), 1);
    drop(client);
    // What was indexed with secrets is not shown without.
    let shown =
        project.home.run(&["search", "password of the database", "project", "--secrets", "--full"]).expect(0);
    assert!(shown.stdout.contains("hunter2"), "{shown:#?}");
    let hidden = project.home.run(&["search", "password of the database", "project", "--full"]);
    assert!(!hidden.stdout.contains("hunter2"), "{hidden:#?}");
    let refused = project.home.run(&["search", "--text", "hunter2", "project/.env"]);
    assert!(
        refused.stderr.contains("pass --secrets to include it") && !refused.stdout.contains("hunter2"),
        "{refused:#?}"
    );
    let shown = project.home.run(&["search", "--text", "hunter2", "project/.env", "--secrets"]).expect(0);
    assert!(shown.stdout.contains("hunter2"), "{shown:#?}");
}

#[test]
fn an_entry_of_a_configuration_may_say_so() {
    let project = project();
    for (secrets, is_shown) in [("", false), (r#", "secrets": true"#, true)] {
        let config =
            format!(r#"{{"mcpServers": {{"code": {{"builtin": "codebase", "root": "project"{secrets}}}}}}}"#);
        project.home.write("mcp.json", &config);
        let called = project.home.run(&["call", "code__read_file", "file_path=.env", "--config", "mcp.json"]);
        assert_eq!(called.stdout.contains("hunter2"), is_shown, "{called:#?}");
    }
}
