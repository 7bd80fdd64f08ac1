//! Clients that take their time.

use std::time::Duration;

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::{Instant, sleep, timeout},
};
use toolbay_gateway::GatewayOptions;

use crate::{
    http::{Answer, Ask, PATIENCE},
    test_gateway::{Hub, call},
};

async fn hub(head: u64, rest: u64) -> Hub {
    let mut options = GatewayOptions::default();
    options.limits.header_timeout = Duration::from_millis(head);
    options.limits.idle = Duration::from_millis(rest);
    Hub::with(options).await
}

/// How long it takes until the hub closes the connection.
async fn closed_after(stream: &mut TcpStream) -> Duration {
    let since = Instant::now();
    let mut rest = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut rest)).await.unwrap(); // an end or a reset
    since.elapsed()
}

/// F21: heads that come byte by byte are cut, and nobody else notices.
#[tokio::test]
async fn a_head_that_does_not_end_is_cut_while_others_are_served() {
    let hub = hub(300, 60_000).await;
    let mut slow = Vec::new();
    for _ in 0..50 {
        let address = hub.address.clone();
        slow.push(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let since = Instant::now();
            for byte in b"POST /mcp HTTP/1.1\r\nX-Slow: ".iter().chain(std::iter::repeat(&b'x')) {
                // Whoever is cut sees it with the second write at the latest.
                if stream.write_all(&[*byte]).await.is_err() || since.elapsed() > PATIENCE {
                    break;
                }
                sleep(Duration::from_millis(20)).await;
            }
            since.elapsed()
        });
    }
    let others = async {
        for id in 0..20 {
            assert_eq!(hub.send(Ask::post(&call(id, "echo", json!({})))).await.status, 200);
        }
    };
    let (cut, ()) = tokio::join!(futures_util::future::join_all(slow), others);
    for after in cut {
        assert!(after > Duration::from_millis(250) && after < PATIENCE, "{after:?}");
    }
}

#[tokio::test]
async fn a_client_may_rest_longer_than_its_head_may_take() {
    let hub = hub(100, 5000).await;
    let ask = Ask::post(&call(1, "echo", json!({})));
    let mut stream = ask.open(&hub.address).await;
    for _ in 0..3 {
        let answer = Answer::read(stream).await;
        assert_eq!(answer.status, 200);
        stream = answer.into_stream().await;
        sleep(Duration::from_millis(300)).await;
        ask.send_on(&mut stream).await;
    }
    assert_eq!(Answer::read(stream).await.status, 200);
}

#[tokio::test]
async fn who_rests_for_too_long_is_let_go() {
    let hub = hub(10_000, 200).await;
    let answer = hub.send(Ask::post(&call(1, "echo", json!({})))).await;
    let mut stream = answer.into_stream().await.into_inner();
    assert!(closed_after(&mut stream).await < Duration::from_secs(9));
}

#[tokio::test]
async fn a_client_that_sends_nothing_is_disconnected() {
    let hub = hub(200, 60_000).await;
    for said in ["", "P", "PRI * HTTP/2.0\r\n"] {
        let mut stream = TcpStream::connect(&hub.address).await.unwrap();
        stream.write_all(said.as_bytes()).await.unwrap();
        assert!(closed_after(&mut stream).await >= Duration::from_millis(150), "{said}");
    }
}

/// Waiting for an answer is no rest, and neither is a stream.
#[tokio::test]
async fn a_client_that_waits_for_a_response_is_not_idle() {
    let hub = hub(50, 100).await;
    let slow = call(1, "steps", json!({"steps": 4, "ms": 150}));
    let answer = hub.send(Ask::post(&slow).header("accept", "application/json")).await;
    assert_eq!(answer.json().await["id"], 1);
    let session = hub.session("2025-11-25").await;
    let mut stream = hub.send(Ask::new("GET", "/mcp").header("mcp-session-id", &session)).await;
    stream.raw_event().await.unwrap();
    sleep(Duration::from_millis(600)).await;
    hub.server.add_tool("new", |_| Ok(json!(1)));
    assert_eq!(stream.event().await.unwrap()["method"], "notifications/tools/list_changed");
}

/// A body that comes after its head is not the head of the next request.
#[tokio::test]
async fn a_late_body_is_no_late_head() {
    let hub = hub(100, 5000).await;
    let body = call(1, "echo", json!({})).to_string();
    let head = Ask::new("POST", "/mcp")
        .header("content-type", "application/json")
        .header("content-length", &body.len().to_string());
    let mut stream = head.open(&hub.address).await;
    sleep(Duration::from_millis(300)).await;
    stream.get_mut().write_all(body.as_bytes()).await.unwrap();
    let answer = Answer::read(stream).await;
    assert_eq!(answer.status, 200);
    let mut stream: BufReader<TcpStream> = answer.into_stream().await;
    sleep(Duration::from_millis(300)).await;
    Ask::post(&call(2, "echo", json!({}))).send_on(&mut stream).await;
    assert_eq!(Answer::read(stream).await.status, 200);
}
