//! `config check`, `show`, `path` and `schema`.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::program::Home;

/// The samples of every format that people have.
fn samples() -> Vec<std::path::PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/tests/formats");
    let mut all: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

/// Acceptance check 12.
#[test]
fn every_format_shows_the_same_servers() {
    let home = Home::new();
    let (expected, samples): (Vec<_>, Vec<_>) =
        samples().into_iter().partition(|path| path.file_name().unwrap() == "expected.json");
    let expected: Value = serde_json::from_str(&fs::read_to_string(&expected[0]).unwrap()).unwrap();
    assert!(samples.len() > 25);
    for path in samples {
        let shown =
            home.run(&["config", "show", "--json", "--config", path.to_str().unwrap()]).expect(0).json();
        assert_eq!(shown["servers"], expected, "{}", path.display());
    }
}

#[test]
fn servers_of_all_scopes_are_shown_with_their_files() {
    let home = Home::new();
    home.write_user_config("[servers.a]\ncommand = 'a'\nenv = { K = 's3cret' }\n");
    home.write("toolbay.toml", "[servers.b]\nurl = 'https://h/sse'\nheaders.X = '${X}'\n");
    let shown = home.run(&["config", "show", "--json"]).expect(0).json();
    let names: Vec<_> = shown["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (&it["name"], &it["enabled"], &it["scope"]))
        .collect();
    assert_eq!(json!(names), json!([["b", false, "project"], ["a", true, "user"]]));
    let ran = home.run(&["config", "show"]).expect(0);
    assert!(
        ran.stdout.contains("b\n  transport  sse\n  url        https://h/sse\n  header     X=${X}\n"),
        "{ran:#?}"
    );
    assert!(ran.stdout.contains("env        K=***") && !ran.stdout.contains("s3cret"), "{ran:#?}");
}

#[test]
fn mistakes_are_reported_with_line_and_column() {
    let home = Home::new();
    home.write(
        "toolbay.toml",
        "[servers.a]\ncommand = 'a'\n\n[servers.b]\ncomand = 'b'\nargs = 1\n\n[hub]\nnamin = 'x'\n",
    );
    for args in [&["config", "check", "toolbay.toml"][..], &["-c", "toolbay.toml", "config", "check"]] {
        let ran = home.run(args).expect(2);
        for said in [
            "toolbay.toml:5:1: error: server `b`: `comand` is unknown; did you mean `command`?",
            "toolbay.toml:9:1: error: `namin` is unknown",
        ] {
            assert!(ran.stdout.contains(said), "{said}: {ran:#?}");
        }
        assert!(ran.stderr.contains("3 errors"), "{ran:#?}");
    }
    let checked = home.run(&["config", "check", "--json"]).expect(2).json();
    assert_eq!(checked["valid"], false);
    let of_hub = &checked["files"][0]["warnings"][0];
    assert_eq!(
        (&of_hub["line"], &of_hub["server"]),
        (&json!(8), &json!(null)),
        "a project cannot set up the hub"
    );
    assert_eq!(checked["files"][0]["errors"][0]["server"], "b");
    home.write("toolbay.toml", "[servers.a]\ncommand = 'a'\n[servers.b\n");
    let ran = home.run(&["config", "check"]).expect(2);
    assert!(ran.stdout.contains("toolbay.toml:3:"), "{ran:#?}");
}

#[test]
fn unusual_keys_are_warnings_not_errors() {
    let home = Home::new();
    home.write(
        "mcp.json",
        r#"{"mcpServers": {"x": {"command": "npx", "args": ["-y", "pkg"], "env": {"API_KEY": "s3cret", "B": "${NOT_SET_B}"}}}}"#,
    );
    let ran = home.run(&["config", "check", "mcp.json"]).expect(0);
    for said in [
        "mcp.json:1:17: warning: server `x`: `pkg` is not pinned to a version",
        "API_KEY looks like a secret",
        "NOT_SET_B",
    ] {
        assert!(ran.stdout.contains(said), "{said}: {ran:#?}");
    }
    assert!(!ran.stdout.contains("s3cret"), "{ran:#?}");
    home.run(&["config", "check", "none.json"]).expect(2);
    home.write("mcp.json", "{}");
    let ran = home.run(&["config", "check", "mcp.json"]).expect(2);
    assert!(ran.stdout.contains("it contains no servers"), "{ran:#?}");
    let ran = Home::new().run(&["config", "check"]).expect(0);
    assert!(ran.stderr.contains("no configuration found"), "{ran:#?}");
}

#[test]
fn paths_and_the_schema() {
    let home = Home::new();
    home.write_user_config("");
    let user = home.path("config/toolbay/toolbay.toml");
    let ran = home.run(&["config", "path"]).expect(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[3], format!("user       there    {}", user.display()), "{ran:#?}");
    assert_eq!(lines[0], format!("project    missing  {}", home.path("toolbay.toml").display()), "{ran:#?}");
    let ran = home.run(&["config", "path", "--scope", "user"]).expect(0);
    assert_eq!(ran.stdout, format!("{}\n", user.display()));
    let files = home.run(&["config", "path", "--json"]).expect(0).json();
    assert_eq!(files["files"][3], json!({"scope": "user", "path": user, "exists": true}));
    let schema: Value = serde_json::from_str(&home.run(&["config", "schema"]).expect(0).stdout).unwrap();
    assert_eq!(schema, toolbay_config::schema());
}

/// The example of the documentation, with the keys that it shows in comments because they name files.
#[test]
fn the_example_with_every_key_has_no_mistake() {
    let home = Home::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let example = fs::read_to_string(folder.join("../../docs/toolbay.toml")).unwrap();
    let certificate = fs::read_to_string(folder.join("../testkit/src/tls_front/certificate.pem")).unwrap();
    home.write("toolbay.toml", &example.replace("\n# env_file", "\nenv_file").replace("\n# ca", "\nca"));
    home.write("browser.env", "NAME=value\n");
    home.write("intranet.pem", &certificate);
    let ran = home.run(&["config", "check", "toolbay.toml"]).expect(0);
    assert!(!ran.stdout.contains("error"), "{ran:#?}");
    let servers = home.run(&["config", "show", "--json", "--config", "toolbay.toml"]).expect(0).json();
    assert_eq!(servers["servers"].as_array().unwrap().len(), 16, "{servers}");
}
