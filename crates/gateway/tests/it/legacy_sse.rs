//! HTTP+SSE of 2024-11-05.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use toolbay_gateway::GatewayOptions;

use crate::{
    http::{Answer, Ask, PATIENCE},
    test_gateway::{AT_ONCE, Hub, call, eventually, initialize, rpc, with_meta},
};

/// A client with an open stream.
struct Client {
    address: String,
    stream: Answer,
    endpoint: String,
}

impl Client {
    async fn open(hub: &Hub) -> Self {
        let mut stream = hub.send(Ask::new("GET", "/sse")).await;
        assert_eq!((stream.status, stream.is_stream()), (200, true));
        let first = stream.raw_event().await.unwrap();
        let endpoint = first.strip_prefix("event: endpoint\ndata: ").unwrap().trim_end().to_owned();
        Self { address: hub.address.clone(), stream, endpoint }
    }

    /// One that shook hands.
    async fn legacy(hub: &Hub, revision: &str) -> Self {
        let mut this = Self::open(hub).await;
        assert_eq!(this.ask(initialize(revision)).await["result"]["protocolVersion"], revision);
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(this.post(&initialized).await.status, 202);
        this
    }

    async fn post(&self, message: &Value) -> Answer {
        Ask::post(message).to(&self.endpoint).send(&self.address).await
    }

    async fn send(&self, message: &Value) {
        assert_eq!(self.post(message).await.status, 202);
    }

    async fn next(&mut self) -> Value {
        self.stream.event().await.unwrap()
    }

    async fn ask(&mut self, message: Value) -> Value {
        self.send(&message).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], message["id"], "{answer}");
        answer
    }
}

#[tokio::test]
async fn clients_of_every_revision_are_served() {
    let hub = Hub::start().await;
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Client::legacy(&hub, revision).await;
        let answer = client.ask(call(1, "echo", json!({"n": 1}))).await;
        assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("\"n\""), "{answer}");
    }
    let mut client = Client::open(&hub).await;
    let answer = client.ask(with_meta(call(1, "echo", json!({})))).await;
    assert_eq!(answer["result"]["resultType"], "complete");
}

#[tokio::test]
async fn progress_and_changes_come_as_events() {
    let hub = Hub::start().await;
    let mut client = Client::legacy(&hub, "2024-11-05").await;
    let mut message = call(1, "steps", json!({}));
    message["params"]["_meta"]["progressToken"] = json!("mine");
    client.send(&message).await;
    for step in 1..=3 {
        assert_eq!(client.next().await["params"]["progress"], step);
    }
    assert_eq!(client.next().await["id"], 1);
    client.ask(rpc(2, "tools/list", json!({}))).await;
    hub.server.add_tool("new", |_| Ok(json!(1)));
    assert_eq!(client.next().await["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn a_long_answer_arrives_whole_and_as_one_event() {
    let hub = Hub::start().await;
    let mut client = Client::legacy(&hub, "2024-11-05").await;
    let text = "x".repeat(2 * 1024 * 1024);
    let answer = client.ask(call(1, "echo", json!({"text": text}))).await;
    assert_eq!(answer["result"]["content"][0]["text"].as_str().unwrap().len(), text.len() + 11);
    assert!(client.ask(rpc(2, "ping", json!({}))).await.get("result").is_some());
}

#[tokio::test]
async fn what_is_no_message_of_a_known_client_is_refused() {
    let hub = Hub::start().await;
    let client = Client::open(&hub).await;
    let ping = rpc(1, "ping", json!({}));
    for endpoint in [
        "/messages",
        "/messages?sessionId=",
        "/messages?sessionId=00000000000000000000000000000000",
        "/messages?sessionid=x&x=y",
        &client.endpoint.to_uppercase().replace("/MESSAGES?SESSIONID", "/messages?sessionId"),
    ] {
        let ask = Ask::post(&ping).to(endpoint);
        let known = endpoint == client.endpoint;
        assert_eq!(hub.send(ask).await.status, if known { 202 } else { 404 }, "{endpoint}");
    }
    for (text, code) in [("{", -32700), ("{}", -32600), ("[]", -32600)] {
        let answer = hub.send(Ask::post_text(text).to(&client.endpoint)).await;
        assert_eq!(answer.refusal().await, (400, code), "{text}");
    }
    let form = Ask::post(&ping).to(&client.endpoint).header("content-type", "text/plain");
    assert_eq!(hub.send(form).await.status, 415);
    let long = Ask::new("POST", &client.endpoint)
        .header("content-type", "application/json")
        .header("content-length", &(64 * 1024 * 1024).to_string());
    assert_eq!(hub.send(long).await.status, 413);
    assert_eq!(hub.send(Ask::new("GET", &client.endpoint)).await.status, 405);
    assert_eq!(hub.send(Ask::post(&ping).to("/sse")).await.status, 405);
    assert_eq!(hub.send(Ask::new("GET", "/sse").header("accept", "text/html")).await.status, 406);
}

#[tokio::test]
async fn a_client_that_leaves_its_stream_cancels_its_calls_and_is_forgotten() {
    let hub = Hub::start().await;
    let (leaving, mut staying) =
        (Client::legacy(&hub, "2024-11-05").await, Client::legacy(&hub, "2024-11-05").await);
    leaving.send(&call(1, "hang", json!({}))).await;
    eventually("the server has it", || hub.calls() == 1).await;
    let Client { stream, endpoint, .. } = leaving;
    drop(stream);
    let since = Instant::now();
    eventually("it is told", || hub.server.count("notifications/cancelled") == 1).await;
    assert!(since.elapsed() < AT_ONCE, "{:?}", since.elapsed());
    let ping = rpc(1, "ping", json!({}));
    assert_eq!(hub.send(Ask::post(&ping).to(&endpoint)).await.status, 404);
    assert!(staying.ask(ping).await.get("result").is_some());
}

#[tokio::test]
async fn the_number_of_streams_is_limited() {
    let hub = Hub::with(GatewayOptions { max_sessions: 2, ..Default::default() }).await;
    let (first, _second) = (Client::open(&hub).await, Client::open(&hub).await);
    let refused = hub.send(Ask::new("GET", "/sse")).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("30")));
    drop(first);
    let again = async {
        while hub.send(Ask::new("GET", "/sse")).await.status != 200 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, again).await.unwrap();
}

/// F22: what waits for a client that does not read is bounded, and others are not disturbed.
#[tokio::test]
async fn a_client_that_does_not_read_is_dropped_and_others_go_on() {
    let mut options = GatewayOptions { max_unread: 256 * 1024, ..Default::default() };
    options.limits.standstill = Duration::from_millis(300);
    let hub = Hub::with(options).await;
    let mut reading = Client::legacy(&hub, "2025-11-25").await;
    let stuck = Client::legacy(&hub, "2025-11-25").await;
    let text = "x".repeat(512 * 1024);
    let flood = async {
        for id in 0.. {
            match stuck.post(&call(id, "echo", json!({"text": text}))).await.status {
                202 => {}
                404 => return, // it is gone
                other => panic!("{other}"),
            }
        }
    };
    let others = async {
        let ask = call("other", "echo", json!({}));
        loop {
            assert!(reading.ask(ask.clone()).await.get("result").is_some());
        }
    };
    tokio::select! {
        () = flood => {}
        () = others => {}
        () = tokio::time::sleep(PATIENCE) => panic!("the client was never dropped"),
    }
    // The connection is closed as well: after what was on its way there is an end.
    let mut stuck = stuck.stream;
    let rest = async { while stuck.raw_event().await.is_some() {} };
    timeout(PATIENCE, rest).await.unwrap();
    reading.send(&rpc("last", "ping", json!({}))).await;
    while reading.next().await["id"] != "last" {} // an answer from before may still be on its way
}

#[tokio::test]
async fn a_slow_client_that_reads_misses_nothing() {
    let options = GatewayOptions { max_unread: 64 * 1024, ..Default::default() };
    let hub = Hub::with(options).await;
    let mut client = Client::legacy(&hub, "2025-11-25").await;
    let text = "x".repeat(64 * 1024);
    for id in 0..64 {
        client.send(&call(id, "echo", json!({"text": text}))).await;
    }
    let mut seen: Vec<i64> = Vec::new();
    for _ in 0..64 {
        seen.push(client.next().await["id"].as_i64().unwrap());
    }
    seen.sort();
    assert_eq!(seen, (0..64).collect::<Vec<i64>>());
}

#[tokio::test(start_paused = true)]
async fn a_quiet_stream_sends_keep_alives() {
    let hub = Hub::start().await;
    let mut client = Client::open(&hub).await;
    let since = Instant::now();
    assert_eq!(client.stream.raw_event().await.unwrap(), ":\n\n");
    assert_eq!(since.elapsed().as_secs(), 15);
}

#[tokio::test]
async fn streams_end_when_the_hub_does() {
    let hub = Hub::start().await;
    let mut client = Client::legacy(&hub, "2024-11-05").await;
    hub.stop.cancel();
    assert_eq!(client.stream.event().await, None);
    hub.tasks.close();
    timeout(PATIENCE, hub.tasks.wait()).await.unwrap();
}
