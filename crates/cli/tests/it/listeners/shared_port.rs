//! Every transport on one port.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    time::Duration,
};

use crate::program::{Home, Serving};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: mcp\r\n";

/// Opens a stream, or whatever the hub makes of the connection.
fn open(hub: &Serving, path: &str, headers: &str) -> BufReader<TcpStream> {
    let address = hub.url.trim_start_matches("http://").trim_end_matches("/mcp");
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n").unwrap();
    BufReader::new(stream)
}

/// The rest of the first line that begins so.
fn line(stream: &mut BufReader<TcpStream>, start: &str) -> String {
    loop {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).unwrap() > 0, "it ended before {start:?}");
        if let Some(rest) = line.strip_prefix(start) {
            return rest.trim().to_owned();
        }
    }
}

#[test]
fn legacy_and_modern_clients_are_served_on_one_port() {
    let home = Home::new();
    let mut hub = home.serve(&[]);
    assert!(hub.post(PING).ends_with(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
    assert!(hub.ask_with("POST /", "", PING).starts_with("HTTP/1.1 200"));
    let mut stream = open(&hub, "/sse", "Accept: text/event-stream\r\n");
    let endpoint = line(&mut stream, "data: ");
    assert!(hub.ask_with(&format!("POST {endpoint}"), "", PING).starts_with("HTTP/1.1 202"));
    assert_eq!(line(&mut stream, "data: "), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    let mut socket = open(&hub, "/ws", UPGRADE);
    assert_eq!(line(&mut socket, "HTTP/1.1 "), "101 Switching Protocols");
    // Open streams and sockets do not keep a hub from ending.
    assert_eq!(hub.stop(), Some(0));
}

#[test]
fn the_token_and_the_origin_are_checked_on_every_path() {
    let home = Home::new();
    home.write_secret("token", "t0ken-0123456789abcdef");
    let hub = home.serve(&["--token-file", "token"]);
    for (path, headers) in [("/sse", ""), ("/ws", UPGRADE), ("/mcp", "")] {
        let status = |more: &str| line(&mut open(&hub, path, &format!("{headers}{more}")), "HTTP/1.1 ");
        assert_eq!(status(""), "401 Unauthorized", "{path}");
        let evil = "Authorization: Bearer t0ken-0123456789abcdef\r\nOrigin: http://evil.example.com\r\n";
        assert_eq!(status(evil), "403 Forbidden", "{path}");
    }
}
