//! Clients on a Unix socket.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    time::{Instant, timeout},
};

use crate::{
    http::PATIENCE,
    test_gateway::{AT_ONCE, Hub, call, eventually, initialize, rpc, with_meta},
};

/// A hub on a socket, too.
struct Served {
    hub: Hub,
    dir: tempfile::TempDir,
}

impl Served {
    async fn start() -> Self {
        let (hub, dir) = (Hub::start().await, tempfile::tempdir().unwrap());
        let listener = UnixListener::bind(dir.path().join("hub.mcp")).unwrap();
        let (gateway, stop) = (hub.gateway.clone(), hub.stop.clone());
        hub.tasks.spawn(async move { gateway.serve_unix(&listener, stop.clone(), stop).await });
        Self { hub, dir }
    }

    async fn client(&self) -> Client {
        Client(BufReader::new(UnixStream::connect(self.dir.path().join("hub.mcp")).await.unwrap()))
    }

    async fn legacy(&self) -> Client {
        let mut client = self.client().await;
        assert_eq!(client.ask(initialize("2025-06-18")).await["result"]["protocolVersion"], "2025-06-18");
        client
    }
}

struct Client(BufReader<UnixStream>);

impl Client {
    async fn send(&mut self, message: &Value) {
        self.0.get_mut().write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// The next message; nothing at the end.
    async fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        timeout(PATIENCE, self.0.read_line(&mut line)).await.unwrap().unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    async fn ask(&mut self, message: Value) -> Value {
        self.send(&message).await;
        let answer = self.next().await.unwrap();
        assert_eq!(answer["id"], message["id"], "{answer}");
        answer
    }
}

#[tokio::test]
async fn legacy_and_modern_clients_are_served_side_by_side() {
    let served = Served::start().await;
    let (mut old, mut new) = (served.legacy().await, served.client().await);
    assert!(old.ask(call(1, "echo", json!({}))).await["result"].get("resultType").is_none());
    assert_eq!(new.ask(with_meta(call(1, "echo", json!({})))).await["result"]["resultType"], "complete");
    let text = "x".repeat(4 * 1024 * 1024);
    let long = old.ask(call(2, "echo", json!({"text": text}))).await;
    assert_eq!(long["result"]["content"][0]["text"].as_str().unwrap().len(), text.len() + 11);
    served.hub.server.add_tool("new", |_| Ok(json!(1)));
    assert_eq!(old.next().await.unwrap()["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn a_line_that_is_no_message_is_answered() {
    let served = Served::start().await;
    let mut client = served.legacy().await;
    client.0.get_mut().write_all(b"nonsense\n").await.unwrap();
    assert_eq!(client.next().await.unwrap()["error"]["code"], -32700);
    assert!(client.ask(rpc(1, "ping", json!({}))).await.get("result").is_some());
}

#[tokio::test]
async fn a_client_that_disconnects_cancels_its_calls() {
    let served = Served::start().await;
    let (mut leaving, mut staying) = (served.legacy().await, served.legacy().await);
    leaving.send(&call(1, "hang", json!({}))).await;
    eventually("the server has it", || served.hub.calls() == 1).await;
    drop(leaving);
    let since = Instant::now();
    eventually("it is told", || served.hub.server.count("notifications/cancelled") == 1).await;
    assert!(since.elapsed() < AT_ONCE, "{:?}", since.elapsed());
    assert!(staying.ask(rpc(1, "ping", json!({}))).await.get("result").is_some());
}

#[tokio::test]
async fn a_client_that_only_stops_sending_gets_its_answers() {
    let served = Served::start().await;
    let mut client = served.legacy().await;
    client.send(&call("last", "steps", json!({"ms": 50}))).await;
    client.0.get_mut().shutdown().await.unwrap();
    assert_eq!(client.next().await.unwrap()["id"], "last");
    assert_eq!(client.next().await, None);
    // Nor is one that then goes away for good waited for.
    let mut client = served.legacy().await;
    client.send(&call(1, "hang", json!({}))).await;
    eventually("the server has it", || served.hub.calls() == 2).await;
    client.0.get_mut().shutdown().await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(served.hub.server.count("notifications/cancelled"), 0);
    drop(client);
    let since = Instant::now();
    eventually("it is told", || served.hub.server.count("notifications/cancelled") == 1).await;
    assert!(since.elapsed() < AT_ONCE, "{:?}", since.elapsed());
}

#[tokio::test]
async fn a_client_that_does_not_read_keeps_neither_others_nor_the_end_waiting() {
    let served = Served::start().await;
    let stuck = served.legacy().await;
    let text = "x".repeat(64 * 1024);
    let message = call(1, "echo", json!({"text": text})).to_string().replace("\"id\":1", "\"id\":N");
    let (reader, mut writer) = stuck.0.into_inner().into_split();
    let flood = async move {
        for id in 0.. {
            let message = message.replace("\"id\":N", &format!("\"id\":{id}")) + "\n";
            if writer.write_all(message.as_bytes()).await.is_err() {
                return;
            }
        }
    };
    // Ends in a standstill: nobody reads, so nobody is read.
    let _ = timeout(Duration::from_millis(500), flood).await;
    let mut other = served.legacy().await;
    assert!(other.ask(call(1, "echo", json!({}))).await.get("result").is_some());
    served.hub.stop.cancel();
    assert_eq!(other.next().await, None);
    served.hub.tasks.close();
    timeout(PATIENCE, served.hub.tasks.wait()).await.unwrap();
    drop(reader);
}
