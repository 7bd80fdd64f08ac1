//! Commands that use a running hub, and its socket.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::{fs::PermissionsExt, net::UnixStream},
    path::PathBuf,
    process::Stdio,
};

use crate::program::{Home, signal};

fn sockets(home: &Home) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.sockets()).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "sock")).collect()
}

#[test]
fn without_a_hub_commands_say_how_to_start_one() {
    let home = Home::new();
    for args in [&["tools"][..], &["call", "x"], &["status"], &["logs"], &["restart", "x"], &["read", "x:y"]]
    {
        let ran = home.run(args).expect(4);
        assert!(ran.stderr.contains("toolbay serve --config"), "{ran:#?}");
    }
}

#[test]
fn commands_find_the_running_hub() {
    let home = Home::with_server();
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("small ready");
    assert_eq!(home.run(&["call", "small__echo", "n=1"]).expect(0).stdout, "{\"n\": 1}\n");
    let status = home.run(&["status", "--json"]).expect(0).json();
    assert_eq!(status["url"], hub.url.as_str());
    assert_eq!(status["servers"][0]["starts"], 1);
    let restarted = home.run(&["restart", "small", "--json"]).expect(0).json();
    assert_eq!((&restarted["server"]["state"], &restarted["server"]["starts"]), (&"ready".into(), &2.into()));
    home.run(&["restart", "other"]).expect(1);
    // The configuration leads to the same hub, however it is written.
    let same = home.run(&["status", "--json", "--config", "./mcp.json"]).expect(0).json();
    assert_eq!(same["pid"], status["pid"]);
    let log = home.run(&["logs", "small"]).expect(0).stdout;
    assert!(log.contains("started red") && log.contains("restarting on request"), "{log}");

    assert_eq!(hub.stop(), Some(0));
    assert_eq!(sockets(&home), Vec::<PathBuf>::new());
    home.run(&["tools"]).expect(4);
}

#[test]
fn the_socket_is_for_its_user_alone() {
    let home = Home::new();
    let _hub = home.serve(&[]);
    home.run(&["status"]).expect(0);
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&home.sockets()), 0o700);
    let sockets = sockets(&home);
    assert_eq!(sockets.iter().map(mode).collect::<Vec<_>>(), [0o600]);
}

#[test]
fn a_socket_left_behind_is_replaced() {
    let home = Home::new();
    let mut hub = home.serve(&[]);
    home.run(&["status"]).expect(0);
    hub.kill();
    assert_eq!(sockets(&home).len(), 1);
    home.run(&["status"]).expect(4);
    let _hub = home.serve(&[]);
    home.run(&["status"]).expect(0);
}

#[test]
fn requests_on_one_connection_do_not_wait_for_each_other() {
    let home = Home::with_server();
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("small ready");
    let mut stream = UnixStream::connect(&sockets(&home)[0]).unwrap();
    let wait = r#"{"jsonrpc":"2.0","id":1,"method":"logs","params":{"server":"small","since":1000000,"follow":true}}"#;
    let unknown = r#"{"jsonrpc":"2.0","id":2,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"small__greet"},"argument":{"name":"who","value":"a"}}}"#;
    writeln!(stream, "{wait}\nno json\n{unknown}").unwrap();
    let mut lines = BufReader::new(stream).lines().map(|line| line.unwrap());
    let mut answers = [lines.next().unwrap(), lines.next().unwrap()];
    answers.sort();
    assert!(answers[0].contains(r#""id":2"#), "{answers:?}");
    assert!(answers[1].contains(r#""id":null"#) && answers[1].contains("-32600"), "{answers:?}");
    // A server's own data stays inside ours, so that it cannot speak for the hub.
    assert!(answers[0].contains(r#""data":{"reason":"failed","data":{"#), "{answers:?}");
}

#[test]
fn an_interrupted_call_is_cancelled_at_the_server() {
    let home = Home::with_server();
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("small ready");
    let mut log = home.command(&["logs", "small", "-f"]).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(log.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    let mut until = |text: &str| while !lines.next().unwrap().contains(text) {};
    let mut call = home.command(&["call", "small__hang"]).stdout(Stdio::null()).spawn().unwrap();
    until("hanging");
    signal(call.id(), "INT");
    assert_eq!(call.wait().unwrap().code(), Some(130));
    until("notifications/cancelled");
    signal(log.id(), "INT");
    log.wait().unwrap();
}

#[test]
fn following_a_log_ends_with_an_interrupt() {
    let home = Home::with_server();
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("small ready");
    let mut child = home.command(&["logs", "small", "-f", "--json"]).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    let mut until = |text: &str| while !lines.next().unwrap().contains(text) {};
    until("ready after");
    home.run(&["restart", "small"]).expect(0);
    until("ready after");
    signal(child.id(), "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_client_that_does_not_read_its_responses_is_not_read() {
    let home = Home::new();
    let _hub = home.serve(&[]);
    home.run(&["status"]).expect(0);
    let mut stream = UnixStream::connect(&sockets(&home)[0]).unwrap();
    stream.set_write_timeout(Some(std::time::Duration::from_secs(2))).unwrap();
    let lines = "{bad}\n".repeat(10_000);
    let most = 200; // 12 MB, whose answers are some 200 MB
    let sent = (0..most).take_while(|_| stream.write_all(lines.as_bytes()).is_ok()).count();
    assert!(sent < most, "it took {sent} times 10,000 lines");
    home.run(&["status"]).expect(0);
}
