//! `approve`: what came with a project runs only as somebody has seen it (S11, S22).

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

fn standings(home: &Home) -> Value {
    let shown = home.run(&["list", "--json"]).expect(0).json();
    let servers = shown["servers"].as_array().unwrap();
    servers.iter().map(|it| (it["name"].as_str().unwrap().to_owned(), it["standing"].clone())).collect()
}

#[test]
fn nothing_is_approved_when_nobody_can_be_asked() {
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
    assert_eq!(standings(&home), json!({"docs": "needs approval", "lint": "needs approval"}));
    home.run(&["approve", "--yes"]).expect(2);
}

#[test]
fn one_is_approved_and_a_change_asks_again() {
    let home = home(r#"["-y", "lint@1.2.3"]"#);
    let ran = home.run(&["approve", "lint", "--yes"]).expect(0);
    assert!(ran.stderr.contains("lint: approved"), "{ran:#?}");
    assert_eq!(standings(&home), json!({"docs": "needs approval", "lint": "enabled"}));
    project(&home, r#"["-y", "lint"]"#);
    assert_eq!(standings(&home)["lint"], "needs approval");
    let ran = home.run(&["approve", "lint", "--diff"]).expect(0);
    for line in ["changed since", "    - argument: lint@1.2.3", "    + argument: lint", "      argument: -y"]
    {
        assert!(ran.stdout.contains(&line[2..]), "{line}: {ran:#?}");
    }
    assert!(ran.stderr.contains("`lint` is not pinned to a version"), "{ran:#?}");
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
    assert!(ran.stderr.contains("nothing waits"), "{ran:#?}");
    home.run(&["approve", "lint", "--reject"]).expect(0);
    assert_eq!(standings(&home), json!({"docs": "enabled", "lint": "disabled"}));
}

#[test]
fn whoever_sits_at_a_terminal_is_asked_for_each() {
    let home = home(r#"["-y", "lint@1.2.3"]"#);
    let ran = home.run_on_terminal(&["approve"], "y\nno\n").expect(0);
    assert!(ran.stdout.contains("Let `lint` run?") && ran.stdout.contains("Let `docs` run?"), "{ran:#?}");
    assert_eq!(standings(&home), json!({"docs": "needs approval", "lint": "enabled"}));
    home.run_on_terminal(&["approve", "docs"], "r\n").expect(0);
    assert_eq!(standings(&home)["docs"], "disabled");
    project(&home, "[]");
    home.run_on_terminal(&["approve", "--all"], "\n").expect(0);
    assert_eq!(standings(&home)["lint"], "needs approval");
    home.run_on_terminal(&["approve", "--all"], "y\n").expect(0);
    assert_eq!(standings(&home)["lint"], "enabled");
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
fn words_of_a_project_cannot_reach_the_terminal() {
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
