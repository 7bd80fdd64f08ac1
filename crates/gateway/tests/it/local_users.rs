//! Connections of other users of this machine.
//!
//! As root, another user is a real one. Others cannot become somebody else; for them the hub is somebody else's.
#![expect(clippy::disallowed_methods, reason = "the test needs processes of another user")]

use std::{process::Command, sync::Arc};

use rustix::process::geteuid;
use serde_json::json;
use toolbay_access::OwnerToken;
use toolbay_gateway::{GatewayOptions, LocalUsers};

use crate::test_gateway::{Hub, call};

const NOBODY: [&str; 6] = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];

/// A hub of a user who is not the one whom [`stranger`] runs programs as.
async fn hub(options: GatewayOptions) -> Hub {
    let us = geteuid().as_raw();
    let owner = if us == 0 { us } else { us + 1 };
    Hub::with(GatewayOptions { local_users: LocalUsers::Only(owner), ..options }).await
}

/// Runs a program as another user than the one of the hub, and gives what it prints.
async fn stranger(program: Vec<String>) -> String {
    tokio::task::spawn_blocking(move || {
        let mut line: Vec<String> = Vec::new();
        if geteuid().is_root() {
            line.extend(NOBODY.map(str::to_owned));
        }
        line.extend(program);
        let output = Command::new(&line[0]).args(&line[1..]).output().unwrap();
        assert!(output.status.success(), "{line:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    })
    .await
    .unwrap()
}

/// The status and body of what a stranger gets.
async fn curl(hub: &Hub, path: &str, more: &[&str]) -> (String, String) {
    let url = format!("http://{}{path}", hub.address);
    let line = ["curl", "-s", "-m", "20", "-w", "\n%{http_code}", &url];
    let line = line.iter().chain(more).map(|&word| word.to_owned()).collect();
    let printed = stranger(line).await;
    let (body, status) = printed.rsplit_once('\n').unwrap();
    (status.to_owned(), body.to_owned())
}

fn post() -> [String; 4] {
    let body = call(1, "echo", json!({})).to_string();
    ["-H".to_owned(), "content-type: application/json".to_owned(), "-d".to_owned(), body]
}

#[tokio::test]
async fn other_users_are_refused_everywhere() {
    let hub = hub(GatewayOptions::default()).await;
    let post = post();
    let post: Vec<&str> = post.iter().map(String::as_str).collect();
    let upgrade = [
        ["-H", "connection: Upgrade"],
        ["-H", "upgrade: websocket"],
        ["-H", "sec-websocket-version: 13"],
        ["-H", "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=="],
        ["-H", "sec-websocket-protocol: mcp"],
    ]
    .concat();
    for (path, more) in [
        ("/mcp", post.clone()),
        ("/", post.clone()),
        ("/messages?sessionId=00000000000000000000000000000000", post),
        ("/sse", vec![]),
        ("/ws", upgrade),
        ("/mcp", vec!["-X", "DELETE"]),
        ("/health", vec![]),
    ] {
        let (status, body) = curl(&hub, path, &more).await;
        assert_eq!(status, "403", "{path}: {body}");
        assert!(body.contains("another user") && body.contains("--token-file"), "{body}");
    }
    assert_eq!(hub.calls(), 0);
}

/// The kernel says that the sockets of processes that are gone are root's.
#[tokio::test]
async fn nor_are_those_who_send_and_leave_at_once() {
    let hub = hub(GatewayOptions::default()).await;
    let body = call(1, "echo", json!({})).to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\nContent-Length: {}\\r\\n\\r\\n{body}",
        body.len()
    );
    let script = format!(
        "for _ in {{1..200}}; do exec 3<>/dev/tcp/127.0.0.1/{}; printf '{request}' >&3; exec 3>&-; done",
        hub.port()
    );
    stranger(vec!["bash".to_owned(), "-c".to_owned(), script]).await;
    let (status, _) = curl(&hub, "/health", &[]).await; // comes after all of them
    assert_eq!(status, "403");
    assert_eq!(hub.calls(), 0);
}

#[tokio::test]
async fn other_users_are_served_with_the_token_and_where_they_are_allowed() {
    let token = OwnerToken::new("0123456789abcdef").unwrap();
    let with_token =
        hub(GatewayOptions { authenticators: vec![Arc::new(token)], ..Default::default() }).await;
    let post = post();
    let mut post: Vec<&str> = post.iter().map(String::as_str).collect();
    assert_eq!(curl(&with_token, "/mcp", &post).await.0, "401");
    let allowed = Hub::with(GatewayOptions { local_users: LocalUsers::Anyone, ..Default::default() }).await;
    assert_eq!(curl(&allowed, "/mcp", &post).await.0, "200");
    post.extend(["-H", "authorization: Bearer 0123456789abcdef"]);
    assert_eq!(curl(&with_token, "/mcp", &post).await.0, "200");
}
