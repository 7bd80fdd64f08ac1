//! The hub over HTTP, with and without a configuration.

use std::net::TcpListener;

use toolbay_testkit::harness::Process;

use crate::program::{Home, is_running};

const STATUS: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hub__status","arguments":{}}}"#;

#[test]
fn without_a_configuration_there_is_the_hub_itself() {
    let home = Home::new();
    let mut hub = home.serve(&[]);
    hub.until("hub ready");
    assert!(hub.said.contains("toolbay serve --config mcp.json"), "{}", hub.said);
    let answer = hub.post(STATUS);
    assert!(answer.contains(r#""structuredContent""#) && answer.contains("0.1.0"), "{answer}");
    assert_eq!(home.run(&["tools"]).expect(0).stdout.split_whitespace().next(), Some("hub__status()"));
    assert_eq!(hub.stop(), Some(0));
}

#[test]
fn a_configuration_in_the_folder_is_mentioned_but_not_run() {
    let home = Home::new();
    let mark = home.path("MARK");
    home.write(".mcp.json", &format!(r#"{{"mcpServers":{{"x":{{"command":"touch","args":[{mark:?}]}}}}}}"#));
    let mut hub = home.serve(&[]);
    hub.until("hub ready");
    assert!(hub.said.contains("toolbay serve --config .mcp.json"), "{}", hub.said);
    let servers = home.run(&["status", "--json"]).json()["servers"].take();
    let x = servers.as_array().unwrap().iter().find(|server| server["name"] == "x");
    assert_eq!(x.unwrap()["state"], "needs approval", "{servers}");
    assert!(!mark.exists());
}

#[test]
fn with_a_configuration_only_its_servers_are_offered() {
    let home = Home::with_server();
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("small ready");
    assert!(!home.run(&["tools"]).expect(0).stdout.contains("hub"));
    let call = STATUS.replace("hub__status", "small__echo");
    assert!(hub.post(&call).contains(r#""unknown": 7"#));
    assert_eq!(hub.stop(), Some(0));
    assert!(!is_running(&home.path("server.py")));
}

#[test]
fn an_address_in_use_is_named_and_nothing_is_started() {
    let home = Home::with_server();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = home.run(&["serve", "--config", "mcp.json", "--listen", &address]).expect(1);
    assert!(ran.stderr.contains(&address) && ran.stderr.contains("--listen 127.0.0.1:0"), "{ran:#?}");
    assert!(!ran.stderr.contains("small starting"), "{ran:#?}");
}

#[test]
fn other_machines_are_served_only_when_configured() {
    let ran = Home::new().run(&["serve", "--listen", "0.0.0.0:0"]).expect(2);
    assert!(ran.stderr.contains("--allow-unauthenticated"), "{ran:#?}");
    let ran = Home::new().run(&["serve", "--listen", "nonsense"]).expect(2);
    assert!(ran.stderr.contains("nonsense"), "{ran:#?}");
}

#[test]
fn a_port_alone_is_one_of_this_machine() {
    let home = Home::new();
    for port in ["0", ":0"] {
        let mut hub = home.start(&["serve", "--listen", port]);
        assert!(hub.url.starts_with("http://127.0.0.1:"), "{}", hub.url);
        assert_eq!(hub.stop(), Some(0));
    }
    home.run(&["serve", "--listen", "70000"]).expect(2);
}

#[test]
fn the_limit_of_open_files_is_raised_for_the_hub_alone() {
    let home = Home::with_server();
    let mut hub = home.serve_limited(256, &["--config", "mcp.json"]);
    hub.until("ready");
    let [soft, hard] = limits(hub.pid(), "Max open files");
    assert_eq!(soft, hard.min(1 << 20), "the hub has every file that it may have");
    let script = home.path("server.py").display().to_string();
    let processes = toolbay_testkit::harness::processes();
    let server = processes.iter().find(|one| one.arguments.contains(&script)).unwrap();
    assert_eq!(
        limits(server.pid, "Max open files")[0],
        256,
        "its servers have what they would have without it"
    );
    assert_eq!(hub.stop(), Some(0));
}

/// A core dump of the hub would contain the secrets of its servers; one of a server is that server's affair.
#[test]
fn only_servers_leave_core_dumps() {
    const CORE: &str = "Max core file size";
    let home = Home::with_server();
    let mut hub = home.serve_after("ulimit -Sc 1024", &["--config", "mcp.json"]);
    hub.until("ready");
    assert_eq!(limits(hub.pid(), CORE)[0], 0, "the hub leaves none");
    let script = home.path("server.py").display().to_string();
    let processes = toolbay_testkit::harness::processes();
    let server = processes.iter().find(|one| one.arguments.contains(&script)).unwrap();
    // Shells count in blocks of 512 bytes.
    assert_eq!(limits(server.pid, CORE)[0], 1024 * 512, "its servers have what they would have without it");
    let is_its_shim = |one: &&Process| one.is_shim() && one.pid == server.parent;
    let shim = processes.iter().find(is_its_shim).unwrap();
    assert_eq!(limits(shim.pid, CORE)[0], 0, "what starts a server knows its secrets, too");
    assert_eq!(hub.stop(), Some(0));
}

/// The soft and the hard limit of a process.
fn limits(pid: u32, which: &str) -> [u64; 2] {
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix(which)).unwrap();
    let mut numbers = line.split_whitespace().map(|number| number.parse().unwrap_or(u64::MAX));
    [(); 2].map(|()| numbers.next().unwrap())
}
