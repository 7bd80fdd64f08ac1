//! Profiles and rules on the command line. What they mean to clients is tested in `toolbay-gateway`.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::program::{Home, Serving};

const RULES: &str = "
[profiles.words]
description = 'Only words'
tools = ['echo']
clients = 'typewriter'

[[policy.rules]]
name = 'no luck'
tool = 'fail'
action = 'deny'

[[policy.rules]]
name = 'polite'
tool = 'echo'
arguments = { '/text' = '*damn*' }
action = 'deny'
reason = 'mind your words'

[[policy.rules]]
name = 'ask first'
tool = 'evil'
action = 'ask'
";

fn home(rules: &str) -> Home {
    let home = Home::new();
    write(&home, rules);
    home
}

fn write(home: &Home, rules: &str) {
    let script = home.path("server.py");
    let server = format!("[servers.small]\ncommand = 'python3'\nargs = [{:?}]\n", script.to_str().unwrap());
    home.write_user_config(&format!("{server}{rules}"));
}

fn tools(home: &Home, args: &[&str]) -> Vec<String> {
    let listed = home.run(&[&["tools", "--wait", "--json"], args].concat()).expect(0).json();
    let names = listed["tools"].as_array().unwrap().iter();
    names.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn post(hub: &Serving, path: &str, message: &Value) -> String {
    hub.ask_with(&format!("POST {path}"), "", &message.to_string())
}

#[test]
fn commands_see_what_profiles_and_rules_show() {
    let home = home(RULES);
    // Without a hub, and with one.
    for is_running in [false, true] {
        let hub = is_running.then(|| home.serve(&[]));
        assert_eq!(tools(&home, &["--server", "small"]), ["small__echo", "small__evil", "small__hang"]);
        assert_eq!(tools(&home, &["--profile", "words"]), ["small__echo"]);
        let unknown = home.run(&["tools", "--profile", "home"]);
        assert!(
            unknown.code != Some(0) && unknown.stderr.contains("there is no profile `home`"),
            "{unknown:#?}"
        );
        let echoed = home.run(&["call", "small__echo", "text=hi", "--profile", "words"]).expect(0);
        assert!(echoed.stdout.contains("hi"), "{echoed:#?}");
        let refused = home.run(&["call", "small__echo", "text=damn it"]).expect(5);
        assert!(format!("{refused:?}").contains("rule `polite`: mind your words"), "{refused:#?}");
        for (tool, args) in [("small__fail", &[][..]), ("small__hang", &["--profile", "words"][..])] {
            let refused = home.run(&[&["call", tool][..], args].concat());
            let plain = home.run(&[&["call", "small__none"][..], args].concat());
            assert_eq!(refused.code, plain.code, "{refused:#?}");
            assert!(refused.code != Some(0) && !plain.stderr.contains(tool), "{plain:#?}");
        }
        drop(hub);
    }
}

#[test]
fn a_decision_is_explained() {
    let home = home(RULES);
    let said = |args: &[&str]| home.run(&[&["policy", "test", "--tool"], args].concat()).expect(0).stdout;
    assert_eq!(
        said(&["small__fail"]),
        "small__fail: deny\ntool `fail` of server `small`, tier `destructive`\n1. `no luck` decides: deny\n\
         the tool is not listed, and a call is answered as if it did not exist\n"
    );
    assert_eq!(
        said(&["small__echo", "--arguments", r#"{"text":"well, damn"}"#, "--principal", "token:ci"]),
        "small__echo: deny\ntool `echo` of server `small`, tier `destructive`\n\
         1. `no luck` does not match: it is about other tools\n2. `polite` decides: deny\nreason: mind your words\n"
    );
    let allowed = said(&["small__echo", "--arguments", r#"{"text":"fine"}"#]);
    assert!(allowed.contains("`polite` does not match: the argument /text does not match"), "{allowed}");
    assert!(allowed.ends_with("no rule matches, so the call is made\n"), "{allowed}");
    let hidden = said(&["small__hang", "--profile", "words"]);
    assert!(hidden.contains("the profile does not have the tool"), "{hidden}");
    let json = home.run(&["policy", "test", "--tool", "small__evil", "--json"]).expect(0).json();
    assert_eq!((&json["decision"], &json["rule"]), (&json!("ask"), &json!("ask first")), "{json}");
    assert!(home.run(&["policy", "test", "--tool", "small__none"]).stderr.contains("no server offers"));
    let wrong = home.run(&["policy", "test", "--tool", "small__echo", "--arguments", "[]"]);
    assert!(wrong.stderr.contains("no JSON object"), "{wrong:#?}");
}

#[test]
fn calls_wait_for_the_owner() {
    let home = home(RULES);
    let hub = home.serve(&[]);
    home.run(&["status", "--wait"]).expect(0);
    assert!(home.run(&["pending", "list"]).expect(0).stderr.contains("no call waits"));
    for (command, is_made) in [("allow", true), ("deny", false)] {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "small__evil", "arguments": { "token": "abcdef123456", "n": 5 } } });
        let (mut stdout, began) = (String::new(), Instant::now());
        let answer = thread::scope(|scope| {
            let calling = scope.spawn(|| post(&hub, "/mcp", &call));
            while stdout.is_empty() {
                assert!(began.elapsed() < Duration::from_secs(60), "no call waits");
                stdout = home.run(&["pending", "list"]).expect(0).stdout;
            }
            let id = stdout.split_whitespace().next().unwrap();
            for part in ["small__evil of server small", "by owner", "rule `ask first`", "\"n\":5"] {
                assert!(stdout.contains(part), "{part}: {stdout}");
            }
            assert!(!stdout.contains("abcdef123456"), "{stdout}");
            home.run(&["pending", command, id]).expect(0);
            let late = home.run(&["pending", command, id]);
            assert!(late.code != Some(0) && late.stderr.contains("waits"), "{late:#?}");
            calling.join().unwrap()
        });
        assert_eq!(answer.contains("\"isError\":true"), !is_made, "{answer}");
    }
}

#[test]
fn a_profile_is_shown_exported_and_served() {
    let home = home(RULES);
    let exported = home.run(&["export", "--client", "claude-code", "--profile", "words"]).expect(0);
    assert!(
        exported.stdout.contains("\"--profile\"") && exported.stdout.contains("\"words\""),
        "{exported:#?}"
    );
    assert!(
        home.run(&["export", "--client", "claude-code", "--profile", "x"]).expect(2).stderr.contains("words")
    );
    let token = home.run(&["token", "create", "t", "--profile", "words"]).expect(0);
    assert!(home.run(&["token", "list"]).expect(0).stdout.contains("words"), "{token:#?}");
    home.run(&["token", "revoke", "t"]).expect(0);
    let list = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}";
    let first = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}});
    // Its tools are known then.
    assert_eq!(tools(&home, &["--profile", "words"]), ["small__echo"]);
    let ran = home.run_with_input(&["stdio", "--alone", "--profile", "words"], &format!("{first}\n{list}\n"));
    assert!(ran.stdout.contains("small__echo") && !ran.stdout.contains("small__evil"), "{ran:#?}");
}

#[test]
fn the_hub_lists_profiles_and_follows_the_file() {
    let home = home(RULES);
    let mut hub = home.serve(&[]);
    home.run(&["status", "--wait"]).expect(0);
    let status = home.run(&["status"]).expect(0).stdout;
    assert!(status.contains("profile words: 1 tool, for typewriter, http://"), "{status}");
    assert!(status.contains("/mcp/p/words, Only words"), "{status}");
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    assert!(!post(&hub, "/mcp/p/words", &list).contains("small__hang"));
    write(&home, "[profiles.words]\ntools = ['hang']\n");
    let began = Instant::now();
    while !post(&hub, "/mcp/p/words", &list).contains("small__hang") {
        assert!(began.elapsed() < Duration::from_secs(30), "the change has no effect");
        thread::sleep(Duration::from_millis(20));
    }
    println!("changed after {:?}", began.elapsed());
    // What was valid stays in effect.
    write(&home, "[profiles.words]\ntools = 5\n[[policy.rules]]\naction = 'forbid'\n");
    let began = Instant::now();
    while !home.run(&["status"]).expect(0).stderr.contains("`tools` must be") {
        assert!(began.elapsed() < Duration::from_secs(30), "the mistake is not reported");
    }
    assert!(post(&hub, "/mcp/p/words", &list).contains("small__hang"));
    assert_eq!(hub.stop(), Some(0));
    let refused = home.run(&["serve", "--listen", "127.0.0.1:0"]).expect(2);
    assert!(refused.stderr.contains("`[policy]` has errors"), "{refused:#?}");
    let checked = home.run(&["config", "check"]);
    assert!(
        format!("{checked:?}").contains("`action` must be one of allow, ask, deny, limit"),
        "{checked:#?}"
    );
}

/// A repository decides neither what is hidden nor what is allowed.
#[test]
fn a_project_has_no_say() {
    let home = home("");
    home.write("toolbay.toml", "[[policy.rules]]\naction = 'deny'\n[profiles.p]\n");
    let listed = home.run(&["tools", "--json", "--server", "small"]).expect(0);
    assert!(listed.stdout.contains("small__echo"), "{listed:#?}");
    for section in ["policy", "profiles"] {
        assert!(
            listed.stderr.contains(&format!("`[{section}]` is ignored in a project file")),
            "{listed:#?}"
        );
    }
}
