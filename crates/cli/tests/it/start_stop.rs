//! `start`, `stop` and `restart`: servers of a running hub.

use crate::program::{Home, Serving};

/// A hub with two servers that run, one that is switched off, one that cannot start and one that came with a project.
fn hub(home: &Home) -> Serving {
    let script = home.path("server.py");
    let entry = |name: &str, more: &str| {
        format!("[servers.{name}]\ncommand = \"python3\"\nargs = [{script:?}]\n{more}\n")
    };
    home.write_user_config(&format!(
        "{}{}{}[servers.broken]\ncommand = \"no-such-program\"\n",
        entry("one", ""),
        entry("two", ""),
        entry("off", "enabled = false")
    ));
    home.write(".mcp.json", r#"{"mcpServers": {"brought": {"command": "true"}}}"#);
    let mut hub = home.serve(&[]);
    for server in ["one", "two"] {
        if !hub.said.contains(&format!("{server} ready")) {
            hub.until(&format!("{server} ready"));
        }
    }
    hub
}

/// The state of each server, in the order of a listing.
fn states(home: &Home) -> Vec<String> {
    let status = home.run(&["status", "--json"]).expect(0).json();
    let servers = status["servers"].as_array().unwrap().iter();
    servers.map(|server| format!("{} {}", server["name"], server["state"]).replace('"', "")).collect()
}

#[test]
fn a_stopped_server_stays_down_until_it_is_started() {
    let home = Home::new();
    let mut hub = hub(&home);
    let stopped = home.run(&["stop", "one", "--json"]).expect(0).json();
    assert_eq!(
        (&stopped["server"]["state"], &stopped["server"]["is_up"]),
        (&"stopped".into(), &false.into())
    );
    assert_eq!(stopped["servers"][0], stopped["server"]);
    let call = home.run(&["call", "one__echo"]).expect(4);
    assert!(call.stderr.contains("server `one` is stopped"), "{call:#?}");
    assert!(call.stderr.contains("`toolbay start one`"), "{call:#?}");
    home.run(&["call", "two__echo"]).expect(0);
    home.run(&["stop", "one"]).expect(0); // stopping again is no error

    let started = home.run(&["start", "one", "--json"]).expect(0).json();
    assert_eq!((&started["server"]["state"], &started["server"]["starts"]), (&"ready".into(), &2.into()));
    home.run(&["call", "one__echo"]).expect(0);
    let again = home.run(&["--json", "start", "one"]).expect(0).json();
    assert_eq!(again["server"]["starts"], 2, "one that is up is left alone");
    assert_eq!(hub.stop(), Some(0));
}

#[test]
fn all_means_all_that_may_run() {
    let home = Home::new();
    let _hub = hub(&home);
    let stopped = home.run(&["stop", "--all", "--json"]).expect(0).json();
    assert_eq!(stopped["servers"].as_array().unwrap().len(), 5, "{stopped}");
    let down = [
        "hub stopped",
        "brought needs approval",
        "one stopped",
        "two stopped",
        "off disabled",
        "broken stopped",
        "codebase stopped",
    ];
    assert_eq!(states(&home), down);
    let started = home.run(&["start", "--all"]).expect(4);
    assert!(started.stderr.contains("server `broken` is not ready"), "{started:#?}");
    assert!(started.stderr.contains("no-such-program"), "{started:#?}");
    let up = [
        "hub ready",
        "brought needs approval",
        "one ready",
        "two ready",
        "off disabled",
        "broken failed",
        "codebase ready",
    ];
    assert_eq!(states(&home), up);
    for args in [&["stop"][..], &["stop", "one", "--all"]] {
        home.run(args).expect(2);
    }
}

#[test]
fn one_failing_server_does_not_affect_the_others() {
    let home = Home::new();
    let _hub = hub(&home);
    let ran = home.run(&["restart", "off", "one", "twoo", "two", "one", "--json"]);
    assert_eq!(ran.json()["servers"][0]["starts"], 2);
    assert_eq!(ran.json()["servers"][1]["starts"], 2, "told once, though it was named twice: {ran:#?}");
    assert_eq!(ran.json().get("server"), None);
    assert_eq!(ran.stderr.lines().count(), 2, "{ran:#?}");
    assert!(
        ran.stderr.contains("toolbay enable off") && ran.stderr.contains("did you mean `two`?"),
        "{ran:#?}"
    );
    ran.expect(1);
}

#[test]
fn servers_that_may_not_run_come_with_a_hint() {
    let home = Home::new();
    let _hub = hub(&home);
    for (server, code, said) in [
        ("off", 4, "hint: enable it with `toolbay enable off`"),
        ("brought", 6, "hint: review it with `toolbay approve brought`"),
        ("nothing-like-it", 1, "hint: there are: hub, brought, one, two, off, broken, codebase"),
    ] {
        for order in ["start", "restart"] {
            let ran = home.run(&[order, server]).expect(code);
            assert!(ran.stderr.contains(said) && ran.stdout.is_empty(), "{ran:#?}");
        }
    }
}
