//! `toolbay token`: tokens for clients of a shared hub. What they mean to a gateway is tested in `toolbay-gateway`.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::program::{Home, Serving};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn status(hub: &Serving, token: &str) -> u16 {
    let headers = match token {
        "" => String::new(),
        token => format!("Authorization: Bearer {token}\r\n"),
    };
    hub.ask_with("POST /mcp", &headers, PING).split(' ').nth(1).unwrap().parse().unwrap()
}

/// Waits until a request with a token has that status; returns how long it took.
fn until(hub: &Serving, token: &str, expected: u16) -> Duration {
    let began = Instant::now();
    while status(hub, token) != expected {
        assert!(began.elapsed() < Duration::from_secs(20), "it is never {expected}");
        thread::sleep(Duration::from_millis(10));
    }
    began.elapsed()
}

fn create(home: &Home, args: &[&str]) -> String {
    let ran = home.run(&[&["token", "create"], args].concat()).expect(0);
    let token = ran.stdout.trim_end().to_owned();
    assert!(token.starts_with("tb_") && token.len() == 51 && !ran.stderr.contains(&token), "{ran:#?}");
    token
}

#[test]
fn tokens_are_shown_once_listed_without_their_secrets_and_revoked() {
    let home = Home::with_server();
    let token = create(&home, &["ci", "--servers", "unknown,s", "--tier", "read", "--expires", "90d"]);
    let made: Value = home.run(&["token", "create", "all", "--json"]).expect(0).json();
    assert!(made["token"].as_str().unwrap().starts_with("tb_"), "{made}");
    assert_eq!((&made["tier"], &made["servers"]), (&"destructive".into(), &Value::Null), "{made}");
    let list = home.run(&["token", "list"]).expect(0);
    for part in ["ci", "read", "s, unknown", "all", "destructive", "never"] {
        assert!(list.stdout.contains(part), "{part}: {list:#?}");
    }
    let json = home.run(&["token", "list", "--json"]).expect(0).json();
    assert_eq!(json["tokens"][1]["servers"], serde_json::json!(["s", "unknown"]), "{json}");
    assert!(json["tokens"][1]["expires"].is_string() && json["tokens"][0]["expires"].is_null(), "{json}");
    let file = home.path("toolbay/tokens.json");
    let text = fs::read_to_string(&file).unwrap();
    for secret in [&token[3..], &made["token"].as_str().unwrap()[3..]] {
        assert!(!format!("{list:?}{json}{text}").contains(secret));
    }
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    let refused = home.run(&["token", "create", "ci"]).expect(1);
    assert!(refused.stderr.contains("there is a token `ci` already"), "{refused:#?}");
    let revoked = home.run(&["token", "revoke", "ci"]).expect(0);
    assert!(revoked.stderr.contains("revoked token `ci`"), "{revoked:#?}");
    let refused = home.run(&["token", "revoke", "ci"]).expect(1);
    assert!(refused.stderr.contains("there is no token `ci`"), "{refused:#?}");
    for (args, said) in [
        (["--tier", "admin"], "is not a tier"),
        (["--expires", "soon"], "is not a duration"),
        (["--expires", "0d"], "too short"),
        (["--profile", "p"], "no profile"),
        (["--servers", "a,,b"], "empty name"),
    ] {
        let refused = home.run(&[&["token", "create", "x"][..], &args].concat()).expect(2);
        assert!(refused.stderr.contains(said), "{refused:#?}");
    }
    assert!(home.run(&["token", "create", "a b"]).expect(2).stderr.contains("letters, digits"));
}

#[test]
fn a_running_hub_follows_the_file_and_never_prints_a_token() {
    let home = Home::with_server();
    let mut hub = home.serve(&["-vv"]);
    assert_eq!(status(&hub, ""), 200);
    let token = create(&home, &["one"]);
    let required = until(&hub, "", 401);
    assert_eq!((status(&hub, &token), status(&hub, "tb_wrong")), (200, 401));
    let told = home.run(&["hub", "status", "--json"]).expect(0);
    home.run(&["token", "revoke", "one"]).expect(0);
    let revoked = until(&hub, &token, 401);
    println!("required after {required:?}, revoked after {revoked:?}");
    assert_eq!(status(&hub, ""), 401, "revoking the last token opens nothing");
    // This user needs none on stdio and on sockets.
    let tools = home.run(&["tools", "--json"]).expect(0);
    assert_eq!(hub.stop(), Some(0));
    assert!(!format!("{}{told:?}{tools:?}", hub.said).contains(&token[3..]), "{}", hub.said);
}

#[test]
fn other_machines_are_served_once_there_is_a_token() {
    let home = Home::with_server();
    let refused = home.run(&["serve", "--listen", "0.0.0.0:0"]).expect(2);
    assert!(refused.stderr.contains("toolbay token create"), "{refused:#?}");
    create(&home, &["one"]);
    let mut hub = home.start(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(hub.stop(), Some(0));
    // A file that cannot be read must not open the hub.
    home.write("toolbay/tokens.json", "{");
    let refused = home.run(&["serve", "--listen", "127.0.0.1:0"]).expect(1);
    assert!(refused.stderr.contains("is not a file of tokens"), "{refused:#?}");
}

fn begin(home: &Home, args: &[&str]) -> Child {
    home.command(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn processes_that_create_at_once_lose_nothing() {
    let home = Home::new();
    let names: Vec<String> = (0..12).map(|number| format!("n{number}")).collect();
    let children: Vec<Child> = names.iter().map(|name| begin(&home, &["token", "create", name])).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let list = home.run(&["token", "list", "--json"]).expect(0).json();
    assert_eq!(list["tokens"].as_array().unwrap().len(), names.len(), "{list}");
}

#[test]
fn a_process_that_is_killed_leaves_a_valid_file() {
    let home = Home::new();
    create(&home, &["stays"]);
    let began = Instant::now();
    create(&home, &["timed"]);
    let takes = began.elapsed();
    for round in 0..24_u32 {
        let name = format!("r{round}");
        let mut child = match round % 2 {
            0 => begin(&home, &["token", "create", &name]),
            _ => begin(&home, &["token", "revoke", &format!("r{}", round - 1)]),
        };
        // From the start of the process to its end.
        thread::sleep(takes * round / 24);
        let _ = child.kill();
        child.wait().unwrap();
        let list = home.run(&["token", "list", "--json"]).expect(0).json();
        assert!(list["tokens"].as_array().unwrap().iter().any(|token| token["name"] == "stays"), "{list}");
    }
    create(&home, &["last"]);
}
