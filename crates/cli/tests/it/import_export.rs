//! `import` and `export`: servers of other programs, and ours in their files.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::{Value, json};

use crate::program::{Home, Ran};

const USER: &str = "config/toolbay/toolbay.toml";

/// A home with files of three clients.
fn home() -> Home {
    let home = Home::new();
    for folder in ["home/.cursor", "home/.codex", "home/.claude", "config/zed"] {
        fs::create_dir_all(home.path(folder)).unwrap();
    }
    home.write(
        "home/.cursor/mcp.json",
        r#"{"mcpServers": {
            "git": {"command": "uvx", "args": ["git@1.0"], "env": {"TOKEN": "${env:GIT_TOKEN}"}},
            "search": {"url": "https://h/mcp", "headers": {"Authorization": "Bearer s3cret"}},
            "toolbay": {"command": "/usr/bin/toolbay", "args": ["stdio"]},
            "bad": {"command": 5}
        }}"#,
    );
    home.write(
        "home/.codex/config.toml",
        "model = 'x'\n[mcp_servers.git]\ncommand = 'other'\n[mcp_servers.mine]\ncommand = 'mine'\n[mcp_servers.late]\ncommand = 'late'\nenabled = false\n",
    );
    home.write("config/zed/settings.json", r#"{"theme": "dark"}"#);
    home
}

fn text(home: &Home, path: impl AsRef<Path>) -> String {
    fs::read_to_string(home.path(path.as_ref().to_str().unwrap())).unwrap()
}

/// What was found: name, client and status of each.
fn found(ran: &Ran) -> Value {
    let servers = ran.json()["servers"].as_array().unwrap().clone();
    let found = servers
        .iter()
        .map(|it| format!("{} {} {}", it["status"], it["server"]["name"], it["client"]).replace('"', ""));
    json!(found.collect::<Vec<_>>())
}

#[test]
fn everything_is_shown_before_anything_is_written() {
    let home = home();
    home.write_user_config("# mine\n[servers.mine]\ncommand = 'mine, changed'\n");
    let expected = json!([
        "new git cursor",
        "new search cursor",
        "this hub toolbay cursor",
        "conflict git codex",
        "changed mine codex",
        "new late codex",
    ]);
    let before = text(&home, USER);
    let ran = home.run(&["import", "--dry-run", "--json"]).expect(0);
    assert_eq!(found(&ran), expected);
    assert_eq!(ran.json()["written"], false);
    let ran = home.run(&["import"]).expect(2);
    assert!(ran.stderr.contains("pass --yes to import without confirmation"), "{ran:#?}");
    for said in [
        "`search`: Authorization looks like a secret",
        "server `bad`",
        "`mine`: kept as it is; --replace replaces",
    ] {
        assert!(ran.stderr.contains(said), "{said}: {ran:#?}");
    }
    assert!(ran.stdout.contains("new       git") && !format!("{ran:?}").contains("s3cret"), "{ran:#?}");
    assert_eq!(text(&home, USER), before);
    let ran = home.run_on_terminal(&["import"], "n\n").expect(1);
    assert!(ran.stdout.contains("Import 3 servers into"), "{ran:#?}");
    assert_eq!(text(&home, USER), before);

    let ran = home.run(&["import", "--yes", "--json"]).expect(0);
    assert_eq!(found(&ran), expected);
    let after = text(&home, USER);
    assert!(after.starts_with(&before), "{after}");
    for said in
        ["[servers.git]\ncommand = \"uvx\"", "TOKEN = \"${GIT_TOKEN}\"", "Bearer s3cret", "enabled = false"]
    {
        assert!(after.contains(said), "{said}: {after}");
    }
    assert!(!after.contains("toolbay"), "{after}");
    let ran = home.run(&["import", "--dry-run", "--json"]).expect(0);
    assert_eq!(found(&ran)[0], "same git cursor");
    home.run(&["import", "--replace", "--from", "codex", "--yes"]).expect(0);
    let shown = home.run(&["config", "show", "--json"]).expect(0).json();
    let commands: Vec<&Value> =
        shown["servers"].as_array().unwrap().iter().map(|it| &it["command"]).collect();
    assert_eq!(json!(commands), json!(["mine", "other", null, "late"]));
}

#[test]
fn a_file_or_a_client_can_be_named() {
    let home = home();
    let ran = home.run(&["import", "--from", "codex", "--dry-run", "--json"]).expect(0);
    assert_eq!(found(&ran), json!(["new git codex", "new mine codex", "new late codex"]));
    let ran = home.run(&["import", "home/.codex/config.toml", "-c", "new.json", "--yes"]).expect(0);
    assert!(ran.stderr.contains("3 servers imported into"), "{ran:#?}");
    assert_eq!(
        serde_json::from_str::<Value>(&text(&home, "new.json")).unwrap()["mcpServers"]["late"],
        json!({"command": "late", "args": [], "disabled": true})
    );
    let ran = home.run(&["import", "--from", "zed"]).expect(0);
    assert!(ran.stderr.contains("no servers found; looked at: "), "{ran:#?}");
    assert!(ran.stderr.contains("config/zed/settings.json"), "{ran:#?}");
    let ran = Home::new().run(&["import"]).expect(0);
    assert!(
        ran.stderr.contains("no servers found; looked at ") && ran.stderr.contains("-v lists"),
        "{ran:#?}"
    );
    let ran = home.run(&["import", "--from", "cusor"]).expect(2);
    assert!(ran.stderr.contains("did you mean `cursor`?"), "{ran:#?}");
    home.run(&["import", "none.json"]).expect(2);
}

#[test]
fn what_toolbay_toml_cannot_express_is_reported() {
    let home = Home::new();
    home.write("mcp.json", r#"{"mcpServers": {"my.git": {"command": "a"}, "my-git": {"command": "b"}, "in": {"command": "c", "cwd": "sub"}}}"#);
    let ran = home.run(&["import", "mcp.json", "--dry-run", "--json"]).expect(0);
    assert_eq!(
        found(&ran),
        json!(["new my.git mcp-servers", "unusable my-git mcp-servers", "new in mcp-servers"])
    );
}

/// What an entry of VS Code means depends on the place of its file, and on what VS Code asks people for.
#[test]
fn entries_of_vs_code_mean_the_same_after_an_import() {
    let home = Home::new();
    for folder in ["project/.vscode", "config/Code/User"] {
        fs::create_dir_all(home.path(folder)).unwrap();
    }
    home.write(
        "project/.vscode/mcp.json",
        r#"{"servers": {
            "local": {"command": "${workspaceFolder}/run.sh", "cwd": "${workspaceFolder}/sub", "envFile": ".env"},
            "gh": {"url": "https://h/mcp", "headers": {"Authorization": "Bearer ${input:gh-token}"}},
            "slow": {"command": "slow", "timeout": 500}
        }}"#,
    );
    home.write("project/.env", "A=1\n");
    home.write(
        "config/Code/User/mcp.json",
        r#"{"servers": {"any": {"command": "x", "envFile": "${workspaceFolder}/.env"}}}"#,
    );
    home.write(".env", "A=1\n");
    let ran = home.run(&["import", "project/.vscode/mcp.json", "--yes"]).expect(0);
    for said in [
        "server `gh`: `${input:gh-token}` becomes `${secret:GH_TOKEN}`: toolbay secret set GH_TOKEN",
        "server `slow`: `timeout` is in milliseconds, and 500 is implausibly short",
    ] {
        assert!(ran.stderr.contains(said), "{said}: {ran:#?}");
    }
    let ran = home.run(&["import", "--from", "vscode", "--yes"]).expect(0);
    assert!(ran.stderr.contains("`any`: `${workspaceFolder}` is resolved to"), "{ran:#?}");
    let (project, here) = (home.path("project"), home.path(""));
    let here = here.canonicalize().unwrap();
    let after = text(&home, USER);
    for said in [
        format!("command = \"{}/run.sh\"", project.display()),
        format!("cwd = \"{}/sub\"", project.display()),
        format!("env_file = \"{}/.env\"", project.display()),
        format!("env_file = \"{}/.env\"", here.display()),
        "Authorization = \"Bearer ${secret:GH_TOKEN}\"".to_owned(),
    ] {
        assert!(after.contains(&said), "{said}: {after}");
    }
    home.run(&["config", "check"]).expect(0);
    let ran = home.run(&["import", "project/.vscode/mcp.json", "--dry-run", "--json"]).expect(0);
    assert_eq!(found(&ran), json!(["same local vscode", "same gh vscode", "same slow vscode"]));
}

#[test]
fn common_warnings_take_one_line() {
    let home = Home::new();
    let entry = |name: &str| format!(r#""{name}": {{"command": "npx", "args": ["{name}"]}}"#);
    home.write("mcp.json", &format!(r#"{{"mcpServers": {{{}, {}}}}}"#, entry("a"), entry("b")));
    let line = "2 servers are not pinned to a version; -v lists them";
    let ran = home.run(&["import", "mcp.json", "--dry-run"]).expect(0);
    assert!(ran.stderr.contains(line), "{ran:#?}");
    let ran = home.run(&["import", "mcp.json", "--dry-run", "-v"]).expect(0);
    assert!(ran.stderr.contains("server `b`: `b` is not pinned to a version, such as `b@1.2.3`"), "{ran:#?}");
    let ran = home.run(&["config", "check", "mcp.json"]).expect(0);
    assert_eq!(ran.stdout, format!("mcp.json: warning: {line}\n"));
    let ran = home.run(&["config", "check", "mcp.json", "-v"]).expect(0);
    assert!(ran.stdout.contains("mcp.json:1:17: warning: server `a`: `a` is not pinned"), "{ran:#?}");
}

#[test]
fn files_of_extensions_are_found_in_every_editor() {
    let home = Home::new();
    let cline = "config/Cursor/User/globalStorage/saoudrizwan.claude-dev/settings";
    let roo = "config/Code - Insiders/User/globalStorage/rooveterinaryinc.roo-cline/settings";
    for folder in [cline, roo, "config/opencode"] {
        fs::create_dir_all(home.path(folder)).unwrap();
    }
    home.write(&format!("{cline}/cline_mcp_settings.json"), r#"{"mcpServers": {"c": {"command": "c"}}}"#);
    home.write(&format!("{roo}/mcp_settings.json"), r#"{"mcpServers": {"r": {"command": "r"}}}"#);
    home.write(
        "config/opencode/opencode.jsonc",
        "{// mine\n\"mcp\": {\"o\": {\"type\": \"local\", \"command\": [\"o\"]}}}",
    );
    for (client, name) in [("cline", "c"), ("roo", "r"), ("opencode", "o")] {
        let ran = home.run(&["import", "--from", client, "--dry-run", "--json"]).expect(0);
        assert_eq!(ran.json()["servers"][0]["server"]["name"], name, "{client}: {ran:#?}");
    }
    home.run(&["export", "--client", "opencode", "--write"]).expect(0);
    assert!(!home.path("config/opencode/opencode.json").exists());
    let opencode = text(&home, "config/opencode/opencode.jsonc");
    assert!(opencode.contains("// mine") && opencode.contains("toolbay"), "{opencode}");
    home.run(&["export", "--client", "roo", "--write"]).expect(0);
    assert!(text(&home, format!("{roo}/mcp_settings.json")).contains("toolbay"));
}

#[test]
fn where_the_file_of_a_client_is_not_known_nothing_is_written() {
    let home = Home::new();
    for client in ["roo", "warp", "antigravity"] {
        let ran = home.run(&["export", "--client", client, "--write"]).expect(2);
        assert!(ran.stderr.contains("is not known") && ran.stderr.contains("--scope project"), "{ran:#?}");
        home.run(&["export", "--client", client]).expect(0);
    }
    assert!(!home.path(".roo").exists() && !home.path(".warp").exists() && !home.path(".agents").exists());
    home.run(&["export", "--client", "roo", "--write", "--scope", "project"]).expect(0);
    assert!(home.path(".roo/mcp.json").exists());
    let ran = home.run(&["export", "--client", "cline", "--write", "--scope", "project"]).expect(2);
    assert!(ran.stderr.contains("has no project file"), "{ran:#?}");
}

/// What an update replaces must not stand in files of others.
#[test]
fn export_names_the_hub_by_its_link_on_the_path() {
    let home = Home::new();
    fs::create_dir(home.path("bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_toolbay"), home.path("bin/toolbay")).unwrap();
    let mut command = home.command(&["export", "--client", "cursor"]);
    let path = std::env::join_paths([home.path("bin"), "/bin".into(), "/usr/bin".into()]).unwrap();
    let output = command.env("PATH", path).output().unwrap();
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed["mcpServers"]["toolbay"]["command"], json!(home.path("bin/toolbay")));
}

#[test]
fn secrets_that_others_can_read_are_reported() {
    let home = home();
    home.write_user_config("[servers.a]\ncommand = 'a'\nenv = { API_KEY = 's3cret' }\n");
    let file = home.path("home/.cursor/mcp.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let ran = home.run(&["export", "--client", "cursor", "--servers", "--write"]).expect(0);
    assert!(
        ran.stderr.contains("is readable by other users") && ran.stderr.contains("chmod 600"),
        "{ran:#?}"
    );
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let ran = home.run(&["export", "--client", "cursor", "--servers", "--write"]).expect(0);
    assert!(!ran.stderr.contains("is readable by other users"), "{ran:#?}");
}

#[test]
fn the_hub_goes_into_the_file_of_a_client() {
    let home = home();
    let ran = home.run(&["export", "--client", "zed"]).expect(0);
    let printed: Value = serde_json::from_str(&ran.stdout).unwrap();
    let command = &printed["context_servers"]["toolbay"]["command"];
    assert!(command.as_str().unwrap().ends_with("/toolbay"), "{ran:#?}");
    assert_eq!(printed["context_servers"]["toolbay"]["args"], json!(["stdio"]));
    assert_eq!(text(&home, "config/zed/settings.json"), r#"{"theme": "dark"}"#);
    home.run(&["export", "--client", "zed", "--write"]).expect(0);
    let written: Value = serde_json::from_str(&text(&home, "config/zed/settings.json")).unwrap();
    assert_eq!(
        (&written["theme"], &written["context_servers"]),
        (&json!("dark"), &printed["context_servers"])
    );
    home.run(&["export", "--client", "codex", "--write"]).expect(0);
    assert!(text(&home, "home/.codex/config.toml").starts_with("model = 'x'\n[mcp_servers.git]"));
    home.run(&["export", "--write", "--client", "claude", "--scope", "project"]).expect(0);
    let written: Value = serde_json::from_str(&text(&home, ".mcp.json")).unwrap();
    assert_eq!(
        written["mcpServers"]["toolbay"],
        json!({"type": "stdio", "command": "toolbay", "args": ["stdio"]})
    );
    let ran = home.run(&["export", "--client", "zedd"]).expect(2);
    assert!(ran.stderr.contains("did you mean `zed`?"), "{ran:#?}");
    home.write("mcp.json", r#"{"mcpServers": {}}"#);
    let ran = home.run(&["export", "--client", "cursor", "-c", "mcp.json", "--json"]).expect(0).json();
    assert!(
        ran["text"]
            .as_str()
            .unwrap()
            .contains(home.path("mcp.json").canonicalize().unwrap().to_str().unwrap()),
        "{ran}"
    );
}

#[test]
fn servers_go_into_the_file_of_a_client() {
    let home = home();
    home.write_user_config(
        "[servers.a]\ncommand = 'a'\nenv = { A = '${A}', LEVEL = 'debug', API_KEY = 's3cret' }\nidle_timeout = '5s'\n\
         [servers.off]\ncommand = 'off'\nenabled = false\n",
    );
    home.write("toolbay.toml", "[servers.p]\ncommand = 'p'\n");
    let ran = home.run(&["export", "--client", "cursor", "--servers"]).expect(0);
    let printed: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        printed,
        json!({"mcpServers": {"a": {"command": "a", "args": [], "env": {"A": "${env:A}", "API_KEY": "***", "LEVEL": "***"}}}})
    );
    for said in [
        "`p` is skipped: it needs approval",
        "`off` is skipped",
        "does not support `idle_timeout`",
        "--write writes them",
    ] {
        assert!(ran.stderr.contains(said), "{said}: {ran:#?}");
    }
    assert!(!format!("{ran:?}").contains("s3cret"));
    let ran = home.run(&["export", "--client", "cursor", "--servers", "--write"]).expect(0);
    assert!(ran.stderr.contains(".bak"), "{ran:#?}");
    let written: Value = serde_json::from_str(&text(&home, "home/.cursor/mcp.json")).unwrap();
    assert_eq!(written["mcpServers"]["a"]["env"]["API_KEY"], "s3cret");
    assert_eq!(written["mcpServers"]["git"]["command"], "uvx");
}

#[test]
fn built_in_servers_are_preferred_if_wanted() {
    let home = Home::new();
    fs::create_dir_all(home.path("home/.cursor")).unwrap();
    home.write(
        "home/.cursor/mcp.json",
        r#"{"mcpServers": {
            "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv"]},
            "clock": {"command": "uvx", "args": ["mcp-server-time", "--local-timezone=Asia/Tokyo"]},
            "web": {"command": "npx", "args": ["-y", "@brave/brave-search-mcp-server"], "env": {"BRAVE_API_KEY": "s3cret"}},
            "other": {"command": "npx", "args": ["-y", "other@1.2.3"]}
        }}"#,
    );
    let ran = home.run(&["import", "--prefer-builtin", "--yes"]).expect(0);
    assert!(
        ran.stderr.contains(
            "`@modelcontextprotocol/server-filesystem` is replaced by the built-in server `filesystem`"
        ),
        "{ran:#?}"
    );
    assert!(ran.stderr.contains("`web`: api_key looks like a secret"), "{ran:#?}");
    assert!(!format!("{ran:?}").contains("s3cret") && !ran.stderr.contains("not pinned"), "{ran:#?}");
    let after = text(&home, USER);
    for said in [
        "[servers.files]\nbuiltin = \"filesystem\"\ndirectories = [\"/srv\"]\n",
        "[servers.clock]\nbuiltin = \"time\"\nlocal_timezone = \"Asia/Tokyo\"\n",
        "[servers.web]\nbuiltin = \"brave-search\"\napi_key = \"s3cret\"\n",
        "[servers.other]\ncommand = \"npx\"",
    ] {
        assert!(after.contains(said), "{said}: {after}");
    }
    // The file that is served can be changed so, too, and `doctor` says so.
    home.write_user_config("# mine\n[servers.time]\ncommand = \"uvx\"\nargs = [\"mcp-server-time\"]\n");
    let ran = home.run(&["doctor", "--timeout", "1"]);
    assert!(ran.stdout.contains("built-in servers can take the place of: time (time)"), "{ran:#?}");
    assert!(ran.stdout.contains("toolbay import --prefer-builtin --replace"), "{ran:#?}");
    home.run(&["import", "--prefer-builtin", "--replace", "--yes", USER]).expect(0);
    assert_eq!(text(&home, USER), "# mine\n[servers.time]\nbuiltin = \"time\"\n");
}
