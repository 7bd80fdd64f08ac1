//! Unix sockets for MCP clients.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::{
        fs::PermissionsExt,
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    time::Duration,
};

use crate::program::Home;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"0"}}}"#;

/// What the hub answers to a handshake on a socket.
fn greeted(socket: &Path) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    writeln!(stream, "{HELLO}").unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line
}

fn mcp_sockets(home: &Home) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.sockets()).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "mcp")).collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_hub_always_has_one_for_its_user_alone() {
    let home = Home::new();
    let mut hub = home.serve(&[]);
    home.run(&["status"]).expect(0);
    let sockets = mcp_sockets(&home);
    assert_eq!(sockets.len(), 1);
    assert_eq!(mode(&sockets[0]), 0o600);
    assert!(greeted(&sockets[0]).contains(r#""protocolVersion":"2025-11-25""#));
    assert_eq!(hub.stop(), Some(0));
    assert_eq!(mcp_sockets(&home), Vec::<PathBuf>::new());
}

#[test]
fn a_socket_left_by_a_killed_hub_is_replaced() {
    let home = Home::new();
    let (own, chosen) = (mcp_sockets, home.path("chosen.sock"));
    let listen = format!("unix:{}", chosen.display());
    let mut hub = home.serve(&["--listen", &listen]);
    home.run(&["status"]).expect(0);
    hub.kill();
    assert_eq!((own(&home).len(), chosen.exists()), (1, true));
    let mut hub = home.serve(&["--listen", &listen]);
    home.run(&["status"]).expect(0);
    assert!(greeted(&own(&home)[0]).contains("serverInfo"));
    assert!(greeted(&chosen).contains("serverInfo"));
    assert_eq!(mode(&chosen), 0o600);
    assert_eq!(hub.stop(), Some(0));
    assert!(!chosen.exists());
}

#[test]
fn sockets_and_files_of_others_are_left_alone() {
    let home = Home::new();
    let taken = home.path("taken.sock");
    let listener = UnixListener::bind(&taken).unwrap();
    home.write("notes.txt", "mine");
    for name in ["taken.sock", "notes.txt"] {
        let ran = home
            .run(&[
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--listen",
                &format!("unix:{}", home.path(name).display()),
            ])
            .expect(if name == "taken.sock" { 1 } else { 4 });
        assert!(ran.stderr.contains(name), "{ran:#?}");
    }
    assert!(UnixStream::connect(&taken).is_ok());
    assert_eq!(fs::read_to_string(home.path("notes.txt")).unwrap(), "mine");
    drop(listener);
    home.run(&["serve", "--listen", "unix:"]).expect(2);
}
