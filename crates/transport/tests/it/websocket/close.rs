//! Who ends a connection, and what the other is told.

use futures_util::{SinkExt, StreamExt};
use tokio::{net::TcpListener, time::timeout};
use tokio_tungstenite::tungstenite::{
    Message,
    protocol::{CloseFrame, frame::coding::CloseCode},
};
use tokio_util::task::TaskTracker;
use toolbay_transport::{Incoming, http::client::HttpError, websocket};

use super::{PATIENCE, both, client, message, next, request, send, target, text};

#[tokio::test]
async fn dropping_the_connection_sends_what_was_queued_and_then_closes() {
    let (wire, mut peer, tasks) = client().await;
    send(&wire, &request(0)).await;
    assert_eq!(peer.next().await.unwrap().unwrap(), text(&request(0)));
    for id in 1..4 {
        send(&wire, &request(id)).await;
    }
    drop(wire);
    for id in 1..4 {
        assert_eq!(peer.next().await.unwrap().unwrap(), text(&request(id)));
    }
    let Some(Ok(Message::Close(Some(frame)))) = peer.next().await else { panic!() };
    assert_eq!(frame.code, CloseCode::Normal);
    assert!(peer.next().await.is_none());
    drop(peer);
    tasks.close();
    timeout(PATIENCE, tasks.wait()).await.expect("it goes on without its wire");
}

#[tokio::test]
async fn a_server_that_closes_is_read_to_the_end() {
    let (mut client, server, tasks) = both().await;
    for id in 0..3 {
        send(&server, &request(id)).await;
    }
    drop(server);
    for id in 0..3 {
        assert_eq!(message(&mut client).await["id"], id);
    }
    let Some(Incoming::Lost { why, .. }) = next(&mut client).await else { panic!() };
    assert!(why.to_string().contains("closed the connection: code 1000, done"), "{why}");
    drop(client);
    tasks.close();
    timeout(PATIENCE, tasks.wait()).await.unwrap();
}

#[tokio::test]
async fn a_response_in_flight_arrives_though_nothing_more_is_sent() {
    let (wire, mut peer, _tasks) = client().await;
    let toolbay_transport::Connection { outgoing, mut incoming } = wire;
    drop(outgoing);
    peer.send(text(&request(5))).await.unwrap();
    assert!(matches!(timeout(PATIENCE, incoming.recv()).await.unwrap(), Some(Incoming::Message(_))));
    while peer.next().await.is_some_and(|message| message.is_ok()) {}
    drop(peer);
    assert!(timeout(PATIENCE, incoming.recv()).await.unwrap().is_none(), "we ended it: nothing is lost");
}

#[tokio::test]
async fn the_reason_of_a_server_is_reported() {
    for (frame, said) in [
        (None, "it did not say why"),
        (Some((1001, "")), "code 1001, going away"),
        (Some((1012, "new version")), "code 1012, restarting: new version"),
        (Some((4401, "who are you?")), "code 4401, a code of its own: who are you?"),
    ] {
        let (mut wire, mut peer, _tasks) = client().await;
        let frame =
            frame.map(|(code, reason): (u16, &str)| CloseFrame { code: code.into(), reason: reason.into() });
        peer.close(frame).await.unwrap();
        while peer.next().await.is_some_and(|message| message.is_ok()) {}
        drop(peer);
        let Some(Incoming::Lost { why, .. }) = next(&mut wire).await else { panic!() };
        assert!(why.to_string().ends_with(&format!("/mcp closed the connection: {said}")), "{why}");
        assert!(!why.to_string().contains("s3cret"), "{why}");
    }
}

#[tokio::test]
async fn a_server_that_just_ends_loses_only_what_it_may_have_seen() {
    let (mut wire, mut peer, _tasks) = client().await;
    send(&wire, &request(1)).await;
    peer.next().await.unwrap().unwrap();
    drop(peer);
    let Some(Incoming::Lost { why, unsent }) = next(&mut wire).await else { panic!() };
    assert!(matches!(why, HttpError::Broken { .. }), "{why}");
    assert!(unsent.is_empty());
}

#[tokio::test]
async fn what_was_never_sent_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/", listener.local_addr().unwrap());
    drop(listener);
    let mut wire = websocket::connect(target(&url), &TaskTracker::new());
    for id in 1..=3 {
        send(&wire, &request(id)).await;
    }
    let Some(Incoming::Lost { why, unsent }) = next(&mut wire).await else { panic!() };
    assert!(matches!(why, HttpError::Unreachable { .. }) && why.to_string().contains(&url), "{why}");
    let unsent: Vec<_> = unsent.iter().filter_map(|id| id.as_number()).collect();
    assert_eq!(unsent, [1, 2, 3]);
    assert!(next(&mut wire).await.is_none());
}

#[tokio::test]
async fn a_server_that_stops_reading_gives_back_what_it_never_got() {
    let (mut wire, peer, _tasks) = client().await;
    // Larger than what the sockets hold: the first is on its way for ever, the others wait.
    let mut long = request(0);
    for id in 0..4 {
        long["id"] = id.into();
        long["params"] = serde_json::json!({"text": "x".repeat(8 << 20)});
        send(&wire, &long).await;
    }
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    drop(peer); // with unread data: the connection is reset
    let Some(Incoming::Lost { unsent, .. }) = next(&mut wire).await else { panic!() };
    let unsent: Vec<_> = unsent.iter().filter_map(|id| id.as_number()).collect();
    assert!(unsent.ends_with(&[2, 3]) && !unsent.contains(&0), "{unsent:?}");
}

#[tokio::test]
async fn what_is_no_web_socket_gets_an_error() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (mut wire, peer, _tasks) = client().await;
    let mut raw = peer.into_inner();
    raw.write_all(&[0xff, 0]).await.unwrap();
    let mut said = Vec::new();
    timeout(PATIENCE, raw.read_to_end(&mut said)).await.unwrap().unwrap();
    assert_eq!(said[0], 0x88, "a close frame: {said:?}");
    drop(raw);
    let Some(Incoming::Lost { why, .. }) = next(&mut wire).await else { panic!() };
    assert!(matches!(why, HttpError::Garbled { .. }), "{why}");
}
