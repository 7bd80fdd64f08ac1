//! Logins at protected servers: `toolbay login`, `logout`, `auth list`, and hubs that follow them.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    os::unix::fs::PermissionsExt,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use toolbay_protocol::Revision;
use toolbay_testkit::{
    AuthorizationLog, ProtectedServer,
    harness::{ClientResponse, Profile, RevisionClient},
    visit,
};

use crate::{
    program::{Home, Ran, Serving},
    remote::Beside,
};

const SECRET: &str = "that-is-secret";

/// A protected server, and a home whose only server it is.
fn stage() -> (Beside, ProtectedServer, Home) {
    let (beside, server) = Beside::start(async |tasks, _| ProtectedServer::start(tasks).await);
    let home = Home::new();
    home.write("mcp.json", &json!({ "mcpServers": { "far": { "url": server.url } } }).to_string());
    (beside, server, home)
}

fn run(home: &Home, args: &[&str]) -> Ran {
    let ran = home.run(&[args, &["--config", "mcp.json"]].concat());
    assert!(!format!("{ran:?}").contains(SECRET), "{ran:#?}");
    ran
}

/// Logs in without a browser: the test opens the URL that is printed.
fn log_in(home: &Home) {
    let mut command = home.command(&["login", "far", "--no-browser", "--config", "mcp.json"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    if !url.is_empty() {
        assert!(visit(url.trim()).unwrap().contains("200 OK"), "{url}");
    }
    let status = child.wait().unwrap();
    drop(stdin);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(status.success() && said.contains("logged in to far"), "{url}{said}");
    assert!(!said.contains(SECRET), "{said}");
}

/// Waits until a server of the hub has a state.
fn wait_for(hub: &Serving, state: &str) {
    let begin = Instant::now();
    loop {
        let health = hub.get("/health");
        let servers: Value = serde_json::from_str(health.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        if servers["servers"][0]["state"] == state {
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "not {state}: {servers}");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_hub_waits_for_a_login_of_another_process_and_follows_a_logout() {
    let (_beside, server, home) = stage();
    let hub = home.serve(&["--config", "mcp.json"]);
    wait_for(&hub, "login required");
    let status = run(&home, &["status"]).expect(0);
    assert!(status.stdout.contains("login required: toolbay login far"), "{status:#?}");
    // It is not tried again and again.
    let refused = server.log().refused;
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(server.log().refused, refused);
    let call = run(&home, &["call", "far__read"]);
    assert!(format!("{call:?}").contains("toolbay login far"), "{call:#?}");

    log_in(&home);
    // The command ends when the hub has the server.
    assert_eq!(run(&home, &["call", "far__read"]).expect(0).stdout.trim(), "read done");
    let list = run(&home, &["auth", "list", "--json"]).expect(0).json();
    let login = &list["logins"][0];
    assert_eq!((&login["server"], &login["scopes"]), (&json!("far"), &json!(["read"])), "{list}");
    assert_eq!((&login["is_renewable"], &login["is_logged_in"]), (&json!(true), &json!(true)), "{list}");
    assert!(run(&home, &["auth", "list"]).expect(0).stdout.starts_with("far "));
    let secrets = run(&home, &["secret", "list"]).expect(0);
    assert!(!secrets.stdout.contains("oauth"), "{secrets:#?}");

    // Tokens that the server does not take any more are renewed without the user.
    server.expire_tokens();
    assert_eq!(run(&home, &["call", "far__read"]).expect(0).stdout.trim(), "read done");
    let log = server.log();
    assert_eq!((log.logins, log.refreshes, log.reused), (1, 1, 0));
    // The hub had begun a login for the call above, so the port of its registration was in use.
    assert_eq!(log.registrations, 2);
    // `resource` is byte for byte what the metadata says.
    assert_eq!(server.resources(), std::slice::from_ref(&server.url));

    let ended = run(&home, &["logout", "far"]).expect(0);
    assert!(ended.stderr.contains("its tokens are revoked"), "{ended:#?}");
    assert_eq!(server.log().revoked, 2);
    let call = run(&home, &["call", "far__read"]).expect(5);
    assert!(call.stdout.contains("toolbay login far"), "{call:#?}");
    wait_for(&hub, "login required");
    assert!(run(&home, &["auth", "list"]).expect(0).stdout.is_empty());
    log_in(&home);
    wait_for(&hub, "ready");
    // That login is over, and the registration with its port is used again.
    assert_eq!(server.log().registrations, 2);
}

#[test]
fn a_login_survives_restarts_and_is_shared_by_all_processes() {
    let (_beside, server, home) = stage();
    log_in(&home);
    let file = home.path("config/toolbay/secrets");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // Without a hub, each command is a process of its own.
    for _ in 0..2 {
        assert_eq!(run(&home, &["call", "far__read"]).expect(0).stdout.trim(), "read done");
    }
    let mut hub = home.serve(&["--config", "mcp.json"]);
    wait_for(&hub, "ready");
    hub.stop();
    assert!(!hub.said.contains(SECRET), "{}", hub.said);
    assert_eq!(server.log().logins, 1);
}

#[test]
fn a_forgotten_client_is_registered_again_once() {
    let (_beside, server, home) = stage();
    log_in(&home);
    server.forget_clients();
    server.forget_logins();
    // A client that was used a moment ago is not checked, so this one is made old.
    let file = home.path("config/toolbay/secrets");
    let text = fs::read_to_string(&file).unwrap();
    let (before, after) = text.split_once(r#"confirmed_at\":"#).unwrap();
    let after = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
    assert!(before.contains("oauth/client-") && !after.contains("oauth/client-"), "{text}");
    home.write_secret("config/toolbay/secrets", &format!(r#"{before}confirmed_at\":1{after}"#));
    log_in(&home);
    let AuthorizationLog { registrations, codes, .. } = server.log();
    assert_eq!((registrations, codes), (2, 2));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the browser that is opened is found in `PATH`")]
fn a_browser_is_opened_without_a_shell() {
    let (_beside, server, home) = stage();
    fs::create_dir(home.path("bin")).unwrap();
    // Plays the browser: records its arguments, and opens the URL.
    home.write(
        "bin/xdg-open",
        "#!/usr/bin/env python3\nimport sys, urllib.request\nopen('opened', 'a').write('\\n'.join(sys.argv[1:]) + '\\n')\n\
         urllib.request.urlopen(sys.argv[1]).read()\n",
    );
    fs::set_permissions(home.path("bin/xdg-open"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = home.command(&["login", "far", "--json", "--config", "mcp.json"]);
    let path = format!("{}:{}", home.path("bin").display(), std::env::var("PATH").unwrap());
    let output = command.env("PATH", path).env("DISPLAY", ":0").output().unwrap();
    let lines: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!((&lines[0]["event"], &lines[0]["opens_browser"]), (&json!("login_page"), &json!(true)));
    assert_eq!((&lines[1]["event"], &lines[1]["login"]["server"]), (&json!("logged_in"), &json!("far")));
    assert_eq!(fs::read_to_string(home.path("opened")).unwrap().trim(), lines[0]["url"].as_str().unwrap());
    assert_eq!(server.log().logins, 1);
}

#[test]
fn the_redirect_url_can_be_pasted() {
    let (_beside, server, home) = stage();
    let mut command = home.command(&["login", "far", "--no-browser", "--config", "mcp.json"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    // The browser of another machine cannot reach our port; its address bar shows where it was sent to.
    let redirect = location(url.trim());
    use std::io::Write as _;
    writeln!(child.stdin.take().unwrap(), "{redirect}").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(server.log().codes, 1);
}

/// Where an authorization endpoint redirects to.
fn location(url: &str) -> String {
    use std::io::Write as _;
    let rest = url.trim_start_matches("http://");
    let (address, path) = rest.split_at(rest.find('/').unwrap());
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response.lines().find_map(|line| line.strip_prefix("location: ")).unwrap().to_owned()
}

#[test]
fn what_cannot_be_logged_in_to_says_so() {
    let (_beside, _server, home) = stage();
    let (_open_beside, open) = Beside::start(async |tasks, stop| {
        toolbay_testkit::TestServer::new("open").start_http(tasks, stop.clone()).await
    });
    let entry = json!({ "command": "python3", "args": ["server.py"] });
    let servers =
        json!({ "local": entry, "plain": { "url": "http://example.com/mcp" }, "open": { "url": open } });
    home.write("mcp.json", &json!({ "mcpServers": servers }).to_string());
    for (server, code, expected) in [
        ("local", 2, "is not at a URL"),
        ("plain", 2, "tokens would be sent in clear text"),
        ("open", 3, "answers without a login"),
        ("none", 1, "no server named `none`"),
    ] {
        let ran = run(&home, &["login", server, "--no-browser"]);
        assert!(ran.code == Some(code) && ran.stderr.contains(expected), "{server}: {ran:#?}");
    }
}

/// A client of the hub that supports these server requests.
fn client(hub: &Serving, revision: Revision, capabilities: Value) -> RevisionClient {
    let address = hub.url.trim_start_matches("http://").trim_end_matches("/mcp").parse().unwrap();
    Profile::new(revision, "test").capabilities(capabilities).lenient().over_http(address).unwrap()
}

/// The URL in a text.
fn url_in(text: &str) -> String {
    text.split_whitespace().find(|word| word.starts_with("http://")).expect("there is a URL").to_owned()
}

#[test]
fn a_call_that_needs_a_login_brings_its_url_and_there_is_one_login() {
    let (_beside, server, home) = stage();
    let far = json!({ "url": server.url });
    let small = json!({ "command": "python3", "args": [home.path("server.py")] });
    home.write("mcp.json", &json!({ "mcpServers": { "far": far, "small": small } }).to_string());
    let hub = home.serve(&["--config", "mcp.json"]);
    wait_for(&hub, "login required");
    let url_mode = json!({ "elicitation": { "url": {} } });

    // Without URL elicitation: the result of the tool, for the model to show.
    let mut plain = client(&hub, Revision::V2025_06_18, json!({}));
    let result = plain.call("far__read", json!({})).unwrap().response["result"].take();
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    assert!(result["isError"] == true && text.contains("toolbay login far"), "{result}");
    let url = url_in(text);
    // 2025-11-25: an error with the page.
    let mut legacy = client(&hub, Revision::V2025_11_25, url_mode.clone());
    let error = legacy.call("far__read", json!({})).unwrap().response["error"].take();
    let page = &error["data"]["elicitations"][0];
    assert_eq!((&error["code"], &page["mode"], &page["url"]), (&json!(-32042), &json!("url"), &json!(url)));
    assert!(page["elicitationId"].is_string(), "{error}");
    // Many sessions get the same page, and other servers go on.
    for _ in 0..10 {
        let mut other = client(&hub, Revision::V2025_11_25, url_mode.clone());
        let error = other.call("far__read", json!({})).unwrap().response["error"].take();
        assert_eq!(error["data"]["elicitations"][0]["url"], json!(url));
        let begin = Instant::now();
        other.text("small__echo", json!({})).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(5));
    }
    assert_eq!((server.log().registrations, server.log().logins), (1, 0));

    // Modern: input is required; the user opens the page, and the call goes on when the login is done.
    let mut modern = client(&hub, Revision::V2026_07_28, url_mode);
    let expected = url.clone();
    modern.set_respond(Box::new(move |method, params| {
        assert_eq!(
            (method, &params["mode"], &params["url"]),
            ("elicitation/create", &json!("url"), &json!(expected))
        );
        let url = expected.clone();
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(300));
            visit(&url).unwrap()
        });
        ClientResponse::Result(json!({ "action": "accept" }))
    }));
    let begin = Instant::now();
    assert_eq!(modern.text("far__read", json!({})).unwrap(), "read done");
    println!("a modern call went on {:?} after it required a login", begin.elapsed());
    assert_eq!(plain.text("far__read", json!({})).unwrap(), "read done");
    assert_eq!((server.log().registrations, server.log().logins), (1, 1));

    // A tool that needs more: the same, with the scopes of before.
    let error = legacy.call("far__write", json!({})).unwrap().response["error"].take();
    assert_eq!(error["code"], -32042, "{error}");
    let page = error["data"]["elicitations"][0]["url"].as_str().unwrap().to_owned();
    assert!(page.contains("scope=read+write"), "{page}");
    assert_eq!(plain.text("far__read", json!({})).unwrap(), "read done");
    visit(&page).unwrap();
    let begin = Instant::now();
    while legacy.call("far__write", json!({})).unwrap().response["result"]["content"][0]["text"]
        != "write done"
    {
        assert!(begin.elapsed() < Duration::from_secs(5));
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_client_without_a_user_is_authorized_by_its_entry() {
    let (_beside, server, home) = stage();
    let oauth = json!({
        "grant": "client_credentials", "client_id": "service", "client_secret": "${secret:SERVICE_PASSWORD}", "scopes": ["read"],
    });
    let entry = json!({ "url": server.url, "oauth": oauth });
    home.write("mcp.json", &json!({ "mcpServers": { "far": entry } }).to_string());
    let set = ["secret", "set", "SERVICE_PASSWORD", "--store", "plain-file"];
    home.run_with_input(&set, "pass word").expect(0);
    assert_eq!(run(&home, &["call", "far__read"]).expect(0).stdout.trim(), "read done");
    assert_eq!((server.log().client_grants, server.log().logins), (1, 0));
    let ran = run(&home, &["login", "far"]).expect(2);
    assert!(ran.stderr.contains("needs no login"), "{ran:#?}");
}

#[test]
fn four_processes_that_find_their_token_expired_renew_it_once_each_at_most() {
    const PROCESSES: u32 = 4;
    const ROUNDS: u32 = 3;
    let (_beside, server, home) = stage();
    log_in(&home);
    for _ in 0..ROUNDS {
        server.expire_tokens();
        let call = || home.command(&["call", "far__read", "--config", "mcp.json"]).spawn().unwrap();
        let children: Vec<_> = (0..PROCESSES).map(|_| call()).collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "read done", "{output:?}");
        }
    }
    let AuthorizationLog { logins, refreshes, reused, .. } = server.log();
    println!("{ROUNDS} rounds of {PROCESSES} processes: {refreshes} renewals");
    assert_eq!((logins, reused), (1, 0));
    assert_eq!(refreshes, ROUNDS, "the others use the token that the first one got");
}

#[test]
fn long_tokens_are_stored() {
    let (_beside, server, home) = stage();
    server.lengthen_tokens(20_000);
    log_in(&home);
    assert_eq!(run(&home, &["call", "far__read"]).expect(0).stdout.trim(), "read done");
}
