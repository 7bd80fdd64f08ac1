//! Commands that start the servers themselves, use them once, and leave nothing behind.

use crate::program::{Home, is_running};

const ALONE: [&str; 2] = ["--config", "mcp.json"];

fn alone<'a>(args: &[&'a str]) -> Vec<&'a str> {
    args.iter().copied().chain(ALONE).collect()
}

/// Runs a command and gives its exit code, stdout, and whether stderr contains a text.
#[track_caller]
fn check(home: &Home, args: &[&str], code: i32, stdout: &str, stderr: &str) {
    let ran = home.run(&alone(args)).expect(code);
    assert_eq!(ran.stdout, stdout, "{args:?} {ran:#?}");
    assert!(ran.stderr.contains(stderr), "{args:?} {ran:#?}");
}

#[test]
fn each_command_does_its_work_and_says_how_it_went() {
    let home = Home::with_server();
    let echo = "small__echo(text?: string, n?: number, flag?: boolean)  Echoes  its arguments\n";
    let tools = format!("{echo}small__fail()\nsmall__evil()\nsmall__hang()\n");
    check(&home, &["tools"], 0, &tools, "small ready (2025-11-25, 4 tools, 2 resources, 1 prompt");
    check(&home, &["tools"], 0, &tools, "");
    check(&home, &["tools", "--live"], 0, &tools, "small ready");
    check(&home, &["tools", "ECHOES"], 0, echo, "");
    check(&home, &["tools", "--server", "small", "fai"], 0, "small__fail()\n", "");
    check(&home, &["tools", "nothing like it"], 1, "", "no tool matches `nothing like it`");
    check(&home, &["tools", "--server", "smal"], 1, "", "did you mean `small`?");
    check(&home, &["call", "small__echo", "text=42"], 0, "{\"text\": \"42\"}\n", "");
    check(&home, &["call", "small__echo", "n=42", "flag=true"], 0, "{\"n\": 42, \"flag\": true}\n", "");
    let misfit = "The arguments do not match the schema of `small__echo`:\nat `/text`: null is not of type \"string\"\n";
    check(&home, &["call", "small__echo", "text:=null"], 5, misfit, "");
    check(&home, &["call", "small__echo", "--args-json", r#"{"n": 1}"#], 0, "{\"n\": 1}\n", "");
    check(&home, &["call", "small__fail"], 5, "bad luck\n", "returned an error");
    check(&home, &["call", "small__ehco"], 1, "", "did you mean `small__echo`?");
    check(&home, &["call", "echo"], 1, "", "did you mean `small__echo`?");
    check(&home, &["call", "small__echo", "n=x"], 2, "", "`n` must be a number");
    check(&home, &["call", "small__echo", "--args-json", "[]"], 2, "", "must be a JSON object");
    check(&home, &["resources"], 0, "mem://note  note\nmem://bytes  bytes\n", "");
    check(&home, &["resources", "bytes"], 0, "mem://bytes  bytes\n", "");
    check(&home, &["read", "mem://note"], 0, "a note\n", "");
    check(&home, &["read", "mem://nope"], 1, "", "did you mean `mem://note`?");
    check(&home, &["prompts"], 0, "small__greet(who)\n", "");
    check(&home, &["prompt", "small__greet", "who=you"], 0, "user: Greet you\n", "");
    check(&home, &["prompt", "small__grete"], 1, "", "did you mean `small__greet`?");
    check(&home, &["restart", "small"], 4, "", "toolbay serve --config mcp.json");
    check(&home, &["logs", "small"], 4, "", "toolbay serve --config mcp.json");
    assert!(!is_running(&home.path("server.py")));
    let sockets = std::fs::read_dir(home.sockets()).into_iter().flatten().flatten();
    let mut sockets = sockets.filter(|entry| entry.path().extension().is_some_and(|it| it == "sock"));
    assert!(sockets.next().is_none(), "a command on its own is no hub for others");
}

#[test]
fn arguments_may_come_from_stdin() {
    let home = Home::with_server();
    let ran = home.run_with_input(&alone(&["call", "small__echo", "--args-json", "-"]), "{\"n\":\n 1.50}");
    assert_eq!(ran.expect(0).stdout, "{\"n\": 1.5}\n");
}

#[test]
fn binary_resources_are_decoded_into_pipes() {
    let home = Home::with_server();
    let output = home.command(&alone(&["read", "mem://bytes"])).output().unwrap();
    assert_eq!(output.stdout, b"\x00\xff\xfe");
}

#[test]
fn json_has_a_schema_version_and_keeps_what_it_does_not_know() {
    let home = Home::with_server();
    let json = |args: &[&str]| home.run(&alone(&[args, &["--json"]].concat())).expect(0).json();
    assert_eq!(json(&["tools"])["tools"][0]["inputSchema"]["type"], "object");
    assert_eq!(json(&["call", "small__echo"])["result"]["unknown"], 7);
    assert_eq!(json(&["resources"])["resourceTemplates"], serde_json::json!([]));
    assert_eq!(json(&["read", "mem://bytes"])["result"]["contents"][0]["blob"], "AP/+");
    assert_eq!(json(&["prompts"])["prompts"][0]["name"], "small__greet");
    assert_eq!(json(&["prompt", "small__greet", "who=x"])["result"]["messages"][0]["role"], "user");
    let status = home.run(&alone(&["status", "--json"])).expect(4).json();
    assert_eq!((&status["running"], &status["servers"][0]["state"]), (&false.into(), &"not running".into()));

    let failed = home.run(&alone(&["call", "nothing", "--json"])).expect(1);
    let error: serde_json::Value = serde_json::from_str(failed.stderr.lines().last().unwrap()).unwrap();
    assert_eq!((&error["schema_version"], &error["error"]["exit_code"]), (&1.into(), &1.into()));
}

#[test]
fn text_of_servers_cannot_control_the_terminal() {
    let home = Home::with_server();
    for args in [&["tools"][..], &["tools", "--json"], &["call", "small__evil"]] {
        let ran = home.run(&alone(args)).expect(0);
        for text in [&ran.stdout, &ran.stderr] {
            let hidden = |c: char| matches!(c, '\x1b' | '\x07' | '\u{202e}' | '\u{200b}' | '\u{e0041}');
            assert!(!text.contains(hidden), "{args:?}: {text:?}");
        }
    }
    assert_eq!(home.run(&alone(&["call", "small__evil"])).stdout, "red text\n");
    assert!(home.run(&alone(&["call", "small__evil", "--raw"])).stdout.contains("\x1b[31m"));
}

#[test]
fn names_follow_the_naming() {
    let home = Home::with_server();
    let ran = home.run(&alone(&["call", "echo", "--naming", "none", "n=1"])).expect(0);
    assert_eq!(ran.stdout, "{\"n\": 1}\n");
    let ran = home.run(&alone(&["call", "echo", "--naming", "prefix+alias", "n=1"])).expect(0);
    assert_eq!(ran.stdout, "{\"n\": 1}\n");
    home.run(&alone(&["tools", "--naming", "odd"])).expect(2);
}
