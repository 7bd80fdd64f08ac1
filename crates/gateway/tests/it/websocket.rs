//! WebSocket, by hand.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::{Instant, sleep, timeout},
};
use toolbay_gateway::GatewayOptions;

use crate::{
    http::{Ask, PATIENCE},
    test_gateway::{AT_ONCE, Hub, call, eventually, initialize, rpc, with_meta},
};

const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// What a client sends to get a WebSocket; the key and its answer are those of RFC 6455.
pub(crate) fn upgrade() -> Ask {
    Ask::new("GET", "/ws")
        .header("connection", "keep-alive, Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("sec-websocket-protocol", "other, mcp")
}

struct Client(BufReader<TcpStream>);

impl Client {
    async fn open(hub: &Hub) -> Self {
        let answer = hub.send(upgrade()).await;
        assert_eq!(answer.status, 101);
        assert_eq!(answer.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        assert_eq!(answer.header("sec-websocket-protocol"), Some("mcp"));
        Self(answer.into_connection())
    }

    async fn legacy(hub: &Hub) -> Self {
        let mut client = Self::open(hub).await;
        assert_eq!(client.ask(initialize("2025-11-25")).await["result"]["protocolVersion"], "2025-11-25");
        client
    }

    async fn send_frame(&mut self, first: u8, payload: &[u8], masked: bool) -> std::io::Result<()> {
        let mask = if masked { 0x80 } else { 0 };
        let mut frame = vec![first];
        match payload.len() {
            length @ 0..126 => frame.push(mask | length as u8),
            length @ 126..65536 => {
                frame.push(mask | 126);
                frame.extend_from_slice(&(length as u16).to_be_bytes());
            }
            length => {
                frame.push(mask | 127);
                frame.extend_from_slice(&(length as u64).to_be_bytes());
            }
        }
        if masked {
            let key = [1, 2, 3, 4];
            frame.extend_from_slice(&key);
            frame.extend(payload.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key));
        } else {
            frame.extend_from_slice(payload);
        }
        self.0.get_mut().write_all(&frame).await
    }

    async fn send(&mut self, message: &Value) {
        self.send_frame(0x80 | TEXT, message.to_string().as_bytes(), true).await.unwrap();
    }

    /// The next frame, or all frames of a message; nothing when the connection has ended.
    async fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
        let (mut kind, mut payload) = timeout(PATIENCE, self.raw_frame()).await.unwrap()?;
        while kind & 0x80 == 0 {
            let (next, part) = timeout(PATIENCE, self.raw_frame()).await.unwrap()?;
            if next & 0x0f == PING {
                continue;
            }
            assert_eq!(next & 0x0f, 0, "the same message goes on");
            kind |= next & 0x80;
            payload.extend(part);
        }
        Some((kind & 0x0f, payload))
    }

    async fn raw_frame(&mut self) -> Option<(u8, Vec<u8>)> {
        let first = self.0.read_u8().await.ok()?;
        let length = match self.0.read_u8().await.ok()? {
            126 => usize::from(self.0.read_u16().await.ok()?),
            127 => self.0.read_u64().await.ok()? as usize,
            length => usize::from(length),
        };
        let mut payload = vec![0; length];
        self.0.read_exact(&mut payload).await.ok()?;
        Some((first, payload))
    }

    async fn next(&mut self) -> Value {
        loop {
            match self.frame().await.unwrap() {
                (TEXT, payload) => return serde_json::from_slice(&payload).unwrap(),
                (PING, _) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    async fn ask(&mut self, message: Value) -> Value {
        self.send(&message).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], message["id"], "{answer}");
        answer
    }

    /// The code with which the hub closes.
    async fn closed(&mut self) -> u16 {
        loop {
            match self.frame().await {
                Some((CLOSE, payload)) => return u16::from_be_bytes([payload[0], payload[1]]),
                Some(_) => {}
                None => panic!("it ended without a close frame"),
            }
        }
    }
}

#[tokio::test]
async fn legacy_and_modern_clients_are_served() {
    let hub = Hub::start().await;
    let (mut old, mut new) = (Client::legacy(&hub).await, Client::open(&hub).await);
    assert!(old.ask(call(1, "echo", json!({}))).await["result"].get("resultType").is_none());
    assert_eq!(new.ask(with_meta(call(1, "echo", json!({})))).await["result"]["resultType"], "complete");
    let mut message = call(2, "steps", json!({}));
    message["params"]["_meta"]["progressToken"] = json!("mine");
    old.send(&message).await;
    for step in 1..=3 {
        assert_eq!(old.next().await["params"]["progress"], step);
    }
    assert_eq!(old.next().await["id"], 2);
    let text = "x".repeat(2 * 1024 * 1024);
    let long = old.ask(call(3, "echo", json!({"text": text}))).await;
    assert_eq!(long["result"]["content"][0]["text"].as_str().unwrap().len(), text.len() + 11);
    hub.server.add_tool("new", |_| Ok(json!(1)));
    assert_eq!(old.next().await["method"], "notifications/tools/list_changed");
    old.send_frame(0x80 | PING, b"there?", true).await.unwrap();
    assert_eq!(old.frame().await.unwrap(), (PONG, b"there?".to_vec()));
}

#[tokio::test]
async fn requests_without_an_upgrade_get_no_web_socket() {
    let hub = Hub::start().await;
    for ask in [
        upgrade().without("upgrade"),
        upgrade().header("upgrade", "h2c"),
        upgrade().header("connection", "keep-alive"),
        upgrade().header("sec-websocket-version", "8"),
        Ask::new("GET", "/ws"),
    ] {
        let answer = hub.send(ask.clone()).await;
        assert_eq!((answer.status, answer.header("upgrade")), (426, Some("websocket")), "{ask:?}");
    }
    for key in ["", "short", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZSBhbmQgbW9yZQ=="] {
        assert_eq!(hub.send(upgrade().header("sec-websocket-key", key)).await.status, 400, "{key}");
    }
    // Someone who speaks something else there means someone else.
    assert_eq!(hub.send(upgrade().without("sec-websocket-protocol")).await.status, 400);
    assert_eq!(hub.send(upgrade().header("sec-websocket-protocol", "graphql-ws")).await.status, 400);
    assert_eq!(hub.send(Ask::post(&rpc(1, "ping", json!({}))).to("/ws")).await.status, 405);
}

#[tokio::test]
async fn a_client_that_disconnects_cancels_its_calls() {
    let hub = Hub::start().await;
    let (mut leaving, mut staying) = (Client::legacy(&hub).await, Client::legacy(&hub).await);
    leaving.send(&call(1, "hang", json!({}))).await;
    eventually("the server has it", || hub.calls() == 1).await;
    drop(leaving);
    let since = Instant::now();
    eventually("it is told", || hub.server.count("notifications/cancelled") == 1).await;
    assert!(since.elapsed() < AT_ONCE, "{:?}", since.elapsed());
    assert!(staying.ask(rpc(1, "ping", json!({}))).await.get("result").is_some());
}

#[tokio::test]
async fn the_number_of_clients_is_limited() {
    let hub = Hub::with(GatewayOptions { max_sessions: 1, ..Default::default() }).await;
    let first = Client::open(&hub).await;
    assert_eq!(hub.send(upgrade()).await.status, 429);
    drop(first);
    let again = async {
        while hub.send(upgrade()).await.status != 101 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, again).await.unwrap();
}

/// S21
#[tokio::test]
async fn invalid_frames_end_the_connection() {
    let mut options = GatewayOptions::default();
    options.limits.max_body = 100_000;
    let hub = Hub::with(options).await;
    let mut unmasked = Client::legacy(&hub).await;
    let ping = rpc(1, "ping", json!({})).to_string();
    unmasked.send_frame(0x80 | TEXT, ping.as_bytes(), false).await.unwrap();
    assert_eq!(unmasked.closed().await, 1002);
    let mut long = Client::legacy(&hub).await;
    for part in 0..20 {
        let first = if part == 0 { TEXT } else { 0 };
        if long.send_frame(first, &[b' '; 10_000], true).await.is_err() {
            break;
        }
    }
    assert_eq!(long.closed().await, 1009);
    let mut nonsense = Client::legacy(&hub).await;
    nonsense.send_frame(0x80 | TEXT, b"nonsense", true).await.unwrap();
    assert_eq!(nonsense.next().await["error"]["code"], -32700);
}

/// The limits of HTTP are not those of what comes after it.
#[tokio::test]
async fn a_quiet_client_is_kept() {
    let mut options = GatewayOptions::default();
    options.limits.header_timeout = Duration::from_millis(100);
    options.limits.idle = Duration::from_millis(100);
    let hub = Hub::with(options).await;
    let mut client = Client::legacy(&hub).await;
    for id in 0..3 {
        sleep(Duration::from_millis(300)).await;
        assert!(client.ask(rpc(id, "ping", json!({}))).await.get("result").is_some());
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_is_dropped_and_others_go_on() {
    let mut options = GatewayOptions::default();
    options.limits.standstill = Duration::from_millis(300);
    let hub = Hub::with(options).await;
    let (mut stuck, mut other) = (Client::legacy(&hub).await, Client::legacy(&hub).await);
    let text = "x".repeat(512 * 1024);
    let flood = async {
        for id in 0.. {
            let message = call(id, "echo", json!({"text": text})).to_string();
            if stuck.send_frame(0x80 | TEXT, message.as_bytes(), true).await.is_err() {
                return;
            }
        }
    };
    let others = async {
        for id in 0.. {
            assert!(other.ask(call(id, "echo", json!({}))).await.get("result").is_some());
        }
    };
    tokio::select! {
        () = flood => {}
        () = others => {}
        () = sleep(PATIENCE) => panic!("the client was never dropped"),
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_does_not_delay_the_end() {
    let hub = Hub::start().await;
    let mut stuck = Client::legacy(&hub).await;
    let text = "x".repeat(512 * 1024);
    let flood = async {
        for id in 0.. {
            let message = call(id, "echo", json!({"text": text})).to_string();
            if stuck.send_frame(0x80 | TEXT, message.as_bytes(), true).await.is_err() {
                return;
            }
        }
    };
    let _ = timeout(Duration::from_secs(2), flood).await; // ends in a standstill
    hub.stop.cancel();
    hub.host.stop(PATIENCE).await;
    assert!(hub.host.tasks().is_empty(), "somebody still waits for the client");
}

#[tokio::test]
async fn the_end_of_the_hub_closes_the_connection() {
    let hub = Hub::start().await;
    let mut client = Client::legacy(&hub).await;
    hub.stop.cancel();
    assert_eq!(client.closed().await, 1000);
    hub.tasks.close();
    timeout(PATIENCE, hub.tasks.wait()).await.unwrap();
}
