//! Server-sent events.

use std::time::Duration;

use bytes::Bytes;
use smallvec::SmallVec;
use toolbay_protocol::Rope;

/// One event that carries a message. The message is put on one line, so it cannot forge a second event.
pub fn event(message: Rope) -> Rope {
    let mut pieces: SmallVec<[Bytes; 8]> = SmallVec::new();
    pieces.push(Bytes::from_static(b"event: message\ndata: "));
    pieces.extend(message.on_one_line().into_pieces());
    pieces.push(Bytes::from_static(b"\n\n"));
    Rope::from_pieces(pieces)
}

/// As [`event`], under an id with which a client can come back.
pub fn numbered_event(id: &str, message: Rope) -> Rope {
    let mut pieces: SmallVec<[Bytes; 8]> = SmallVec::new();
    pieces.push(format!("id: {id}\n").into());
    pieces.extend(event(message).into_pieces());
    Rope::from_pieces(pieces)
}

/// An event without a message: an id to come back with, and how long to wait before that.
pub fn priming_event(id: &str, retry: Duration) -> Rope {
    format!("id: {id}\nretry: {}\ndata: \n\n", retry.as_millis()).into()
}

/// A comment that keeps proxies from closing a quiet stream.
pub fn keep_alive() -> Rope {
    Bytes::from_static(b":\n\n").into()
}
