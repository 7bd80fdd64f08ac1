//! Peers that are gone, or only slow; in virtual time.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, duplex},
    time::{Instant, sleep},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::Role},
};
use tokio_util::task::TaskTracker;
use toolbay_transport::{Incoming, websocket};

use super::request;

#[tokio::test(start_paused = true)]
async fn a_peer_that_misses_two_pings_is_dead() {
    let (near, mut far) = duplex(1 << 16);
    let tasks = TaskTracker::new();
    let mut wire = websocket::accept(near, 1 << 20, &tasks);
    let started = Instant::now();
    assert!(wire.incoming.recv().await.is_none());
    let after = started.elapsed();
    assert!((Duration::from_secs(30)..Duration::from_secs(60)).contains(&after), "{after:?}");
    let mut heard = Vec::new();
    far.read_to_end(&mut heard).await.unwrap();
    assert_eq!(heard, [0x89, 0, 0x89, 0], "two pings");
    tasks.close();
    tasks.wait().await;
}

#[tokio::test(start_paused = true)]
async fn a_quiet_peer_that_responds_to_pings_stays_connected() {
    let (near, far) = duplex(1 << 16);
    let tasks = TaskTracker::new();
    let mut wire = websocket::accept(near, 1 << 20, &tasks);
    let mut peer = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
    let until = Instant::now() + Duration::from_secs(600);
    let mut pings = 0;
    while let Ok(Some(heard)) = tokio::time::timeout_at(until, peer.next()).await {
        pings += usize::from(heard.unwrap().is_ping());
    }
    assert!((30..=45).contains(&pings), "{pings}");
    peer.send(Message::text(request(1).to_string())).await.unwrap();
    assert!(matches!(wire.incoming.recv().await, Some(Incoming::Message(_))));
}

#[tokio::test(start_paused = true)]
async fn a_slow_line_counts_as_activity_in_both_directions() {
    let (near, mut far) = duplex(64);
    let tasks = TaskTracker::new();
    let mut wire = websocket::accept(near, 1 << 20, &tasks);
    // A message of ours that takes ten minutes, to a peer that says nothing.
    let text =
        json!({"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"text": "x".repeat(6000)}}).to_string();
    wire.outgoing.send(text.clone().into()).await.unwrap();
    let mut heard = Vec::new();
    while heard.len() < text.len() {
        sleep(Duration::from_secs(6)).await;
        let mut some = [0; 64];
        let count = far.read(&mut some).await.unwrap();
        assert!(count > 0, "it gave up after {} bytes", heard.len());
        heard.extend_from_slice(&some[..count]);
    }
    // And one to us, of which no whole frame arrives for ten minutes.
    let mut frame = vec![0x81, 0x80 | 126];
    frame.extend_from_slice(&u16::try_from(text.len()).unwrap().to_be_bytes());
    frame.extend_from_slice(&[0; 4]); // a mask that changes nothing
    frame.extend_from_slice(text.as_bytes());
    for some in frame.chunks(60) {
        sleep(Duration::from_secs(6)).await;
        far.write_all(some).await.unwrap();
    }
    assert!(matches!(wire.incoming.recv().await, Some(Incoming::Message(_))));
}

#[tokio::test(start_paused = true)]
async fn a_peer_does_not_die_because_we_do_not_listen() {
    let (near, far) = duplex(1 << 20);
    let tasks = TaskTracker::new();
    let mut wire = websocket::accept(near, 1 << 20, &tasks);
    let mut peer = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
    for id in 0..1000 {
        peer.send(Message::text(request(id).to_string())).await.unwrap();
    }
    sleep(Duration::from_secs(600)).await;
    for _ in 0..1000 {
        assert!(matches!(wire.incoming.recv().await, Some(Incoming::Message(_))));
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_pings_and_does_not_read_is_not_read() {
    let (near, mut far) = duplex(1 << 16);
    let tasks = TaskTracker::new();
    let mut wire = websocket::accept(near, 1 << 20, &tasks);
    let mut ping = vec![0x89, 0x80 | 125, 0, 0, 0, 0];
    ping.extend([b'p'; 125]);
    let flood = async {
        let mut sent = 0;
        while far.write_all(&ping).await.is_ok() {
            sent += 1;
            assert!(sent < 10_000, "it never stops to read");
        }
    };
    let started = Instant::now();
    tokio::join!(flood, async { assert!(wire.incoming.recv().await.is_none()) });
    let after = started.elapsed();
    assert!((Duration::from_secs(30)..Duration::from_secs(60)).contains(&after), "{after:?}");
    tasks.close();
    tasks.wait().await;
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_takes_its_pongs_late_is_read_again() {
    let (near, mut far) = duplex(1 << 12);
    let tasks = TaskTracker::new();
    let mut wire = websocket::accept(near, 1 << 20, &tasks);
    let (mut heard, mut said) = tokio::io::split(&mut far);
    let sending = async {
        for _ in 0..500 {
            let mut ping = vec![0x89, 0x80 | 4, 0, 0, 0, 0];
            ping.extend(b"ping");
            said.write_all(&ping).await.unwrap();
        }
        let text = request(1).to_string();
        let mut frame = vec![0x81, 0x80 | u8::try_from(text.len()).unwrap(), 0, 0, 0, 0];
        frame.extend(text.as_bytes());
        said.write_all(&frame).await.unwrap();
    };
    let reading = async {
        sleep(Duration::from_secs(20)).await;
        let mut pongs = vec![0; 1 << 12];
        while heard.read(&mut pongs).await.unwrap() > 0 {}
    };
    tokio::select! {
        ((), message) = async { tokio::join!(sending, wire.incoming.recv()) } => {
            assert!(matches!(message, Some(Incoming::Message(_))));
        }
        () = reading => {}
    }
}
