//! `run_code`: code of models that calls tools through a hub. What its process can do is tested in `toolbay-code` and
//! `toolbay-sandbox`; here is what the hub lets it do.

use std::{
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use toolbay_protocol::Revision;
use toolbay_testkit::harness::{Exchange, Process, Profile, Programs, RevisionClient, accepting, processes};

use crate::program::{Home, Serving};

const LEGACY: Revision = Revision::V2025_11_25;

/// A hub with two servers, and what else `[hub]` and the rest of the file say.
fn hub(home: &Home, more: &str) -> Serving {
    let programs = Programs::beside(Path::new(env!("CARGO_BIN_EXE_toolbay"))).unwrap();
    let server = programs.path("toolbay-test-server");
    let server = format!("command = {:?}\n", server.to_str().unwrap());
    home.write_user_config(&format!("[hub]\n{more}\n[servers.s]\n{server}[servers.other]\n{server}"));
    let hub = home.serve(&[]);
    let mut client = client(&hub, LEGACY, "first");
    let deadline = Instant::now() + Duration::from_secs(30);
    while client
        .list("tools")
        .unwrap()
        .iter()
        .filter(|tool| tool["name"].as_str().unwrap().ends_with("__echo"))
        .count()
        < 2
    {
        assert!(Instant::now() < deadline, "the servers do not start");
        std::thread::sleep(Duration::from_millis(50));
    }
    hub
}

fn address(hub: &Serving) -> SocketAddr {
    hub.url.trim_start_matches("http://").trim_end_matches("/mcp").parse().unwrap()
}

fn client(hub: &Serving, revision: Revision, name: &str) -> RevisionClient {
    Profile::new(revision, name).over_http(address(hub)).unwrap()
}

fn run(client: &mut RevisionClient, code: &str) -> Exchange {
    client.call("run_code", json!({ "code": code })).unwrap()
}

/// The text of a result, which may be that of an exception.
fn said(exchange: &Exchange) -> (String, bool) {
    let result = &exchange.response["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{exchange:?}"));
    (text.to_owned(), result["isError"] == true)
}

fn value(client: &mut RevisionClient, code: &str) -> String {
    let (text, is_error) = said(&run(client, code));
    assert!(!is_error, "{code}: {text}");
    text
}

fn failure(client: &mut RevisionClient, code: &str) -> String {
    let (text, is_error) = said(&run(client, code));
    assert!(is_error, "{code}: {text}");
    text
}

#[test]
fn a_task_over_fifty_items_takes_one_call_of_any_client() {
    let home = Home::new();
    let hub = hub(&home, "code_mode = true");
    for revision in [Revision::V2024_11_05, LEGACY, Revision::LATEST] {
        let mut client = client(&hub, revision, "a");
        let names: Vec<Value> =
            client.list("tools").unwrap().iter().map(|tool| tool["name"].clone()).collect();
        assert!(names.contains(&"run_code".into()), "{names:?}");
        let code = "const ids = Array.from({length: 50}, (_, id) => id);
            const sums = await Promise.all(ids.map((id) => tools.s.add({a: id, b: 1})));
            const echoed = await call('other__echo', {text: sums.length + ' sums'});
            console.log(echoed);
            return sums.reduce((total, {sum}) => total + sum, 0);";
        assert_eq!(value(&mut client, code), "1275\n\nconsole.log:\n50 sums", "{revision}");
    }
}

#[test]
fn tools_that_are_found_are_described_as_typescript() {
    let home = Home::new();
    let hub = hub(&home, "code_mode = true\nexposure = \"search\"\nalways_listed = [\"*__echo\"]");
    let mut client = client(&hub, LEGACY, "a");
    let query = json!({ "query": "select:s__add,other__echo", "detail": "typescript" });
    let text = client.text("search_tools", query).unwrap();
    for part in
        ["declare const tools: {", "  s: {", "add(args: {", "}): Promise<{ sum?: number }>;", "  other: {"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    // What is not listed can be called, and code can search, too.
    let code = "const found = await call('search_tools', {query: 'select:s__add'}); const {sum} = await call(found.tools[0].name, {a: 1, b: 2}); sum";
    assert_eq!(value(&mut client, code), "3");
}

#[test]
fn what_a_client_is_not_shown_its_code_cannot_call() {
    let home = Home::new();
    let token = |name: &str, args: &[&str]| {
        let made = home.run(&[&["token", "create", name], args].concat()).expect(0);
        made.stdout.trim().to_owned()
    };
    let (ann, ben) = (token("ann", &["--servers", "s"]), token("ben", &["--tier", "read"]));
    let hub = hub(&home, "code_mode = true\nallow_unauthenticated = true");
    let run_as = |token: &str, code: &str| {
        let params = json!({ "name": "run_code", "arguments": { "code": code } });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        hub.ask_with("POST /mcp", &format!("Authorization: Bearer {token}\r\n"), &call.to_string())
    };
    let run = |code: &str| run_as(&ann, code);
    assert!(run("await tools.s.echo({text: 'mine'})").contains("mine"));
    for code in [
        "await tools.other.echo({text: 'x'})",
        "await call('other__echo', {text: 'x'})",
        "await call('OTHER__ECHO', {text: 'x'})",
        "await call('call_tool', {name: 'other__echo', arguments: {text: 'x'}})",
        "await tools['other']['echo']({text: 'x'})",
        "await tools.s['../other/echo']({text: 'x'})",
        "await tools.s.other__echo({text: 'x'})",
    ] {
        let answer = run(code);
        assert!(
            answer.contains("\"isError\":true") && !answer.contains("\"text\":\"x\""),
            "{code}: {answer}"
        );
        assert!(
            answer.contains("no server offers") || answer.contains("there is no tool"),
            "{code}: {answer}"
        );
    }
    // `add` only reads; what `echo` does is not said.
    assert!(run_as(&ben, "(await tools.s.add({a: 20, b: 3})).sum").contains("23"));
    for code in ["await tools.s.echo({text: 'x'})", "await call('s__echo', {text: 'x'})"] {
        let answer = run_as(&ben, code);
        assert!(
            answer.contains("\"isError\":true") && !answer.contains("\"text\":\"x\""),
            "{code}: {answer}"
        );
    }
}

#[test]
fn rules_hold_for_code() {
    let home = Home::new();
    let rules = "code_mode = true
        [[policy.rules]]
        tool = \"add\"
        action = \"deny\"
        [[policy.rules]]
        tool = \"echo\"
        arguments = { \"/text\" = \"*secret*\" }
        action = \"deny\"";
    let hub = hub(&home, rules);
    let mut client = client(&hub, LEGACY, "a");
    for code in [
        "await tools.s.add({a: 1, b: 2})",
        "await call('s__add', {a: 1, b: 2})",
        "await tools.s.echo({text: 'a secret'})",
        "Object.prototype.toJSON = function () { return {text: 'a secret'} }; await call('s__echo', {text: 'x'})",
    ] {
        let text = failure(&mut client, code);
        let is_refused =
            ["no server offers", "there is no tool", "not allowed"].iter().any(|why| text.contains(why));
        assert!(is_refused, "{code}: {text}");
    }
    assert_eq!(value(&mut client, "await tools.s.echo({text: 'no harm'})"), "no harm");
}

#[test]
fn arguments_are_checked_and_failures_are_exceptions() {
    let home = Home::new();
    let hub = hub(&home, "code_mode = true");
    let mut client = client(&hub, LEGACY, "a");
    let text = failure(&mut client, "await tools.s.add({a: 'one', b: 1})");
    assert!(text.contains("do not match the schema of `s__add`"), "{text}");
    let text =
        value(&mut client, "try { await tools.s.fail({text: 'no'}) } catch (error) { return error.message }");
    assert_eq!(text, "no");
    let text = failure(&mut client, "await call('run_code', {code: '1'})");
    assert!(text.contains("code cannot run other code"), "{text}");
    let refused = client.call("run_code", json!({})).unwrap();
    assert!(said(&refused).0.contains("missing field `code`"), "{refused:?}");
}

#[test]
fn server_requests_reach_the_client_whose_code_it_is() {
    let home = Home::new();
    let hub = hub(&home, "code_mode = true");
    let code = "const names = []; for (let i = 0; i < 3; i++) names.push(await tools.s.elicit({text: 'x'})); return names";
    std::thread::scope(|scope| {
        for name in ["Ann", "Ben"] {
            let hub = &hub;
            scope.spawn(move || {
                let mut client = client(hub, LEGACY, name);
                client.set_respond(accepting(name));
                let exchange = run(&mut client, code);
                let expected = format!("[{0},{0},{0}]", format_args!("\"name of {name}\""));
                assert_eq!(said(&exchange), (expected, false), "{exchange:?}");
                assert_eq!(exchange.server_requests.len(), 3, "{exchange:?}");
            });
        }
    });
    // The call would have to be suspended, which code cannot be.
    let mut modern = client(&hub, Revision::LATEST, "modern");
    let exchange = run(&mut modern, "await tools.s.elicit({text: 'x'})");
    let (text, is_error) = said(&exchange);
    assert!(is_error && text.contains("call it directly, not from run_code"), "{text}");
    assert!(exchange.server_requests.is_empty(), "{exchange:?}");
}

#[test]
fn a_run_that_is_canceled_cancels_its_calls() {
    let home = Home::new();
    let hub = hub(&home, "code_mode = true");
    let mut client = client(&hub, LEGACY, "a");
    let code =
        json!({ "code": "await Promise.all([tools.s.hang({key: 'one'}), tools.s.hang({key: 'two'})])" });
    let run = client.start("tools/call", json!({ "name": "run_code", "arguments": code })).unwrap();
    let mut other = self::client(&hub, LEGACY, "b");
    let mut until = |key: &str, fate: &str| {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !other.text("s__fate", json!({ "key": key })).unwrap().contains(fate) {
            assert!(Instant::now() < deadline, "{key} is never {fate}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    until("one", "running");
    until("two", "running");
    client.cancel(run).unwrap();
    until("one", "cancelled");
    until("two", "cancelled");
}

#[test]
fn endless_code_is_ended_and_delays_no_one() {
    let home = Home::new();
    let hub = hub(&home, "code_mode = true");
    let mut client = client(&hub, LEGACY, "a");
    let code = json!({ "code": "console.log('begun'); for (;;) {}", "timeout_ms": 1500 });
    let run = client.start("tools/call", json!({ "name": "run_code", "arguments": code })).unwrap();
    let mut other = self::client(&hub, LEGACY, "b");
    let begun = Instant::now();
    assert_eq!(other.text("s__echo", json!({ "text": "quick" })).unwrap(), "quick");
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    let response = client.responses(vec![run]).unwrap().remove(0);
    let text = response["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("timed out after 1500 ms") && text.ends_with("begun"), "{text}");
    // Nothing is left of it, not even a zombie; one process is ready for the next run.
    let below = |process: &Process| process.parent == hub.pid();
    let is_sandbox = |process: &Process| process.arguments.iter().any(|argument| argument == "__sandbox");
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let all = processes();
        let zombies = all.iter().filter(|process| below(process) && process.is_zombie).count();
        let sandboxes = all.iter().filter(|process| below(process) && is_sandbox(process)).count();
        if (zombies, sandboxes) == (0, 1) {
            break;
        }
        assert!(Instant::now() < deadline, "{zombies} zombies, {sandboxes} sandboxes");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn it_is_off_unless_it_is_configured_and_never_by_a_project() {
    let home = Home::new();
    let hub = hub(&home, "");
    let mut client = client(&hub, LEGACY, "a");
    let names: Vec<Value> = client.list("tools").unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert!(!names.contains(&"run_code".into()), "{names:?}");
    let refused = client.call("run_code", json!({ "code": "1" })).unwrap();
    assert!(
        refused.response["error"]["message"].as_str().unwrap().contains("no server offers"),
        "{refused:?}"
    );
    home.write("toolbay.toml", "[hub]\ncode_mode = true\n");
    let checked = home.run(&["config", "check"]);
    assert!(format!("{checked:?}").contains("[hub]"), "{checked:#?}");
}
