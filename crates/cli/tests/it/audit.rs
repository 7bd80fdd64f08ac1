//! The audit log: what is recorded, when, and what `toolbay audit` says of it.

use std::{
    collections::HashSet,
    fs,
    io::{Read, Write},
    net::TcpStream,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::program::{Home, Serving};

/// A home with a recorded hub and a server with tools of every kind.
fn home(audit: &str) -> Home {
    let home = Home::new();
    home.write("changing_server.py", include_str!("changing_server.py"));
    let tool = |name: &str, annotations: Value| json!({ "name": name, "inputSchema": { "type": "object" }, "annotations": annotations });
    let catalog = json!({ "tools": [
        tool("read", json!({ "readOnlyHint": true })),
        tool("remove", json!({})),
        tool("fail", json!({ "readOnlyHint": true })),
        tool("hang", json!({ "readOnlyHint": true })),
    ] });
    home.write("catalog.json", &catalog.to_string());
    let path = |name: &str| home.path(name).to_str().unwrap().to_owned();
    home.write(
        "toolbay.toml",
        &format!(
            "[audit]\npath = {:?}\n{audit}\n[servers.s]\ncommand = \"python3\"\nargs = [{:?}, {:?}]\nidle_timeout = \"1s\"\n",
            path("records"),
            path("changing_server.py"),
            path("catalog.json"),
        ),
    );
    home
}

fn serve(home: &Home) -> Serving {
    let mut hub = home.serve(&["--config", "toolbay.toml"]);
    hub.until("s ready");
    hub
}

fn call(hub: &Serving, tool: &str, arguments: Value) -> Value {
    let request = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments }
    });
    let answer = hub.post(&request.to_string());
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    let body = body.split_once("data: ").map_or(body, |(_, rest)| rest.lines().next().unwrap());
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

/// The records, the oldest first.
fn records(home: &Home, args: &[&str]) -> Vec<Value> {
    let args: Vec<&str> =
        ["audit", "--config", "toolbay.toml", "--json"].iter().chain(args).copied().collect();
    let lines = home.run(&args).expect(0).stdout;
    lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["record"].clone()).collect()
}

#[test]
fn every_call_is_recorded_with_its_outcome() {
    let home = home("arguments = true");
    let mut hub = serve(&home);
    call(&hub, "s__read", json!({ "password": "hunter2", "path": "x" }));
    call(&hub, "s__remove", json!({}));
    call(&hub, "s__fail", json!({}));
    call(&hub, "s__none", json!({}));
    call(&hub, "s__hang", json!({}));
    let summary: Vec<String> = records(&home, &[])
        .iter()
        .map(|it| {
            let text = |key: &str| it[key].as_str().unwrap_or("-").to_owned();
            format!(
                "{} {} {} {} {}",
                text("event"),
                text("server"),
                text("target"),
                text("name"),
                text("outcome")
            )
        })
        .collect();
    assert_eq!(
        summary,
        [
            "end s s__read read success",
            "start s s__remove remove -",
            "end s s__remove remove success",
            "end s s__fail fail tool_error",
            "end - s__none - protocol_error",
            "end s s__hang hang timeout",
        ]
    );
    let all = records(&home, &[]);
    assert_eq!(
        (&all[0]["arguments"]["password"], &all[0]["arguments"]["path"]),
        (&json!("***"), &json!("x"))
    );
    assert_eq!((&all[0]["principal"], &all[0]["method"]), (&json!("owner"), &json!("tools/call")));
    assert!(all[0]["bytes_out"].as_u64() > Some(0) && all[0]["us"].as_u64() > Some(0), "{}", all[0]);
    assert_eq!(all[1]["call"], all[2]["call"]);
    assert_eq!(records(&home, &["--outcome", "timeout"]).len(), 1);
    assert_eq!(records(&home, &["--server", "s"]).len(), 5);
    assert_eq!(records(&home, &["--principal", "nobody"]).len(), 0);
    assert_eq!(records(&home, &["--since", "1h"]).len(), 6);
    assert_eq!(records(&home, &["--since", "2100-01-01T00:00:00Z"]).len(), 0);
    let shown = home.run(&["audit", "--config", "toolbay.toml"]).expect(0).stdout;
    assert!(shown.contains("tools/call s__fail tool_error in"), "{shown}");
    // A client that leaves.
    let request = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "s__hang", "arguments": {} }
    });
    let (address, body) =
        (hub.url.trim_start_matches("http://").trim_end_matches("/mcp"), request.to_string());
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    thread::sleep(Duration::from_millis(200));
    drop(stream);
    until("the cancellation is recorded", || records(&home, &["--outcome", "cancelled"]).len() == 1);
    let verified = home.run(&["audit", "--config", "toolbay.toml", "--verify"]).expect(0).stdout;
    assert!(verified.contains("7 records, intact"), "{verified}");
    assert_eq!(hub.stop(), Some(0));
    // Another hub goes on with the same chain.
    let mut hub = serve(&home);
    call(&hub, "s__read", json!({}));
    assert_eq!(hub.stop(), Some(0));
    let log = log(&home);
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replacen("s__fail", "s__read", 1)).unwrap();
    let found = home.run(&["audit", "--config", "toolbay.toml", "--verify"]).expect(1);
    assert!(
        found.stdout.contains("8 records, not intact") && found.stdout.contains("record 4 was changed"),
        "{found:#?}"
    );
    let kept: String = text.split_inclusive('\n').take(6).collect();
    fs::write(&log, kept).unwrap();
    let found = home.run(&["audit", "--config", "toolbay.toml", "--verify"]).expect(1).stdout;
    assert!(found.contains("records 7 to 8 are missing at the end"), "{found}");
}

fn log(home: &Home) -> std::path::PathBuf {
    let files = fs::read_dir(home.path("records")).unwrap().map(|entry| entry.unwrap().path());
    files.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "ndjson")).unwrap()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn calls_that_cannot_be_recorded_are_refused_if_that_is_configured() {
    // Every record is a file of its own, and none can be begun while the directory is away.
    for (choice, is_refused) in [("block", true), ("warn", false)] {
        let home = home(&format!("max_size = 4096\non_failure = \"{choice}\""));
        let mut hub = serve(&home);
        let long = json!({ "name": "x".repeat(9000) });
        let fill = |hub: &Serving| call(hub, &format!("s__{}", long["name"].as_str().unwrap()), json!({}));
        fill(&hub);
        fs::rename(home.path("records"), home.path("away")).unwrap();
        let answer = call(&hub, "s__read", json!({}));
        assert_eq!(
            answer["error"]["message"].as_str().is_some_and(|it| it.contains("recorded")),
            is_refused,
            "{answer}"
        );
        let answer = call(&hub, "s__remove", json!({}));
        assert_eq!(answer["error"].is_object(), is_refused, "{answer}");
        let status = home.run(&["status", "--config", "toolbay.toml"]).expect(0).stdout;
        let effect = if is_refused { "audit: calls are refused" } else { "audit: calls are not recorded" };
        assert!(status.contains(effect), "{status}");
        fs::rename(home.path("away"), home.path("records")).unwrap();
        assert!(call(&hub, "s__read", json!({}))["result"].is_object());
        let status = home.run(&["status", "--config", "toolbay.toml"]).expect(0).stdout;
        assert!(!status.contains(effect) && status.contains("were not recorded"), "{status}");
        home.run(&["audit", "--config", "toolbay.toml", "--verify"]).expect(0);
        assert_eq!(hub.stop(), Some(0));
        // A hub that cannot open its log.
        fs::rename(home.path("records"), home.path("away")).unwrap();
        home.write("records", "");
        match is_refused {
            true => {
                drop(home.run(&["serve", "--listen", "127.0.0.1:0", "--config", "toolbay.toml"]).expect(1))
            }
            false => assert_eq!(serve(&home).stop(), Some(0)),
        }
    }
}

#[test]
fn a_section_with_errors_or_of_a_project_is_not_used() {
    let home = home("on_failure = \"stop\"");
    let ran = home.run(&["serve", "--listen", "127.0.0.1:0", "--config", "toolbay.toml"]).expect(2);
    assert!(ran.stderr.contains("on_failure") && ran.stderr.contains("`[audit]` has errors"), "{ran:#?}");
    // A project's file decides nothing about records.
    let ran = home.run(&["config", "check"]);
    assert!(
        ran.stdout.contains("`[audit]` is ignored") || ran.stderr.contains("`[audit]` is ignored"),
        "{ran:#?}"
    );
}

/// Whatever a client got a response to is recorded, however the hub ended.
#[test]
#[expect(clippy::disallowed_methods, reason = "how often is said from outside")]
fn kills_lose_no_record() {
    let kills: u64 = std::env::var("TOOLBAY_AUDIT_KILLS").ok().and_then(|it| it.parse().ok()).unwrap_or(10);
    let home = Home::new();
    home.write(
        "toolbay.toml",
        &format!(
            "[audit]\npath = {:?}\nmax_size = 200000\nkeep = 10000\narguments = true\n[servers.time]\nbuiltin = \"time\"\n",
            home.path("records").to_str().unwrap()
        ),
    );
    let (number, answered) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Vec::<u64>::new())));
    for round in 0..kills {
        let mut hub = home.serve(&["--config", "toolbay.toml"]);
        let address = hub.url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        let is_over = Arc::new(AtomicBool::new(false));
        let clients: Vec<_> = (0..4)
            .map(|_| {
                let (address, number, answered, is_over) =
                    (address.clone(), number.clone(), answered.clone(), is_over.clone());
                thread::spawn(move || {
                    while !is_over.load(Ordering::Relaxed) && call_until_it_ends(&address, &number, &answered)
                    {
                    }
                })
            })
            .collect();
        let before = answered.lock().unwrap().len();
        until("calls are answered", || answered.lock().unwrap().len() > before + 20);
        thread::sleep(Duration::from_millis(round % 7 * 3));
        hub.kill();
        is_over.store(true, Ordering::Relaxed);
        clients.into_iter().for_each(|client| client.join().unwrap());
    }
    let recorded: HashSet<u64> = records(&home, &[])
        .iter()
        .filter_map(|it| it["arguments"]["number"].as_u64().filter(|_| it["event"] == "end"))
        .collect();
    let answered = answered.lock().unwrap();
    let lost: Vec<&u64> = answered.iter().filter(|number| !recorded.contains(number)).collect();
    println!("{kills} kills, {} responses, {} records, {} lost", answered.len(), recorded.len(), lost.len());
    assert!(lost.is_empty(), "{lost:?}");
    let verified = home.run(&["audit", "--config", "toolbay.toml", "--verify"]).expect(0).stdout;
    assert!(verified.contains("intact"), "{verified}");
}

/// Calls on one connection until it ends. Returns whether another one is worth trying.
fn call_until_it_ends(address: &str, number: &AtomicU64, answered: &Mutex<Vec<u64>>) -> bool {
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    loop {
        let number = number.fetch_add(1, Ordering::Relaxed);
        let body = json!({
            "jsonrpc": "2.0", "id": number, "method": "tools/call",
            "params": { "name": "time__get_current_time", "arguments": { "timezone": "UTC", "number": number } }
        })
        .to_string();
        let sent = write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        if sent.is_err() {
            return true;
        }
        // A response is there when its id and its end are.
        let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
        let expected = format!("\"id\":{number}");
        loop {
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => return true,
                Ok(length) => text.extend_from_slice(&buffer[..length]),
            }
            let shown = String::from_utf8_lossy(&text);
            if shown.contains(&expected) && shown.trim_end().ends_with('}') {
                answered.lock().unwrap().push(number);
                break;
            }
        }
    }
}
