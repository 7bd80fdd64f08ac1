//! `add`, `add-json`, `remove`, `enable` and `disable`: files that are changed in place.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};

use crate::program::Home;

const USER: &str = "config/toolbay/toolbay.toml";

fn text(home: &Home, name: &str) -> String {
    fs::read_to_string(home.path(name)).unwrap()
}

/// What a new file says after one command.
#[track_caller]
fn added(args: &[&str]) -> String {
    let home = Home::new();
    let ran = home.run(args).expect(0);
    assert!(ran.stdout.is_empty(), "{ran:#?}");
    text(&home, USER)
}

#[test]
fn servers_are_added_with_the_options_of_other_clients() {
    let npx = "[servers.gh]\ncommand = \"npx\"\nargs = [\"-y\", \"x@1.2.3\"]\n";
    let with_env = format!("{npx}env = {{ A = \"${{A}}\", B = \"1=2\" }}\n");
    let url = "[servers.gh]\nurl = \"https://h/mcp\"\n";
    let bearer = format!("{url}headers = {{ Authorization = \"Bearer ${{T}}\" }}\n");
    let sse = "[servers.gh]\ntransport = \"sse\"\nurl = \"https://h/mcp\"\n";
    for (args, expected) in [
        (&["add", "gh", "--", "npx", "-y", "x@1.2.3"][..], npx),
        (&["add", "gh", "npx", "--", "-y", "x@1.2.3"], npx),
        (&["add", "-e", "A=${A}", "gh", "--env", "B=1=2", "--", "npx", "-y", "x@1.2.3"], &with_env),
        (
            &["add", "--env", "A=${A}", "--env=B=1=2", "-t", "stdio", "gh", "--", "npx", "-y", "x@1.2.3"],
            &with_env,
        ),
        (&["add", "gh", "https://h/mcp"], url),
        (&["add", "gh", "--url", "https://h/mcp"], url),
        (&["add", "--transport", "sse", "gh", "https://h/mcp"], sse),
        (&["add", "gh", "https://h/mcp", "--transport", "sse", "--scope", "user"], sse),
        (&["add", "gh", "https://h/mcp", "--header", "Authorization: Bearer ${T}"], &bearer),
        (&["add", "gh", "--url", "https://h/mcp", "--bearer-token-env-var", "T"], &bearer),
        (&["add-json", "gh", r#"{"type": "sse", "url": "https://h/mcp"}"#], sse),
        (
            &["add", "-q", "gh", "x", "--include-tools", "a*,b", "--exclude-tools", "ab"],
            "[servers.gh]\ncommand = \"x\"\ntools = { allow = [\"a*\", \"b\"], deny = [\"ab\"] }\n",
        ),
        (&["add", "--disabled", "gh", "x"], "[servers.gh]\ncommand = \"x\"\nenabled = false\n"),
    ] {
        assert_eq!(added(args), expected, "{args:?}");
    }
    let home = Home::new();
    home.run_with_input(&["add-json", "gh", "-"], r#"{"command": "npx", "args": ["-y", "x@1.2.3"]}"#)
        .expect(0);
    assert_eq!(text(&home, USER), npx);
    assert_eq!(fs::metadata(home.path(USER)).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn invalid_arguments_are_reported_and_not_written() {
    for (args, said) in [
        (&["add", "gh"][..], "COMMAND_OR_URL"),
        (&["add", "gh", "npx", "-y", "x"], "'-- -y'"),
        (&["add", "gh", "docker", "run", "-v", "/a:/b", "x"], "put `--` before the command"),
        (&["add", "gh", "npx -y x"], "toolbay add gh -- npx -y x"),
        (&["add", "gh", "https://h/", "x"], "takes no arguments"),
        (&["add", "gh", "-t", "http", "x"], "a URL begins with"),
        (&["add", "gh", "-t", "stdio", "https://h/"], "is a URL"),
        (&["add", "gh", "-e", "A=1", "https://h/"], "use --header"),
        (&["add", "gh", "-H", "A: 1", "x"], "use --env"),
        (&["add", "gh", "-e", "s3cret", "x"], "write --env KEY=VALUE"),
        (&["add", "gh", "https://"], "server `gh`"),
        (&["add", "gh", "ftp://h/"], "`ftp://` is not supported"),
        (&["add", "bad name!", "--", "x"], "`bad-name`, for example"),
        (&["add-json", "a/b", r#"{"command": "x"}"#], "`a-b`, for example"),
        (&["add", "gh", "--builtin", "shel", "."], "did you mean `shell`?"),
        (&["add", "gh", "--builtin", "shell", ".", "config"], "`shell` takes one directory"),
        (&["add", "gh", "--builtin", "time", "."], "`time` takes no directory"),
        (&["add", "gh", "--builtin", "time", "--set", "zone=x"], "`zone` is unknown"),
        (&["add", "gh", "--builtin", "time", "--set", "zone"], "KEY=VALUE"),
        (&["add", "gh", "--builtin", "codebase", "none"], "none"),
        (
            &["add-json", "gh", r#"{"a": {"command": "x"}, "b": {"command": "y"}}"#],
            "it contains several servers",
        ),
        (&["add-json", "gh", r#"{"mcpServers": {}}"#], "it contains no servers"),
        (&["add-json", "gh", "{"], "this is not valid JSON"),
        (&["add-json", "gh", "{}"], "`command` or `url` is missing"),
        (&["add", "gh", "python3", "-c", "print"], "go after `--`"),
    ] {
        let home = Home::new();
        let ran = home.run(args).expect(2);
        assert!(ran.stderr.contains(said) && !ran.stderr.contains("s3cret"), "{args:?}: {ran:#?}");
        assert!(!home.path(USER).exists() && !home.path("print").exists(), "{args:?}");
    }
}

#[test]
fn a_dry_run_shows_the_entry_and_writes_nothing() {
    let home = Home::new();
    let args = ["add", "gh", "--dry-run", "-e", "API_KEY=s3cret", "-e", "R=${R}", "--", "npx", "-y", "x"];
    let ran = home.run(&args).expect(0);
    assert_eq!(
        ran.stdout,
        "[servers.gh]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\nenv = { API_KEY = \"***\", R = \"${R}\" }\n"
    );
    for said in ["`x` is not pinned to a version", "API_KEY looks like a secret", "nothing was written"] {
        assert!(ran.stderr.contains(said), "{said}: {ran:#?}");
    }
    let shown = home.run(&[&args[..3], &["--json"], &args[3..]].concat()).expect(0).json();
    assert_eq!(
        (&shown["change"], &shown["dry_run"], &shown["scope"]),
        (&json!("added"), &json!(true), &json!("user"))
    );
    assert_eq!(shown["server"]["env"]["API_KEY"], "***");
    assert!(!home.path("config").exists());
}

#[test]
fn an_entry_is_replaced_only_on_purpose() {
    let home = Home::new();
    home.write_user_config("# mine\n[servers.gh]\ncommand = 'old' # why\n\n[servers.b]\ncommand = 'b'\n");
    let before = text(&home, USER);
    let ran = home.run(&["add", "gh", "new"]).expect(1);
    assert!(ran.stderr.contains("already") && ran.stderr.contains("--yes replaces it"), "{ran:#?}");
    assert_eq!(text(&home, USER), before);
    let ran = home.run(&["add", "gh", "new", "--yes", "--json"]).expect(0);
    assert_eq!(ran.json()["change"], "replaced");
    assert!(
        text(&home, USER).starts_with("# mine\n[servers.gh]\ncommand = \"new\""),
        "{}",
        text(&home, USER)
    );
    assert_eq!(text(&home, "config/toolbay/toolbay.toml.bak"), before);
    let ran = home.run(&["add", "GH", "x"]).expect(2);
    assert!(ran.stderr.contains("named like those of `gh`"), "{ran:#?}");
}

#[test]
fn entries_are_switched_and_removed_where_they_stand() {
    let home = Home::new();
    let user = "# mine\n[servers.a]\ncommand = 'a' # why\n\n# about b\n[servers.b]\ncommand = 'b'\n";
    home.write_user_config(user);
    let project = "{\n  // ours\n  \"mcpServers\": {\n    \"p\": {\n      \"command\": \"p\" // p\n    },\n    \"b\": { \"comand\": \"b\" }\n  }\n}\n";
    home.write(".mcp.json", project);
    home.run(&["disable", "a"]).expect(0);
    assert_eq!(text(&home, USER), user.replace("# why\n", "# why\nenabled = false\n"));
    let ran = home.run(&["disable", "a", "--json"]).expect(0).json();
    assert_eq!(ran["change"], "unchanged");
    home.run(&["enable", "a"]).expect(0);
    assert_eq!(text(&home, USER), user);
    home.run(&["disable", "p"]).expect(0);
    assert!(
        text(&home, ".mcp.json").contains("// ours")
            && text(&home, ".mcp.json").contains("\"disabled\": true")
    );
    let ran = home.run(&["enable", "p"]).expect(0);
    assert!(ran.stderr.contains("toolbay approve p"), "{ran:#?}");
    assert_eq!(text(&home, ".mcp.json"), project);
    let ran = home.run(&["remove", "b"]).expect(2);
    assert!(ran.stderr.contains("several files") && ran.stderr.contains("--scope user"), "{ran:#?}");
    home.run(&["remove", "b", "-s", "project"]).expect(0);
    home.run(&["rm", "b"]).expect(0);
    assert_eq!(text(&home, USER), "# mine\n[servers.a]\ncommand = 'a' # why\n");
    let ran = home.run(&["remove", "pp"]).expect(1);
    assert!(ran.stderr.contains("did you mean `p`?"), "{ran:#?}");
}

#[test]
fn a_named_file_of_any_format_is_changed() {
    let home = Home::new();
    home.write("settings.json", "{\n  \"theme\": \"x\",\n  \"context_servers\": {}\n}\n");
    home.run(&["--config", "settings.json", "add", "gh", "x"]).expect(0);
    let shown: Value = serde_json::from_str(&text(&home, "settings.json")).unwrap();
    assert_eq!(shown, json!({"theme": "x", "context_servers": {"gh": {"command": "x", "args": []}}}));
    home.run(&["add", "--config", "new.json", "gh", "https://h/mcp"]).expect(0);
    let shown: Value = serde_json::from_str(&text(&home, "new.json")).unwrap();
    assert_eq!(shown, json!({"mcpServers": {"gh": {"url": "https://h/mcp"}}}));
    home.run(&["disable", "gh", "-c", "new.json"]).expect(0);
    assert!(text(&home, "new.json").contains("\"disabled\": true"));
    home.write("broken.toml", "[servers.a\n");
    let ran = home.run(&["add", "gh", "x", "-c", "broken.toml"]).expect(2);
    assert!(ran.stderr.contains("broken.toml:1:") && ran.stderr.contains("nothing was changed"), "{ran:#?}");
    home.run(&["remove", "gh", "-c", "broken.toml"]).expect(2);
    let ran = home.run(&["add", "gh", "x", "-c", "new.json", "--scope", "user"]).expect(2);
    assert!(ran.stderr.contains("cannot be used together"), "{ran:#?}");
}

#[test]
fn servers_added_to_the_project_by_the_user_are_approved() {
    let home = Home::new();
    home.run(&["add", "gh", "--scope", "project", "--", "x", "1"]).expect(0);
    assert_eq!(text(&home, "toolbay.toml"), "[servers.gh]\ncommand = \"x\"\nargs = [\"1\"]\n");
    let shown = home.run(&["get", "gh", "--json"]).expect(0).json();
    assert_eq!(
        (&shown["server"]["permission"], &shown["server"]["approval"]),
        (&json!("enabled"), &json!("approved"))
    );
    home.run(&["remove", "gh"]).expect(0);
    home.write("toolbay.toml", "[servers.gh]\ncommand = \"x\"\nargs = [\"1\"]\n");
    let shown = home.run(&["get", "gh", "--json"]).expect(0).json();
    assert_eq!(shown["server"]["approval"], "not asked yet");
}

#[test]
fn a_running_hub_follows() {
    let home = Home::new();
    let script = home.path("server.py").display().to_string();
    let mut hub = home.serve(&[]);
    home.run(&["add", "small", "--", "python3", &script]).expect(0);
    hub.until("small ready");
    let shown = home.run(&["list", "--json"]).expect(0).json();
    assert_eq!(shown["servers"][0]["state"], "ready");
    home.run(&["disable", "small"]).expect(0);
    hub.until("small disabled");
    home.run(&["remove", "small"]).expect(0);
    hub.until("small removed");
}

#[test]
fn replacing_an_entry_asks_for_confirmation_on_a_terminal() {
    let home = Home::new();
    home.write_user_config("[servers.gh]\ncommand = 'old'\n");
    let ran = home.run_on_terminal(&["add", "gh", "new"], "n\n").expect(1);
    assert!(
        ran.stdout.contains("Replace it? [y/N]") && ran.stdout.contains("nothing was changed"),
        "{ran:#?}"
    );
    assert!(text(&home, USER).contains("'old'"));
    home.run_on_terminal(&["add", "gh", "new"], "y\n").expect(0);
    assert!(text(&home, USER).contains("\"new\""));
    home.run_on_terminal(&["add", "other", "--", "x"], "").expect(0);
}

#[test]
fn pasted_wrappers_are_unwrapped() {
    let expected = "[servers.gh]\ncommand = \"x\"\n";
    for json in [
        r#"{"command": "x"}"#,
        r#"{"mcpServers": {"gh": {"command": "x"}}}"#,
        r#"{"servers": {"other": {"command": "x"}}}"#,
        r#"{"mcp_servers": {"a": {"command": "a"}, "gh": {"command": "x"}}}"#,
        r#"{"gh": {"command": "x"}}"#,
    ] {
        assert_eq!(added(&["add-json", "gh", json]), expected, "{json}");
    }
    let home = Home::new();
    let ran = home.run(&["add-json", "gh", r#"{"command": "x", "bogus": 1}"#]).expect(0);
    assert!(ran.stderr.contains("`bogus` is not used by Toolbay, and kept for other clients"), "{ran:#?}");
    assert!(text(&home, USER).contains("bogus = 1"), "{}", text(&home, USER));
}

#[test]
fn a_missing_command_is_reported() {
    let home = Home::new();
    let ran = home.run(&["add", "gh", "--", "nxp", "-y", "x@1.2.3"]).expect(0);
    assert!(
        ran.stderr.contains("server `gh`: command `nxp` is not found in PATH; did you mean `npx`?"),
        "{ran:#?}"
    );
    let ran = home.run(&["add", "sh", "--", "sh", "-c", "true"]).expect(0);
    assert!(!ran.stderr.contains("not found"), "{ran:#?}");
}

#[test]
fn a_built_in_server_is_added_with_its_folder() {
    let home = Home::new();
    let here = home.path("").canonicalize().unwrap();
    fs::create_dir(home.path("sub")).unwrap();
    home.run(&["add", "code", "--builtin", "codebase"]).expect(0);
    home.run(&["add", "sub", "--builtin", "codebase", "sub", "--exclude-tools", "read_*"]).expect(0);
    let entry = |name: &str, root: &std::path::Path| {
        format!("[servers.{name}]\nbuiltin = \"codebase\"\nroot = \"{}\"\n", root.display())
    };
    let expected = format!("{}\n{}", entry("code", &here), entry("sub", &here.join("sub")));
    assert!(text(&home, USER).starts_with(&expected), "{}", text(&home, USER));
    home.run(&[
        "add",
        "files",
        "--builtin",
        "filesystem",
        ".",
        "sub",
        "--set",
        "delete=true",
        "--set",
        "toolset=agent",
    ])
    .expect(0);
    let entry = format!(
        "[servers.files]\nbuiltin = \"filesystem\"\ndirectories = [\"{0}\", \"{0}/sub\"]\ntoolset = \"agent\"\ndelete = true\n",
        here.display()
    );
    assert!(text(&home, USER).contains(&entry), "{}", text(&home, USER));
    let ran = home.run(&["add", "x", "--builtin", "codebase", "-e", "A=1"]).expect(2);
    assert!(ran.stderr.contains("cannot be used with"), "{ran:#?}");
}

/// Other processes see what is on the command line.
#[test]
fn headers_and_variables_may_come_from_a_file() {
    let home = Home::new();
    home.write_secret("headers", "# mine\nAuthorization: Bearer s3cret\n\nX-Team: a b \n");
    home.write_secret("env", "TOKEN=s3cret=\n");
    home.run(&["add", "web", "https://h/mcp", "--header", "@headers", "-H", "B: c"]).expect(0);
    home.run(&["add", "run", "-e", "@env", "--", "sh"]).expect(0);
    let after = text(&home, USER);
    for said in ["Authorization = \"Bearer s3cret\"", "B = \"c\"", "X-Team = \"a b\"", "TOKEN = \"s3cret=\""]
    {
        assert!(after.contains(said), "{said}: {after}");
    }
    home.write_secret("headers", "s3cret\n");
    let ran = home.run(&["add", "bad", "https://h/mcp", "--header", "@headers"]).expect(2);
    assert!(ran.stderr.contains("NAME: VALUE") && !ran.stderr.contains("s3cret"), "{ran:#?}");
    home.write("open", "A: s3cret\n");
    let ran = home.run(&["add", "bad", "https://h/mcp", "--header", "@open"]).expect(2);
    assert!(ran.stderr.contains("chmod 600 open") && !ran.stderr.contains("s3cret"), "{ran:#?}");
    for command in ["add", "connect"] {
        let help = home.run(&[command, "--help"]).expect(0).stdout;
        assert!(help.contains("can see command-line arguments") && help.contains("@FILE"), "{help}");
    }
}
