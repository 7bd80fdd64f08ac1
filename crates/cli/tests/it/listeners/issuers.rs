//! `[auth]`: people log in with an identity provider.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio_util::task::TaskTracker;
use toolbay_testkit::{HttpScript, RecordedRequest, Responder, TestIssuer};

use crate::program::{Home, Serving};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const CALL: &str =
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"remote__echo","arguments":{}}}"#;

/// A server of 2025-11-25 with one tool.
async fn server(asked: RecordedRequest, responder: Responder) {
    let result = match asked.rpc() {
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "remote", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "done"}]}),
        "ping" => json!({}),
        method if method.starts_with("notifications/") => {
            return responder.respond("202 Accepted", &[], "").await;
        }
        "" => return responder.respond("405 Method Not Allowed", &[], "").await,
        _ => return responder.respond("400 Bad Request", &[], "").await,
    };
    responder.result(&asked, result).await;
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Sends a request until the answer contains `text`: servers take a while to start.
fn until(hub: &Serving, token: &str, body: &str, text: &str) {
    let began = Instant::now();
    loop {
        let answer = hub.ask_with("POST /mcp", &bearer(token), body);
        assert_eq!(status(&answer), 200, "{answer}");
        if answer.contains(text) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{answer}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_are_served_with_tokens_of_the_issuer_which_go_nowhere_else() {
    let tasks = TaskTracker::new();
    let issuer = TestIssuer::start(&tasks).await.unwrap();
    let upstream = HttpScript::start(&tasks, server).await.unwrap();
    let home = Home::new();
    let file = format!(
        "[auth]\nissuer = '{}'\nrequired_scopes = ['mcp']\n[servers.remote]\nurl = '{}'\n",
        issuer.url(),
        upstream.url
    );
    home.write("hub.toml", &file);
    let mut hub = home.serve(&["--config", "hub.toml", "-vv"]);
    let endpoint = format!("{}/mcp", hub.url.trim_end_matches("/mcp"));

    let refused = hub.post(LIST);
    let metadata = endpoint.replace("/mcp", "/.well-known/oauth-protected-resource/mcp");
    assert_eq!(status(&refused), 401);
    let challenge = format!("www-authenticate: Bearer resource_metadata=\"{metadata}\", scope=\"mcp\"\r\n");
    assert!(refused.contains(&challenge), "{refused}");
    let document = hub.get("/.well-known/oauth-protected-resource/mcp");
    assert!(document.contains(&format!("\"resource\":\"{endpoint}\"")), "{document}");
    assert!(document.contains(issuer.url()), "{document}");

    let token = issuer.token("alice", &endpoint);
    until(&hub, &token, LIST, "remote__echo");
    until(&hub, &token, CALL, "done");
    // By another name of this machine, too, but not for another hub.
    let by_name = issuer.token("alice", &endpoint.replace("127.0.0.1", "localhost"));
    assert_eq!(status(&hub.ask_with("POST /mcp", &bearer(&by_name), LIST)), 200);
    let foreign = issuer.token("alice", "http://127.0.0.1:1/mcp");
    assert_eq!(status(&hub.ask_with("POST /mcp", &bearer(&foreign), LIST)), 401);

    let received = upstream.requests();
    assert!(received.iter().any(|request| request.rpc() == "tools/call"));
    let signature = token.rsplit('.').next().unwrap();
    for request in &received {
        let text = format!("{request:?}");
        assert!(!text.contains(signature) && !request.headers.contains_key("authorization"), "{text}");
    }
    assert_eq!(hub.stop(), Some(0));
    assert!(!hub.said.contains(signature), "{}", hub.said);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opaque_tokens_are_introspected_with_a_stored_secret() {
    let issuer = TestIssuer::start(&TaskTracker::new()).await.unwrap();
    // `hub:s3cret-value`
    issuer.require_authorization("Basic aHViOnMzY3JldC12YWx1ZQ==");
    issuer.introspects("opaque-token", Some(issuer.claims("alice", "our hub")));
    let home = Home::new();
    home.write(
        "hub.toml",
        &format!(
            "[auth]\nissuer = '{}'\naudience = 'our hub'\n\
             introspection = {{ client_id = 'hub', client_secret = '${{secret:idp}}' }}\n",
            issuer.url()
        ),
    );
    let missing = home.run(&["serve", "--listen", "127.0.0.1:0", "--config", "hub.toml"]);
    assert!(missing.code != Some(0) && missing.stderr.contains("idp"), "{missing:#?}");
    home.run_with_input(&["secret", "set", "idp"], "s3cret-value").expect(0);
    let mut hub = home.serve(&["--config", "hub.toml", "-vv"]);
    assert_eq!(status(&hub.ask_with("POST /mcp", &bearer("opaque-token"), LIST)), 200);
    assert_eq!(status(&hub.ask_with("POST /mcp", &bearer("another-token"), LIST)), 401);
    assert_eq!(hub.stop(), Some(0));
    assert!(!hub.said.contains("s3cret-value") && !hub.said.contains("opaque-token"), "{}", hub.said);
}

#[test]
fn a_hub_never_runs_open_because_of_a_mistake() {
    let home = Home::new();
    home.write("hub.toml", "[auth]\nisuer = 'https://login.example.com'\n");
    let ran = home.run(&["serve", "--listen", "127.0.0.1:0", "--config", "hub.toml"]).expect(2);
    assert!(ran.stderr.contains("did you mean `issuer`") && ran.stderr.contains("would be open"), "{ran:#?}");
    home.write("hub.toml", "[auth]\nissuer = 'https://login.example.com'\n");
    let ran = home.run(&["serve", "--listen", "0.0.0.0:0", "--config", "hub.toml"]).expect(2);
    assert!(ran.stderr.contains("--public-url"), "{ran:#?}");
    for bad in ["hub.example.com", "http://hub.example.com", "https://hub.example.com?x"] {
        let ran = home.run(&["serve", "--listen", "0.0.0.0:0", "--public-url", bad]).expect(2);
        assert!(ran.stderr.contains("--public-url"), "{ran:#?}");
    }
}

#[test]
fn the_public_url_is_the_name_of_the_hub() {
    let home = Home::new();
    home.write("hub.toml", "[auth]\nissuer = 'http://127.0.0.1:1'\n");
    let arguments = ["--config", "hub.toml", "--public-url", "https://hub.example.com/tools"];
    let mut hub = home.serve(&[&arguments[..], &["--public-name", "old.example.com"]].concat());
    let answer = hub.get("/mcp");
    let metadata = "https://hub.example.com/.well-known/oauth-protected-resource/tools/mcp";
    assert!(answer.contains(&format!("resource_metadata=\"{metadata}\"")), "{answer}");
    let document = hub.get("/.well-known/oauth-protected-resource/tools/mcp");
    assert!(document.contains("\"resource\":\"https://hub.example.com/tools/mcp\""), "{document}");
    assert_eq!(hub.stop(), Some(0));
    assert!(hub.said.contains("replaced by `--public-url`"), "{}", hub.said);
}

/// Whoever uses a server with the owner's credentials acts as the owner.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_with_credentials_are_the_owners_unless_they_may_be_shared() {
    let issuer = TestIssuer::start(&TaskTracker::new()).await.unwrap();
    let home = Home::new();
    let entry = "command = 'python3'\nargs = ['server.py']\n";
    home.write(
        "hub.toml",
        &format!(
            "[auth]\nissuer = '{}'\n[servers.plain]\n{entry}\
             [servers.mine]\n{entry}env = {{ API_TOKEN = 'hunter2hunter2' }}\n\
             [servers.ours]\n{entry}env = {{ API_TOKEN = 'hunter2hunter2' }}\nallow_shared = true\n",
            issuer.url()
        ),
    );
    let mut hub = home.serve(&["--config", "hub.toml"]);
    let token = issuer.token("alice", &format!("{}/mcp", hub.url.trim_end_matches("/mcp")));
    until(&hub, &token, LIST, "plain__echo");
    until(&hub, &token, LIST, "ours__echo");
    let list = hub.ask_with("POST /mcp", &bearer(&token), LIST);
    assert!(!list.contains("mine__"), "{list}");
    let status = home.run(&["status", "--config", "hub.toml", "--wait"]).expect(0);
    let shown = format!("{}{}", status.stdout, status.stderr);
    let about =
        |server: &str| shown.lines().find(|line| line.contains(server) && line.contains("shared identity"));
    assert!(about("mine").is_some_and(|line| line.contains("allow_shared = true")), "{shown}");
    assert!(about("ours").is_some() && about("plain").is_none() && !shown.contains("hunter2"), "{shown}");
    assert_eq!(hub.stop(), Some(0));
}
