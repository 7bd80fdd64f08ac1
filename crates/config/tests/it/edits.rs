//! Changing files: everything else stays, byte for byte.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, thread};

use serde_json::json;
use toolbay_config::{Edit, EditError, Format, WrittenServer, edit, edit_text, parse};

/// A server to put somewhere.
fn server(name: &str, entry: serde_json::Value) -> WrittenServer {
    let text = json!({ "mcpServers": { name: entry } }).to_string();
    parse(&text, Path::new("mcp.json")).unwrap().written.remove(0)
}

fn git() -> WrittenServer {
    server("git", json!({"command": "uvx", "args": ["mcp-server-git"], "env": {"TOKEN": "${GIT_TOKEN}"}}))
}

fn changed(text: &str, path: &str, edits: &[Edit<'_>]) -> String {
    edit_text(text, Path::new(path), None, edits).unwrap().text
}

const TOML: &str = "# My servers

# about a
[servers.a]
command = \"x\"   # the program
args = [
  \"one\", # first
]

[servers.a.env]
A = '1'

# about b
[servers.b]
url   =   \"https://h/\"

[hub]
naming = \"none\"
";

#[test]
fn toml_edits_keep_everything_else() {
    for (edit, expected) in [
        (
            Edit::Add(&git()),
            TOML.replace(
                "\n[hub]",
                "\n[servers.git]\ncommand = \"uvx\"\nargs = [\"mcp-server-git\"]\nenv = { TOKEN = \"${GIT_TOKEN}\" }\n\n[hub]",
            ),
        ),
        (Edit::Disable("b"), TOML.replace("\"https://h/\"\n", "\"https://h/\"\nenabled = false\n")),
        (Edit::Enable("b"), TOML.to_owned()),
        (Edit::Remove("b"), TOML.replace("# about b\n[servers.b]\nurl   =   \"https://h/\"\n\n", "")),
        (
            Edit::Put(&server("b", json!({"url": "https://other/"}))),
            TOML.replace("\"https://h/\"", "\"https://other/\""),
        ),
        (
            Edit::Put(&server("a", json!({"command": "y", "args": ["one"], "env": {"A": "1"}}))),
            TOML.replace("\"x\"", "\"y\""),
        ),
    ] {
        assert_eq!(changed(TOML, "toolbay.toml", &[edit]), expected, "{edit:?}");
    }
}

#[test]
fn comments_apart_from_a_removed_server_stay() {
    let after = changed(TOML, "toolbay.toml", &[Edit::Remove("a")]);
    assert!(after.starts_with("# My servers\n"), "{after}");
    assert!(!after.contains("about a") && after.contains("# about b\n[servers.b]"), "{after}");
    let only = changed("# Mine\n\n[servers.a]\ncommand = 'x'\n", "toolbay.toml", &[Edit::Remove("a")]);
    assert_eq!(only, "# Mine\n");
}

#[test]
fn a_switched_server_reads_back_so() {
    let off = changed(TOML, "toolbay.toml", &[Edit::Disable("a")]);
    let shown = |text: &str| parse(text, Path::new("toolbay.toml")).unwrap().normalized();
    assert_eq!(shown(&off)[0]["enabled"], false);
    assert_eq!(changed(&off, "toolbay.toml", &[Edit::Enable("a")]), TOML);
}

const JSON: &str = r#"{
  // Mine
  "other": {"kept":   [1,2 , 3]},
  "mcpServers": {
    "a": { "command": "x", /* why */ "args": [ "one"   ] },
    // about b
    "b": {
      "url": "https://h/", // here
    },
  },
}
"#;

#[test]
fn json_edits_keep_everything_else() {
    for (edit, expected) in [
        (
            Edit::Add(&git()),
            JSON.replace(
                "    },\n  },\n}",
                r#"    },
    "git": {
      "command": "uvx",
      "args": ["mcp-server-git"],
      "env": {
        "TOKEN": "${GIT_TOKEN}",
      },
    },
  },
}"#,
            ),
        ),
        (Edit::Enable("a"), JSON.to_owned()),
        (
            Edit::Put(&server("b", json!({"url": "https://other/"}))),
            JSON.replace("https://h/", "https://other/"),
        ),
        (
            Edit::Put(&server("a", json!({"command": "y", "args": ["one"]}))),
            JSON.replace(r#""command": "x""#, r#""command": "y""#),
        ),
    ] {
        assert_eq!(changed(JSON, "mcp.json", &[edit]), expected, "{edit:?}");
    }
    let off = changed(JSON, "mcp.json", &[Edit::Disable("b")]);
    assert!(
        off.contains("\"url\": \"https://h/\", // here\n") && off.contains("\"disabled\": true"),
        "{off}"
    );
    let shown = parse(&off, Path::new("mcp.json")).unwrap().normalized();
    assert_eq!((&shown[0]["enabled"], &shown[1]["enabled"]), (&json!(true), &json!(false)));
    let removed = changed(JSON, "mcp.json", &[Edit::Remove("a")]);
    assert!(
        removed.contains("// about b\n    \"b\"") && removed.contains("\"kept\":   [1,2 , 3]"),
        "{removed}"
    );
    assert_eq!(parse(&removed, Path::new("mcp.json")).unwrap().servers.len(), 1);
}

#[test]
fn a_change_that_cannot_be_made_says_why() {
    for (edit, said) in [
        (Edit::Add(&server("a", json!({"command": "x"}))), "server `a` already exists in toolbay.toml"),
        (Edit::Remove("bb"), "no server named `bb` in toolbay.toml; did you mean `b`?"),
        (Edit::Disable("nothing-like-it"), "no server named `nothing-like-it` in toolbay.toml"),
    ] {
        let error = edit_text(TOML, Path::new("toolbay.toml"), None, &[edit]).unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
    }
    let broken = edit_text("[servers", Path::new("toolbay.toml"), None, &[Edit::Remove("a")]).unwrap_err();
    assert!(matches!(broken, EditError::Syntax { .. }), "{broken}");
    let list = r#"{"mcpServers": [{"name": "a", "command": "x"}]}"#;
    let error = edit_text(list, Path::new("mcp.json"), None, &[Edit::Remove("a")]).unwrap_err().to_string();
    assert!(error.contains("its servers are a list"), "{error}");
    let yaml = "extensions:\n  a:\n    type: stdio\n    cmd: x\n";
    let error =
        edit_text(yaml, Path::new("config.yaml"), None, &[Edit::Remove("a")]).unwrap_err().to_string();
    assert!(error.contains("YAML files are read-only"), "{error}");
}

#[test]
fn a_file_is_replaced_whole_and_keeps_its_mode_and_its_link() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("real.toml");
    let link = folder.path().join("toolbay.toml");
    fs::write(&real, TOML).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let edited = edit(&link, None, &[Edit::Remove("b")]).unwrap();
    assert_eq!(fs::read_to_string(&real).unwrap(), edited.text);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    let backup = edited.backup.unwrap();
    assert_eq!(fs::read_to_string(&backup).unwrap(), TOML);
    assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o640);
    let mut names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["real.toml", "real.toml.bak", "toolbay.toml"], "nothing is left over");
    assert_eq!(edit(&link, None, &[Edit::Enable("a")]).unwrap().backup, None, "nothing was changed");
}

#[test]
fn a_new_file_is_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sub/toolbay.toml");
    edit(&path, None, &[Edit::Add(&git())]).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "[servers.git]\ncommand = \"uvx\"\nargs = [\"mcp-server-git\"]\nenv = { TOKEN = \"${GIT_TOKEN}\" }\n"
    );
    let path = folder.path().join("mcp.json");
    edit(&path, Some(Format::Cursor), &[Edit::Add(&git())]).unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("${env:GIT_TOKEN}"));
}

#[test]
fn two_who_change_a_file_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("toolbay.toml");
    thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope.spawn(move || {
                for number in 0..10 {
                    let server = server(&format!("s{writer}x{number}"), json!({"command": "x"}));
                    edit(path, None, &[Edit::Add(&server)]).unwrap();
                }
            });
        }
        // Whoever reads meanwhile sees whole files.
        scope.spawn(|| {
            for _ in 0..50 {
                if let Ok(text) = fs::read_to_string(&path) {
                    assert_eq!(parse(&text, &path).unwrap().problems, []);
                }
            }
        });
    });
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(parse(&text, &path).unwrap().servers.len(), 40);
}

#[test]
fn marks_and_line_ends_of_a_file_stay() {
    for (text, path) in [(TOML, "toolbay.toml"), (JSON, "mcp.json")] {
        let odd = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        let after = changed(&odd, path, &[Edit::Add(&git())]);
        assert!(after.starts_with('\u{feff}'), "{after:?}");
        assert_eq!(parse(&after, Path::new(path)).unwrap().servers.len(), 3, "{after:?}");
        let back = changed(&after, path, &[Edit::Remove("git")]);
        assert_eq!(back, odd);
    }
}
