//! `mcp-server-fetch`.

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    thread,
};

use serde_json::json;

use super::{ARGUMENTS, Comparison, Servers, call};

const SERVERS: Servers = Servers {
    page: "fetch",
    program: "python-originals/bin/mcp-server-fetch",
    script: None,
    ours: &["fetch"],
    arguments: &["--allow-private-ips"],
    environment: &[],
    own_files: &[],
};

// Where ours is better, in the words of docs/fetch.md.
const HEADINGS: &str = "Headings keep their levels.";
const CONTENT: &str = "Main text is not guessed: everything is kept but what is never content.";
const BINARY: &str =
    "A page that is not text is refused with its content type, instead of read as replacement characters.";

#[test]
fn fetch() {
    let site = serve();
    let mut servers = Comparison::start(&SERVERS, |_| ());
    servers.tools();
    let fetch = |path: &str| call("fetch", json!({ "url": format!("{site}{path}") }));
    servers.calls([
        fetch("/page.html"),
        fetch("/headings.html").better(HEADINGS),
        fetch("/lists.html").better(CONTENT),
        fetch("/binary").better(BINARY),
        fetch("/text.txt"),
        fetch("/data.json"),
        fetch("/page.html").with(&json!({ "raw": true })),
        fetch("/long.txt"),
        fetch("/long.txt").with(&json!({ "max_length": 100, "start_index": 50 })),
        fetch("/long.txt").with(&json!({ "start_index": 1_000_000 })),
        fetch("/moved"),
        fetch("/missing"),
        fetch("/private/page.html"),
        call("fetch", json!({ "url": "not a url" })).better(ARGUMENTS),
        call("fetch", json!({})).better(ARGUMENTS),
    ]);
}

/// A site on loopback; its address.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || answer(stream));
        }
    });
    format!("http://{address}")
}

fn answer(mut stream: TcpStream) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(path) = lines.next().and_then(|line| Some(line.split(' ').nth(1)?.to_owned())) else { return };
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let long = "All work and no play. ".repeat(500);
    let (status, headers, body) = match path.as_str() {
        "/robots.txt" => ("200 OK", "Content-Type: text/plain", "User-agent: *\nDisallow: /private/\n"),
        "/page.html" | "/private/page.html" => ("200 OK", "Content-Type: text/html; charset=utf-8", PAGE),
        "/headings.html" => ("200 OK", "Content-Type: text/html", HEADINGS_PAGE),
        "/lists.html" => ("200 OK", "Content-Type: text/html", LISTS_PAGE),
        "/binary" => ("200 OK", "Content-Type: application/octet-stream", "\0\x01\x02"),
        "/text.txt" => ("200 OK", "Content-Type: text/plain", "Plain text.\n"),
        "/data.json" => ("200 OK", "Content-Type: application/json", r#"{"answer": 42}"#),
        "/long.txt" => ("200 OK", "Content-Type: text/plain", long.as_str()),
        "/moved" => ("302 Found", "Location: /text.txt", ""),
        _ => ("404 Not Found", "Content-Type: text/plain", "nothing"),
    };
    let length = body.len();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\n{headers}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
}

const PAGE: &str = "<!DOCTYPE html><html><head><title>A page</title></head><body><article><h2>Heading</h2>\
<p>A paragraph with <b>bold</b> text and <a href=\"https://example.org/\">a link</a>, long enough to be content.</p>\
<ul><li>one</li><li>two</li></ul><p>Another paragraph, so that there is something to read on this page.</p>\
</article></body></html>";

const HEADINGS_PAGE: &str = "<html><head><title>A page</title></head><body><article><h1>Heading</h1>\
<p>A paragraph, long enough to be content of this page.</p><h2>Section</h2><p>Another one.</p></article></body></html>";

const LISTS_PAGE: &str = "<html><head><title>Links</title></head><body><div class=\"sidebar\"><ul><li><a href=\"/a\">A</a></li>\
</ul></div><article><p>A paragraph, long enough to be the main text of this page, or so it seems.</p></article></body></html>";
