//! `list` and `get`: configured servers and their states.

use serde_json::json;

use crate::program::Home;

const USER: &str = r#"
[servers.files]
command = "npx"
args = ["-y", "@example/files", "--token", "t0p"]
env = { FILES_KEY = "s3cret", REGION = "${REGION}" }
idle_timeout = "5s"

[servers.search]
url = "https://search.example.com/mcp?api_key=s3cret"
headers.Authorization = "Bearer s3cret"
enabled = false
"#;

const PROJECT: &str =
    r#"{"mcpServers": {"files": {"command": "other"}, "lint": {"command": "lint", "args": ["a b"]}}}"#;

fn home() -> Home {
    let home = Home::new();
    home.write_user_config(USER);
    home.write(".mcp.json", PROJECT);
    home
}

#[test]
fn all_scopes_are_listed_and_no_secret_is() {
    let home = home();
    let ran = home.run(&["list"]).expect(0);
    let lines: Vec<Vec<&str>> = ran
        .stdout
        .lines()
        .map(|line| line.split("  ").map(str::trim).filter(|it| !it.is_empty()).collect())
        .collect();
    let file = |name: &str| home.path(name).display().to_string();
    let (user, project) = (file("config/toolbay/toolbay.toml"), file(".mcp.json"));
    assert_eq!(
        lines[1..],
        [
            ["lint", "needs approval", "–", "stdio", "project", &project, "lint 'a b'"],
            ["files", "enabled", "–", "stdio", "user", &user, "npx -y @example/files --token ***"],
            ["search", "disabled", "–", "http", "user", &user, "https://search.example.com/mcp?api_key=***"],
        ],
        "{ran:#?}"
    );
    assert!(ran.stderr.contains("toolbay approve"), "{ran:#?}");
    let shown = home.run(&["list", "--json"]).expect(0).json();
    let fields = ["name", "permission", "enabled", "scope", "transport", "state"];
    let shown: Vec<_> = shown["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| fields.map(|field| server[field].clone()))
        .collect();
    assert_eq!(
        json!(shown),
        json!([
            ["lint", "needs approval", false, "project", "stdio", null],
            ["files", "enabled", true, "user", "stdio", null],
            ["search", "disabled", false, "user", "http", null],
        ])
    );
    for args in [&["list", "--json"][..], &["get", "files"], &["get", "files", "--json"], &["get", "search"]]
    {
        let ran = home.run(args).expect(0);
        assert!(!format!("{ran:?}").contains("s3cret") && !ran.stdout.contains("t0p"), "{ran:#?}");
    }
}

#[test]
fn a_running_hub_tells_the_states() {
    let home = Home::new();
    home.write(".mcp.json", PROJECT);
    home.write_user_config(&format!(
        "[servers.small]\ncommand = 'python3'\nargs = [{:?}]\n",
        home.path("server.py").to_str().unwrap()
    ));
    let mut hub = home.serve(&[]);
    hub.until("small ready");
    let shown = home.run(&["list", "--json"]).expect(0).json();
    let states: Vec<_> =
        shown["servers"].as_array().unwrap().iter().map(|it| (&it["name"], &it["state"])).collect();
    assert_eq!(
        json!(states),
        json!([["files", "needs approval"], ["lint", "needs approval"], ["small", "ready"]])
    );
    let ran = home.run(&["get", "small"]).expect(0);
    assert!(ran.stdout.contains("state       ready"), "{ran:#?}");
}

#[test]
fn everything_about_one_server() {
    let home = home();
    let shown = home.run(&["get", "files", "--json"]).expect(0).json();
    let server = &shown["server"];
    assert_eq!(server["env"], json!({"FILES_KEY": "***", "REGION": "${REGION}"}));
    assert_eq!(server["place"], json!({"line": 2, "column": 10}));
    assert_eq!(server["missing_variables"], json!(["REGION"]));
    assert_eq!(server["settings"], json!({"idle_timeout": "5s"}));
    assert_eq!(server["floating_package"], "@example/files");
    assert_eq!(server["outranks"][0]["file"], json!(home.path(".mcp.json")));
    assert_eq!(server["outranks"][0]["why"], "needs approval");
    assert_eq!(server["approval"], json!(null));
    assert_eq!(server["launch_hash"].as_str().unwrap().len(), 64);
    assert!(server["inherited_env"].as_array().unwrap().contains(&json!("PATH")));
    let ran = home.run(&["--json", "get", "lint"]).expect(0).json();
    assert_eq!(ran["server"]["approval"], "not asked yet");
    let ran = home.run(&["get", "files"]).expect(0);
    for line in [
        "format      toolbay",
        "package     `@example/files` is not pinned to a version",
        "env         FILES_KEY=***, REGION=${REGION}",
        "no value    REGION",
        "toolbay.toml:2:10",
        "besides     ",
    ] {
        assert!(ran.stdout.contains(line), "{line}: {ran:#?}");
    }
}

#[test]
fn a_server_that_is_not_there() {
    let home = home();
    let ran = home.run(&["get", "flies"]).expect(1);
    assert!(ran.stderr.contains("did you mean `files`?"), "{ran:#?}");
    home.write_user_config("[servers.bad]\ncomand = 'x'\n");
    let ran = home.run(&["get", "bad"]).expect(2);
    assert!(ran.stderr.contains("toolbay.toml:2:1: server `bad`: `comand` is unknown"), "{ran:#?}");
    let ran = Home::new().run(&["list"]).expect(0);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("toolbay add"), "{ran:#?}");
}

#[test]
fn an_entry_that_cannot_be_used_is_listed_as_broken() {
    let home = Home::new();
    home.write_user_config("[servers.good]\ncommand = 'x'\n[servers.bad]\ncomand = 'y'\n");
    let ran = home.run(&["list"]).expect(0);
    let bad = ran.stdout.lines().find(|line| line.starts_with("bad ")).unwrap();
    assert!(bad.contains(" broken ") && bad.contains("toolbay.toml:4:1"), "{ran:#?}");
    assert_eq!(ran.stdout.matches("bad ").count(), 1, "{ran:#?}");
    assert_eq!(ran.stderr, "");
    let shown = home.run(&["list", "--json"]).expect(0).json();
    assert_eq!(shown["servers"][1]["permission"], "broken");
    assert!(shown["servers"][1]["problem"].is_string(), "{shown}");
}

/// A hub may have a server from a file that nobody named.
#[test]
fn a_server_of_the_running_hub_is_found_with_its_file() {
    let home = Home::with_server();
    home.write_user_config("[servers.mine]\ncommand = 'x'\n");
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("small ready");
    let file = home.path("mcp.json").canonicalize().unwrap();
    let said = format!("the running hub has it from {0}: use --config {0}", file.display());
    for command in ["get", "remove", "enable", "disable"] {
        let ran = home.run(&[command, "small"]).expect(1);
        assert!(ran.stderr.contains(&said), "{ran:#?}");
        let ran = home.run(&[command, "none"]).expect(1);
        assert!(ran.stderr.contains("there are: mine"), "{ran:#?}");
    }
    let ran = home.run(&["list"]).expect(0);
    assert!(ran.stderr.contains("`toolbay list --config ") && ran.stderr.contains("mcp.json"), "{ran:#?}");
    let ran = home.run(&["list", "--config", "mcp.json"]).expect(0);
    assert!(ran.stdout.contains("small") && ran.stderr.is_empty(), "{ran:#?}");
}

/// Wherever a configuration is printed, and however.
#[test]
fn secrets_in_arguments_are_never_printed() {
    let home = Home::new();
    let entry = r#"{"command": "c", "args": ["--api-key", "SECRET1", "--token=SECRET2", "-p", "SECRET3",
        "postgres://u:SECRET4@h/db", "AKIASECRET5XXXXXX", "--db=mysql://SECRET6@h/x", "--x=ghp_SECRET7xxxx",
        "x:sk-SECRET8xxxxxx", "https://h/?q=SECRET9"]}"#;
    home.write("mcp.json", &format!(r#"{{"mcpServers": {{"s": {entry}}}}}"#));
    home.write(".mcp.json", &format!(r#"{{"mcpServers": {{"s": {entry}}}}}"#));
    for args in [
        &["get", "s", "-c", "mcp.json"][..],
        &["list", "-c", "mcp.json"],
        &["config", "show", "-c", "mcp.json"],
        &["export", "--client", "cursor", "--servers", "-c", "mcp.json"],
        &["export", "--client", "codex", "--servers", "-c", "mcp.json"],
        &["config", "check", "mcp.json"],
        &["approve", "s", "--diff"],
        &["list"],
    ] {
        for json in [&[][..], &["--json"]] {
            let ran = home.run(&[args, json].concat()).expect(0);
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(!said.contains("SECRET"), "{args:?} {json:?}: {said}");
        }
    }
}
