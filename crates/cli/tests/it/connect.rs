//! `connect`: a server at a URL for clients that only support stdio.

use std::path::Path;

use anyhow::Result;
use serde_json::json;
use toolbay_protocol::Revision;
use toolbay_testkit::harness::{Pipe, Profile, Programs, WebServer};

use crate::program::Home;

const TOOLBAY: &str = env!("CARGO_BIN_EXE_toolbay");

#[test]
fn a_client_on_pipes_uses_a_server_at_a_url_as_if_it_were_there() -> Result<()> {
    let programs = Programs::beside(Path::new(TOOLBAY))?;
    for server in [Revision::LATEST_LEGACY, Revision::LATEST] {
        let program = programs.path("toolbay-test-server");
        let web = WebServer::run(&program, &["--revision", server.as_str()], "--http")?;
        for client in [Revision::V2024_11_05, Revision::LATEST] {
            let pipe = Pipe::run(Path::new(TOOLBAY), &["connect", web.url()])?;
            let mut client = Profile::new(client, "Ada").over(pipe)?;
            // Listed at once, and under their own names.
            let tools = client.list("tools")?;
            assert!(tools.iter().any(|tool| tool["name"] == "echo"), "{tools:?}");
            assert_eq!(client.text("echo", json!({ "text": "hello" }))?, "hello");
        }
    }
    Ok(())
}

#[test]
fn typed_values_are_checked_and_secrets_not_shown() {
    let home = Home::new();
    let ran = home.run(&["connect", "ftp://example.org/"]).expect(2);
    assert!(ran.stderr.contains("`ftp`"), "{}", ran.stderr);
    let ran = home.run(&["connect", "http://127.0.0.1:1/", "--header", "s3cret"]).expect(2);
    assert!(!ran.stderr.contains("s3cret"), "{}", ran.stderr);
    let ran = home.run(&["connect", "http://127.0.0.1:1/", "--token-file", "none"]).expect(2);
    assert!(ran.stderr.contains("none"), "{}", ran.stderr);
    home.write("open", "s3cret\n");
    let ran = home.run(&["connect", "http://127.0.0.1:1/", "--token-file", "open"]).expect(2);
    assert!(ran.stderr.contains("chmod 600 open") && !ran.stderr.contains("s3cret"), "{}", ran.stderr);
}

#[test]
fn a_secret_in_a_file_is_sent() {
    let home = Home::new();
    home.write_secret("token", "s3cret\n");
    home.write_secret("headers", "Authorization: Bearer s3cret\n");
    for args in [["--token-file", "token"], ["--header", "@headers"]] {
        sends_the_token(&home, &args);
    }
}

fn sends_the_token(home: &Home, args: &[&str]) {
    use std::io::{BufRead, BufReader};
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let mut child = home.command(&[&["connect", &url], args].concat()).spawn().unwrap();
    let (stream, _) = listener.accept().unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let sent = lines.find(|line| line.to_ascii_lowercase().starts_with("authorization:"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        sent.as_deref().and_then(|line| line.split_once(": ")).map(|(_, value)| value),
        Some("Bearer s3cret")
    );
}
