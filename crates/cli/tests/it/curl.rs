//! Plain HTTP requests with `curl`.

use std::process::Command;

use serde_json::Value;

use crate::program::Home;

#[expect(clippy::disallowed_methods, reason = "a client that everybody has")]
fn curl(args: &[&str]) -> String {
    let ran = Command::new("curl").args(["--silent", "--show-error", "--max-time", "60"]).args(args).output();
    let ran = ran.expect("curl is installed, by `cargo xtask test` if need be");
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn a_plain_post_gets_a_response() {
    let home = Home::with_server();
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("small ready");
    let url = hub.url.clone();
    let post = |body: &str| -> Value {
        let text = curl(&["-H", "Content-Type: application/json", "-d", body, &url]);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let listed = post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert_eq!(
        (&listed["id"], &listed["result"]["tools"][0]["name"]),
        (&1.into(), &"small__echo".into()),
        "{listed}"
    );
    let call = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"small__echo","arguments":{"text":"hi"}}}"#;
    let answer = post(call);
    assert_eq!(answer["id"], "a");
    assert!(answer["result"]["content"].is_array(), "{answer}");
    // A modern request, as the specification shows it.
    let modern = curl(&[
        "-H",
        "Content-Type: application/json",
        "-H",
        "Accept: application/json, text/event-stream",
        "-H",
        "MCP-Protocol-Version: 2026-07-28",
        "-H",
        "Mcp-Method: tools/list",
        "-d",
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"curl","version":"8"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#,
        &url,
    ]);
    assert!(modern.contains("small__echo"), "{modern}");
    let health: Value = serde_json::from_str(&curl(&[&url.replace("/mcp", "/health")])).unwrap();
    assert_eq!(health["status"], "ok");
    assert_eq!(hub.stop(), Some(0));
}
