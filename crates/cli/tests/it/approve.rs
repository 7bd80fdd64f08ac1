//! `approve`: servers of a project run only as they were approved.

use serde_json::{Value, json};

use crate::program::Home;

fn home(args: &str) -> Home {
    let home = Home::new();
    project(&home, args);
    home
}

fn project(home: &Home, args: &str) {
    home.write(
        ".mcp.json",
        &format!(
            r#"{{"mcpServers": {{
  "lint": {{"command": "npx", "args": {args}, "env": {{"API_TOKEN": "s3cret"}}}},
  "docs": {{"url": "https://docs.example.com/mcp"}}
}}}}"#
        ),
    );
}

fn permissions(home: &Home) -> Value {
    let shown = home.run(&["list", "--json"]).expect(0).json();
    let servers = shown["servers"].as_array().unwrap();
    servers.iter().map(|it| (it["name"].as_str().unwrap().to_owned(), it["permission"].clone())).collect()
}

#[test]
fn nothing_is_approved_without_a_terminal() {
    let home = home(r#"["-y", "lint@1.2.3"]"#);
    let ran = home.run(&["approve"]).expect(6);
    assert!(
        ran.stderr.contains("waiting for approval: lint, docs") && ran.stderr.contains("--yes"),
        "{ran:#?}"
    );
    for line in [
        "    command: npx",
        "    argument: lint@1.2.3",
        "    variable: API_TOKEN",
        "    url: https://docs.example.com/mcp",
    ] {
        assert!(ran.stdout.contains(line), "{line}: {ran:#?}");
    }
    assert!(
        ran.stdout.contains(".mcp.json:2:3: not asked yet") && !ran.stdout.contains("s3cret"),
        "{ran:#?}"
    );
    assert_eq!(permissions(&home), json!({"docs": "needs approval", "lint": "needs approval"}));
    home.run(&["approve", "--yes"]).expect(2);
}

#[test]
fn a_change_after_approval_asks_again() {
    let home = home(r#"["-y", "lint@1.2.3"]"#);
    let ran = home.run(&["approve", "lint", "--yes"]).expect(0);
    assert!(ran.stderr.contains("lint: approved"), "{ran:#?}");
    assert_eq!(permissions(&home), json!({"docs": "needs approval", "lint": "enabled"}));
    project(&home, r#"["-y", "lint"]"#);
    assert_eq!(permissions(&home)["lint"], "needs approval");
    let ran = home.run(&["approve", "lint", "--diff"]).expect(0);
    for line in ["changed since", "    - argument: lint@1.2.3", "    + argument: lint", "      argument: -y"]
    {
        assert!(ran.stdout.contains(&line[2..]), "{line}: {ran:#?}");
    }
    assert!(ran.stderr.contains("server `lint`: `lint` is not pinned to a version"), "{ran:#?}");
    let shown = home.run(&["approve", "lint", "--json"]).expect(6).json();
    let server = &shown["servers"][0];
    assert_eq!((&server["verdict"], &server["now"]), (&json!("changed since"), &json!("changed since")));
    assert!(
        server["diff"]
            .as_array()
            .unwrap()
            .contains(&json!({"change": "removed", "line": "argument: lint@1.2.3"}))
    );
    let shown = home.run(&["approve", "--all", "--yes", "--json"]).expect(0).json();
    assert_eq!(
        (&shown["servers"][0]["now"], &shown["servers"][1]["now"]),
        (&json!("approved"), &json!("approved"))
    );
    let ran = home.run(&["approve"]).expect(0);
    assert!(ran.stderr.contains("no servers need approval"), "{ran:#?}");
    home.run(&["approve", "lint", "--reject"]).expect(0);
    assert_eq!(permissions(&home), json!({"docs": "enabled", "lint": "disabled"}));
}

#[test]
fn approve_asks_for_each_server_on_a_terminal() {
    let home = home(r#"["-y", "lint@1.2.3"]"#);
    let ran = home.run_on_terminal(&["approve"], "y\nno\n").expect(0);
    assert!(ran.stdout.contains("Approve `lint`?") && ran.stdout.contains("Approve `docs`?"), "{ran:#?}");
    assert_eq!(permissions(&home), json!({"docs": "needs approval", "lint": "enabled"}));
    home.run_on_terminal(&["approve", "docs"], "r\n").expect(0);
    assert_eq!(permissions(&home)["docs"], "disabled");
    project(&home, "[]");
    home.run_on_terminal(&["approve", "--all"], "\n").expect(0);
    assert_eq!(permissions(&home)["lint"], "needs approval");
    home.run_on_terminal(&["approve", "--all"], "y\n").expect(0);
    assert_eq!(permissions(&home)["lint"], "enabled");
}

#[test]
fn names_that_wait_for_nothing() {
    let home = home("[]");
    home.write_user_config("[servers.mine]\ncommand = 'x'\n[servers.docs]\ncommand = 'y'\n");
    let ran = home.run(&["approve", "mine", "--yes"]).expect(0);
    assert!(ran.stderr.contains("your own"), "{ran:#?}");
    let ran = home.run(&["approve", "lnit", "--yes"]).expect(1);
    assert!(ran.stderr.contains("did you mean `lint`?"), "{ran:#?}");
    // One that stands behind the user's own until it is approved.
    assert_eq!(home.run(&["get", "docs", "--json"]).expect(0).json()["server"]["scope"], "user");
    home.run(&["approve", "docs", "--yes"]).expect(0);
    assert_eq!(home.run(&["get", "docs", "--json"]).expect(0).json()["server"]["scope"], "project");
}

#[test]
fn text_of_a_project_cannot_control_the_terminal() {
    let home = Home::new();
    home.write(
        ".mcp.json",
        r#"{"mcpServers": {"ev\u001b[2Jil": {"command": "x\u001b[2J", "args": ["\u202ea"], "env": {"B\u001b[2J": "1"}}}}"#,
    );
    for (args, code) in [
        (&["approve"][..], 6),
        (&["list"], 0),
        (&["config", "show"], 0),
        (&["approve", "--all", "--yes"], 0),
        (&["get", "ev\u{1b}[2Jil"], 0),
        (&["export", "--client", "cursor", "--servers"], 0),
        (&["export", "--client", "codex", "--servers"], 0),
        (&["export", "--client", "cursor", "--servers", "--write"], 0),
        (&["import", ".mcp.json", "--yes"], 0),
        (&["config", "check"], 0),
    ] {
        let ran = home.run(args).expect(code);
        assert!(
            !format!("{}{}", ran.stdout, ran.stderr).contains(['\u{1b}', '\u{202e}']),
            "{args:?} {ran:#?}"
        );
    }
}

/// What a project's server is given is shown, and more of it asks again.
#[test]
fn a_new_reference_to_a_secret_asks_again() {
    let home = Home::new();
    let docs = |header: &str| {
        let entry = format!(r#"{{"url": "http://127.0.0.1:9/mcp", "headers": {{"X-Client": "{header}"}}}}"#);
        home.write(".mcp.json", &format!(r#"{{"mcpServers": {{"docs": {entry}}}}}"#));
    };
    let run = |args: &[&str], secret: &str| {
        let mut command = home.command(args);
        let output = command.env("AWS_SECRET_ACCESS_KEY", secret).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    docs("toolbay");
    let shown = run(&["approve", "docs", "--yes"], "SENTINEL");
    assert!(shown.contains("header: x-client = ***"), "{shown}");
    assert!(run(&["list"], "SENTINEL").contains("enabled"));
    docs("${AWS_SECRET_ACCESS_KEY}");
    assert!(run(&["list"], "SENTINEL").contains("needs approval"));
    let shown = run(&["approve", "docs", "--diff"], "SENTINEL");
    assert!(shown.contains("+ header: x-client = ${AWS_SECRET_ACCESS_KEY}"), "{shown}");
    let shown = run(&["approve", "docs", "--yes", "--json"], "SENTINEL");
    assert!(shown.contains("${AWS_SECRET_ACCESS_KEY}") && !shown.contains("SENTINEL"), "{shown}");
    assert!(run(&["list"], "another value").contains("enabled"), "a secret may change by itself");
    let kept = std::fs::read_to_string(home.path("toolbay/approvals.json")).unwrap();
    assert!(!kept.contains("SENTINEL"), "{kept}");
}

#[test]
fn an_entry_that_takes_the_place_of_ones_own_is_named() {
    let home = home("[]");
    home.write_user_config("[servers.docs]\ncommand = 'mine'\n");
    let said = "replaces your own server `docs` in";
    let ran = home.run(&["approve", "docs", "--diff"]).expect(0);
    assert!(ran.stderr.contains(said) && ran.stderr.contains("config/toolbay/toolbay.toml"), "{ran:#?}");
    let shown = home.run(&["approve", "docs", "--yes", "--json"]).expect(0).json();
    let overridden = shown["servers"][0]["overrides"][0].as_str().unwrap();
    assert!(overridden.ends_with("config/toolbay/toolbay.toml"), "{overridden}");
    let ran = home.run(&["approve", "docs", "--diff"]).expect(0);
    assert!(ran.stderr.contains(said), "after the approval, too: {ran:#?}");
    let ran = home.run(&["approve", "lint", "--diff"]).expect(0);
    assert!(!ran.stderr.contains(said), "{ran:#?}");
}

/// Characters that cannot be seen are, wherever an entry is shown.
#[test]
fn invisible_characters_are_shown_as_escapes() {
    let home = Home::new();
    home.write(
        ".mcp.json",
        r#"{"mcpServers": {"s": {"command": "/usr/bin/true\u3164",
            "args": ["y\u034f", "trailing   ", "\u2800\u00a0\ufe0f"], "env": {"A\u3164": "${B}"}}}}"#,
    );
    for (args, code) in
        [(&["approve", "s"][..], 6), (&["list"], 0), (&["config", "show"], 0), (&["get", "s"], 0)]
    {
        let shown = home.run(args).expect(code).stdout;
        for escape in ["true\\u{3164}", "y\\u{34f}", "\\u{2800}\\u{a0}\\u{fe0f}"] {
            assert!(shown.contains(escape), "{args:?} {escape}: {shown}");
        }
        assert!(shown.contains("trailing   \"") || shown.contains("trailing   '"), "{args:?}: {shown}");
        assert!(
            !shown.contains(['\u{3164}', '\u{34f}', '\u{2800}', '\u{a0}', '\u{fe0f}']),
            "{args:?}: {shown}"
        );
    }
}

/// Approvals that were given when less was bound count no more, and everybody is told.
#[test]
fn outdated_approvals_must_be_given_again() {
    let home = home("[]");
    home.run(&["approve", "--all", "--yes"]).expect(0);
    let kept = std::fs::read_to_string(home.path("toolbay/approvals.json")).unwrap();
    home.write("toolbay/approvals.json", &kept.replace("\"version\": 2", "\"version\": 1"));
    let ran = home.run(&["list"]).expect(0);
    assert!(ran.stdout.contains("needs approval") && ran.stderr.contains("please approve again"), "{ran:#?}");
    home.run(&["approve", "--all", "--yes"]).expect(0);
    let ran = home.run(&["list"]).expect(0);
    assert!(!ran.stdout.contains("needs approval") && !ran.stderr.contains("approve again"), "{ran:#?}");
}

#[test]
fn a_project_is_found_from_a_folder_below_it() {
    let home = home("[]");
    std::fs::create_dir_all(home.path("a/b")).unwrap();
    let below = |args: &[&str]| {
        let output = home.command(args).current_dir(home.path("a/b")).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(below(&["list"]).contains("needs approval"));
    below(&["approve", "lint", "--yes"]);
    assert_eq!(permissions(&home), json!({"docs": "needs approval", "lint": "enabled"}));
    below(&["add", "--scope", "project", "mine", "--", "x"]);
    assert_eq!(permissions(&home)["mine"], "enabled");
}

#[test]
fn servers_that_are_not_pinned_are_named_in_one_line() {
    let home = Home::new();
    let npx = |package: &str| format!(r#"{{"command": "npx", "args": ["-y", "{package}"]}}"#);
    let servers = format!(
        r#"{{"mcpServers": {{"a": {}, "b": {}, "c": {}}}}}"#,
        npx("a-mcp"),
        npx("@b/mcp@latest"),
        npx("c-mcp@1.2.3")
    );
    home.write(".mcp.json", &servers);
    let ran = home.run(&["approve", "--all", "--diff"]).expect(0);
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("not pinned")).collect();
    let [line] = lines[..] else { panic!("{ran:#?}") };
    assert!(line.contains("2 servers") && line.ends_with("a (`a-mcp`), b (`@b/mcp@latest`)"), "{line}");
}
