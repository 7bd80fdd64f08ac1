//! What is carried, and how long it may be.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{
    Message,
    protocol::frame::{
        Frame,
        coding::{CloseCode, Data, OpCode},
    },
};
use toolbay_protocol::ParseError;
use toolbay_transport::{
    Incoming,
    http::client::{HttpError, Target},
    stdio::MAX_MESSAGE,
    websocket,
};

use super::{both, client, client_with, message, next, request, send, text};

/// A request of exactly that length.
fn long(id: u64, length: usize) -> Value {
    let empty = json!({"jsonrpc": "2.0", "id": id, "method": "m", "params": {"text": ""}});
    let text = "ä".repeat((length - empty.to_string().len()) / 2);
    json!({"jsonrpc": "2.0", "id": id, "method": "m", "params": {"text": text}})
}

#[tokio::test]
async fn messages_of_any_length_arrive_in_order_on_both_sides() {
    let (mut client, mut server, _tasks) = both().await;
    for length in [70, 125, 126, 65_535, 65_536, 65_600, 1 << 20, MAX_MESSAGE] {
        let asked = long(1, length);
        send(&client, &asked).await;
        assert!(message(&mut server).await == asked, "{length} bytes from client to server");
        send(&server, &asked).await;
        assert!(message(&mut client).await == asked, "{length} bytes from server to client");
    }
    for id in 0..500 {
        if id % 200 == 0 {
            tokio::task::yield_now().await;
        }
        if client.outgoing.try_send(request(id).to_string().into()).is_err() {
            send(&client, &request(id)).await;
        }
        assert_eq!(message(&mut server).await["id"], id);
    }
}

#[tokio::test]
async fn a_peer_that_does_not_read_is_read_all_the_same() {
    let (mut wire, mut peer, _tasks) = client().await;
    // More than the sockets hold, so that it is on its way until the peer reads.
    let long = long(1, MAX_MESSAGE);
    send(&wire, &long).await;
    for id in 0..100 {
        peer.send(text(&request(id))).await.unwrap();
        assert_eq!(message(&mut wire).await["id"], id);
    }
    assert!(peer.next().await.unwrap().unwrap() == text(&long));
}

#[tokio::test]
async fn a_message_may_come_in_pieces() {
    let (mut wire, mut peer, _tasks) = client().await;
    let whole = json!({"jsonrpc": "2.0", "id": 7, "method": "ä€𝄞"}).to_string().into_bytes();
    // Byte by byte, in the middle of characters, with a ping in between.
    for (at, byte) in whole.iter().enumerate() {
        let opcode = OpCode::Data(if at == 0 { Data::Text } else { Data::Continue });
        let frame = Frame::message(vec![*byte], opcode, at + 1 == whole.len());
        peer.send(Message::Frame(frame)).await.unwrap();
        if at == 10 {
            peer.send(Message::Ping("?".into())).await.unwrap();
        }
    }
    assert_eq!(message(&mut wire).await["method"], "ä€𝄞");
    assert_eq!(peer.next().await.unwrap().unwrap(), Message::Pong("?".into()));
    // What is no message is refused alone.
    peer.send(Message::text("{\"jsonrpc\":\"2.0\",\"id\":3}")).await.unwrap();
    let Some(Incoming::Refused(refusal)) = next(&mut wire).await else { panic!() };
    assert_eq!(refusal.id.and_then(|id| id.as_number()), Some(3));
    peer.send(text(&request(4))).await.unwrap();
    assert_eq!(message(&mut wire).await["id"], 4);
}

#[tokio::test]
async fn a_binary_message_ends_the_connection() {
    let (mut wire, mut peer, _tasks) = client().await;
    peer.send(Message::binary(request(1).to_string())).await.unwrap();
    let Some(Ok(Message::Close(Some(frame)))) = peer.next().await else { panic!() };
    assert_eq!((frame.code, &*frame.reason), (CloseCode::Unsupported, "a message is binary, not text"));
    drop(peer);
    match next(&mut wire).await {
        Some(Incoming::Lost { why: HttpError::Garbled { reason, .. }, .. }) => {
            assert!(reason.contains("binary"))
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_message_that_is_too_long_ends_the_connection_by_name() {
    let (mut wire, mut peer, _tasks) = client_with(|target| Target { max_message: 1000, ..target }).await;
    peer.send(text(&long(1, 1000))).await.unwrap();
    assert_eq!(message(&mut wire).await["id"], 1);
    peer.send(text(&long(2, 4 << 20))).await.unwrap();
    let Some(Ok(Message::Close(Some(frame)))) = peer.next().await else { panic!() };
    assert_eq!((frame.code, &*frame.reason), (CloseCode::Size, "a message is longer than 1000 bytes"));
    drop(peer);
    match next(&mut wire).await {
        Some(Incoming::Lost { why: HttpError::TooLong { limit: 1000, .. }, .. }) => {}
        other => panic!("{other:?}"),
    }
    assert!(next(&mut wire).await.is_none());
}

#[tokio::test]
async fn a_message_that_is_too_long_closes_with_a_reason() {
    let (mut wire, socket, tasks) = client().await;
    let mut server = websocket::accept(socket.into_inner(), 1000, &tasks);
    send(&wire, &long(1, 1 << 20)).await;
    let Some(Incoming::Refused(refusal)) = next(&mut server).await else { panic!() };
    assert_eq!(refusal.why, ParseError::TooLong { limit: 1000 });
    assert!(next(&mut server).await.is_none());
    let Some(Incoming::Lost { why, .. }) = next(&mut wire).await else { panic!() };
    assert!(
        why.to_string().contains("code 1009, a message was too long for it: a message is longer"),
        "{why}"
    );
}
